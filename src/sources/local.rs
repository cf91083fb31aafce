//! The person's own archive or folder: `install --from PATH`.

use std::path::Path;

use crate::archive::{self, Error, Unpacked, tree};

/// What was taken, and from what.
#[derive(Debug, Clone)]
pub struct Taken {
    /// What lies in the target now.
    pub unpacked: Unpacked,
    /// The archive's file name; `None` for a folder.
    pub file: Option<String>,
    /// The archive's SHA-256; `None` for a folder.
    pub sha256: Option<String>,
}

/// Puts the cuDNN in the archive or folder `path` into the empty folder `target`.
///
/// `progress` hears how many bytes have been read, as a running total that ends at [`size`].
///
/// # Errors
///
/// When it holds no cuDNN, or a folder several; when it is damaged or hostile; when reading or writing fails.
pub fn take(path: &Path, target: &Path, progress: &mut dyn FnMut(u64)) -> Result<Taken, Error> {
    if path.is_dir() {
        let unpacked = tree::only(path)?.copy(target, progress)?;
        return Ok(Taken {
            unpacked,
            file: None,
            sha256: None,
        });
    }
    // The digest goes into the receipt. Reading twice at once costs no second trip to the disk.
    let (digest, unpacked) = std::thread::scope(|scope| {
        let digest = scope.spawn(|| archive::digest(path));
        let unpacked = archive::unpack(path, target, progress);
        (digest.join(), unpacked)
    });
    let unpacked = unpacked?;
    let (_, sha256) = digest.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let file = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    Ok(Taken {
        unpacked,
        file,
        sha256: Some(sha256),
    })
}

/// Bytes to read, for a progress bar; `None` for a folder.
pub fn size(path: &Path) -> Option<u64> {
    path.metadata()
        .ok()
        .filter(|metadata| metadata.is_file())
        .map(|metadata| metadata.len())
}
