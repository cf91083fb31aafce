//! What is published and what fits what: `manifests/*.toml`, embedded, each entry with the source of the fact.

use serde::{Deserialize, Serialize};

use crate::error::{Exit, Failure};
use crate::version::{BuildId, CudaVersion, CudnnVersion, Flavour, Platform};

/// A manifest that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not the TOML it should be.
    #[error("the manifest {name} is not valid")]
    Malformed {
        /// Which.
        name: String,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        Exit::Failed
    }
}

/// One file that holds a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Release {
    /// cuDNN's version.
    pub version: CudnnVersion,
    /// The CUDA it was built for.
    pub variant: CudaVersion,
    /// Full or jit.
    #[serde(default = "full")]
    pub flavour: Flavour,
    /// Where it runs.
    pub platform: Platform,
    /// Who serves it.
    pub origin: Origin,
    /// The file's name.
    pub file: String,
    /// SHA-256 digests that this file has had, newest first. NVIDIA has re-released files under the same name.
    #[serde(default)]
    pub digests: Vec<Digest>,
    /// In bytes.
    pub size: Option<u64>,
    /// The toolkits that NVIDIA documents for it, both ends included.
    pub cuda_range: Option<[CudaVersion; 2]>,
    /// Where these facts come from.
    pub fact: Option<String>,
}

fn full() -> Flavour {
    Flavour::Full
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
}

/// Who serves a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// One known digest of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digest {
    /// SHA-256, lower-case hexadecimal.
    pub sha256: String,
    /// Since when, where known.
    pub date: Option<String>,
}
