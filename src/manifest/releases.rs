//! `releases.toml`: every published file, and the choice among them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    Digest, Error, Origin, RELEASES, Release, SCHEMA, Versioned, parse, render_rows, render_sources,
};
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

impl Versioned for File {
    fn schema(&self) -> u32 {
        self.schema
    }
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

    /// Where what is said of a file comes from, in words.
    pub fn source(&self, release: &Release) -> String {
        super::source_in_words(&self.sources, release.fact.as_deref().unwrap_or_default())
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
            return Err(self.absence(spec, order));
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
    pub fn absence(&self, spec: &VersionSpec, order: &[&str]) -> Error {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Failure;

    const BOTH: [&str; 2] = ["nvidia", "pypi"];

    fn choose(spec: &str, toolkit: &str, order: &[&str]) -> Result<Vec<String>, Error> {
        let releases = Releases::load(None).unwrap();
        let cuda = MachineCuda {
            toolkit: toolkit.parse().ok(),
            driver: None,
        };
        let choice = releases.choose(&spec.parse().unwrap(), cuda, order)?;
        Ok(choice
            .files
            .iter()
            .map(|file| format!("{} {}", file.origin.source(), file.file))
            .collect())
    }

    #[test]
    fn the_toolkit_picks_the_variant_and_the_source_order_the_file() {
        let windows = "8.2.1+windows-x86_64";
        for (spec, toolkit, order, first) in [
            (
                windows,
                "11.3",
                &BOTH[..],
                "nvidia cudnn-11.3-windows-x64-v8.2.1.32.zip",
            ),
            (
                windows,
                "11.0",
                &BOTH,
                "nvidia cudnn-11.3-windows-x64-v8.2.1.32.zip",
            ),
            (
                windows,
                "10.2",
                &BOTH,
                "nvidia cudnn-10.2-windows10-x64-v8.2.1.32.zip",
            ),
            (
                windows,
                "none",
                &BOTH,
                "nvidia cudnn-11.3-windows-x64-v8.2.1.32.zip",
            ),
            (
                "7.6.5+windows-x86_64",
                "10.1",
                &BOTH,
                "nvidia cudnn-10.1-windows10-x64-v7.6.5.32.zip",
            ),
            (
                "8.9.7+cuda12+linux-x86_64",
                "11.8",
                &["pypi", "nvidia"],
                "pypi nvidia_cudnn_cu12-8.9.7.29-py3-none-manylinux1_x86_64.whl",
            ),
            (
                "9.19.0+cuda13+jit+linux-x86_64",
                "none",
                &BOTH,
                "pypi nvidia_cudnn_jit_cu13-9.19.0.56-py3-none-manylinux_2_27_x86_64.whl",
            ),
            // NVIDIA's archive for Windows and CUDA 12 has no known digest; the equal wheel has.
            (
                "9.15.0+cuda12+windows-x86_64",
                "none",
                &BOTH,
                "pypi nvidia_cudnn_cu12-9.15.0.57-py3-none-win_amd64.whl",
            ),
        ] {
            let files = choose(spec, toolkit, order).unwrap();
            assert_eq!(files[0], first, "{spec} with {toolkit}");
        }
    }

    #[test]
    fn equal_builds_of_other_sources_come_behind_even_with_another_build_number() {
        let files = choose("9.15.0+cuda13+linux-x86_64", "none", &BOTH).unwrap();
        assert_eq!(files.len(), 2);
        assert!(files[0].contains("9.15.0.58") && files[1].contains("9.15.0.57"));
        let exact = choose("9.15.0.58+linux-x86_64", "none", &BOTH).unwrap();
        assert_eq!(exact.len(), 1);
        let old = choose("7.6.5+cuda10.1+windows-x86_64", "none", &BOTH).unwrap();
        assert!(old.last().unwrap().contains("windows7"), "{old:?}");
    }

    #[test]
    fn what_is_not_published_is_told_with_what_is() {
        for (spec, order, message, hint) in [
            (
                "8.2.3",
                &BOTH[..],
                "cuDNN 8.2.3 is not published",
                "8.2.4, 8.2.2",
            ),
            ("99", &BOTH, "cuDNN 99 is not published", "9.28.1"),
            (
                "8.2.1+cuda12+linux-x86_64",
                &BOTH,
                "cuDNN 8.2.1 is not published for CUDA 12 on linux-x86_64",
                "8.2.1+cuda10.2, 8.2.1+cuda11.3",
            ),
            (
                "8.2.1+windows-arm64",
                &BOTH,
                "cuDNN 8.2.1 is not published for windows-arm64",
                "8.2.1+windows-x86_64",
            ),
            (
                "8.2.1+jit+linux-x86_64",
                &BOTH,
                "cuDNN 8.2.1 is not published as jit",
                "8.2.1+cuda11.3",
            ),
            (
                "8.2.1+linux-x86_64",
                &["pypi"],
                "cuDNN 8.2.1 is not published by pypi",
                "8.2.1+cuda11.3",
            ),
        ] {
            let error = choose(spec, "none", order).unwrap_err();
            assert_eq!(error.exit(), crate::error::Exit::NotPublished);
            assert!(error.to_string().starts_with(message), "{error}");
            let hints = error.hints().join("\n");
            assert!(hints.contains(hint), "{hints}");
        }
    }

    #[test]
    fn a_newer_file_adds_and_never_takes_a_digest_away() {
        let built_in = Releases::load(None).unwrap();
        let known = &built_in.all()[0];
        let text = format!(
            "schema = 1\nreleases = [\n  {{ version = \"{}\", variant = \"{}\", platform = \"{}\", pypi = \"nvidia-cudnn-cu13\", file = \"{}\", sha256 = \"{}\", date = \"2027-01-01\" }},\n  {{ version = \"9.99.0.1\", variant = \"13\", platform = \"linux-x86_64\", nvidia = \"compute/x/new.tar.xz\", fact = \"me\" }},\n]\n[sources]\nme = \"seen\"\n",
            known.version,
            known.variant,
            known.platform,
            known.file,
            "c".repeat(64)
        );
        let releases = Releases::load(Some(&text)).unwrap();
        assert_eq!(releases.all().len(), built_in.all().len() + 1);
        assert_eq!(releases.all()[0].file, "new.tar.xz");
        let changed = releases
            .all()
            .iter()
            .find(|release| release.file == known.file)
            .unwrap();
        assert_eq!(changed.digests.len(), 2);
        assert_eq!(changed.digests[0].sha256, "c".repeat(64));
        assert_eq!(changed.digests[1], known.digests[0]);
        assert_eq!(changed.size, known.size);
    }

    #[test]
    fn files_that_are_not_ours_are_refused_and_say_why() {
        let newer = Releases::load(Some("schema = 2\nwarp = 1\n")).unwrap_err();
        assert!(newer.to_string().contains("schema 2"), "{newer}");
        let row = |rest: &str| {
            format!(
                "schema = 1\nreleases = [ {{ version = \"9.1.0.70\", variant = \"12\", platform = \"linux-x86_64\", {rest} }} ]\n"
            )
        };
        for text in [
            "releases = []\n".to_owned(),
            "schema = 1\n".to_owned(),
            row("file = \"x\""),
            row("pypi = \"nvidia-cudnn-cu12\""),
            row("nvidia = \"a/b\", pypi = \"p\", file = \"b\""),
            row("nvidia = \"a/b\", colour = 1"),
        ] {
            assert!(Releases::load(Some(&text)).is_err(), "{text}");
        }
    }
}
