//! What fits what, as far as a diagnosis needs it: questions to the manifests.

use super::facts::{Facts, Package, System};
use crate::companion::Dotted;
use crate::compat;
use crate::manifest::{self, Bundled, Capability};
use crate::version::{CudaVersion, CudnnVersion, Platform, Requirement, VersionSpec};

/// The cuDNN that a package loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Its major.
    pub major: u32,
    /// The oldest it runs with, where known.
    pub built: Option<CudnnVersion>,
    /// Whether it uses a copy of its own (inside the wheel or as a dependency with a fixed version).
    pub carries_own: bool,
}

/// Looks up what a package needs; `None` for one that has nothing to do with cuDNN (or no longer).
pub fn look_up(package: &Package, system: Option<System>, fits: &manifest::Facts) -> Option<Need> {
    let local = package.local.as_deref().unwrap_or("");
    if ["cpu", "rocm", "xpu"]
        .iter()
        .any(|tag| local.starts_with(tag))
    {
        return None;
    }
    let name = match package.name.as_str() {
        "tensorflow-intel" | "tensorflow-gpu" | "tensorflow" => "tensorflow",
        // The plug-in has the version of the jax it belongs to, and brings the wheel.
        "jax-cuda12-plugin" | "jax-cuda13-plugin" => "jax",
        "torch" | "ctranslate2" | "onnxruntime-gpu" | "paddlepaddle-gpu" => &package.name,
        name if name.starts_with("cupy-cuda") || name.starts_with("mxnet-cu") => name,
        _ => return None,
    };
    let end = package
        .version
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(package.version.len());
    let version = package.version[..end].trim_end_matches('.');
    let tag = if local.starts_with("cu") {
        format!("+{local}")
    } else {
        String::new()
    };
    let platforms = match system {
        Some(System::Windows) => vec![Platform::WindowsX64, Platform::LinuxX64],
        _ => vec![Platform::LinuxX64, Platform::WindowsX64],
    };
    let found = platforms.into_iter().find_map(|platform| {
        let tagged = format!("{name}=={version}{tag}");
        compat::for_framework(&tagged, platform, fits)
            .or_else(|_| compat::for_framework(&format!("{name}=={version}"), platform, fits))
            .ok()
    })?;
    let oldest = found
        .accepts
        .as_ref()
        .and_then(oldest)
        .or_else(|| oldest(&found.spec))?;
    let framework = found.framework;
    // TensorFlow's wheels of cuDNN come only with `[and-cuda]`; without, it loads what it finds.
    let carries_own = match framework.bundled {
        Bundled::InWheel | Bundled::Static => true,
        Bundled::PipDependency => name != "tensorflow" && name != "onnxruntime-gpu",
        Bundled::None | Bundled::ShimOnly | Bundled::Inherits | Bundled::NotUsed => false,
    };
    Some(Need {
        major: oldest.0,
        built: oldest.1.map(|minor| CudnnVersion::new(oldest.0, minor, 0)),
        carries_own,
    })
}

/// Major and, where given, minor of the oldest version that a spec means.
fn oldest(spec: &VersionSpec) -> Option<(u32, Option<u32>)> {
    match &spec.requirement {
        Requirement::Latest => None,
        Requirement::Prefix(numbers) => Some((*numbers.first()?, numbers.get(1).copied())),
        Requirement::Range(bounds) => bounds.iter().find_map(|bound| {
            use crate::version::Comparison::{Greater, GreaterOrEqual};
            matches!(bound.comparison, Greater | GreaterOrEqual)
                .then(|| {
                    let numbers = &bound.numbers;
                    Some((*numbers.first()?, numbers.get(1).copied()))
                })
                .flatten()
        }),
    }
}

/// What a package needs, as looked up when the facts were completed.
pub fn need_of(package: &Package) -> Option<Need> {
    package.need
}

/// The cuDNN that an installed package *is*: pip's `nvidia-cudnn-cu12`, conda's `cudnn`.
pub fn provided(package: &Package) -> Option<CudnnVersion> {
    let is_cudnn = package.name.starts_with("nvidia-cudnn-cu")
        || matches!(package.name.as_str(), "cudnn" | "libcudnn" | "nvidia-cudnn");
    is_cudnn
        .then(|| super::read::version::cudnn(&package.version))
        .flatten()
}

/// The CUDA that a package brings or is built for.
pub fn cuda_of(package: &Package) -> Option<CudaVersion> {
    let digits = package
        .local
        .as_deref()
        .and_then(|local| local.strip_prefix("cu"))
        .filter(|digits| {
            (2..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
        });
    if let Some(digits) = digits {
        let (major, minor) = digits.split_at(digits.len() - 1);
        return Some(CudaVersion::new(major.parse().ok()?, minor.parse().ok()?));
    }
    let is_cuda = matches!(
        package.name.as_str(),
        "cudatoolkit"
            | "cuda-version"
            | "pytorch-cuda"
            | "cuda-toolkit"
            | "cuda-cudart"
            | "cuda-runtime"
    ) || package.name.starts_with("nvidia-cuda-runtime");
    let version: CudaVersion = package.version.parse().ok()?;
    (is_cuda && version.minor.is_some()).then_some(version)
}

/// The oldest driver for a CUDA, on the system where the two differ.
pub fn minimum_driver(facts: &Facts, cuda: CudaVersion) -> Option<manifest::Driver> {
    let platform = if facts.is_windows() {
        Platform::WindowsX64
    } else {
        Platform::LinuxX64
    };
    let toolkits = &facts.fits.toolkits;
    let exact = toolkits.iter().rev().find(|toolkit| toolkit.cuda() == cuda);
    let toolkit = exact.or_else(|| {
        toolkits
            .iter()
            .rev()
            .find(|toolkit| toolkit.cuda().major == cuda.major)
    })?;
    Some(toolkit.minimum(platform).clone())
}

/// The last cuDNN with kernels for a compute capability, where this one is newer.
pub fn dropped(facts: &Facts, capability: u32, cudnn: CudnnVersion) -> Option<String> {
    let last = architecture(facts, capability)?.last_cudnn.clone()?;
    let numbers = numbers_of(cudnn);
    let newer = numbers.as_slice() > last.numbers() && !numbers.starts_with(last.numbers());
    newer.then(|| last.to_string())
}

/// The first cuDNN with kernels for a compute capability, where this one is older.
pub fn not_yet(facts: &Facts, capability: u32, cudnn: CudnnVersion) -> Option<String> {
    let first = architecture(facts, capability)?.first_cudnn.clone()?;
    (numbers_of(cudnn).as_slice() < first.numbers()).then(|| first.to_string())
}

fn numbers_of(version: CudnnVersion) -> [u64; 3] {
    [version.major, version.minor, version.patch].map(u64::from)
}

fn architecture(facts: &Facts, capability: u32) -> Option<&manifest::Architecture> {
    facts.fits.architecture(Capability {
        major: capability / 10,
        minor: capability % 10,
    })
}

/// The compute capability of a GPU by its name, where the name is plain.
pub fn capability_of(facts: &Facts, name: &str) -> Option<u32> {
    if let Ok(gpu) = compat::gpu(name, &facts.fits) {
        return Some(gpu.capability.major * 10 + gpu.capability.minor);
    }
    // Workstation cards are too many for a list; their letter tells the generation.
    let upper = name.to_ascii_uppercase();
    [("QUADRO K", 35), ("QUADRO M", 52), ("QUADRO P", 61)]
        .iter()
        .find(|(series, _)| upper.contains(series))
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

/// Dotted numbers at the beginning of a package's version.
pub fn numbers(text: &str) -> Option<Vec<u64>> {
    // `2.0.0rc1`, `2.3.0.dev2024`: the numbers before the first letter.
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let dotted = Dotted::parse(text[..end].trim_end_matches('.'))?;
    Some(dotted.numbers().to_vec())
}
