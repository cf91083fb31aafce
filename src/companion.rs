//! What a cuDNN needs beside itself, and what those things are called.
//!
//! cuDNN opens cuBLAS, cuBLASLt and (for engines compiled at run time) NVRTC of its own CUDA major by bare name; 8.9.7
//! aborts in `cudnnCreate` without cuBLASLt. Some Windows builds of 8.3 to 9.1 want `zlibwapi.dll` as well. A companion
//! lives in the store as `cublas-12.1.3.1-cuda12`, once for all builds of that CUDA major.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::version::Platform;

/// A kind of companion that the Python index has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompanionKind {
    /// cuBLAS and cuBLASLt, which come in one package.
    Cublas,
    /// The run-time compiler and its builtins.
    Nvrtc,
}

impl CompanionKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Cublas, Self::Nvrtc];

    /// The name in folder names and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cublas => "cublas",
            Self::Nvrtc => "nvrtc",
        }
    }

    /// The Python project that carries it for a CUDA major. From CUDA 13 on the projects have no suffix.
    pub fn pypi_project(self, cuda_major: u32) -> String {
        let stem = match self {
            Self::Cublas => "nvidia-cublas",
            Self::Nvrtc => "nvidia-cuda-nvrtc",
        };
        if cuda_major >= 13 {
            stem.to_owned()
        } else {
            format!("{stem}-cu{cuda_major}")
        }
    }

    /// The file names by which cuDNN opens it, the first being the telling one.
    ///
    /// NVRTC's Windows name counts by CUDA ABI: `nvrtc64_112_0.dll` for all of 11.2 and up, `nvrtc64_120_0.dll` for 12
    /// (read out of the DLLs of cuDNN 8.9 and 9.10).
    pub fn libraries(self, cuda_major: u32, platform: Platform) -> Vec<String> {
        match (self, platform.is_windows()) {
            (Self::Cublas, true) => vec![
                format!("cublasLt64_{cuda_major}.dll"),
                format!("cublas64_{cuda_major}.dll"),
            ],
            (Self::Cublas, false) => vec![
                format!("libcublasLt.so.{cuda_major}"),
                format!("libcublas.so.{cuda_major}"),
            ],
            (Self::Nvrtc, true) => {
                let abi = if cuda_major == 11 {
                    "112".to_owned()
                } else {
                    format!("{cuda_major}0")
                };
                vec![format!("nvrtc64_{abi}_0.dll")]
            }
            (Self::Nvrtc, false) => {
                let abi = if cuda_major == 11 {
                    "11.2".to_owned()
                } else {
                    cuda_major.to_string()
                };
                vec![format!("libnvrtc.so.{abi}")]
            }
        }
    }
}

impl fmt::Display for CompanionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A companion's own version: dotted numbers of any length, compared number by number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Dotted(Vec<u64>);

impl Dotted {
    /// Reads `12.1.3.1`; `None` for anything but dotted numbers.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Option<Vec<u64>> = text
            .split('.')
            .map(|part| {
                let plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
                plain.then(|| part.parse().ok()).flatten()
            })
            .collect();
        parts.map(Self)
    }

    /// The numbers.
    pub fn numbers(&self) -> &[u64] {
        &self.0
    }
}

impl Ord for Dotted {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Dotted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Dotted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

impl From<Dotted> for String {
    fn from(version: Dotted) -> Self {
        version.to_string()
    }
}

impl TryFrom<String> for Dotted {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is not a dotted version"))
    }
}

/// One companion that lies, or could lie, in the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CompanionId {
    /// Which library.
    pub kind: CompanionKind,
    /// Its own version.
    pub version: Dotted,
    /// The CUDA major it belongs to.
    pub cuda_major: u32,
    /// Where it runs.
    pub platform: Platform,
}

impl CompanionId {
    /// Its folder in the store: `cublas-12.1.3.1-cuda12`, with the platform's name behind it when that is not ours.
    pub fn folder(&self) -> String {
        let name = format!("{}-{}-cuda{}", self.kind, self.version, self.cuda_major);
        if self.platform == Platform::host() {
            name
        } else {
            format!("{name}-{}", self.platform)
        }
    }

    /// Reads a folder name back; `None` if it is not a companion's.
    pub fn from_folder(name: &str) -> Option<Self> {
        let kind = CompanionKind::ALL
            .into_iter()
            .find(|kind| name.starts_with(kind.name()))?;
        let mut rest = name.strip_prefix(kind.name())?.strip_prefix('-')?;
        let mut platform = Platform::host();
        if let Some((head, other)) = Platform::ALL.into_iter().find_map(|platform| {
            Some((
                rest.strip_suffix(platform.name())?.strip_suffix('-')?,
                platform,
            ))
        }) {
            (rest, platform) = (head, other);
        }
        let (version, cuda) = rest.split_once("-cuda")?;
        let id = Self {
            kind,
            version: Dotted::parse(version)?,
            cuda_major: cuda.parse().ok()?,
            platform,
        };
        (id.folder() == name).then_some(id)
    }
}

impl fmt::Display for CompanionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}+cuda{}", self.kind, self.version, self.cuda_major)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_names_read_back() {
        for name in [
            "cublas-12.1.3.1-cuda12",
            "nvrtc-12.1.105-cuda12",
            "cublas-13.0.2.14-cuda13-windows-arm64",
        ] {
            assert_eq!(
                CompanionId::from_folder(name)
                    .map(|id| id.folder())
                    .as_deref(),
                Some(name)
            );
        }
        for name in [
            "cublas-12",
            "cublas--cuda12",
            "cudnn-8.2.1",
            "cublas-12.1-cuda",
            "cublaslt-1-cuda12",
        ] {
            assert_eq!(CompanionId::from_folder(name), None, "{name}");
        }
    }

    #[test]
    fn versions_order_by_number() {
        let version = |text| Dotted::parse(text).unwrap();
        assert!(version("12.10.1") > version("12.9.2"));
        assert!(version("12.1.3.1") > version("12.1.3"));
        assert_eq!(Dotted::parse("12.x"), None);
    }
}
