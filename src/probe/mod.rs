//! cuDNN itself, loaded and made to compute. Only ever in a child process: a cuDNN that misses a part of itself aborts.
//!
//! [`child`] is what runs there. It reads a [`Request`], and writes an [`Event`] a line to stdout, each before the next step
//! can end the process. [`Launch`] starts it, waits no longer than allowed, and keeps every event that arrived.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::manifest::Capability;
use crate::status;
use crate::version::{CudaVersion, CudnnVersion};

mod ahead;
mod child;
mod cudnn;
mod driver;
pub mod files;
mod graph;
mod legacy;
mod measure;
mod numbers;
mod reference;
mod watch;
mod workload;

pub use child::child;
pub use graph::ROUNDS_INPUTS;
pub use measure::{Candidate, Effort, Measured, Outcome};
pub use numbers::{Precision, fresh_seed};
pub use watch::{Ended, Ending, Heard, Launch, run_to_end};
pub use workload::{Api, Convolution, Direction, Layout, Shape, Unit};

/// What the child shall do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Request {
    /// The main library's name, as a program would ask the loader for it.
    pub library: String,
    /// Its parts' names, to be opened as cuDNN itself would; only for looking where they come from.
    #[serde(default)]
    pub parts: Vec<String>,
    /// Names of parts that this build lacks; found elsewhere, they would come from another cuDNN.
    #[serde(default)]
    pub strangers: Vec<String>,
    /// What to compute; absent to load only.
    pub compute: Option<Compute>,
}

/// The part of a request that needs a GPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Compute {
    /// In this order.
    pub units: Vec<Unit>,
    /// Whether the heuristics may be asked (a `jit` build has none).
    pub heuristics: bool,
    /// Whether to measure what the card can do.
    pub ceilings: bool,
    /// Computed in the place of a unit for which nothing is offered.
    pub stand_in: Option<Shape>,
    /// Lowest and highest compute capability that this cuDNN is made for, where that is known and shall count.
    pub supported: Option<[Capability; 2]>,
    /// Of the operands.
    pub seed: u64,
    /// How thoroughly.
    pub effort: Effort,
}

/// What the child tells, one JSON object a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// What is done next.
    Stage {
        /// In words.
        what: String,
    },
    /// The driver answered.
    Driver {
        /// The newest CUDA it runs.
        cuda: CudaVersion,
    },
    /// There is a GPU.
    Gpu(GpuFacts),
    /// The main library is loaded.
    Library {
        /// As it says itself.
        version: CudnnVersion,
        /// What `cudnnGetVersion` returned.
        encoded: u64,
        /// The CUDA runtime in it.
        cudart: CudaVersion,
    },
    /// The libraries in the process.
    Files {
        /// Full paths.
        files: Vec<PathBuf>,
    },
    /// A part was opened.
    Part {
        /// Which.
        name: String,
        /// As it says itself; some parts say nothing.
        version: Option<CudnnVersion>,
    },
    /// A part that the build lacks was found elsewhere.
    Stranger {
        /// Which.
        name: String,
        /// As it says itself.
        version: Option<CudnnVersion>,
        /// Where.
        file: Option<PathBuf>,
        /// The loader's words, when it can't be loaded.
        why: Option<String>,
    },
    /// A part could not be opened.
    PartMissing {
        /// Which.
        name: String,
        /// The loader's words.
        why: String,
    },
    /// What the card can do.
    Ceiling {
        /// `copy`, or a precision's name for a matrix product.
        what: String,
        /// Bytes or operations per second.
        per_second: f64,
    },
    /// The next unit is begun.
    Begin {
        /// Its position in the request.
        unit: usize,
    },
    /// A unit is done.
    Unit {
        /// Its position in the request.
        unit: usize,
        /// Whether it was computed in the other shape.
        stand_in: bool,
        /// What became of it.
        #[serde(flatten)]
        measured: Measured,
    },
    /// Nothing further can be done.
    Failed(Failed),
    /// All is done.
    Done,
}

/// An event, and when it was told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// Milliseconds after the child's start.
    pub ms: u64,
    /// What.
    #[serde(flatten)]
    pub event: Event,
}

/// The first GPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct GpuFacts {
    /// `NVIDIA H200`
    pub name: String,
    /// Its compute capability.
    pub capability: Capability,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of memory.
    pub memory: usize,
    /// Bytes that nobody used when we came.
    pub free: usize,
}

/// Why the child stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Failed {
    /// What kind of failure.
    pub kind: FailedKind,
    /// The sentence.
    pub message: String,
    /// The loader's or library's own words.
    pub cause: Option<String>,
    /// What to do about it.
    pub advice: Option<String>,
}

/// What kind of failure stopped the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailedKind {
    /// There is no driver, or it shows no GPU.
    NoGpu,
    /// The driver or the card does not fit this cuDNN.
    Incompatible,
    /// The library can't be loaded.
    Load,
    /// A call failed.
    Call,
}

/// What goes wrong inside the child.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the driver's library `{library}` can't be loaded")]
    NoDriver {
        library: &'static str,
        source: libloading::Error,
    },
    #[error("`{library}` has no function `{symbol}`")]
    Symbol {
        library: String,
        symbol: &'static str,
        source: libloading::Error,
    },
    #[error("`{call}` answered {code} {}", status::driver(*code))]
    Driver { call: &'static str, code: i32 },
    #[error("`{library}` can't be loaded")]
    NotLoaded {
        library: String,
        source: libloading::Error,
    },
    #[error("`{library}` is not a cuDNN: its cudnnGetVersion answers {answer}")]
    NotACudnn { library: String, answer: u64 },
    #[error("`{call}` answered {status} {}{}", status::cudnn(*status, *major), words.as_ref().map(|words| format!(" ({words})")).unwrap_or_default())]
    Cudnn {
        call: &'static str,
        status: i32,
        major: u32,
        words: Option<String>,
    },
    #[error(
        "{name} has compute capability {capability}, and this cuDNN is made for {lowest} to {highest}"
    )]
    OtherGpu {
        name: String,
        capability: Capability,
        lowest: Capability,
        highest: Capability,
    },
    #[error("the driver runs CUDA {driver} at most, and this cuDNN is built for CUDA {cudart}")]
    DriverTooOld {
        driver: CudaVersion,
        cudart: CudaVersion,
    },
}

impl Error {
    fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Cudnn { status, major, .. } => status::advice(*status, *major),
            Self::Driver { code, .. } => status::driver_advice(*code),
            Self::NoDriver { .. } => {
                Some("install NVIDIA's driver; in a container start it with the GPU (`--gpus all`)")
            }
            Self::DriverTooOld { .. } => {
                Some("update the driver, or install this cuDNN's build for an older CUDA")
            }
            Self::OtherGpu { .. } => {
                Some("cudnnm compat names the versions for this GPU; --force tries it all the same")
            }
            Self::Symbol { .. } | Self::NotLoaded { .. } | Self::NotACudnn { .. } => None,
        }
    }

    fn kind(&self) -> FailedKind {
        match self {
            Self::NoDriver { .. } => FailedKind::NoGpu,
            // No device; devices that are taken; a driver that is not in working order: nothing that cuDNN could change.
            Self::Driver {
                call: "cuInit" | "cuDeviceGetCount" | "cuDriverGetVersion",
                ..
            } => FailedKind::NoGpu,
            Self::DriverTooOld { .. } | Self::OtherGpu { .. } => FailedKind::Incompatible,
            Self::NotLoaded { .. } | Self::NotACudnn { .. } | Self::Symbol { .. } => {
                FailedKind::Load
            }
            Self::Driver { .. } | Self::Cudnn { .. } => FailedKind::Call,
        }
    }

    fn report(&self) -> Failed {
        Failed {
            kind: self.kind(),
            message: self.to_string(),
            cause: chain(std::error::Error::source(self)),
            advice: self.advice().map(str::to_owned),
        }
    }
}

/// All causes in one line: the loader's own words are the innermost.
fn chain(mut cause: Option<&dyn std::error::Error>) -> Option<String> {
    let mut words = Vec::new();
    while let Some(error) = cause {
        let text = error.to_string();
        words.push(
            text.strip_prefix("dlopen failed: ")
                .unwrap_or(&text)
                .to_owned(),
        );
        cause = error.source();
    }
    (!words.is_empty()).then(|| words.join(": "))
}
