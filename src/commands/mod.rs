//! One file a subcommand: gather facts, ask the core, act, print.

use crate::error::{Exit, Failure};
use crate::version::Platform;

pub mod current;
pub mod probe;
pub mod selected;

/// Failures that belong to commands rather than to a room below.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Arguments that can't go together or make no sense.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What to type instead.
        hint: Option<String>,
    },
    /// A build that this machine can't run.
    #[error("{build} is for {platform}; this machine is {}", Platform::host())]
    ForeignPlatform {
        /// Which.
        build: String,
        /// For what.
        platform: Platform,
    },
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::Usage { .. } => Exit::Usage,
            Self::ForeignPlatform { .. } => Exit::Incompatible,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Usage { hint, .. } => hint.iter().cloned().collect(),
            Self::ForeignPlatform { .. } => Vec::new(),
        }
    }
}
