//! File operations that must be whole or must be patient.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::unique;
use crate::error::IoError;

/// Antivirus programs open a fresh DLL for some seconds after it was closed (rustup and uv saw over ten).
const PATIENCE: Duration = Duration::from_secs(60);

/// Renames; on Windows tries again while an antivirus or indexer holds a file.
///
/// # Errors
///
/// What the system says, at once or after a minute of "in use".
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    patiently(|| fs::rename(from, to))
}

/// Replaces a small file whole: readers see the old or the new content, never a part.
///
/// # Errors
///
/// When its folder can't be written; nothing is left behind then.
pub fn replace_file(path: &Path, content: &[u8]) -> Result<(), IoError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(unique(&format!(".{name}")));
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(content)?;
        // A rename may reach the disk before the content does: after a power cut the file would be empty.
        file.sync_data()
    });
    written
        .and_then(|()| rename(&temporary, path))
        .map_err(|error| {
            let _ = fs::remove_file(&temporary);
            IoError::at("write", path)(error)
        })
}

/// Removes a folder with all that is in it, or a file; one that another process removes meanwhile is no error.
///
/// # Errors
///
/// What the system says; what could be removed is then gone.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let removed = patiently(|| {
        if metadata.is_dir() {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        }
    });
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// A second name for a file, or a copy where the volume has no hard links.
///
/// # Errors
///
/// When neither can be made.
pub fn link_or_copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop))
}

fn patiently<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let started = Instant::now();
    let mut pause = Duration::from_millis(10);
    loop {
        match operation() {
            Err(error) if held_by_other(&error) && started.elapsed() < PATIENCE => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_secs(1));
            }
            other => return other,
        }
    }
}

/// ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION, ERROR_DIR_NOT_EMPTY, ERROR_USER_MAPPED_FILE: another program has a
/// file open right now. ERROR_ACCESS_DENIED is not among them: a loaded DLL answers with it for as long as it is loaded,
/// and the person should hear that at once.
fn held_by_other(error: &io::Error) -> bool {
    cfg!(windows) && matches!(error.raw_os_error(), Some(32 | 33 | 145 | 1224))
}
