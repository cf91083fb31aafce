//! Whether manifests make sense beyond being valid TOML.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::{Error, FRAMEWORKS, Facts, GPUS, Origin, RELEASES, Release, Releases, is_sha256};
use crate::version::{CudaVersion, CudnnVersion, Flavour, Platform, Requirement, VersionSpec};

/// The minor versions that the built-in manifest promises for Windows and Linux: all of NVIDIA's since CUDA 8.
const PROMISED: [(u32, std::ops::RangeInclusive<u32>); 3] = [(7, 0..=6), (8, 0..=9), (9, 0..=28)];

/// Counts, for a person to look over.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Files in all.
    pub files: usize,
    /// Different builds in all.
    pub builds: usize,
    /// Releases of three numbers.
    pub releases: usize,
    /// Files by platform.
    pub platforms: BTreeMap<Platform, usize>,
    /// Files by source.
    pub sources: BTreeMap<&'static str, usize>,
    /// Files whose digest is not known.
    pub without_digest: usize,
}

impl Summary {
    /// Counts the entries.
    pub fn of(releases: &Releases) -> Self {
        let all = releases.all();
        let mut platforms = BTreeMap::new();
        let mut sources = BTreeMap::new();
        for release in all {
            *platforms.entry(release.platform).or_default() += 1;
            *sources.entry(release.origin.source()).or_default() += 1;
        }
        let mut builds: Vec<_> = all.iter().map(Release::build).collect();
        builds.sort();
        builds.dedup();
        let mut labels: Vec<_> = all.iter().map(|release| release.version.label()).collect();
        labels.dedup();
        Self {
            files: all.len(),
            builds: builds.len(),
            releases: labels.len(),
            platforms,
            sources,
            without_digest: all
                .iter()
                .filter(|release| release.digests.is_empty())
                .count(),
        }
    }
}

/// Looks at every entry and at all of them together; `complete` asks for every minor version that is promised.
///
/// # Errors
///
/// [`Error::Contradiction`] for the first thing that can't be.
pub fn check_releases(releases: &Releases, complete: bool) -> Result<(), Error> {
    let wrong = |problem: String| Error::Contradiction {
        name: RELEASES.to_owned(),
        problem,
    };
    let mut addresses = HashMap::new();
    let mut digests: HashMap<&str, &Release> = HashMap::new();
    for release in releases.all() {
        check_release(releases, release).map_err(wrong)?;
        if addresses.insert(release.address(), ()).is_some() {
            return Err(wrong(format!("`{}` is there twice", release.address().1)));
        }
        for digest in &release.digests {
            let first = digests.entry(&digest.sha256).or_insert(release);
            if first.build() != release.build() {
                return Err(wrong(format!(
                    "`{}` and `{}` have one digest but are {} and {}",
                    first.file,
                    release.file,
                    first.build(),
                    release.build()
                )));
            }
        }
    }
    if complete {
        for (major, minors) in PROMISED {
            for minor in minors {
                for platform in [Platform::WindowsX64, Platform::LinuxX64] {
                    let there = releases.all().iter().any(|release| {
                        (release.version.major, release.version.minor) == (major, minor)
                            && release.platform == platform
                    });
                    if !there {
                        return Err(wrong(format!(
                            "cuDNN {major}.{minor} for {platform} is missing"
                        )));
                    }
                }
            }
        }
    }
    Ok(())
}

fn check_release(releases: &Releases, release: &Release) -> Result<(), String> {
    let file = &release.file;
    if release.version.build.is_none() {
        return Err(format!(
            "`{file}` is of {}, which lacks its fourth number",
            release.version
        ));
    }
    for digest in &release.digests {
        if !is_sha256(&digest.sha256) {
            return Err(format!("`{}` of `{file}` is no SHA-256", digest.sha256));
        }
        let dated = |date: &String| {
            let shape = |(index, byte): (usize, u8)| match index {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            };
            date.len() == 10 && date.bytes().enumerate().all(shape)
        };
        if digest.date.as_ref().is_some_and(|date| !dated(date)) {
            return Err(format!("a digest of `{file}` has no date like 2026-12-01"));
        }
    }
    for (index, digest) in release.digests.iter().enumerate() {
        if release.digests[..index]
            .iter()
            .any(|other| other.sha256 == digest.sha256)
        {
            return Err(format!("`{file}` has one digest twice"));
        }
    }
    if release.size == Some(0) {
        return Err(format!("`{file}` has no bytes"));
    }
    if let Some([first, last]) = release.cuda_range {
        if first > last {
            return Err(format!("the CUDA range of `{file}` ends before it begins"));
        }
        if first.major != release.variant.major || last.major != release.variant.major {
            return Err(format!(
                "the CUDA range of `{file}` is not of its variant's major"
            ));
        }
    }
    let safe = |text: &str| {
        !text.is_empty()
            && !text.starts_with('/')
            && text.split('/').all(|part| !matches!(part, "" | "." | ".."))
            && !text.contains(['\\', ':', '?', '#'])
    };
    match &release.origin {
        Origin::Nvidia { path } if safe(path) && path.ends_with(file.as_str()) => {}
        Origin::Pypi { project } if safe(project) && safe(file) && !file.contains('/') => {
            let jit = project.contains("-jit-");
            if jit != (release.flavour == Flavour::Jit) {
                return Err(format!("`{file}` of {project} is not {}", release.flavour));
            }
            let suffix = format!("-cu{}", release.variant.major);
            if !project.ends_with(&suffix)
                || release.variant != CudaVersion::major(release.variant.major)
            {
                return Err(format!(
                    "`{file}` of {project} is not for CUDA {}",
                    release.variant
                ));
            }
        }
        _ => return Err(format!("`{file}` has an address that is none")),
    }
    match &release.fact {
        None => Err(format!("`{file}` names no source")),
        Some(fact) => match fact
            .split(", ")
            .find(|key| !releases.sources().contains_key(*key))
        {
            Some(key) => Err(format!(
                "`{file}` names the source `{key}`, which is not explained"
            )),
            None => Ok(()),
        },
    }
}

/// Looks at the facts and at what the files say of each other.
///
/// # Errors
///
/// [`Error::Contradiction`] for the first thing that can't be.
pub fn check_facts(facts: &Facts) -> Result<(), Error> {
    let wrong = |name: &str, problem: String| Error::Contradiction {
        name: name.to_owned(),
        problem,
    };
    for toolkit in &facts.toolkits {
        if toolkit.minimum_linux > toolkit.linux
            || toolkit
                .windows
                .as_ref()
                .is_some_and(|driver| toolkit.minimum_windows > *driver)
        {
            let problem = format!(
                "CUDA {} came with a driver older than its minimum",
                toolkit.version
            );
            return Err(wrong(super::CUDA, problem));
        }
    }
    for architecture in &facts.architectures {
        let capability = architecture.capability;
        if architecture
            .last_cuda
            .is_some_and(|last| last < architecture.first_cuda)
        {
            return Err(wrong(
                GPUS,
                format!("CUDA dropped {capability} before it knew it"),
            ));
        }
        if let (Some(first), Some(last)) = (&architecture.first_cudnn, &architecture.last_cudnn)
            && first > last
        {
            return Err(wrong(
                GPUS,
                format!("cuDNN dropped {capability} before it knew it"),
            ));
        }
    }
    for support in &facts.support {
        let [first, last] = &support.cudnn;
        let [low, high] = support.capability;
        let ordered = (first <= last || first.numbers().starts_with(last.numbers())) && low <= high;
        if !ordered || support.variants.is_empty() {
            return Err(wrong(
                GPUS,
                format!("the support of cuDNN {first} to {last} is no range"),
            ));
        }
        let outside = support.kernels.iter().find(|kernel| **kernel < low);
        if let Some(kernel) = outside {
            let problem =
                format!("cuDNN {first} has kernels for {kernel}, which it does not support");
            return Err(wrong(GPUS, problem));
        }
    }
    for framework in &facts.frameworks {
        if let (Some(built), Some(accepts)) = (&framework.built, &framework.accepts)
            && let Some(version) = least_version(built)
            && !accepts.requirement.matches(version)
            // JAX 0.4.30 was built with 9.0 and needs 9.1: a stricter rule of the same major is no contradiction.
            && !starts_in_major(accepts, version.major)
        {
            let problem = format!(
                "{} {} was built with cuDNN {built} but is said to run with {accepts}",
                framework.name, framework.versions
            );
            return Err(wrong(FRAMEWORKS, problem));
        }
    }
    Ok(())
}

fn starts_in_major(accepts: &VersionSpec, major: u32) -> bool {
    match &accepts.requirement {
        Requirement::Range(bounds) => bounds
            .first()
            .is_some_and(|bound| bound.numbers.first() == Some(&major)),
        Requirement::Prefix(_) | Requirement::Latest => false,
    }
}

/// The lowest version that a prefix of two numbers or more means; `8` alone means too many to judge.
fn least_version(spec: &VersionSpec) -> Option<CudnnVersion> {
    let Requirement::Prefix(numbers) = &spec.requirement else {
        return None;
    };
    let part = |index: usize| numbers.get(index).copied().unwrap_or(0);
    (numbers.len() > 1).then(|| CudnnVersion::new(part(0), part(1), part(2)))
}
