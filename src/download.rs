//! One file from one address, whole and verified: resumable, patient with bad lines, strict with digests.

use crate::error::{Exit, Failure};

/// A transfer that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server said no.
    #[error("`{url}` answered {status}")]
    Status {
        /// Without credentials.
        url: String,
        /// The HTTP status.
        status: u16,
    },
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::Status { .. } => Exit::Network,
        }
    }
}
