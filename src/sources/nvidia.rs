//! NVIDIA's download server: the redistributable tree's own JSON, its folder listing, and digests beside old archives.

use url::Url;

use super::Error;
use crate::download::{Client, shown};
use crate::manifest::{Release, redistrib};

/// NVIDIA's server; the setting `nvidia-base-url` and `CUDNNM_NVIDIA_URL` name another with the same tree.
pub const BASE: &str = "https://developer.download.nvidia.com/";

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
    let url = base
        .join(path)
        .ok()
        .filter(|url| url.as_str().starts_with(base.as_str()));
    url.ok_or_else(|| Error::NotAnIndex {
        url: shown(base),
        why: format!("the path `{path}` leads out of it"),
    })
}

/// The release labels that NVIDIA lists (`9.19.0`), oldest first.
///
/// # Errors
///
/// When the listing can't be had.
pub fn labels(client: &Client, base: &Url) -> Result<Vec<String>, Error> {
    let document = client.document(&address(base, redistrib::FOLDER)?, "text/html")?;
    Ok(redistrib::labels(&String::from_utf8_lossy(&document.body)))
}

/// The files of one release, from NVIDIA's JSON.
///
/// # Errors
///
/// When it can't be had or read.
pub fn release(client: &Client, base: &Url, label: &str) -> Result<Vec<Release>, Error> {
    let url = address(base, &redistrib::path(label))?;
    let document = client.document(&url, "application/json")?;
    let text = String::from_utf8_lossy(&document.body);
    redistrib::parse(label, &text).map_err(|error| Error::NotAnIndex {
        url: shown(&url),
        why: error.to_string(),
    })
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
    let digest = text
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let sound = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    sound.then_some(digest).ok_or_else(|| Error::NotAnIndex {
        url: shown(&url),
        why: "it holds no SHA-256".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_base() {
        let base = base(Some("http://127.0.0.1:1/mirror")).unwrap();
        assert_eq!(
            address(&base, "compute/x.zip").unwrap().as_str(),
            "http://127.0.0.1:1/mirror/compute/x.zip"
        );
        for path in ["../x", "/x", "//h.example/x", "https://h.example/x"] {
            assert!(address(&base, path).is_err(), "{path}");
        }
    }
}
