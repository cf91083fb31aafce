//! NVIDIA's own manifest, `compute/cudnn/redist/redistrib_9.28.1.json`.
//!
//! One object per component (`cudnn`, and from 9.10 `cudnn_jit`), in it one per platform, in it one per CUDA variant with
//! path, digest and size. It is read tolerantly: sizes come as strings, the variants stand between the platforms, and
//! 9.27.0 has for Windows on ARM a second build directly at the platform's level. Whatever has a path is a file.

use serde_json::Value;

use super::{Digest, Error, Origin, Release, is_sha256};
use crate::version::{CudaVersion, CudnnVersion, Flavour, Platform};

/// The folder on NVIDIA's server that lists the manifests, and below which their paths begin.
pub const FOLDER: &str = "compute/cudnn/redist/";

/// The key under which [`Release::fact`] names this source.
pub const FACT: &str = "nvidia-manifest";

/// The path of one manifest below the server's base address.
pub fn path(label: &str) -> String {
    format!("{FOLDER}redistrib_{label}.json")
}

/// The labels (`9.28.1`) of the manifests in NVIDIA's listing of [`FOLDER`], oldest first. Four-part labels are left
/// out: they are shorter twins of three-part ones.
pub fn labels(listing: &str) -> Vec<String> {
    let mut found: Vec<CudnnVersion> = listing
        .split("redistrib_")
        .skip(1)
        .filter_map(|rest| rest.split_once(".json")?.0.parse().ok())
        .filter(|version: &CudnnVersion| version.build.is_none())
        .collect();
    found.sort();
    found.dedup();
    found.iter().map(|version| version.label()).collect()
}

/// Every file that a manifest names.
///
/// # Errors
///
/// When it is no JSON, has no cuDNN in it, or a file's path or digest is not what it should be.
pub fn parse(label: &str, json: &str) -> Result<Vec<Release>, Error> {
    let bad = |problem: String| Error::BadRedistrib {
        label: label.to_owned(),
        problem,
    };
    let document: Value =
        serde_json::from_str(json).map_err(|error| bad(format!("it is no JSON: {error}")))?;
    let date = document["release_date"]
        .as_str()
        .filter(|date| is_date(date));
    let mut found = Vec::new();
    for (component, flavour) in [("cudnn", Flavour::Full), ("cudnn_jit", Flavour::Jit)] {
        let Some(object) = document.get(component).and_then(Value::as_object) else {
            continue;
        };
        for (platform, content) in object {
            // Names of platforms that came after this program are no error; neither are `license` and its like.
            let Ok(platform) = platform.parse::<Platform>() else {
                continue;
            };
            let files = content
                .as_object()
                .into_iter()
                .flat_map(|variants| variants.values())
                .chain([content])
                .filter(|file| file.get("relative_path").is_some());
            for file in files {
                let mut release = entry(file, flavour, platform).map_err(bad)?;
                for digest in &mut release.digests {
                    digest.date = date.map(str::to_owned);
                }
                found.push(release);
            }
        }
    }
    if found.is_empty() {
        return Err(bad("it names no files of cuDNN".to_owned()));
    }
    Ok(found)
}

fn entry(file: &Value, flavour: Flavour, platform: Platform) -> Result<Release, String> {
    let path = file["relative_path"].as_str().unwrap_or_default();
    let plain = |part: &str| {
        !matches!(part, "" | "." | "..")
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte))
    };
    if !path.split('/').all(plain) {
        return Err(format!(
            "`{}` is no path below its folder",
            path.escape_debug()
        ));
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let (version, variant) = name_parts(name)
        .ok_or_else(|| format!("`{name}` is not named like an archive of cuDNN"))?;
    let sha256 = file["sha256"]
        .as_str()
        .unwrap_or_default()
        .to_ascii_lowercase();
    if !is_sha256(&sha256) {
        return Err(format!("`{name}` has no SHA-256"));
    }
    let size = match &file["size"] {
        Value::String(text) => text.parse().ok(),
        number => number.as_u64(),
    };
    Ok(Release {
        version,
        variant,
        flavour,
        platform,
        origin: Origin::Nvidia {
            path: format!("{FOLDER}{path}"),
        },
        file: name.to_owned(),
        digests: vec![Digest { sha256, date: None }],
        size,
        cuda_range: None,
        fact: Some(FACT.to_owned()),
    })
}

/// `cudnn-windows-x86_64-9.28.1.4_cuda13-archive.zip`, also `cudnn_jit-…`: version and variant.
fn name_parts(name: &str) -> Option<(CudnnVersion, CudaVersion)> {
    let (head, rest) = name.split_once("_cuda")?;
    let version: CudnnVersion = head.rsplit('-').next()?.parse().ok()?;
    let (variant, _) = rest.split_once("-archive.")?;
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !variant.split('.').all(digits) {
        return None;
    }
    version.build?;
    Some((version, variant.parse().ok()?))
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(fill: char) -> String {
        fill.to_string().repeat(64)
    }

    fn sample() -> String {
        format!(
            r#"{{
  "release_date": "2026-09-29", "release_label": "9.27.0", "release_product": "cudnn",
  "cudnn": {{
    "name": "NVIDIA CUDA Deep Neural Network library", "license": "cudnn", "version": "9.27.0.42",
    "linux-x86_64": {{
      "cuda12": {{"relative_path": "cudnn/linux-x86_64/cudnn-linux-x86_64-9.27.0.42_cuda12-archive.tar.xz",
                 "sha256": "{a}", "md5": "x", "size": "1000"}}
    }},
    "cuda_variant": ["12", "13"],
    "windows-arm64": {{
      "relative_path": "cudnn/windows-arm64/cudnn-windows-arm64-9.27.0.42_cuda13.4-archive.zip",
      "sha256": "{b}", "size": 2000,
      "cuda13": {{"relative_path": "cudnn/windows-arm64/cudnn-windows-arm64-9.27.0.42_cuda13-archive.zip",
                 "sha256": "{c}", "size": "3000"}}
    }},
    "plan9-mips": {{ "cuda13": {{"relative_path": "x", "sha256": "y"}} }}
  }},
  "cudnn_jit": {{
    "linux-sbsa": {{
      "cuda13": {{"relative_path": "cudnn_jit/linux-sbsa/cudnn_jit-linux-sbsa-9.27.0.42_cuda13-archive.tar.xz",
                 "sha256": "{d}"}}
    }}
  }},
  "cudnn_samples": {{ "source": {{"relative_path": "cudnn_samples/x.tar.xz", "sha256": "z"}} }}
}}"#,
            a = digest('a'),
            b = digest('b'),
            c = digest('c'),
            d = digest('d')
        )
    }

    #[test]
    fn files_are_found_at_every_level_that_nvidia_has_put_them() {
        let found = parse("9.27.0", &sample()).unwrap();
        let mut lines: Vec<String> = found
            .iter()
            .map(|release| {
                format!(
                    "{} {} {} {} {:?} {}",
                    release.version,
                    release.variant,
                    release.flavour,
                    release.platform,
                    release.size,
                    &release.digests[0].sha256[..1]
                )
            })
            .collect();
        lines.sort();
        assert_eq!(
            lines,
            [
                "9.27.0.42 12 full linux-x86_64 Some(1000) a",
                "9.27.0.42 13 full windows-arm64 Some(3000) c",
                "9.27.0.42 13 jit linux-sbsa None d",
                "9.27.0.42 13.4 full windows-arm64 Some(2000) b",
            ]
        );
        assert_eq!(found[0].digests[0].date.as_deref(), Some("2026-09-29"));
    }

    #[test]
    fn what_is_no_manifest_is_refused_by_name() {
        let escaping = sample().replace("cudnn/linux-x86_64/cudnn", "../cudnn");
        let no_digest = sample().replace(&digest('a'), "abc");
        for (json, problem) in [
            ("<html>login</html>", "no JSON"),
            ("{}", "names no files"),
            ("[]", "names no files"),
            (r#"{"cudnn": 7}"#, "names no files"),
            (escaping.as_str(), "no path below its folder"),
            (no_digest.as_str(), "has no SHA-256"),
        ] {
            let error = parse("9.27.0", json).unwrap_err().to_string();
            assert!(
                error.contains(problem) && error.contains("9.27.0"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_listing_gives_each_release_once() {
        let listing = r#"<a href="redistrib_8.9.7.json">redistrib_8.9.7.json</a>
            <a href="redistrib_8.9.7.29.json">redistrib_8.9.7.29.json</a>
            <a href="redistrib_9.10.2.json">redistrib_9.10.2.json</a> <a href="redistrib_9.9.0.json">x</a>
            <a href="redistrib_latest.json">x</a>"#;
        assert_eq!(labels(listing), ["8.9.7", "9.9.0", "9.10.2"]);
    }
}
