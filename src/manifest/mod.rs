//! What is published and what fits what: `manifests/*.toml`, embedded, each entry with the source of the fact.
//!
//! [`Releases`] is `releases.toml`, every published file; [`Facts`] is `cuda.toml`, `gpus.toml` and `frameworks.toml`.
//! Both are the built-in ones with newer files from the store's `manifests` folder laid over them: a newer file adds and
//! corrects, it never takes a known digest away. This room is given texts and gives texts; who reads and writes files is
//! `commands/published`.
//!
//! The built-in files are written by [`generate`] from raw facts, not by hand.

use serde::{Deserialize, Serialize};

use crate::error::{Exit, Failure};
use crate::selection::{Candidate, shell_word};
use crate::version::{BuildId, CudaVersion, CudnnVersion, Flavour, Platform};

mod check;
mod facts;
pub mod generate;
pub mod pypi;
pub mod redistrib;
mod releases;
pub mod update;

pub use check::{Summary, check_facts, check_releases};
pub use facts::{
    Architecture, Broken, Bundled, Capability, CapabilityError, Confidence, Driver, DriverError,
    Facts, Framework, Support, Texts, Toolkit, Versions,
};
pub use releases::{Choice, Releases};

/// The schema this program reads and writes.
pub const SCHEMA: u32 = 1;

/// The files, as they are called in the repository and in the store.
pub const FILES: [&str; 4] = [RELEASES, CUDA, GPUS, FRAMEWORKS];
/// Every published file.
pub const RELEASES: &str = "releases.toml";
/// CUDA toolkits and the drivers they need.
pub const CUDA: &str = "cuda.toml";
/// GPUs, and which cuDNN has kernels for which.
pub const GPUS: &str = "gpus.toml";
/// Frameworks and the cuDNN each was built with.
pub const FRAMEWORKS: &str = "frameworks.toml";

/// A manifest that can't be used, or a wish it does not meet.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not the TOML it should be.
    #[error("the manifest `{name}` is not valid")]
    Malformed {
        /// Which.
        name: String,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// Written by a newer cudnnm.
    #[error("the manifest `{name}` has schema {found}; this cudnnm knows {SCHEMA}")]
    NewerSchema {
        /// Which.
        name: String,
        /// Its number.
        found: i64,
    },
    /// Well-formed, but its entries contradict each other or themselves.
    #[error("the manifest `{name}` contradicts itself: {problem}")]
    Contradiction {
        /// Which.
        name: String,
        /// What.
        problem: String,
    },
    /// A raw fact that can't be understood.
    #[error("`{name}`, line {line}: {problem}")]
    BadFact {
        /// The input file.
        name: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// NVIDIA's JSON that is none, or not of the shape we know.
    #[error("NVIDIA's manifest for cuDNN {label} can't be understood: {problem}")]
    BadRedistrib {
        /// `9.28.1`
        label: String,
        /// What is wrong with it.
        problem: String,
    },
    /// No such version at all.
    #[error("cuDNN {spec} is not published, as far as the manifest knows")]
    UnknownVersion {
        /// As asked.
        spec: String,
        /// The nearest ones that are, newest first.
        nearest: Vec<String>,
    },
    /// The version exists, but not like this.
    #[error("cuDNN {version} is not published {lacking}")]
    NotLikeThis {
        /// Three parts, like `8.2.1`.
        version: String,
        /// `for CUDA 12`, `for linux-sbsa`, `as jit`, `by pypi`.
        lacking: String,
        /// What it has instead, as specs.
        has: Vec<String>,
    },
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::UnknownVersion { .. } | Self::NotLikeThis { .. } => Exit::NotPublished,
            Self::Malformed { .. }
            | Self::NewerSchema { .. }
            | Self::Contradiction { .. }
            | Self::BadFact { .. }
            | Self::BadRedistrib { .. } => Exit::Failed,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::UnknownVersion { nearest, .. } => {
                let mut hints = Vec::new();
                if !nearest.is_empty() {
                    hints.push(format!("nearest published: {}", nearest.join(", ")));
                }
                hints.push("newer than this cudnnm? look for it: cudnnm manifest update".to_owned());
                hints
            }
            Self::NotLikeThis { version, has, .. } => {
                let mut hints = Vec::new();
                if !has.is_empty() {
                    hints.push(format!("there is {}", has.join(", ")));
                }
                hints.push(format!(
                    "all of its builds: cudnnm list-remote {} --all-platforms",
                    shell_word(version)
                ));
                hints
            }
            Self::NewerSchema { .. } => vec![
                "a newer cudnnm wrote it; update this one, or delete the file to use the built-in one"
                    .to_owned(),
            ],
            Self::Malformed { .. } | Self::Contradiction { .. } => vec![
                "delete the file from the store's `manifests` folder to use the built-in one"
                    .to_owned(),
            ],
            Self::BadFact { .. } | Self::BadRedistrib { .. } => Vec::new(),
        }
    }
}

/// One file that holds a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Release {
    /// cuDNN's version.
    pub version: CudnnVersion,
    /// The CUDA it was built for.
    pub variant: CudaVersion,
    /// Full or jit.
    pub flavour: Flavour,
    /// Where it runs.
    pub platform: Platform,
    /// Who serves it.
    pub origin: Origin,
    /// The file's name.
    pub file: String,
    /// SHA-256 digests that this file has had, newest first. NVIDIA has re-released files under the same name.
    pub digests: Vec<Digest>,
    /// In bytes.
    pub size: Option<u64>,
    /// The toolkits that NVIDIA documents for it, both ends included.
    pub cuda_range: Option<[CudaVersion; 2]>,
    /// Where these facts come from: keys of the manifest's `sources`, with `, ` between.
    pub fact: Option<String>,
}

impl Release {
    /// The build that this file holds.
    pub fn build(&self) -> BuildId {
        BuildId {
            version: self.version,
            variant: Some(self.variant),
            flavour: self.flavour,
            platform: self.platform,
        }
    }

    /// What tells two files apart: NVIDIA's 7.0 and 7.1 archives share their names, only the folder differs.
    pub fn address(&self) -> (&str, &str) {
        match &self.origin {
            Origin::Nvidia { path } => ("nvidia", path),
            Origin::Pypi { .. } => ("pypi", &self.file),
        }
    }
}

impl Candidate for Release {
    fn build(&self) -> BuildId {
        self.build()
    }

    fn toolkits(&self) -> Option<[CudaVersion; 2]> {
        self.cuda_range.or_else(|| self.build().toolkits())
    }
}

/// Who serves a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// NVIDIA's download server; the path below the base address, without a leading slash.
    Nvidia {
        /// `compute/redist/cudnn/v8.2.1/cudnn-….zip`
        path: String,
    },
    /// The Python index.
    Pypi {
        /// `nvidia-cudnn-cu12`
        project: String,
    },
}

impl Origin {
    /// The name of the source, as the setting `sources` and the flag `--source` have it.
    pub fn source(&self) -> &'static str {
        match self {
            Self::Nvidia { .. } => "nvidia",
            Self::Pypi { .. } => "pypi",
        }
    }
}

/// One known digest of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digest {
    /// SHA-256, lower-case hexadecimal.
    pub sha256: String,
    /// Since when, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// Whether `text` is a SHA-256 in lower-case hexadecimal.
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A file with a `schema` in it.
trait Versioned: serde::de::DeserializeOwned {
    fn schema(&self) -> u32;
}

/// Reads one file. A newer file's unknown keys must say "newer", not "unknown key", so on failure its schema is looked at.
fn parse<T: Versioned>(name: &str, text: &str) -> Result<T, Error> {
    #[derive(Deserialize)]
    struct Head {
        schema: i64,
    }
    let newer = |found: i64| Error::NewerSchema {
        name: name.to_owned(),
        found,
    };
    match toml::from_str::<T>(text) {
        Ok(file) if file.schema() > SCHEMA => Err(newer(i64::from(file.schema()))),
        Ok(file) => Ok(file),
        Err(source) => match toml::from_str::<Head>(text) {
            Ok(head) if head.schema > i64::from(SCHEMA) => Err(newer(head.schema)),
            _ => Err(Error::Malformed {
                name: name.to_owned(),
                source: Box::new(source),
            }),
        },
    }
}

/// One entry a line, so that a change of one fact is a change of one line.
fn render_rows<T: Serialize>(key: &str, rows: &[T]) -> String {
    let mut text = format!("{key} = [\n");
    for row in rows {
        let mut line = String::new();
        row.serialize(toml::ser::ValueSerializer::new(&mut line))
            .expect("manifest rows are plain strings, numbers and lists");
        text.push_str("  ");
        text.push_str(&line);
        text.push_str(",\n");
    }
    text.push_str("]\n");
    text
}

fn render_sources(sources: &std::collections::BTreeMap<String, String>) -> String {
    let mut text = String::from("[sources]\n");
    for (key, sentence) in sources {
        let sentence = toml::Value::String(sentence.clone());
        text.push_str(&format!("{key} = {sentence}\n"));
    }
    text
}

/// Keys of a `sources` table, with `, ` between, in words; what is no key stays as it is.
fn source_in_words(sources: &std::collections::BTreeMap<String, String>, fact: &str) -> String {
    let pieces: Vec<&str> = fact.split(", ").collect();
    if pieces.iter().all(|piece| sources.contains_key(*piece)) {
        let words: Vec<&str> = pieces
            .iter()
            .map(|piece| sources[*piece].as_str())
            .collect();
        words.join("; ")
    } else {
        fact.to_owned()
    }
}
