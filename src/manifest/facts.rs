//! `cuda.toml`, `gpus.toml` and `frameworks.toml`: what fits what.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{CUDA, Error, FRAMEWORKS, GPUS, SCHEMA, Versioned, parse, render_rows, render_sources};
use crate::companion::Dotted;
use crate::version::{BuildId, CudaVersion, CudnnVersion, Platform, VersionSpec};

const BUILT_IN: Texts<'static> = Texts {
    cuda: Some(include_str!("../../manifests/cuda.toml")),
    gpus: Some(include_str!("../../manifests/gpus.toml")),
    frameworks: Some(include_str!("../../manifests/frameworks.toml")),
};

/// The texts of the three files, as far as they are there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Texts<'a> {
    /// `cuda.toml`
    pub cuda: Option<&'a str>,
    /// `gpus.toml`
    pub gpus: Option<&'a str>,
    /// `frameworks.toml`
    pub frameworks: Option<&'a str>,
}

/// All known facts about what fits what.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// CUDA toolkits, newest first.
    pub toolkits: Vec<Toolkit>,
    /// GPU architectures by rising compute capability.
    pub architectures: Vec<Architecture>,
    /// Which cuDNN has kernels for which GPU, newest first.
    pub support: Vec<Support>,
    /// Releases nobody should use.
    pub broken: Vec<Broken>,
    /// Framework releases and the cuDNN each was built with.
    pub frameworks: Vec<Framework>,
    /// What the keys in `fact` mean.
    pub sources: BTreeMap<String, String>,
}

/// A CUDA toolkit and the drivers it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Toolkit {
    /// `12.9.1`
    pub version: Dotted,
    /// NVIDIA's name for it: `12.9 Update 1`.
    pub release: String,
    /// The Linux driver it was released with.
    pub linux: Driver,
    /// The Windows driver it was released with, where NVIDIA names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Driver>,
    /// The oldest Linux driver that runs programs of this CUDA major.
    pub minimum_linux: Driver,
    /// The oldest Windows driver that does.
    pub minimum_windows: Driver,
    /// Whether programs for one minor of this major run with the driver of another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub minor_compatible: bool,
    /// `high`, `medium` or `low`.
    pub confidence: Confidence,
    /// What else to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where this comes from.
    pub fact: String,
}

/// How sure a fact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// A guess, or one that was contradicted.
    Low,
    /// Somebody's word, or a conclusion.
    Medium,
    /// Documented, or seen.
    High,
}

/// GPUs of one compute capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Architecture {
    /// `8.9`
    pub capability: Capability,
    /// `Ada Lovelace`
    pub name: String,
    /// GPUs that have it; `RTX 4060-4090` stands for all from 4060 to 4090.
    pub gpus: Vec<String>,
    /// The first CUDA that can make code for it.
    pub first_cuda: CudaVersion,
    /// The last one, where it was dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_cuda: Option<CudaVersion>,
    /// The first cuDNN that knows it: one to three numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_cudnn: Option<Dotted>,
    /// The last cuDNN with kernels for it, where it was dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_cudnn: Option<Dotted>,
    /// What else to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How sure this is.
    pub confidence: Confidence,
    /// Where this comes from.
    pub fact: String,
}

/// A range of cuDNN releases for one or more CUDAs, and the GPUs it has kernels for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Support {
    /// First and last release, both included.
    pub cudnn: [Dotted; 2],
    /// The variants this is about.
    pub variants: Vec<CudaVersion>,
    /// The oldest toolkit it is documented for.
    pub first_cuda: CudaVersion,
    /// The newest one, where documented.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_cuda: Option<CudaVersion>,
    /// Lowest and highest compute capability.
    pub capability: [Capability; 2],
    /// The capabilities for which code was found in the libraries, where somebody looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<Capability>,
    /// What else to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How sure this is.
    pub confidence: Confidence,
    /// Where this comes from.
    pub fact: String,
}

/// A release with a fault that makes it useless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Broken {
    /// Three parts.
    pub version: CudnnVersion,
    /// What is wrong with it.
    pub reason: String,
    /// Where this comes from.
    pub fact: String,
}

/// Releases of a framework that were built alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Framework {
    /// `torch`, `tensorflow`: the name of its Python package where it has one.
    pub name: String,
    /// Which releases.
    #[serde(flatten)]
    pub versions: Versions,
    /// For which platform; any when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// Which of its packages: `cu113`, `pypi-default (cu121)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// The CUDA it was built with: one, or the first and last of several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuda: Vec<CudaVersion>,
    /// The cuDNN it was built or tested with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub built: Option<VersionSpec>,
    /// The cuDNNs it runs with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepts: Option<VersionSpec>,
    /// How it states that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What its package asks pip for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    /// Whether it brings a cuDNN of its own, and how.
    pub bundled: Bundled,
    /// Where that lies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundled_at: Option<String>,
    /// It has no GPU support at all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cpu_only: bool,
    /// How another cuDNN is made to win.
    #[serde(rename = "override", skip_serializing_if = "Option::is_none")]
    pub override_by: Option<String>,
    /// What else to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How sure this is.
    pub confidence: Confidence,
    /// Where this comes from.
    pub fact: String,
}

/// Whether a framework brings a cuDNN of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bundled {
    /// No: it loads what it finds.
    None,
    /// Its package contains the libraries.
    InWheel,
    /// Its package makes pip install one of NVIDIA's wheels.
    PipDependency,
    /// Linked into its own library; nothing can replace it.
    Static,
    /// Only the dispatcher; the libraries with the code are found.
    ShimOnly,
    /// It has the cuDNN of the framework it is built on.
    Inherits,
    /// It does not use cuDNN.
    NotUsed,
}

/// A range of a framework's own versions. A bound of two numbers includes all that begin with them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// The first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Dotted>,
    /// The last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Dotted>,
    /// The first that is no longer meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<Dotted>,
}

impl Versions {
    /// Whether `version` is one of those meant.
    pub fn contains(&self, version: &Dotted) -> bool {
        let upper = |to: &Dotted| version <= to || version.numbers().starts_with(to.numbers());
        // `2.4` means 2.4.0, as pip reads it.
        let lower =
            |from: &Dotted| version >= from || from.numbers().starts_with(version.numbers());
        self.from.as_ref().is_none_or(lower)
            && self.to.as_ref().is_none_or(upper)
            && self.below.as_ref().is_none_or(|below| version < below)
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.from, &self.to, &self.below) {
            (Some(from), Some(to), _) if from == to => write!(f, "{from}"),
            (Some(from), Some(to), _) => write!(f, "{from} to {to}"),
            (Some(from), None, None) => write!(f, "{from} and up"),
            (None, Some(to), _) => write!(f, "up to {to}"),
            (from, None, Some(below)) => match from {
                Some(from) => write!(f, "{from} up to but not {below}"),
                None => write!(f, "before {below}"),
            },
            (None, None, None) => f.write_str("all"),
        }
    }
}

/// A driver's version: `535.104.05` on Linux, `537.13` on Windows. The last zero counts for people, not for order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Driver {
    text: String,
    numbers: Dotted,
}

impl Driver {
    fn key(&self) -> &[u64] {
        self.numbers.numbers()
    }
}

impl FromStr for Driver {
    type Err = DriverError;

    fn from_str(text: &str) -> Result<Self, DriverError> {
        let numbers = Dotted::parse(text).ok_or(DriverError)?;
        Ok(Self {
            text: text.to_owned(),
            numbers,
        })
    }
}

/// Text that is no driver version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a driver version looks like 535.104.05 or 537.13")]
pub struct DriverError;

impl PartialEq for Driver {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Driver {}

impl Ord for Driver {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(other.key())
    }
}

impl PartialOrd for Driver {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Driver> for String {
    fn from(driver: Driver) -> Self {
        driver.text
    }
}

impl TryFrom<String> for Driver {
    type Error = DriverError;

    fn try_from(text: String) -> Result<Self, DriverError> {
        text.parse()
    }
}

/// A GPU's compute capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Capability {
    /// Code for one major does not run on another.
    pub major: u32,
    /// Code for a lower minor runs on a higher one.
    pub minor: u32,
}

/// Text that is no compute capability.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a compute capability looks like 8.6")]
pub struct CapabilityError;

impl FromStr for Capability {
    type Err = CapabilityError;

    fn from_str(text: &str) -> Result<Self, CapabilityError> {
        let number = |part: &str| {
            let plain =
                (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| part.parse().ok()).flatten()
        };
        let (major, minor) = text.split_once('.').ok_or(CapabilityError)?;
        Ok(Self {
            major: number(major).ok_or(CapabilityError)?,
            minor: number(minor).ok_or(CapabilityError)?,
        })
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl From<Capability> for String {
    fn from(capability: Capability) -> Self {
        capability.to_string()
    }
}

impl TryFrom<String> for Capability {
    type Error = CapabilityError;

    fn try_from(text: String) -> Result<Self, CapabilityError> {
        text.parse()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct CudaFile {
    schema: u32,
    toolkits: Vec<Toolkit>,
    #[serde(default)]
    sources: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct GpusFile {
    schema: u32,
    #[serde(default)]
    architectures: Vec<Architecture>,
    #[serde(default)]
    support: Vec<Support>,
    #[serde(default)]
    broken: Vec<Broken>,
    #[serde(default)]
    sources: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct FrameworksFile {
    schema: u32,
    frameworks: Vec<Framework>,
    #[serde(default)]
    sources: BTreeMap<String, String>,
}

impl Versioned for CudaFile {
    fn schema(&self) -> u32 {
        self.schema
    }
}

impl Versioned for GpusFile {
    fn schema(&self) -> u32 {
        self.schema
    }
}

impl Versioned for FrameworksFile {
    fn schema(&self) -> u32 {
        self.schema
    }
}

impl Facts {
    /// The built-in facts with those of `newer` (texts from the store) laid over them: an entry about the same thing is
    /// replaced, others are added.
    ///
    /// # Errors
    ///
    /// When one of `newer` can't be understood.
    pub fn load(newer: Texts) -> Result<Self, Error> {
        let mut facts = Self::parse(BUILT_IN)?;
        let newer = Self::parse(newer)?;
        lay_over(&mut facts.toolkits, newer.toolkits, |a, b| {
            a.version == b.version
        });
        lay_over(&mut facts.architectures, newer.architectures, |a, b| {
            a.capability == b.capability
        });
        lay_over(&mut facts.support, newer.support, |a, b| {
            a.cudnn == b.cudnn && a.variants == b.variants
        });
        lay_over(&mut facts.broken, newer.broken, |a, b| {
            a.version == b.version
        });
        lay_over(&mut facts.frameworks, newer.frameworks, |a, b| {
            (&a.name, &a.versions, a.platform, &a.package)
                == (&b.name, &b.versions, b.platform, &b.package)
        });
        facts.sources.extend(newer.sources);
        facts.sort();
        Ok(facts)
    }

    /// Reads the texts of the files that are there.
    ///
    /// # Errors
    ///
    /// When one is not valid or of a newer schema.
    pub fn parse(texts: Texts) -> Result<Self, Error> {
        let mut facts = Self::default();
        if let Some(text) = texts.cuda {
            let file: CudaFile = parse(CUDA, text)?;
            facts.toolkits = file.toolkits;
            facts.sources.extend(file.sources);
        }
        if let Some(text) = texts.gpus {
            let file: GpusFile = parse(GPUS, text)?;
            facts.architectures = file.architectures;
            facts.support = file.support;
            facts.broken = file.broken;
            facts.sources.extend(file.sources);
        }
        if let Some(text) = texts.frameworks {
            let file: FrameworksFile = parse(FRAMEWORKS, text)?;
            facts.frameworks = file.frameworks;
            facts.sources.extend(file.sources);
        }
        facts.sort();
        Ok(facts)
    }

    /// The text of one of the files; each holds those sources that its entries name.
    pub fn render(&self, name: &str) -> String {
        let (head, body, named): (_, _, Vec<&str>) = match name {
            CUDA => (
                "# CUDA toolkits, newest first, and the drivers they need.",
                render_rows("toolkits", &self.toolkits),
                self.toolkits.iter().map(|row| row.fact.as_str()).collect(),
            ),
            GPUS => (
                "# GPU architectures, and which cuDNN has kernels for which.",
                format!(
                    "{}\n{}\n{}",
                    render_rows("architectures", &self.architectures),
                    render_rows("support", &self.support),
                    render_rows("broken", &self.broken)
                ),
                self.architectures
                    .iter()
                    .map(|row| row.fact.as_str())
                    .chain(self.support.iter().map(|row| row.fact.as_str()))
                    .chain(self.broken.iter().map(|row| row.fact.as_str()))
                    .collect(),
            ),
            FRAMEWORKS => (
                "# Framework releases and the cuDNN each was built with.",
                render_rows("frameworks", &self.frameworks),
                self.frameworks
                    .iter()
                    .map(|row| row.fact.as_str())
                    .collect(),
            ),
            other => unreachable!("`{other}` is not one of the files of facts"),
        };
        let sources: BTreeMap<String, String> = named
            .into_iter()
            .flat_map(|fact| fact.split(", "))
            .filter_map(|key| Some((key.to_owned(), self.sources.get(key)?.clone())))
            .collect();
        format!(
            "{head} Written by `cudnnm manifest generate`; don't edit.\nschema = {SCHEMA}\n\n{body}\n{}",
            render_sources(&sources)
        )
    }

    /// The `fact` of an entry in words: its keys looked up, what is no key as it is.
    pub fn source(&self, fact: &str) -> String {
        super::source_in_words(&self.sources, fact)
    }

    /// The kernels of a build, by what is documented for its release and variant.
    pub fn support_for(&self, build: &BuildId) -> Option<&Support> {
        self.support.iter().find(|support| {
            support.covers(build.version)
                && build.variant.is_none_or(|variant| {
                    support
                        .variants
                        .iter()
                        .any(|about| about.agrees_with(variant))
                })
        })
    }

    /// The architecture of a compute capability.
    pub fn architecture(&self, capability: Capability) -> Option<&Architecture> {
        self.architectures
            .iter()
            .find(|architecture| architecture.capability == capability)
    }

    fn sort(&mut self) {
        self.toolkits.sort_by(|a, b| b.version.cmp(&a.version));
        self.architectures
            .sort_by_key(|architecture| architecture.capability);
        self.support
            .sort_by(|a, b| (&b.cudnn, &b.variants).cmp(&(&a.cudnn, &a.variants)));
        self.broken.sort_by_key(|broken| broken.version);
        self.frameworks.sort_by(|a, b| {
            (&a.name, a.platform)
                .cmp(&(&b.name, b.platform))
                .then_with(|| {
                    (&b.versions.from, &b.versions.to).cmp(&(&a.versions.from, &a.versions.to))
                })
                .then_with(|| b.cuda.cmp(&a.cuda))
                .then_with(|| a.package.cmp(&b.package))
        });
    }
}

impl Support {
    /// Whether it is about this release.
    pub fn covers(&self, version: CudnnVersion) -> bool {
        let numbers = [version.major, version.minor, version.patch].map(u64::from);
        let [first, last] = &self.cudnn;
        numbers.as_slice() >= first.numbers()
            && (numbers.as_slice() <= last.numbers() || numbers.starts_with(last.numbers()))
    }
}

impl Toolkit {
    /// The oldest driver that runs programs of this CUDA major.
    pub fn minimum(&self, platform: Platform) -> &Driver {
        if platform.is_windows() {
            &self.minimum_windows
        } else {
            &self.minimum_linux
        }
    }

    /// The driver it was released with, where NVIDIA names one.
    pub fn driver(&self, platform: Platform) -> Option<&Driver> {
        if platform.is_windows() {
            self.windows.as_ref()
        } else {
            Some(&self.linux)
        }
    }

    /// `12.9` of `12.9.1`.
    pub fn cuda(&self) -> CudaVersion {
        let part = |index: usize| {
            let number = self.version.numbers().get(index).copied().unwrap_or(0);
            u32::try_from(number).unwrap_or(u32::MAX)
        };
        CudaVersion::new(part(0), part(1))
    }
}

fn lay_over<T>(known: &mut Vec<T>, newer: Vec<T>, same: impl Fn(&T, &T) -> bool) {
    for entry in newer {
        known.retain(|old| !same(old, &entry));
        known.push(entry);
    }
}
