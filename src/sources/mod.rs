//! Where builds come from: NVIDIA's server, the Python index, a local archive or folder.

use crate::error::{Exit, Failure};

pub mod local;

/// A source that can't deliver.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Asked while `--offline`.
    #[error("{what} needs the network, and --offline is set")]
    Offline {
        /// What was wanted.
        what: String,
    },
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::Offline { .. } => Exit::Network,
        }
    }
}
