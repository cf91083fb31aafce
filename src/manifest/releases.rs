//! `releases.toml`: every published file, and the choice among them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Digest, Error, Origin, RELEASES, Release, SCHEMA, parse, render_rows, render_sources};
use crate::selection::{self, MachineCuda};
use crate::version::{CudaVersion, CudnnVersion, Flavour, Platform, Requirement, VersionSpec};

const BUILT_IN: &str = include_str!("../../manifests/releases.toml");

const HEADER: &str = "# Every published file of cuDNN, newest first. Written by `cudnnm manifest generate`; don't edit.
# A file without sha256 is one whose digest nobody has published; it is installed only with --trust-on-first-use.
";

/// All known files, newest version first.
#[derive(Debug, Clone, Default)]
pub struct Releases {
    list: Vec<Release>,
    sources: BTreeMap<String, String>,
}

/// What to install, and where it can be had.
#[derive(Debug, Clone)]
pub struct Choice<'a> {
    /// Files that hold it, best first: known digests before unknown ones, then by the order of sources. All are of one
    /// release, variant, flavour and platform; NVIDIA's build counter may differ between sources ([`Release::build`]).
    pub files: Vec<&'a Release>,
    /// Why this variant, where there was a choice.
    pub variant_reason: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    schema: u32,
    releases: Vec<Row>,
    #[serde(default)]
    sources: BTreeMap<String, String>,
}

/// A [`Release`] as one line of the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Row {
    version: CudnnVersion,
    variant: CudaVersion,
    #[serde(default = "full", skip_serializing_if = "is_full")]
    flavour: Flavour,
    platform: Platform,
    #[serde(skip_serializing_if = "Option::is_none")]
    nvidia: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pypi: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    older: Vec<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cuda: Option<[CudaVersion; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fact: Option<String>,
}

fn full() -> Flavour {
    Flavour::Full
}

fn is_full(flavour: &Flavour) -> bool {
    *flavour == Flavour::Full
}

impl Releases {
    /// The built-in files with those of `newer` (the text of the store's `releases.toml`) laid over them.
    ///
    /// # Errors
    ///
    /// When `newer` can't be understood.
    pub fn load(newer: Option<&str>) -> Result<Self, Error> {
        let mut releases = Self::parse(RELEASES, BUILT_IN)?;
        if let Some(text) = newer {
            let newer = Self::parse(RELEASES, text)?;
            releases.sources.extend(newer.sources);
            for release in newer.list {
                releases.lay_over(release);
            }
            releases.sort();
        }
        Ok(releases)
    }

    /// Reads the text of one file; `name` is for messages.
    ///
    /// # Errors
    ///
    /// When it is not valid or of a newer schema.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let file: File = parse(name, text)?;
        let list = file
            .releases
            .into_iter()
            .map(|row| row.into_release(name))
            .collect::<Result<_, _>>()?;
        Ok(Self::new(list, file.sources))
    }

    /// From entries; `sources` says what the keys in their `fact` mean.
    pub fn new(list: Vec<Release>, sources: BTreeMap<String, String>) -> Self {
        let mut releases = Self { list, sources };
        releases.sort();
        releases
    }

    /// The file's text: one entry a line, in an order that depends on nothing but the entries.
    pub fn render(&self) -> String {
        let rows: Vec<Row> = self.list.iter().map(Row::from_release).collect();
        format!(
            "{HEADER}schema = {SCHEMA}\n\n{}\n{}",
            render_rows("releases", &rows),
            render_sources(&self.sources)
        )
    }

    /// All of them, newest version first.
    pub fn all(&self) -> &[Release] {
        &self.list
    }

    /// What the keys in [`Release::fact`] mean.
    pub fn sources(&self) -> &BTreeMap<String, String> {
        &self.sources
    }

    /// The files that hold what `spec` means, newest first. Without a platform tag, only those for the running one.
    pub fn candidates<'a>(&'a self, spec: &VersionSpec) -> impl Iterator<Item = &'a Release> {
        let spec = spec.clone();
        self.list
            .iter()
            .filter(move |release| spec.matches(&release.build()))
    }

    /// The build to install for `spec` on a machine with this CUDA, from the sources in `order`.
    ///
    /// # Errors
    ///
    /// When nothing is published that `spec` means; the error says what comes nearest.
    pub fn choose(
        &self,
        spec: &VersionSpec,
        cuda: MachineCuda,
        order: &[&str],
    ) -> Result<Choice<'_>, Error> {
        let mut offered: Vec<&Release> = self
            .candidates(spec)
            .filter(|release| order.contains(&release.origin.source()))
            .collect();
        offered.sort_by_key(|release| rank(release, order));
        let offered: Vec<Offered> = offered.into_iter().map(Offered).collect();
        let newest = selection::newest_matching(spec, &offered);
        let Some((chosen, why)) = selection::fitting(&newest, cuda) else {
            return Err(self.unmet(spec, order));
        };
        let chosen = chosen.0;
        let had_choice = newest
            .iter()
            .any(|other| (other.0.variant, other.0.flavour) != (chosen.variant, chosen.flavour));
        let mut files: Vec<&Release> = newest
            .into_iter()
            .map(|offered| offered.0)
            .filter(|other| (other.variant, other.flavour) == (chosen.variant, chosen.flavour))
            .collect();
        files.sort_by_key(|release| rank(release, order));
        Ok(Choice {
            files,
            variant_reason: had_choice.then_some(why),
        })
    }

    /// Why nothing meets `spec`: the version is unknown, or it is not published like this.
    fn unmet(&self, spec: &VersionSpec, order: &[&str]) -> Error {
        let platform = spec.platform.unwrap_or(Platform::host());
        let same_version: Vec<&Release> = self
            .list
            .iter()
            .filter(|release| spec.requirement.matches(release.version))
            .collect();
        let Some(newest) = same_version.first().map(|release| release.version) else {
            return Error::UnknownVersion {
                spec: spec.to_string(),
                nearest: self.nearest(&spec.requirement, platform),
            };
        };
        let version = match &spec.requirement {
            Requirement::Prefix(_) => spec.requirement.to_string(),
            Requirement::Latest | Requirement::Range(_) => newest.label(),
        };
        let here: Vec<&Release> = same_version
            .iter()
            .copied()
            .filter(|release| release.platform == platform)
            .collect();
        if here.is_empty() {
            let platforms: BTreeSet<Platform> = same_version
                .iter()
                .map(|release| release.platform)
                .collect();
            return Error::NotLikeThis {
                version,
                lacking: format!("for {platform}"),
                has: platforms
                    .iter()
                    .map(|platform| format!("{}+{platform}", spec.requirement))
                    .collect(),
            };
        }
        let tags: BTreeSet<(CudaVersion, Flavour)> = here
            .iter()
            .map(|release| (release.variant, release.flavour))
            .collect();
        let has = tags
            .into_iter()
            .map(|(variant, flavour)| {
                let jit = if flavour == Flavour::Jit { "+jit" } else { "" };
                format!("{}+{}{jit}", spec.requirement, variant.tag())
            })
            .collect();
        let fits_tags = here.iter().any(|release| spec.matches(&release.build()));
        let lacking = if fits_tags {
            format!("by {}", order.join(" or "))
        } else {
            let mut wanted = Vec::new();
            if let Some(variant) = spec.variant {
                wanted.push(format!("for CUDA {variant}"));
            }
            if let Some(flavour) = spec.flavour {
                wanted.push(format!("as {flavour}"));
            }
            format!("{} on {platform}", wanted.join(" "))
        };
        Error::NotLikeThis {
            version,
            lacking,
            has,
        }
    }

    /// Published versions around the numbers that were asked for, newest first.
    fn nearest(&self, requirement: &Requirement, platform: Platform) -> Vec<String> {
        let versions: BTreeSet<(u32, u32, u32)> = self
            .list
            .iter()
            .filter(|release| release.platform == platform)
            .map(|release| {
                let version = release.version;
                (version.major, version.minor, version.patch)
            })
            .collect();
        let wanted = match requirement {
            Requirement::Prefix(numbers) => numbers.clone(),
            Requirement::Range(bounds) => bounds
                .first()
                .map(|bound| bound.numbers.clone())
                .unwrap_or_default(),
            Requirement::Latest => Vec::new(),
        };
        let part = |index: usize| wanted.get(index).copied().unwrap_or(0);
        let wanted = (part(0), part(1), part(2));
        let below = versions.range(..wanted).rev().take(2);
        let above = versions.range(wanted..).take(2);
        let mut near: Vec<&(u32, u32, u32)> = below.chain(above).collect();
        near.sort_by(|a, b| b.cmp(a));
        near.iter()
            .map(|(major, minor, patch)| format!("{major}.{minor}.{patch}"))
            .collect()
    }

    /// Adds an entry, or brings the known one of the same address up to date. No digest is ever dropped.
    pub(super) fn lay_over(&mut self, newer: Release) {
        match self
            .list
            .iter_mut()
            .find(|known| known.address() == newer.address())
        {
            None => self.list.push(newer),
            Some(known) => {
                let mut digests = newer.digests.clone();
                for old in &known.digests {
                    if !digests.iter().any(|digest| digest.sha256 == old.sha256) {
                        digests.push(old.clone());
                    }
                }
                *known = Release {
                    digests,
                    size: newer.size.or(known.size),
                    cuda_range: newer.cuda_range.or(known.cuda_range),
                    fact: newer.fact.clone().or_else(|| known.fact.clone()),
                    ..newer
                };
            }
        }
    }

    /// Adds meanings of `fact` keys that are not explained yet.
    pub(super) fn explain(&mut self, meanings: &[(&str, &str)]) {
        for (key, meaning) in meanings {
            self.sources
                .entry((*key).to_owned())
                .or_insert_with(|| (*meaning).to_owned());
        }
    }

    pub(super) fn sort(&mut self) {
        self.list.sort_by(|a, b| {
            let key = |release: &Release| {
                (
                    release.platform,
                    release.flavour,
                    release.origin.source(),
                    release.file.contains("windows7"),
                )
            };
            b.version
                .cmp(&a.version)
                .then_with(|| key(a).cmp(&key(b)))
                .then_with(|| b.variant.cmp(&a.variant))
                .then_with(|| a.address().cmp(&b.address()))
        });
    }
}

/// A reference that can be chosen among.
struct Offered<'a>(&'a Release);

impl selection::Candidate for Offered<'_> {
    fn build(&self) -> crate::version::BuildId {
        self.0.build()
    }

    fn toolkits(&self) -> Option<[CudaVersion; 2]> {
        selection::Candidate::toolkits(self.0)
    }
}

/// Smaller is better: a known digest, then the source's place, then not the twin for Windows 7, then the newest build.
fn rank(release: &Release, order: &[&str]) -> (bool, usize, bool, std::cmp::Reverse<CudnnVersion>) {
    let source = order
        .iter()
        .position(|name| *name == release.origin.source())
        .unwrap_or(order.len());
    (
        release.digests.is_empty(),
        source,
        release.file.contains("windows7"),
        std::cmp::Reverse(release.version),
    )
}

impl Row {
    fn from_release(release: &Release) -> Self {
        let newest = release.digests.first();
        let (nvidia, pypi, file) = match &release.origin {
            Origin::Nvidia { path } => (Some(path.clone()), None, None),
            Origin::Pypi { project } => (None, Some(project.clone()), Some(release.file.clone())),
        };
        Self {
            version: release.version,
            variant: release.variant,
            flavour: release.flavour,
            platform: release.platform,
            nvidia,
            pypi,
            file,
            sha256: newest.map(|digest| digest.sha256.clone()),
            date: newest.and_then(|digest| digest.date.clone()),
            older: release.digests.iter().skip(1).cloned().collect(),
            size: release.size,
            cuda: release.cuda_range,
            fact: release.fact.clone(),
        }
    }

    fn into_release(self, name: &str) -> Result<Release, Error> {
        let contradiction = |problem: String| Error::Contradiction {
            name: name.to_owned(),
            problem,
        };
        let (origin, file) = match (self.nvidia, self.pypi, self.file) {
            (Some(path), None, None) => {
                let file = path.rsplit('/').next().unwrap_or(&path).to_owned();
                (Origin::Nvidia { path }, file)
            }
            (None, Some(project), Some(file)) => (Origin::Pypi { project }, file),
            _ => {
                return Err(contradiction(format!(
                    "an entry of {} needs either `nvidia`, or `pypi` and `file`",
                    self.version
                )));
            }
        };
        let newest = self.sha256.map(|sha256| Digest {
            sha256,
            date: self.date,
        });
        Ok(Release {
            version: self.version,
            variant: self.variant,
            flavour: self.flavour,
            platform: self.platform,
            origin,
            file,
            digests: newest.into_iter().chain(self.older).collect(),
            size: self.size,
            cuda_range: self.cuda,
            fact: self.fact,
        })
    }
}
