//! `catalogue.jsonl` to [`Releases`].

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{CATALOGUE, Place, rows, sources};
use crate::manifest::{Digest, Error, Origin, Release, Releases, is_sha256};
use crate::version::{CudaVersion, CudnnVersion, Flavour, Platform};

/// NVIDIA's download server, which all addresses of the catalogue are on.
const NVIDIA: &str = "https://developer.download.nvidia.com/";

#[derive(Deserialize)]
struct Raw {
    cudnn: String,
    cuda: String,
    cuda_range: Option<String>,
    platform: String,
    file: String,
    url: String,
    #[serde(default)]
    url_alt: Vec<String>,
    digest_kind: Option<String>,
    digest: Option<String>,
    size: Option<u64>,
    archive: String,
    source: String,
    component: String,
    status: String,
    manifest_date: Option<String>,
    uploaded: Option<String>,
}

/// What was left out, by reason.
type LeftOut = Vec<(&'static str, usize)>;

pub fn read(text: &str) -> Result<(Releases, LeftOut), Error> {
    let mut table = BTreeMap::new();
    let mut list: Vec<Release> = Vec::new();
    let mut seen: BTreeMap<String, Place> = BTreeMap::new();
    let mut left_out: BTreeMap<&'static str, usize> = BTreeMap::new();
    let raw: Vec<(Place, Raw)> = rows(CATALOGUE, text)?;
    let files: BTreeSet<&str> = raw.iter().map(|(_, row)| row.file.as_str()).collect();
    for (place, row) in &raw {
        if let Some(reason) = unusable(row, &files) {
            *left_out.entry(reason).or_default() += 1;
            continue;
        }
        for release in entries(*place, row, &mut table)? {
            let (source, address) = release.address();
            let key = format!("{source}:{address}");
            if let Some(first) = seen.insert(key, *place) {
                return Err(place.bad(format!("the same file as line {}", first.line)));
            }
            list.push(release);
        }
    }
    Ok((Releases::new(list, table), left_out.into_iter().collect()))
}

/// Why a row is no installable file.
fn unusable(row: &Raw, files: &BTreeSet<&str>) -> Option<&'static str> {
    if row.status != "listed" {
        return Some("inferred: nobody has seen the file");
    }
    if row.url.starts_with("conda:") {
        return Some("conda package");
    }
    if row.archive == "exe" {
        return Some("graphical installer");
    }
    if row.archive == "whl"
        && (row.file.contains(".dev") || row.size.is_some_and(|size| size < 100_000))
    {
        return Some("placeholder");
    }
    // A wheel's build tag (`-2-py3`) marks a corrected upload; the first one has wrong dependencies.
    let corrected = |tag: u32| row.file.replacen("-py3-", &format!("-{tag}-py3-"), 1);
    if row.archive == "whl" && (1..=9).any(|tag| files.contains(corrected(tag).as_str())) {
        return Some("superseded by a corrected wheel");
    }
    None
}

fn entries(
    place: Place,
    row: &Raw,
    table: &mut BTreeMap<String, String>,
) -> Result<Vec<Release>, Error> {
    let platform: Platform = place.parse(&row.platform)?;
    let flavour = match row.component.as_str() {
        "cudnn" => Flavour::Full,
        "cudnn_jit" => Flavour::Jit,
        other => return Err(place.bad(format!("the component `{other}` is unknown"))),
    };
    let version: CudnnVersion = place.parse(&row.cudnn)?;
    if version.build.is_none() {
        return Err(place.bad(format!("`{version}` lacks its fourth number")));
    }
    let cuda_range = match &row.cuda_range {
        None => None,
        Some(range) => {
            let (first, last) = range
                .split_once('-')
                .ok_or_else(|| place.bad(format!("`{range}` is no range")))?;
            let range: [CudaVersion; 2] = [place.parse(first)?, place.parse(last)?];
            if range[0] > range[1] {
                return Err(place.bad("a CUDA range that ends before it begins"));
            }
            Some(range)
        }
    };
    let variant: CudaVersion = place.parse(&row.cuda)?;
    if cuda_range
        .is_some_and(|[first, last]| first.major != variant.major || last.major != variant.major)
    {
        return Err(place.bad("a CUDA range of another major than the variant"));
    }
    let digests = match (row.digest_kind.as_deref(), &row.digest) {
        (Some("sha256"), Some(digest)) if is_sha256(digest) => vec![Digest {
            sha256: digest.clone(),
            date: date(row),
        }],
        (Some("sha256"), digest) => {
            return Err(place.bad(format!("{digest:?} is no SHA-256")));
        }
        // MD5 proves nothing against somebody who swaps a file.
        (Some("md5"), Some(_)) | (None, None) => Vec::new(),
        (kind, _) => return Err(place.bad(format!("the digest kind {kind:?} is unknown"))),
    };
    let release = |origin: Origin| Release {
        version,
        variant,
        flavour,
        platform,
        origin,
        file: row.file.clone(),
        digests: digests.clone(),
        size: row.size,
        cuda_range,
        fact: None,
    };
    let fact = sources::keys(place, &row.source, table)?;
    let mut found = Vec::new();
    if let Some(rest) = row.url.strip_prefix("pypi:") {
        let (project, file) = rest
            .split_once('/')
            .ok_or_else(|| place.bad(format!("`{}` is no address", row.url)))?;
        if file != row.file {
            return Err(place.bad("address and file name differ"));
        }
        found.push(release(Origin::Pypi {
            project: project.to_owned(),
        }));
    } else {
        for url in std::iter::once(&row.url).chain(&row.url_alt) {
            let path = url
                .strip_prefix(NVIDIA)
                .ok_or_else(|| place.bad(format!("`{url}` is not on NVIDIA's server")))?;
            if path.rsplit('/').next() != Some(&row.file) {
                return Err(place.bad("address and file name differ"));
            }
            found.push(release(Origin::Nvidia {
                path: path.to_owned(),
            }));
        }
    }
    for release in &mut found {
        release.fact = Some(fact.clone());
    }
    Ok(found)
}

fn date(row: &Raw) -> Option<String> {
    let uploaded = row.uploaded.as_deref().and_then(|time| time.get(..10));
    row.manifest_date.as_deref().or(uploaded).map(str::to_owned)
}
