//! Which published build a spec means. Pure: releases and the machine's CUDA come in as values.

use super::{Error, Server};
use crate::manifest::Release;
use crate::selection::{self, MachineCuda};
use crate::version::{BuildId, CudnnVersion, Platform, Requirement, VersionSpec};

/// A build that can be installed, and the releases that hold it.
#[derive(Debug, Clone)]
pub struct Choice<'a> {
    /// Which.
    pub build: BuildId,
    /// Why this variant, where there was a choice.
    pub variant_reason: Option<String>,
    /// Files of this very release for this CUDA and platform, the preferred first. NVIDIA's archives and the wheels of one
    /// release sometimes differ in the fourth part of the version (9.15.0), so that of a later one may.
    pub releases: Vec<&'a Release>,
}

/// Picks the newest release that the spec matches, then the variant that fits the machine, then `full` before `jit`.
///
/// `servers` is the order of preference; releases of others don't count. `cuda` is asked only when there is a choice.
///
/// # Errors
///
/// When nothing matches: with the nearest versions, or with what there is of this version.
pub fn choose<'a>(
    spec: &VersionSpec,
    releases: &'a [Release],
    servers: &[Server],
    cuda: impl FnOnce() -> MachineCuda,
) -> Result<Choice<'a>, Error> {
    let usable: Vec<&Release> =
        releases.iter().filter(|release| servers.contains(&Server::of(&release.origin))).collect();
    let matching: Vec<&Release> =
        usable.iter().copied().filter(|release| spec.matches(&release.build())).collect();
    let Some(newest) = matching.iter().map(|release| release.version).max() else {
        return Err(explain(spec, &usable));
    };
    // Of one release, each variant and flavour with its latest build number: those may differ between variants.
    let mut builds: Vec<BuildId> = Vec::new();
    for release in matching.iter().filter(|release| release.version.same_release(newest)) {
        let build = release.build();
        let twin = builds
            .iter_mut()
            .find(|other| (other.variant, other.flavour) == (build.variant, build.flavour));
        match twin {
            Some(other) => *other = (*other).max(build),
            None => builds.push(build),
        }
    }
    let candidates: Vec<&BuildId> = builds.iter().collect();
    let (build, variant_reason) = match candidates.as_slice() {
        [only] => (**only, None),
        several => {
            let (build, why) = selection::fitting(several, cuda()).expect("there are several candidates");
            (*build, Some(why))
        }
    };
    let same = |release: &&&Release| {
        release.version.same_release(build.version)
            && (Some(release.variant), release.flavour) == (build.variant, build.flavour)
    };
    let mut holding: Vec<&Release> = matching.iter().filter(same).copied().collect();
    let rank = |release: &Release| servers.iter().position(|server| *server == Server::of(&release.origin));
    // The server first: the latest build number is of less use than the source a person prefers.
    holding.sort_by(|a, b| rank(a).cmp(&rank(b)).then(b.version.cmp(&a.version)));
    let build = holding.first().map_or(build, |release| release.build());
    Ok(Choice { build, variant_reason, releases: holding })
}

fn explain(spec: &VersionSpec, usable: &[&Release]) -> Error {
    let of_version: Vec<&Release> =
        usable.iter().copied().filter(|release| spec.requirement.matches(release.version)).collect();
    if !of_version.is_empty() && spec.requirement != Requirement::Latest {
        return lacking(spec, &of_version);
    }
    let platform = spec.platform.unwrap_or(Platform::host());
    let mut known: Vec<CudnnVersion> =
        usable.iter().filter(|release| release.platform == platform).map(|release| release.version).collect();
    known.sort();
    known.dedup_by_key(|version| version.label());
    let nearest = nearest(&spec.requirement, &known).iter().map(|version| version.label()).collect();
    Error::NotPublished { spec: spec.clone(), nearest }
}

/// The version exists: what it lacks, and what it has.
fn lacking(spec: &VersionSpec, of_version: &[&Release]) -> Error {
    let platform = spec.platform.unwrap_or(Platform::host());
    let here: Vec<&Release> = of_version.iter().copied().filter(|release| release.platform == platform).collect();
    let mut lacking = Vec::new();
    if here.is_empty() {
        lacking.push(format!("for {platform}"));
    } else {
        let variant = |release: &&Release| spec.variant.is_none_or(|wanted| wanted.agrees_with(release.variant));
        if let Some(wanted) = spec.variant.filter(|_| !here.iter().any(variant)) {
            lacking.push(format!("for CUDA {wanted} on {platform}"));
        } else if let Some(flavour) = spec.flavour {
            let cuda = spec.variant.map_or(String::new(), |variant| format!(" for CUDA {variant}"));
            lacking.push(format!("as {flavour}{cuda} on {platform}"));
        }
    }
    let shown = if here.is_empty() { of_version } else { &here[..] };
    let mut have: Vec<BuildId> = shown.iter().map(|release| release.build()).collect();
    have.sort_by(|a, b| b.cmp(a));
    have.dedup();
    Error::NotPublishedLikeThis {
        version: spec.requirement.clone(),
        lacking: lacking.join(" "),
        have: have.iter().map(BuildId::to_string).collect(),
    }
}

/// The published versions around a wish: those that share the most leading numbers, then the closest.
fn nearest(requirement: &Requirement, known: &[CudnnVersion]) -> Vec<CudnnVersion> {
    let wanted: Vec<u32> = match requirement {
        Requirement::Prefix(numbers) => numbers.clone(),
        Requirement::Range(bounds) => bounds.first().map_or(Vec::new(), |bound| bound.numbers.clone()),
        Requirement::Latest => Vec::new(),
    };
    let distance = |version: &CudnnVersion| {
        let parts = [version.major, version.minor, version.patch];
        let differences: Vec<u32> =
            parts.iter().zip(wanted.iter().chain(std::iter::repeat(&0))).map(|(a, b)| a.abs_diff(*b)).collect();
        differences
    };
    let mut sorted = known.to_vec();
    sorted.sort_by_key(|version| (distance(version), std::cmp::Reverse(*version)));
    sorted.truncate(3);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Failure;
    use crate::manifest::Origin;

    /// `nvidia 8.2.1.32+cuda11.3`, for this platform unless it names another.
    fn release(text: &str) -> Release {
        let (server, build) = text.split_once(' ').unwrap();
        let build = BuildId::from_folder(&format!("cudnn-{}", build.replace('+', "-"))).unwrap();
        let origin = match server {
            "nvidia" => Origin::Nvidia { path: String::new() },
            _ => Origin::Pypi { project: String::new() },
        };
        Release {
            version: build.version,
            variant: build.variant.unwrap(),
            flavour: build.flavour,
            platform: build.platform,
            origin,
            file: text.to_owned(),
            digests: Vec::new(),
            size: None,
            cuda_range: None,
            fact: None,
        }
    }

    const PUBLISHED: [&str; 9] = [
        "nvidia 7.6.5.32+cuda10.2",
        "nvidia 8.2.1.32+cuda10.2",
        "nvidia 8.2.1.32+cuda11.3",
        "nvidia 8.2.4.15+cuda11.4",
        "nvidia 9.15.0.57+cuda12",
        "nvidia 9.15.0.58+cuda13",
        "pypi 9.15.0.57+cuda12",
        "pypi 9.15.0.57+cuda13",
        "pypi 9.15.0.57+cuda13+jit",
    ];

    fn chosen(spec: &str, servers: &[Server], toolkit: Option<&str>) -> Result<Vec<String>, Error> {
        let releases: Vec<Release> = PUBLISHED.iter().map(|text| release(text)).collect();
        let cuda = MachineCuda { toolkit: toolkit.map(|text| text.parse().unwrap()), driver: None };
        let choice = choose(&spec.parse().unwrap(), &releases, servers, || cuda)?;
        Ok(choice.releases.iter().map(|release| release.file.clone()).collect())
    }

    #[test]
    fn the_newest_then_the_fitting_then_the_preferred_server() {
        let both = Server::ORDER;
        let cases: [(&str, &[Server], Option<&str>, &[&str]); 8] = [
            ("8.2.1", &both, None, &["nvidia 8.2.1.32+cuda11.3"]),
            ("8.2.1", &both, Some("10.2"), &["nvidia 8.2.1.32+cuda10.2"]),
            ("8.2", &both, None, &["nvidia 8.2.4.15+cuda11.4"]),
            ("9", &both, Some("12.4"), &["nvidia 9.15.0.57+cuda12", "pypi 9.15.0.57+cuda12"]),
            ("9", &both, None, &["nvidia 9.15.0.58+cuda13", "pypi 9.15.0.57+cuda13"]),
            ("9", &[Server::Pypi, Server::Nvidia], None, &["pypi 9.15.0.57+cuda13", "nvidia 9.15.0.58+cuda13"]),
            ("9.15.0.57+cuda13+full", &both, None, &["pypi 9.15.0.57+cuda13"]),
            ("latest+jit", &both, None, &["pypi 9.15.0.57+cuda13+jit"]),
        ];
        for (spec, servers, toolkit, expected) in cases {
            assert_eq!(chosen(spec, servers, toolkit).unwrap(), expected, "{spec} {toolkit:?}");
        }
    }

    #[test]
    fn what_is_not_published_names_what_is() {
        let both = Server::ORDER;
        for (spec, message, hint) in [
            ("8.2.2", "no published cuDNN matches 8.2.2", "cudnnm install 8.2.1"),
            ("12", "no published cuDNN matches 12", "cudnnm install 9.15.0"),
            ("8.2.1+cuda12", "cuDNN 8.2.1 is not published for CUDA 12 on", "cudnnm install 8.2.1.32+cuda11.3"),
            ("8.2.1+jit", "cuDNN 8.2.1 is not published as jit on", "cudnnm install 8.2.1.32+cuda11.3"),
            ("9+linux-ppc64le", "cuDNN 9 is not published for linux-ppc64le", "cudnnm install 9.15.0.58+cuda13"),
        ] {
            let error = chosen(spec, &both, None).unwrap_err();
            assert_eq!(error.exit(), crate::error::Exit::NotPublished);
            assert!(error.to_string().starts_with(message), "{error}");
            assert_eq!(error.hints()[0], hint);
        }
    }

    #[test]
    fn a_server_that_is_not_wanted_does_not_count() {
        assert!(chosen("8.2.1", &[Server::Pypi], None).is_err());
    }
}
