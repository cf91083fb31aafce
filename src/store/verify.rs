//! Whether an installed folder still holds what its receipt says.
//!
//! Sizes are compared first: most damage (a full disk, a half copy, a virus scanner's quarantine) shows there without
//! reading anything. What is left is hashed on all processors, the largest files first.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;

use super::{RECEIPT, Receipt, Store};
use crate::error::IoError;
use crate::layout;

/// One thing that is not as the receipt says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Damage {
    /// Below the folder, with `/`.
    pub path: String,
    /// What happened to it.
    #[serde(flatten)]
    pub kind: DamageKind,
}

/// What can happen to a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum DamageKind {
    /// It is gone.
    Missing,
    /// It is there with another size.
    WrongSize {
        /// As installed.
        expected: u64,
        /// As it is.
        found: u64,
    },
    /// Equal size, other content.
    Changed,
    /// It can't be read.
    Unreadable {
        /// Why.
        reason: String,
    },
    /// A link that leads nowhere or elsewhere.
    BrokenLink {
        /// Where it should lead.
        target: String,
    },
    /// Nobody installed it.
    Extra,
    /// The receipt names a path that no build has.
    BadReceipt,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = &self.path;
        match &self.kind {
            DamageKind::Missing => write!(f, "{path} is missing"),
            DamageKind::WrongSize { expected, found } => {
                write!(f, "{path} has {found} bytes instead of {expected}")
            }
            DamageKind::Changed => write!(f, "{path} has been changed"),
            DamageKind::Unreadable { reason } => write!(f, "{path} can't be read: {reason}"),
            DamageKind::BrokenLink { target } => write!(f, "{path} no longer leads to {target}"),
            DamageKind::Extra => write!(f, "{path} was not installed with it"),
            DamageKind::BadReceipt => {
                write!(
                    f,
                    "the receipt names `{}`, which no build has",
                    path.escape_debug()
                )
            }
        }
    }
}

/// Hashes one file: its size and lower-case SHA-256.
pub type DigestOf<'a> = &'a (dyn Fn(&Path) -> Result<(u64, String), IoError> + Sync);

impl Store {
    /// Compares folders of the store with their receipts; the answers are in the same order.
    ///
    /// `progress` hears the bytes that have been hashed, as a running total.
    pub fn verify(
        &self,
        folders: &[(String, Receipt)],
        digest: DigestOf,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Vec<Vec<Damage>> {
        let mut damages: Vec<Vec<Damage>> = Vec::new();
        let mut jobs = Vec::new();
        for (index, (folder, receipt)) in folders.iter().enumerate() {
            let root = self.root().join(folder);
            let mut found = Vec::new();
            for file in &receipt.files {
                match glance(&root, &file.path, file.size) {
                    Some(kind) => found.push(Damage {
                        path: file.path.clone(),
                        kind,
                    }),
                    None => jobs.push((index, file)),
                }
            }
            found.extend(links(&root, receipt));
            found.extend(extras(&root, receipt));
            damages.push(found);
        }
        jobs.sort_by_key(|(_, file)| std::cmp::Reverse(file.size));
        let damages: Vec<Mutex<Vec<Damage>>> = damages.into_iter().map(Mutex::new).collect();
        let (next, done) = (AtomicUsize::new(0), Mutex::new(0));
        let work = || {
            while let Some((index, file)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let path = self.root().join(&folders[*index].0).join(&file.path);
                let kind = match digest(&path) {
                    Ok((_, sha256)) if sha256.eq_ignore_ascii_case(&file.sha256) => None,
                    Ok(_) => Some(DamageKind::Changed),
                    Err(error) => Some(DamageKind::Unreadable {
                        reason: reason(&error),
                    }),
                };
                if let Some(kind) = kind {
                    let damage = Damage {
                        path: file.path.clone(),
                        kind,
                    };
                    locked(&damages[*index]).push(damage);
                }
                let mut done = locked(&done);
                *done += file.size;
                progress(*done);
            }
        };
        let threads = std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(jobs.len());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
        damages
            .into_iter()
            .map(|found| {
                let mut found = found
                    .into_inner()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                found.sort();
                found
            })
            .collect()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A panic elsewhere is passed on by the scope.
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn reason(error: &IoError) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// What shows without reading the file.
fn glance(root: &Path, path: &str, size: u64) -> Option<DamageKind> {
    if layout::member_path(path).is_err() {
        return Some(DamageKind::BadReceipt);
    }
    // Follows links: a linked build's files lie elsewhere.
    match fs::metadata(root.join(path)) {
        Ok(metadata) if !metadata.is_file() => Some(DamageKind::Changed),
        Ok(metadata) if metadata.len() != size => Some(DamageKind::WrongSize {
            expected: size,
            found: metadata.len(),
        }),
        Ok(_) => None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(DamageKind::Missing),
        Err(error) => Some(DamageKind::Unreadable {
            reason: error.to_string(),
        }),
    }
}

fn links<'a>(root: &'a Path, receipt: &'a Receipt) -> impl Iterator<Item = Damage> + 'a {
    receipt.links.iter().filter_map(move |(name, target)| {
        let kind = if layout::member_path(name).is_err() {
            DamageKind::BadReceipt
        } else {
            let path = root.join(name);
            let leads = fs::read_link(&path).is_ok_and(|found| found == Path::new(target));
            if leads && path.exists() {
                return None;
            }
            match path.symlink_metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => DamageKind::Missing,
                _ => DamageKind::BrokenLink {
                    target: target.clone(),
                },
            }
        };
        Some(Damage {
            path: name.clone(),
            kind,
        })
    })
}

/// Files that the receipt does not name.
fn extras(root: &Path, receipt: &Receipt) -> Vec<Damage> {
    let known: BTreeSet<&str> = receipt
        .files
        .iter()
        .map(|file| file.path.as_str())
        .chain(receipt.links.keys().map(String::as_str))
        .chain([RECEIPT])
        .collect();
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() {
                name
            } else {
                format!("{folder}/{name}")
            };
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if !known.contains(path.as_str()) {
                found.push(Damage {
                    path,
                    kind: DamageKind::Extra,
                });
            }
        }
    }
    found
}
