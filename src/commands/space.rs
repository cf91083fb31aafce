//! What installed builds really take: a file that several of them share lies on the disk once.

use std::collections::{BTreeSet, HashMap};

use crate::context::Context;
use crate::host::disk::{self, FileId};

/// The files of some folders of the store, each once.
#[derive(Debug, Default)]
pub struct Space {
    files: HashMap<FileId, Shared>,
}

#[derive(Debug)]
struct Shared {
    bytes: u64,
    /// The folders that have a name for it.
    folders: BTreeSet<String>,
}

impl Space {
    /// Looks at every file that the receipts name. What can't be read, or is somebody else's (`import --link`), takes
    /// nothing.
    pub fn of(ctx: &Context, folders: impl IntoIterator<Item = String>) -> Self {
        let mut space = Self::default();
        for folder in folders {
            let Ok(receipt) = ctx.store.receipt(&folder) else {
                continue;
            };
            if receipt.linked.is_some() {
                continue;
            }
            for file in &receipt.files {
                let path = ctx.store.root().join(&folder).join(&file.path);
                if let Some((id, bytes)) = disk::identity(&path) {
                    space.add(&folder, id, bytes);
                }
            }
        }
        space
    }

    fn add(&mut self, folder: &str, id: FileId, bytes: u64) {
        let entry = self.files.entry(id).or_insert_with(|| Shared {
            bytes,
            folders: BTreeSet::new(),
        });
        entry.folders.insert(folder.to_owned());
    }

    /// The size of one folder's files.
    pub fn bytes(&self, folder: &str) -> u64 {
        self.sum(|folders| folders.contains(folder))
    }

    /// The part of [`Space::bytes`] that other folders have as well.
    pub fn shared(&self, folder: &str) -> u64 {
        self.sum(|folders| folders.len() > 1 && folders.contains(folder))
    }

    /// All together.
    pub fn total(&self) -> u64 {
        self.sum(|_| true)
    }

    /// What the disk gets back when these folders go together.
    pub fn freed<'a>(&self, gone: impl IntoIterator<Item = &'a str>) -> u64 {
        let gone: BTreeSet<&str> = gone.into_iter().collect();
        self.sum(|folders| folders.iter().all(|folder| gone.contains(&**folder)))
    }

    fn sum(&self, counts: impl Fn(&BTreeSet<String>) -> bool) -> u64 {
        self.files
            .values()
            .filter(|shared| counts(&shared.folders))
            .map(|shared| shared.bytes)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_file_counts_once_and_is_freed_with_the_last() {
        let mut space = Space::default();
        let folder = tempfile::tempdir().unwrap();
        let (header, library) = (folder.path().join("h"), folder.path().join("l"));
        std::fs::write(&header, "12345").unwrap();
        std::fs::write(&library, "123").unwrap();
        let (header, bytes) = disk::identity(&header).unwrap();
        let (library, _) = disk::identity(&library).unwrap();
        assert_eq!(bytes, 5);
        for folder in ["a", "b"] {
            space.add(folder, header, 5);
        }
        // `lib` and `lib/x64` are two names of one file in one folder.
        space.add("a", library, 3);
        space.add("a", library, 3);
        assert_eq!((space.bytes("a"), space.shared("a")), (8, 5));
        assert_eq!((space.bytes("b"), space.shared("b")), (5, 5));
        assert_eq!(space.total(), 8);
        assert_eq!(space.freed(["a"]), 3);
        assert_eq!(space.freed(["b"]), 0);
        assert_eq!(space.freed(["a", "b"]), 8);
    }
}
