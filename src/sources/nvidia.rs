//! NVIDIA's download server: the redistributable tree's own JSON, its folder listing, and digests beside old archives.

use serde_json::{Map, Value};
use url::Url;

use super::{Error, html};
use crate::download::{Client, shown};
use crate::manifest::{Digest, Origin, Release};
use crate::version::{CudaVersion, CudnnVersion, Flavour, Platform};

/// NVIDIA's server; the setting `nvidia-base-url` and `CUDNNM_NVIDIA_URL` name another with the same tree.
pub const BASE: &str = "https://developer.download.nvidia.com/";

const REDIST: &str = "compute/cudnn/redist/";

/// The address below which the `compute/` tree lies.
///
/// # Errors
///
/// When what is set is no address.
pub fn base(set: Option<&str>) -> Result<Url, Error> {
    let text = set.unwrap_or(BASE);
    let bad = |why: &str| Error::BadIndex {
        address: text.rsplit('@').next().unwrap_or_default().to_owned(),
        named_by: "nvidia-base-url or CUDNNM_NVIDIA_URL".to_owned(),
        why: why.to_owned(),
    };
    let mut url = Url::parse(text).map_err(|error| bad(&error.to_string()))?;
    if !matches!(url.scheme(), "https" | "http" | "file") {
        return Err(bad("only https, http and file addresses can be fetched"));
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

/// The address of a file by its path in the tree.
///
/// # Errors
///
/// When the path leads out of the tree.
pub fn address(base: &Url, path: &str) -> Result<Url, Error> {
    let url = base.join(path).ok().filter(|url| url.as_str().starts_with(base.as_str()));
    url.ok_or_else(|| Error::NotAnIndex {
        url: shown(base),
        why: format!("the path `{path}` leads out of it"),
    })
}

/// The release labels that NVIDIA lists (`9.19.0`), newest first.
///
/// # Errors
///
/// When the listing can't be had.
pub fn labels(client: &Client, base: &Url) -> Result<Vec<CudnnVersion>, Error> {
    let url = address(base, REDIST)?;
    let document = client.document(&url, "text/html")?;
    let links = html::anchors(&String::from_utf8_lossy(&document.body));
    let mut labels: Vec<CudnnVersion> = links
        .anchors
        .iter()
        .filter_map(|anchor| {
            let name = anchor.href.rsplit('/').next()?;
            let label: CudnnVersion =
                name.strip_prefix("redistrib_")?.strip_suffix(".json")?.parse().ok()?;
            // To 8.9.7 each release has a second file under its four-part version, with less in it.
            label.build.is_none().then_some(label)
        })
        .collect();
    labels.sort_by(|a, b| b.cmp(a));
    labels.dedup();
    Ok(labels)
}

/// The builds of one release, from NVIDIA's JSON.
///
/// # Errors
///
/// When it can't be had or read.
pub fn release(client: &Client, base: &Url, label: CudnnVersion) -> Result<Vec<Release>, Error> {
    let url = address(base, &format!("{REDIST}redistrib_{}.json", label.label()))?;
    let document = client.document(&url, "application/json")?;
    parse(&document.body).map_err(|why| Error::NotAnIndex { url: shown(&url), why })
}

/// Reads a `redistrib_*.json`: every object with a `relative_path` below a platform, whatever else lies around it.
///
/// # Errors
///
/// What is wrong, when it is no such file.
pub fn parse(json: &[u8]) -> Result<Vec<Release>, String> {
    let root: Map<String, Value> = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    let date = root.get("release_date").and_then(Value::as_str);
    let mut releases = Vec::new();
    for (component, flavour) in [("cudnn", Flavour::Full), ("cudnn_jit", Flavour::Jit)] {
        let Some(component) = root.get(component).and_then(Value::as_object) else { continue };
        let version: CudnnVersion = component
            .get("version")
            .and_then(Value::as_str)
            .and_then(|text| text.parse().ok())
            .ok_or("it names no version")?;
        for (name, variants) in component {
            let (Ok(platform), Some(variants)) = (name.parse::<Platform>(), variants.as_object()) else {
                continue;
            };
            for (tag, entry) in variants {
                let release = variant(tag).and_then(|variant| read(entry, version, variant, flavour, platform, date));
                releases.extend(release);
            }
        }
    }
    if releases.is_empty() {
        return Err("it lists no cuDNN archive".to_owned());
    }
    Ok(releases)
}

fn variant(tag: &str) -> Option<CudaVersion> {
    tag.strip_prefix("cuda")?.parse().ok()
}

fn read(
    entry: &Value,
    version: CudnnVersion,
    variant: CudaVersion,
    flavour: Flavour,
    platform: Platform,
    date: Option<&str>,
) -> Option<Release> {
    let path = entry.get("relative_path")?.as_str()?;
    // `../` and absolute addresses lead out of the tree.
    if path.split('/').any(|part| part == "..") || path.starts_with('/') || path.contains(['\\', ':']) {
        return None;
    }
    let sha256 = entry.get("sha256")?.as_str()?.to_ascii_lowercase();
    // The size is a string there; a number would do as well.
    let size = entry.get("size").and_then(|size| size.as_str().map_or(size.as_u64(), |text| text.parse().ok()));
    let file = path.rsplit('/').next()?.to_owned();
    // The build number differs between variants of some releases (9.15.0): the file's name has the right one.
    let version = version_in_name(&file).filter(|named| named.same_release(version)).unwrap_or(version);
    Some(Release {
        version,
        variant,
        flavour,
        platform,
        origin: Origin::Nvidia { path: format!("{REDIST}{path}") },
        file,
        digests: vec![Digest { sha256, date: date.map(str::to_owned) }],
        size,
        cuda_range: None,
        fact: Some("NVIDIA's redistrib JSON".to_owned()),
    })
}

/// `cudnn-linux-x86_64-9.15.0.58_cuda13-archive.tar.xz` → `9.15.0.58`.
fn version_in_name(file: &str) -> Option<CudnnVersion> {
    file.split(['-', '_']).find_map(|part| part.parse().ok())
}

/// The digest that lies beside an archive of the old tree as `FILE.sha256`.
///
/// # Errors
///
/// When there is none, or it is no digest.
pub fn digest_beside(client: &Client, archive: &Url) -> Result<String, Error> {
    let mut url = archive.clone();
    url.set_path(&format!("{}.sha256", archive.path()));
    let document = client.document(&url, "text/plain")?;
    let text = String::from_utf8_lossy(&document.body);
    let digest = text.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    let sound = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    sound.then_some(digest).ok_or_else(|| Error::NotAnIndex {
        url: shown(&url),
        why: "it holds no SHA-256".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shape of 9.27.0: two variants, the jit component, and an entry that lies one level too high.
    const JSON: &str = r#"{
        "release_date": "2026-08-01", "release_label": "9.27.0", "release_product": "cudnn",
        "cudnn": {
            "name": "NVIDIA CUDA Deep Neural Network library", "license": "cudnn", "version": "9.27.0.57",
            "linux-x86_64": {
                "cuda12": {"relative_path": "cudnn/linux-x86_64/cudnn-linux-x86_64-9.27.0.57_cuda12-archive.tar.xz", "sha256": "AA", "md5": "0", "size": "1000"},
                "cuda13": {"relative_path": "cudnn/linux-x86_64/cudnn-linux-x86_64-9.27.0.58_cuda13-archive.tar.xz", "sha256": "bb"}
            },
            "cuda_variant": ["12", "13"],
            "windows-arm64": {
                "cuda13": {"relative_path": "cudnn/windows-arm64/cudnn-windows-arm64-9.27.0.57_cuda13-archive.zip", "sha256": "cc", "size": "7"},
                "relative_path": "cudnn/windows-arm64/cudnn-windows-arm64-9.27.0.57_cuda13.4-archive.zip", "sha256": "dd", "size": "7"
            },
            "linux-evil": {"cuda12": {"relative_path": "x", "sha256": "ee"}},
            "linux-sbsa": {"cuda12": {"relative_path": "../../../x", "sha256": "ee"}}
        },
        "cudnn_jit": {
            "version": "9.27.0.57",
            "linux-x86_64": {"cuda13": {"relative_path": "cudnn_jit/linux-x86_64/cudnn_jit-linux-x86_64-9.27.0.57_cuda13-archive.tar.xz", "sha256": "ff", "size": "9"}}
        },
        "cudnn_samples": {"version": "9.27.0.57", "source": {"relative_path": "s", "sha256": "1"}}
    }"#;

    #[test]
    fn nvidias_json_is_read_tolerantly() {
        let mut builds: Vec<String> = parse(JSON.as_bytes())
            .unwrap()
            .iter()
            .map(|release| format!("{} {:?} {}", release.build(), release.size, release.digests[0].sha256))
            .collect();
        builds.sort();
        let host = |build: &str, platform: Platform| {
            if platform == Platform::host() { build.to_owned() } else { format!("{build}+{platform}") }
        };
        let mut expected = vec![
            format!("{} Some(1000) aa", host("9.27.0.57+cuda12", Platform::LinuxX64)),
            format!("{} None bb", host("9.27.0.58+cuda13", Platform::LinuxX64)),
            format!("{} Some(7) cc", host("9.27.0.57+cuda13", Platform::WindowsArm64)),
            format!("{} Some(9) ff", host("9.27.0.57+cuda13+jit", Platform::LinuxX64)),
        ];
        expected.sort();
        assert_eq!(builds, expected);
    }

    #[test]
    fn what_is_no_such_json_is_refused() {
        for json in ["", "[]", "{}", "<html>", r#"{"cudnn":{}}"#, r#"{"cudnn":{"version":"9.1.0.1"}}"#] {
            assert!(parse(json.as_bytes()).is_err(), "{json}");
        }
    }

    #[test]
    fn paths_stay_below_the_base() {
        let base = base(Some("http://127.0.0.1:1/mirror")).unwrap();
        assert_eq!(address(&base, "compute/x.zip").unwrap().as_str(), "http://127.0.0.1:1/mirror/compute/x.zip");
        for path in ["../x", "/x", "//h.example/x", "https://h.example/x"] {
            assert!(address(&base, path).is_err(), "{path}");
        }
    }
}
