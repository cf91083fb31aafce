//! What fits what: pure answers from [`crate::manifest::Facts`], each with its reason and the source of the fact.
//!
//! [`judge`] says whether a build runs on a machine, [`for_framework`] which build a framework wants, [`answer`] completes
//! any question of driver, GPU, CUDA, cuDNN and framework, [`requirements::read`] looks at a whole list of packages.

use serde::Serialize;

use crate::error::{Exit, Failure};
use crate::manifest::{Capability, Driver, Facts, Support, Toolkit};
use crate::version::{BuildId, CudaVersion, Platform};

mod framework;
mod gpu;
mod question;
pub mod requirements;

pub use framework::{Named, Recommendation, for_framework, known_frameworks, packages};
pub use gpu::{Gpu, gpu};
pub use question::{Answer, Level, Line, Question, answer};

/// A question that has no answer, or one that is no.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not `NAME` or `NAME==VERSION`.
    #[error("`{text}` does not name a framework")]
    BadFramework {
        /// As typed.
        text: String,
    },
    /// A framework we have no facts about.
    #[error("nothing is known about the framework `{name}`")]
    UnknownFramework {
        /// As typed.
        name: String,
        /// Those we know.
        known: Vec<String>,
    },
    /// A release of it that we have no facts about.
    #[error("nothing is known about {name} {version} for {platform}")]
    UnknownRelease {
        /// The framework.
        name: String,
        /// The release.
        version: String,
        /// For what.
        platform: Platform,
        /// The releases we know.
        known: Vec<String>,
    },
    /// The release has no GPU support there.
    #[error("{name} {version} has no GPU support on {platform}")]
    NoGpuSupport {
        /// The framework.
        name: String,
        /// The release.
        version: String,
        /// For what.
        platform: Platform,
        /// Why, and the last one that has.
        advice: Vec<String>,
    },
    /// The release does not use cuDNN.
    #[error("{name} {version} does not use cuDNN")]
    NoCudnn {
        /// The framework.
        name: String,
        /// The release.
        version: String,
        /// What it does instead.
        note: Option<String>,
    },
    /// A GPU we don't know.
    #[error("nothing is known about the GPU `{name}`")]
    UnknownGpu {
        /// As typed.
        name: String,
    },
    /// A CUDA that NVIDIA never had.
    #[error("nothing is known about CUDA {version}")]
    UnknownCuda {
        /// As typed.
        version: CudaVersion,
        /// The newest we know.
        newest: String,
    },
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::BadFramework { .. } | Self::UnknownGpu { .. } => Exit::Usage,
            Self::UnknownFramework { .. }
            | Self::UnknownRelease { .. }
            | Self::UnknownCuda { .. } => Exit::NotPublished,
            Self::NoGpuSupport { .. } | Self::NoCudnn { .. } => Exit::Incompatible,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::BadFramework { .. } => vec!["write it like torch==2.4.1".to_owned()],
            Self::UnknownFramework { known, .. } => vec![format!("known are {}", known.join(", "))],
            Self::UnknownRelease { known, .. } => vec![format!("known are {}", known.join(", "))],
            Self::NoGpuSupport { advice, .. } => advice.clone(),
            Self::NoCudnn { note, .. } => note.iter().cloned().collect(),
            Self::UnknownGpu { .. } => vec![
                "give its compute capability instead, like 8.6; `nvidia-smi --query-gpu=compute_cap --format=csv` prints it"
                    .to_owned(),
            ],
            Self::UnknownCuda { newest, .. } => vec![format!("the newest known is {newest}")],
        }
    }
}

/// A sentence and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// For a person.
    pub text: String,
    /// The source of the fact.
    pub source: String,
}

/// Whether a build runs on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// Nothing speaks against it.
    Good,
    /// It will probably run, but.
    Warn(Reason),
    /// It can't run.
    Impossible(Reason),
}

/// What is known about a machine. What is not known speaks against nothing.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// The driver's version.
    pub driver: Option<Driver>,
    /// The newest CUDA of the driver, where only that is known.
    pub driver_cuda: Option<CudaVersion>,
    /// The GPUs.
    pub gpus: Vec<Gpu>,
}

/// Whether `build` runs on `machine`: its driver, its GPUs, and what is wrong with the release itself.
///
/// With several GPUs it is impossible only if it is so on all of them.
pub fn judge(build: &BuildId, machine: &Machine, facts: &Facts) -> Fit {
    let driver = driver_fit(build, machine, facts);
    if matches!(driver, Fit::Impossible(_)) {
        return driver;
    }
    let mut refused = Vec::new();
    let mut doubtful = None;
    for gpu in &machine.gpus {
        match gpu_fit(build, gpu, facts) {
            Fit::Good => {}
            Fit::Warn(reason) => doubtful = doubtful.or(Some(reason)),
            Fit::Impossible(reason) => refused.push(reason),
        }
    }
    if !refused.is_empty() && refused.len() == machine.gpus.len() {
        return Fit::Impossible(refused.swap_remove(0));
    }
    if let Some(reason) = refused.into_iter().next().or(doubtful) {
        return Fit::Warn(reason);
    }
    let broken = facts
        .broken
        .iter()
        .find(|broken| broken.version.same_release(build.version));
    match broken {
        Some(broken) => Fit::Warn(Reason {
            text: format!(
                "cuDNN {} is faulty: {}",
                broken.version.label(),
                broken.reason
            ),
            source: broken.fact.clone(),
        }),
        None => Fit::Good,
    }
}

fn driver_fit(build: &BuildId, machine: &Machine, facts: &Facts) -> Fit {
    let Some(variant) = build.variant else {
        return Fit::Good;
    };
    let Some(toolkit) = toolkit_of_variant(variant, facts) else {
        return Fit::Good;
    };
    let minimum = toolkit.minimum(build.platform);
    if let Some(driver) = &machine.driver {
        if driver < minimum {
            return Fit::Impossible(Reason {
                text: format!("the driver is {driver}; CUDA {variant} needs {minimum} or newer"),
                source: facts.source(&toolkit.fact),
            });
        }
    } else if let Some(newest) = machine.driver_cuda {
        let runs = if toolkit.minor_compatible {
            newest.major >= variant.major
        } else {
            newest >= toolkit.cuda()
        };
        if !runs {
            return Fit::Impossible(Reason {
                text: format!(
                    "the driver runs CUDA up to {newest}, the build is for {variant}; it needs driver {minimum} or newer"
                ),
                source: facts.source(&toolkit.fact),
            });
        }
    }
    Fit::Good
}

/// The toolkit whose driver a build of this variant needs. A variant that names only a major was built with its last
/// minor (`cuda10` is 10.2); from CUDA 11 on the minimum is one for all minors.
fn toolkit_of_variant(variant: CudaVersion, facts: &Facts) -> Option<&Toolkit> {
    let exact = facts
        .toolkits
        .iter()
        .filter(|toolkit| toolkit.cuda() == variant)
        // Updates of one minor differ; the oldest runs with the oldest driver.
        .min_by(|a, b| a.version.cmp(&b.version));
    exact.or_else(|| {
        facts
            .toolkits
            .iter()
            .find(|toolkit| toolkit.cuda().major == variant.major)
    })
}

fn gpu_fit(build: &BuildId, gpu: &Gpu, facts: &Facts) -> Fit {
    let capability = gpu.capability;
    let Some(support) = facts.support_for(build) else {
        return architecture_fit(build, gpu, facts);
    };
    let [low, high] = support.capability;
    let source = facts.source(&support.fact);
    if capability < low {
        return Fit::Impossible(Reason {
            text: format!(
                "{gpu} has compute capability {capability}; cuDNN {} for CUDA {} has kernels from {low} on",
                build.version.label(),
                variants(support)
            ),
            source,
        });
    }
    if capability > high {
        let family = format!(
            "{gpu} has compute capability {capability}; cuDNN {} for CUDA {} knows GPUs up to {high}",
            build.version.label(),
            variants(support)
        );
        if capability.major == high.major {
            return Fit::Warn(Reason {
                text: format!("{family}, whose code it runs"),
                source,
            });
        }
        return Fit::Impossible(Reason {
            text: family,
            source,
        });
    }
    let has_code = |kernel: &Capability| kernel.major == capability.major && *kernel <= capability;
    if !support.kernels.is_empty() && !support.kernels.iter().any(has_code) {
        return Fit::Warn(Reason {
            text: format!(
                "{gpu} has compute capability {capability}, for which no code was found in cuDNN {}",
                build.version.label()
            ),
            source,
        });
    }
    Fit::Good
}

/// For releases that no support matrix covers: the first and the last that know the architecture.
fn architecture_fit(build: &BuildId, gpu: &Gpu, facts: &Facts) -> Fit {
    let Some(architecture) = facts.architecture(gpu.capability) else {
        return Fit::Good;
    };
    let version = build.version;
    let numbers = [version.major, version.minor, version.patch].map(u64::from);
    let reason = |text: String| Reason {
        text,
        source: facts.source(&architecture.fact),
    };
    if let Some(first) = &architecture.first_cudnn
        && numbers.as_slice() < first.numbers()
    {
        return Fit::Impossible(reason(format!(
            "{gpu} ({}) is known to cuDNN {first} and newer",
            architecture.name
        )));
    }
    if let Some(variant) = build.variant
        && (variant.major < architecture.first_cuda.major
            || (variant.minor.is_some() && variant < architecture.first_cuda))
    {
        return Fit::Impossible(reason(format!(
            "{gpu} ({}) is known to CUDA {} and newer",
            architecture.name, architecture.first_cuda
        )));
    }
    if let Some(last) = &architecture.last_cudnn
        && numbers.as_slice() > last.numbers()
        && !numbers.starts_with(last.numbers())
    {
        return Fit::Impossible(reason(format!(
            "cuDNN {last} is the last for {gpu} ({})",
            architecture.name
        )));
    }
    Fit::Good
}

fn variants(support: &Support) -> String {
    let names: Vec<String> = support
        .variants
        .iter()
        .map(CudaVersion::to_string)
        .collect();
    names.join("/")
}

#[cfg(test)]
mod tests;
