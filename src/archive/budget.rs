//! How much an archive may unpack to. Shared by all threads that unpack one.

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The most that is believed, whatever the size: the largest known cuDNN is under 4 GB unpacked.
const MOST: u64 = 16 << 30;
/// Up to here no ratio is suspicious: so much fits on every disk and is written in a second.
const HARMLESS: u64 = 1 << 30;
/// Real packages unpack to 1.4 to 7 times their size; zeros to 1000 times (deflate) and more.
const RATIO: u64 = 64;
/// TensorFlow's wheel has 18 000 members, a conda environment perhaps 60 000.
const MOST_MEMBERS: usize = 200_000;

/// Limits, and what has been used of them.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    used: AtomicU64,
    members: AtomicUsize,
}

/// Reported through `io::Error`, where decoders stand between us and the caller.
#[derive(Debug, thiserror::Error)]
#[error("more comes out than is believed")]
pub struct Exceeded;

impl Budget {
    /// For an archive of `size` bytes.
    pub fn for_archive(size: u64) -> Self {
        Self::with_limit(size.saturating_mul(RATIO).clamp(HARMLESS, MOST))
    }

    /// With a given limit.
    pub fn with_limit(limit: u64) -> Self {
        Self {
            limit,
            used: AtomicU64::new(0),
            members: AtomicUsize::new(0),
        }
    }

    /// The limit in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The limit in members.
    pub fn member_limit(&self) -> usize {
        MOST_MEMBERS
    }

    /// Takes bytes that came out.
    ///
    /// # Errors
    ///
    /// An error that holds [`Exceeded`].
    pub fn take(&self, bytes: u64) -> io::Result<()> {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > self.limit {
            return Err(io::Error::other(Exceeded));
        }
        Ok(())
    }

    /// Whether so many bytes, as an archive declares beforehand, could be taken.
    pub fn allows(&self, bytes: u64) -> bool {
        bytes <= self.limit
    }

    /// Counts a member; `false` when there are too many.
    pub fn member(&self) -> bool {
        self.members.fetch_add(1, Ordering::Relaxed) < MOST_MEMBERS
    }
}

/// Whether an error comes from [`Budget::take`], however deep it is wrapped.
pub fn is_exceeded(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<Exceeded>() {
            return true;
        }
        if let Some(error) = error.downcast_ref::<io::Error>()
            && error.get_ref().is_some_and(|inner| is_exceeded(inner))
        {
            return true;
        }
        next = error.source();
    }
    false
}
