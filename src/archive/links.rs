//! Links between the shared objects of a package: those the archive has, and those a loader expects besides.
//!
//! An archive's link is believed only where it leads from one of the files that were taken to another. Where the volume
//! has no symbolic links (Windows without developer mode, exFAT) a link becomes a second name of the file, or a copy.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use super::Error;
use super::intake::{Haul, Taken};
use crate::error::IoError;
use crate::layout::{self, Folder, Place};
use crate::store::{FileRecord, link_or_copy};

/// What was made.
#[derive(Debug, Default)]
pub struct Made {
    /// Links: path → target's name, which lies in the same folder.
    pub links: BTreeMap<String, String>,
    /// Links that had to become files.
    pub files: Vec<FileRecord>,
}

/// Makes the links of `haul` and those that follow from the SONAMEs (library name → SONAME).
///
/// # Errors
///
/// When a link leads to nothing that was taken, or can't be made.
pub fn make(
    archive: &Path,
    target: &Path,
    haul: &Haul,
    sonames: &BTreeMap<String, Option<String>>,
) -> Result<Made, Error> {
    let mut wanted: BTreeMap<String, Place> = BTreeMap::new();
    for link in &haul.links {
        let place = haul
            .members
            .get(&link.target.join("/").to_lowercase())
            .cloned()
            .or_else(|| linked_place(haul, &link.target));
        let Some(place) = place.filter(|place| place.folder == link.place.folder) else {
            return Err(Error::Damaged {
                path: archive.to_owned(),
                member: Some(link.place.name.clone()),
                source: format!(
                    "it is a link to `{}`, which is not there",
                    link.target.join("/")
                )
                .into(),
            });
        };
        // A real file of the name is better than a link, and a link to itself is none.
        if !haul.taken.contains_key(&link.place.key()) && place != link.place {
            wanted.insert(link.place.path(), place);
        }
    }
    let mut made = Made::default();
    let mut left = wanted;
    // Links to links: each round makes those whose target is there. What is left in the end is a circle.
    while !left.is_empty() {
        let before = left.len();
        left = left
            .into_iter()
            .map(|(path, place)| {
                if target.join(place.path()).exists() {
                    link(target, &path, &place, haul, &mut made)?;
                    Ok(None)
                } else {
                    Ok(Some((path, place)))
                }
            })
            .filter_map(Result::transpose)
            .collect::<Result<_, Error>>()?;
        if left.len() == before {
            let name = left.keys().next().cloned().unwrap_or_default();
            return Err(Error::Damaged {
                path: archive.to_owned(),
                member: Some(name),
                source: "it is a link that leads back to itself".into(),
            });
        }
    }
    let present: BTreeSet<String> = made
        .links
        .keys()
        .chain(made.files.iter().map(|file| &file.path))
        .filter_map(|path| path.strip_prefix("lib/"))
        .map(str::to_owned)
        .collect();
    let mut missing: Vec<(String, String)> = layout::soname_links(sonames, &present)
        .into_iter()
        .collect();
    // `libcudnn.so` may point to `libcudnn.so.9`, which is made here too: longest names first.
    missing.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    for (name, to) in missing {
        let place = Place {
            folder: Folder::Lib,
            name: to,
        };
        link(target, &format!("lib/{name}"), &place, haul, &mut made)?;
    }
    Ok(made)
}

/// The place of a member that is itself a link.
fn linked_place(haul: &Haul, path: &[String]) -> Option<Place> {
    let name = path.last()?;
    let as_link = haul.links.iter().find(|link| &link.place.name == name)?;
    Some(as_link.place.clone())
}

fn link(target: &Path, path: &str, to: &Place, haul: &Haul, made: &mut Made) -> Result<(), Error> {
    let full = target.join(path);
    match symlink(&to.name, &full) {
        Ok(()) => {
            made.links.insert(path.to_owned(), to.name.clone());
            Ok(())
        }
        Err(_) => {
            let file = target.join(to.path());
            link_or_copy(&file, &full).map_err(IoError::at("create", &full))?;
            let record = haul
                .taken
                .get(&to.key())
                .and_then(Taken::record)
                .or_else(|| {
                    made.files
                        .iter()
                        .find(|file| file.path == to.path())
                        .cloned()
                })
                .expect("a link's target was taken or made just before");
            made.files.push(FileRecord {
                path: path.to_owned(),
                ..record
            });
            Ok(())
        }
    }
}

/// Makes the import libraries reachable as `lib\x64` too, where MSVC projects of the old layout look.
///
/// # Errors
///
/// When a name can't be made.
pub fn import_libraries(target: &Path, files: &[FileRecord]) -> Result<Vec<FileRecord>, IoError> {
    let libraries: Vec<&FileRecord> = files
        .iter()
        .filter(|file| file.path.starts_with("lib/") && file.path.to_lowercase().ends_with(".lib"))
        .collect();
    if libraries.is_empty() {
        return Ok(Vec::new());
    }
    let folder = target.join("lib").join("x64");
    fs::create_dir_all(&folder).map_err(IoError::at("create", &folder))?;
    libraries
        .into_iter()
        .map(|file| {
            let name = &file.path["lib/".len()..];
            let link = folder.join(name);
            link_or_copy(&target.join("lib").join(name), &link)
                .map_err(IoError::at("create", &link))?;
            Ok(FileRecord {
                path: format!("lib/x64/{name}"),
                ..file.clone()
            })
        })
        .collect()
}

#[cfg(unix)]
fn symlink(target: &str, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(windows)]
fn symlink(_: &str, _: &Path) -> io::Result<()> {
    // They need a privilege that most people don't have; two kinds of store on one system would be one too many.
    Err(io::ErrorKind::Unsupported.into())
}
