//! A folder of saved outputs, as bytes.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::diagnosis::saved::SavedFile;
use crate::error::IoError;

/// More of a file is not looked at: outputs are small, and of a library its head tells enough.
const MOST_BYTES: u64 = 16 << 20;
/// More files than that are no folder of outputs.
const MOST_FILES: usize = 2000;
const MOST_DEPTH: usize = 5;

/// All files below `folder`, sorted by name.
///
/// # Errors
///
/// When the folder itself can't be read. A file in it that can't is left out.
pub fn read(folder: &Path) -> Result<Vec<SavedFile>, IoError> {
    fs::read_dir(folder).map_err(IoError::at("read", folder))?;
    let mut files = Vec::new();
    collect(folder, "", 0, &mut files);
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn collect(folder: &Path, prefix: &str, depth: usize, files: &mut Vec<SavedFile>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let path = entry.path();
        let Ok(metadata) = fs::metadata(&path) else {
            continue;
        };
        if metadata.is_dir() {
            // A link to a folder may lead back here.
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if depth < MOST_DEPTH && !is_link {
                collect(&path, &format!("{name}/"), depth + 1, files);
            }
        } else if metadata.is_file()
            && files.len() < MOST_FILES
            && let Some(bytes) = head(&path)
        {
            files.push(SavedFile {
                name,
                bytes,
                size: metadata.len(),
            });
        }
    }
}

fn head(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)
        .ok()?
        .take(MOST_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}
