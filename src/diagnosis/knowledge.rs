//! What fits what, as far as a diagnosis needs it.

use super::facts::{Facts, Package, System};
use crate::companion::Dotted;
use crate::version::{CudaVersion, CudnnVersion};

/// The cuDNN that a package loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Its major.
    pub major: u32,
    /// What it was built with.
    pub built: Option<CudnnVersion>,
    /// Whether it uses a copy of its own (inside the wheel or as a dependency with a fixed version).
    pub carries_own: bool,
}

const fn need(major: u32, minor: u32, patch: u32, carries_own: bool) -> Need {
    Need {
        major,
        built: Some(CudnnVersion::new(major, minor, patch)),
        carries_own,
    }
}

const fn only_major(major: u32, carries_own: bool) -> Need {
    Need {
        major,
        built: None,
        carries_own,
    }
}

/// What a package needs; `None` for one that has nothing to do with cuDNN (or no longer).
pub fn need_of(package: &Package) -> Option<Need> {
    let version = numbers(&package.version)?;
    let at = |numbers: &[u64]| version.as_slice() >= numbers;
    let local = package.local.as_deref().unwrap_or("");
    if local.starts_with("cpu") || local.starts_with("rocm") || local.starts_with("xpu") {
        return None;
    }
    Some(match package.name.as_str() {
        "ctranslate2" if at(&[4, 6, 3]) => return None,
        "ctranslate2" if at(&[4, 5]) => need(9, 1, 0, false),
        "ctranslate2" if at(&[3, 6]) => only_major(8, false),
        "torch" if at(&[2, 8]) => only_major(9, true),
        "torch" if at(&[2, 4]) => need(9, 1, 0, true),
        "torch" if at(&[2, 1]) => only_major(8, true),
        "torch" if at(&[1, 13]) => need(8, 5, 0, true),
        "torch" if at(&[1, 12]) && local == "cu113" => need(8, 3, 2, true),
        "torch" if at(&[1, 8]) => only_major(8, true),
        "torch" if at(&[1, 1]) => only_major(7, true),
        "tensorflow" | "tensorflow-gpu" | "tensorflow-intel" => tensorflow(&version)?,
        "onnxruntime-gpu" if at(&[1, 19]) => only_major(9, false),
        "onnxruntime-gpu" if at(&[1, 5]) => only_major(8, false),
        "onnxruntime-gpu" => only_major(7, false),
        "paddlepaddle-gpu" if at(&[3]) => only_major(9, false),
        "paddlepaddle-gpu" if at(&[2]) => only_major(8, false),
        "paddlepaddle-gpu" => only_major(7, false),
        name if name.starts_with("cupy-cuda") && at(&[14]) => return None,
        name if name.starts_with("cupy-cuda") && at(&[11]) => only_major(8, false),
        name if name.starts_with("jax-cuda") && name.ends_with("-plugin") && at(&[0, 6]) => {
            need(9, 8, 0, true)
        }
        name if name.starts_with("jax-cuda") && name.ends_with("-plugin") && at(&[0, 4, 30]) => {
            need(9, 1, 0, true)
        }
        _ => return None,
    })
}

fn tensorflow(version: &[u64]) -> Option<Need> {
    let steps: [(&[u64], Need); 11] = [
        (&[2, 18], need(9, 3, 0, false)),
        (&[2, 15], need(8, 9, 0, false)),
        (&[2, 14], need(8, 7, 0, false)),
        (&[2, 12], need(8, 6, 0, false)),
        (&[2, 5], need(8, 1, 0, false)),
        (&[2, 4], need(8, 0, 0, false)),
        (&[2, 1], need(7, 6, 0, false)),
        (&[1, 13], need(7, 4, 0, false)),
        (&[1, 5], need(7, 0, 0, false)),
        (&[1, 3], need(6, 0, 0, false)),
        (&[1, 0], need(5, 1, 0, false)),
    ];
    steps
        .iter()
        .find(|(from, _)| version >= *from)
        .map(|(_, need)| *need)
}

/// The cuDNN that an installed package *is*: pip's `nvidia-cudnn-cu12`, conda's `cudnn`.
pub fn provided(package: &Package) -> Option<CudnnVersion> {
    let is_cudnn = package.name.starts_with("nvidia-cudnn-cu")
        || matches!(package.name.as_str(), "cudnn" | "libcudnn" | "nvidia-cudnn");
    is_cudnn
        .then(|| super::read::version::cudnn(&package.version))
        .flatten()
}

/// The CUDA that packages bring or are built for, with the name of the package.
pub fn cuda_of(package: &Package) -> Option<CudaVersion> {
    let version = numbers(&package.version)?;
    let part = |position: usize| u32::try_from(*version.get(position)?).ok();
    if let Some(digits) = package
        .local
        .as_deref()
        .and_then(|local| local.strip_prefix("cu"))
        && digits.len() >= 2
        && digits.len() <= 3
        && digits.bytes().all(|byte| byte.is_ascii_digit())
    {
        let (major, minor) = digits.split_at(digits.len() - 1);
        return Some(CudaVersion::new(major.parse().ok()?, minor.parse().ok()?));
    }
    match package.name.as_str() {
        "cudatoolkit" | "cuda-version" | "pytorch-cuda" | "cuda-toolkit" | "cuda-cudart"
        | "cuda-runtime" => Some(CudaVersion::new(part(0)?, part(1)?)),
        name if name.starts_with("nvidia-cuda-runtime") => {
            Some(CudaVersion::new(part(0)?, part(1)?))
        }
        _ => None,
    }
}

/// The oldest driver for a CUDA: on the system where the two differ.
pub fn minimum_driver(cuda: CudaVersion, system: Option<System>) -> Option<Dotted> {
    let windows = system == Some(System::Windows);
    let minor = cuda.minor.unwrap_or(0);
    let text = match (cuda.major, minor) {
        (13.., _) => "580",
        (12, _) => {
            if windows {
                "527.41"
            } else {
                "525.60.13"
            }
        }
        (11, _) => {
            if windows {
                "452.39"
            } else {
                "450.80.02"
            }
        }
        (10, 2..) => {
            if windows {
                "441.22"
            } else {
                "440.33"
            }
        }
        (10, 1) => {
            if windows {
                "418.96"
            } else {
                "418.39"
            }
        }
        (10, _) => {
            if windows {
                "411.31"
            } else {
                "410.48"
            }
        }
        (9, 2..) => {
            if windows {
                "397.44"
            } else {
                "396.26"
            }
        }
        (9, 1) => {
            if windows {
                "391.29"
            } else {
                "390.46"
            }
        }
        (9, _) => {
            if windows {
                "385.54"
            } else {
                "384.81"
            }
        }
        (8, _) => {
            if windows {
                "369.30"
            } else {
                "367.48"
            }
        }
        (7, 5..) => {
            if windows {
                "353.66"
            } else {
                "352.31"
            }
        }
        _ => return None,
    };
    Dotted::parse(text)
}

/// The first cuDNN without kernels for a compute capability, and the last with them.
pub fn dropped(capability: u32, cudnn: CudnnVersion) -> Option<&'static str> {
    let three = (cudnn.major, cudnn.minor, cudnn.patch);
    if capability < 50 && three >= (8, 8, 0) {
        Some("8.7.0")
    } else if capability < 75 && three >= (9, 11, 0) {
        Some("9.10.2")
    } else {
        None
    }
}

/// The first cuDNN with kernels for a compute capability, where this one is older.
pub fn not_yet(capability: u32, cudnn: CudnnVersion) -> Option<&'static str> {
    let three = (cudnn.major, cudnn.minor, cudnn.patch);
    let steps = [
        (120, (9, 7, 0), "9.7.0"),
        (100, (9, 7, 0), "9.7.0"),
        (89, (8, 6, 0), "8.6.0"),
        (80, (8, 0, 0), "8.0.0"),
        (70, (7, 0, 0), "7.0.0"),
    ];
    steps
        .iter()
        .find(|(from, _, _)| capability >= *from)
        .filter(|(_, first, _)| three < *first)
        .map(|(_, _, text)| *text)
}

/// The compute capability of a GPU by its name, where the name is plain.
pub fn capability_of(name: &str) -> Option<u32> {
    let name = name.to_ascii_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let table: [(&[&str], u32); 22] = [
        (&["RTX 50", "RTX PRO"], 120),
        (&["B200", "B100", "GB200"], 100),
        (&["H100", "H200", "GH200", "H800", "H20"], 90),
        (
            &[
                "RTX 40",
                "L40",
                "L4",
                "RTX 6000 ADA",
                "RTX 5000 ADA",
                "RTX 4000 ADA",
            ],
            89,
        ),
        (&["A100", "A30", "A800"], 80),
        (&["RTX 30", "RTX A", "A40", "A10", "A16", "A2"], 86),
        (
            &[
                "RTX 20",
                "GTX 16",
                "T4",
                "QUADRO RTX",
                "TITAN RTX",
                "T1000",
                "T600",
                "T400",
            ],
            75,
        ),
        (&["V100", "TITAN V"], 70),
        (&["P100"], 60),
        (
            &[
                "GTX 10",
                "GT 10",
                "TITAN X (PASCAL)",
                "TITAN XP",
                "P40",
                "P4",
                "QUADRO P",
                "P620",
                "MX1",
                "MX2",
                "MX3",
            ],
            61,
        ),
        (
            &["GTX 9", "M40", "M60", "M4", "QUADRO M", "GTX TITAN X"],
            52,
        ),
        (&["GTX 75", "940M", "M10", "930M"], 50),
        (&["K80"], 37),
        (
            &["GTX 78", "K20", "K40", "GT 710", "GTX TITAN", "QUADRO K"],
            35,
        ),
        (&["GTX 68", "GTX 77", "K10"], 30),
        (&["ORIN"], 87),
        (&["XAVIER"], 72),
        (&["TX2"], 62),
        (&["TX1", "JETSON NANO"], 53),
        (&["TK1"], 32),
        (&["THOR"], 110),
        (&["GB10"], 121),
    ];
    table
        .iter()
        .find(|(words, _)| has(words))
        .map(|(_, capability)| *capability)
}

/// Whether a Windows build of that version opens zlibwapi.dll at run time: 8.3 to 9.1.
pub fn wants_zlib(version: CudnnVersion) -> bool {
    ((8, 3)..(9, 2)).contains(&(version.major, version.minor))
}

/// The cuDNN version that is at work here, by the best evidence there is.
pub fn cudnn_here(facts: &Facts) -> Option<CudnnVersion> {
    super::signs_with(facts, super::signs::Meaning::Tells)
        .find_map(|(_, sign)| sign.version("version"))
        .or_else(|| {
            facts
                .libraries
                .all()
                .iter()
                .filter(|library| library.name.is_cudnn)
                .find_map(super::order::version_of)
        })
        .or(facts.active.known().copied())
        .or_else(|| {
            facts
                .headers
                .iter()
                .find_map(|header| header.version.known().copied())
        })
        .or_else(|| facts.packages.all().iter().find_map(provided))
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    // `2.0.0rc1`, `2.3.0.dev2024`: the numbers before the first letter.
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let dotted = Dotted::parse(text[..end].trim_end_matches('.'))?;
    Some(dotted.numbers().to_vec())
}
