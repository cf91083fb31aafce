//! Equal files of several builds, stored once.
//!
//! Headers rarely change between patch releases, and the variants of one release share libraries. Before a build is published its
//! files that equal one of another build become further names of that one. Builds are never edited after they appear, and
//! the content is compared byte for byte first: a digest in a receipt that somebody edited must not spread.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{FileRecord, Staging, Store, unique};

/// Not worth a link: a directory entry and a look at the other file cost as much.
const SMALLEST: u64 = 512;

impl Store {
    /// Replaces staged files that equal a file of an installed build by hard links; gives the bytes that were saved.
    ///
    /// Nothing here can fail an install: what can't be linked (other volume, no hard links, a damaged neighbour) stays
    /// a file of its own.
    pub fn share_equal_files(&self, staging: &Staging, files: &[FileRecord]) -> u64 {
        let Ok(contents) = self.contents() else {
            return 0;
        };
        let folders = contents
            .builds
            .iter()
            .map(crate::version::BuildId::folder)
            .chain(
                contents
                    .companions
                    .iter()
                    .map(crate::companion::CompanionId::folder),
            );
        let mut wanted: HashMap<(String, u64), Vec<&FileRecord>> = HashMap::new();
        for file in files.iter().filter(|file| file.size >= SMALLEST) {
            wanted
                .entry((file.sha256.clone(), file.size))
                .or_default()
                .push(file);
        }
        let mut saved = 0;
        for folder in folders {
            if wanted.is_empty() {
                break;
            }
            let Ok(receipt) = self.receipt(&folder) else {
                continue;
            };
            // A linked build's files belong to somebody else, who may change them.
            if receipt.linked.is_some() {
                continue;
            }
            for theirs in &receipt.files {
                let key = (theirs.sha256.clone(), theirs.size);
                let Some(ours) = wanted.get(&key) else {
                    continue;
                };
                let source = self.root().join(&folder).join(&theirs.path);
                let linked = ours.iter().all(|file| {
                    replace_by_link(&source, &staging.path().join(&file.path)).unwrap_or(false)
                });
                if linked {
                    saved += theirs.size;
                    wanted.remove(&key);
                }
            }
        }
        saved
    }
}

/// Makes `file` another name of `source` if both have the same content; `false` if not.
fn replace_by_link(source: &Path, file: &Path) -> io::Result<bool> {
    let plain = |path: &Path| {
        path.symlink_metadata()
            .is_ok_and(|metadata| metadata.is_file())
    };
    if !plain(source) || !plain(file) || !same_content(source, file)? {
        return Ok(false);
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let temporary: PathBuf = file.with_file_name(unique(&format!(".{name}")));
    fs::hard_link(source, &temporary)?;
    fs::rename(&temporary, file).inspect_err(|_| drop(fs::remove_file(&temporary)))?;
    // Renaming one name of a file onto another name of it does nothing on Unix and leaves both.
    let _ = fs::remove_file(&temporary);
    Ok(true)
}

fn same_content(a: &Path, b: &Path) -> io::Result<bool> {
    let (mut a, mut b) = (File::open(a)?, File::open(b)?);
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let (mut ours, mut theirs) = (vec![0; 256 << 10], vec![0; 256 << 10]);
    loop {
        let read = a.read(&mut ours)?;
        if read == 0 {
            return Ok(true);
        }
        b.read_exact(&mut theirs[..read])?;
        if ours[..read] != theirs[..read] {
            return Ok(false);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::{Package, RECEIPT, Receipt, Trust};
    use super::*;
    use crate::version::BuildId;

    fn record(path: &str, content: &[u8]) -> FileRecord {
        use sha2::Digest;
        FileRecord {
            path: path.to_owned(),
            size: content.len() as u64,
            sha256: format!("{:?}", sha2::Sha256::digest(content)),
        }
    }

    fn write(folder: &Path, path: &str, content: &[u8]) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn names(path: &Path) -> u64 {
        std::os::unix::fs::MetadataExt::nlink(&path.metadata().unwrap())
    }

    fn publish(
        store: &Store,
        folder: &str,
        files: &[(&str, &[u8])],
        claimed: &[FileRecord],
    ) -> u64 {
        let staging = store.stage(folder).unwrap();
        for (path, content) in files {
            write(staging.path(), path, content);
        }
        let saved = store.share_equal_files(&staging, claimed);
        let receipt = Receipt {
            schema: 1,
            package: Package::Cudnn(BuildId::from_folder(folder).unwrap()),
            source: "local".into(),
            origin: "x".into(),
            file: None,
            sha256: None,
            trust: Trust::Local,
            installed: super::super::now_utc(),
            linked: None,
            needs: Vec::new(),
            signatures: None,
            links: Default::default(),
            files: claimed.to_vec(),
        };
        fs::write(staging.path().join(RECEIPT), receipt.to_toml()).unwrap();
        store.publish(staging, folder, false, || ()).unwrap();
        saved
    }

    #[test]
    fn equal_files_become_one_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("库 [a]"));
        let (large, other) = (vec![7; 5000], vec![8; 5000]);
        let files: [(&str, &[u8]); 2] =
            [("lib/libcudnn.so.9", &large), ("include/cudnn.h", b"small")];
        let records: Vec<FileRecord> = files
            .iter()
            .map(|(path, content)| record(path, content))
            .collect();
        assert_eq!(publish(&store, "cudnn-9.1.0-cuda12", &files, &records), 0);
        let second: [(&str, &[u8]); 2] = [
            ("lib/libcudnn.so.9", &large),
            ("lib/libcudnn_x.so.9", &other),
        ];
        let records: Vec<FileRecord> = second
            .iter()
            .map(|(path, content)| record(path, content))
            .collect();
        assert_eq!(
            publish(&store, "cudnn-9.1.0-cuda13", &second, &records),
            5000
        );
        let shared = store.root().join("cudnn-9.1.0-cuda13/lib");
        assert_eq!(names(&shared.join("libcudnn.so.9")), 2);
        assert_eq!(names(&shared.join("libcudnn_x.so.9")), 1);
        assert_eq!(
            fs::read_dir(&shared).unwrap().count(),
            2,
            "no temporary name is left"
        );
    }

    #[test]
    fn a_digest_alone_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().to_owned());
        let (real, lie) = (vec![1; 5000], vec![2; 5000]);
        let claimed = [record("lib/libcudnn.so.9", &real)];
        publish(
            &store,
            "cudnn-9.1.0-cuda12",
            &[("lib/libcudnn.so.9", &lie)],
            &claimed,
        );
        assert_eq!(
            publish(
                &store,
                "cudnn-9.1.0-cuda13",
                &[("lib/libcudnn.so.9", &real)],
                &claimed
            ),
            0
        );
        let file = store.root().join("cudnn-9.1.0-cuda13/lib/libcudnn.so.9");
        assert_eq!(fs::read(file).unwrap(), real);
    }
}
