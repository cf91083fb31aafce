//! cuDNN versions as programs write them.

use crate::companion::Dotted;
use crate::version::CudnnVersion;

/// Reads `8.7.0`, `8.1.0.77`, `9.5`, `(8, 3, 2)`, `8, 3, 2`, and the encoded `8700`, `91002`.
pub fn cudnn(text: &str) -> Option<CudnnVersion> {
    let numbers: Vec<u64> = numbers(text)?;
    let small = |number: u64| u32::try_from(number).ok().filter(|number| *number < 10_000);
    match *numbers.as_slice() {
        [encoded] => CudnnVersion::from_encoded(encoded),
        [major, minor] => Some(CudnnVersion::new(small(major)?, small(minor)?, 0)),
        [major, minor, patch] => Some(CudnnVersion::new(
            small(major)?,
            small(minor)?,
            small(patch)?,
        )),
        [major, minor, patch, build, ..] => Some(
            CudnnVersion::new(small(major)?, small(minor)?, small(patch)?)
                .with_build(small(build)?),
        ),
        [] => None,
    }
    .filter(|version| (1..100).contains(&version.major))
}

/// One number, or numbers with one kind of separator between them and nothing else around.
fn numbers(text: &str) -> Option<Vec<u64>> {
    let bare = text
        .trim()
        .trim_start_matches(['(', 'v', 'V'])
        .trim_end_matches(')');
    bare.split(['.', ','])
        .map(|part| part.trim().parse().ok())
        .collect()
}

/// The cuDNN version that a path tells, such as `…/cudnn/v8.0.3.33-cuda.11.0/…` or `cudnn-8.2.1.32-cuda11.3`: a folder
/// that a person named. Good enough to say which element of a search path it is, never to call a file's version.
pub fn in_path(path: &str) -> Option<CudnnVersion> {
    let lower = path.to_ascii_lowercase();
    let start = lower.find("cudnn")?;
    let mut rest = lower.get(start + "cudnn".len()..)?;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let word = &rest[at..];
        let end = word
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(word.len());
        let before = rest[..at].trim_end_matches(['-', '_', '.', '/', '\\', 'v']);
        let number = word[..end].trim_matches('.');
        if !before.ends_with("cuda") && number.matches('.').count() >= 1 {
            return cudnn(number);
        }
        rest = &word[end..];
    }
    None
}

/// Dotted numbers at the beginning of a text: `570.133.20` of `570.133.20 |`.
pub fn dotted_prefix(text: &str) -> Option<Dotted> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    Dotted::parse(text[..end].trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_read() {
        for (text, wanted) in [
            ("8.7.0", Some("8.7.0")),
            ("8.1.0.77", Some("8.1.0.77")),
            ("(8, 3, 2)", Some("8.3.2")),
            ("8, 3, 2", Some("8.3.2")),
            ("7201", Some("7.2.1")),
            ("91002", Some("9.10.2")),
            ("5110", Some("5.1.10")),
            ("9.5", Some("9.5.0")),
            ("90.5", Some("90.5.0")),
            ("", None),
            ("..", None),
            ("8.x", None),
            ("18446744073709551616", None),
        ] {
            let got = cudnn(text).map(|version| version.to_string());
            assert_eq!(got.as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn a_folder_may_tell_a_version_and_its_cuda_is_not_taken_for_it() {
        for (path, wanted) in [
            (
                "/public/cudnn/v8.0.3.33-cuda.11.0/cuda/lib64",
                Some("8.0.3.33"),
            ),
            (r"D:\x\cudnn-8.0-windows10-x64-v5.1\cuda", Some("8.0.0")),
            ("/opt/cudnn-cuda-11.0/lib", None),
            (
                r"C:\Program Files\NVIDIA\CUDNN\v9.7\bin\12.8",
                Some("9.7.0"),
            ),
            ("/usr/lib", None),
        ] {
            let got = in_path(path).map(|version| version.to_string());
            assert_eq!(got.as_deref(), wanted, "{path}");
        }
    }
}
