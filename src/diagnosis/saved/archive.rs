//! What the name of an archive tells.

use super::super::facts::{Archive, System};

/// The parts of an archive's name, whatever generation of NVIDIA's naming it follows.
pub fn archive_of(name: &str) -> Option<Archive> {
    let lower = name.to_ascii_lowercase();
    let stem = [
        ".zip", ".tgz", ".tar.gz", ".tar.xz", ".tar.bz2", ".whl", ".conda", ".exe", ".deb",
    ]
    .iter()
    .find_map(|end| lower.strip_suffix(end))?;
    if !stem.contains("cudnn") {
        return None;
    }
    let words: Vec<&str> = stem.split(['-', '_']).collect();
    let system = if stem.contains("windows") || stem.contains("win_amd64") {
        Some(System::Windows)
    } else if stem.contains("linux") {
        Some(System::Linux)
    } else {
        None
    };
    let arch = if stem.contains("sbsa") {
        Some("sbsa")
    } else if stem.contains("ppc64le") {
        Some("ppc64le")
    } else if stem.contains("aarch64") {
        Some("aarch64")
    } else if stem.contains("arm64") {
        Some("arm64")
    } else if stem.contains("x64") || stem.contains("x86_64") || stem.contains("amd64") {
        Some("x86_64")
    } else {
        None
    };
    let is_number =
        |word: &str| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok());
    let cudnn = words
        .iter()
        .find_map(|word| {
            let word = word.strip_prefix('v')?;
            word.split('.')
                .all(|part| part.parse::<u32>().is_ok())
                .then_some(word)
        })
        .or_else(|| {
            // The new form has the version as a bare word of four parts; the old form's first bare number is CUDA.
            words
                .iter()
                .copied()
                .find(|word| is_number(word) && word.matches('.').count() >= 2)
        });
    let cuda = words
        .iter()
        .find_map(|word| {
            let digits = word
                .strip_prefix("cuda")
                .or_else(|| word.strip_prefix("cu"))?;
            digits
                .split('.')
                .all(|part| part.parse::<u32>().is_ok())
                .then_some(digits)
        })
        .or_else(|| {
            words.iter().copied().find(|word| {
                is_number(word) && Some(*word) != cudnn && word.matches('.').count() == 1
            })
        });
    Some(Archive {
        name: name.to_owned(),
        system,
        arch: arch.map(str::to_owned),
        cudnn: cudnn.map(str::to_owned),
        cuda: cuda.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_names_of_every_generation_are_taken_apart() {
        let cases = [
            (
                "cudnn-9.0-windows10-x64-v7.1.zip",
                (Some(System::Windows), "x86_64", "7.1", "9.0"),
            ),
            (
                "cudnn-11.3-windows-x64-v8.2.1.32.zip",
                (Some(System::Windows), "x86_64", "8.2.1.32", "11.3"),
            ),
            (
                "cudnn-10.2-linux-aarch64sbsa-v8.1.1.33.tgz",
                (Some(System::Linux), "sbsa", "8.1.1.33", "10.2"),
            ),
            (
                "cudnn-linux-ppc64le-8.9.0.131_cuda12-archive.tar.xz",
                (Some(System::Linux), "ppc64le", "8.9.0.131", "12"),
            ),
            (
                "cudnn-windows-x86_64-8.4.0.27_cuda11.6-archive.zip",
                (Some(System::Windows), "x86_64", "8.4.0.27", "11.6"),
            ),
            (
                "nvidia_cudnn_cu12-9.1.0.70-py3-none-manylinux2014_x86_64.whl",
                (Some(System::Linux), "x86_64", "9.1.0.70", "12"),
            ),
        ];
        for (name, (system, arch, cudnn, cuda)) in cases {
            let got = archive_of(name).unwrap();
            assert_eq!(got.system, system, "{name}");
            assert_eq!(got.arch.as_deref(), Some(arch), "{name}");
            assert_eq!(got.cudnn.as_deref(), Some(cudnn), "{name}");
            assert_eq!(got.cuda.as_deref(), Some(cuda), "{name}");
        }
        assert_eq!(archive_of("photos.zip"), None);
    }
}
