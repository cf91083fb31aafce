//! Which folders have been given a cuDNN by `cudnnm use`, so that `prune --unused` knows what is wanted.
//!
//! One small file a project, named by the path's hash, with the path in it: written whole, needs no lock. It is a
//! convenience, so writing it never fails a command; a project that vanished is simply no longer found.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use super::{Store, replace_file};

impl Store {
    fn projects(&self) -> PathBuf {
        self.internal().join("projects")
    }

    /// Notes that this folder has a `.cudnn-version`.
    pub fn remember_project(&self, folder: &Path) {
        // A path that is no Unicode can't be written down as text; its build then counts as unused only to `prune`.
        let Some(text) = folder.to_str() else { return };
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let file = self.projects().join(format!("{:016x}", hasher.finish()));
        if !file.is_file() && fs::create_dir_all(self.projects()).is_ok() {
            let _ = replace_file(&file, text.as_bytes());
        }
    }

    /// The noted folders that still exist, sorted.
    pub fn remembered_projects(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = fs::read_dir(self.projects())
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| fs::read_to_string(entry.path()).ok())
            .map(PathBuf::from)
            .filter(|folder| folder.is_dir())
            .collect();
        folders.sort();
        folders
    }
}
