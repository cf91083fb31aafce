//! A cuDNN that lies unpacked: a folder of any depth, a CUDA toolkit into which somebody copied one, a conda environment, a
//! site-packages folder, a system's library folder.
//!
//! Such a folder may hold several, and a thousand files that are none of cuDNN's. So cuDNNs are found from their main
//! library: the parts beside it that carry the same number belong to it, and of the headers and import libraries those that
//! are nearest and of the same version. Links are not followed out of the folder and not copied; they are made anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::budget::Budget;
use super::claims::Claims;
use super::identity::{self, Evidence};
use super::intake::{CHUNK, Intake, Rule, Wanted};
use super::{Error, Identity, Unpacked};
use crate::error::IoError;
use crate::layout::{self, Folder, Place};
use crate::store::FileRecord;
use crate::version::CudnnVersion;

/// Deep enough for `envs/x/lib/python3.12/site-packages/nvidia/cudnn/lib` below a home folder.
const MAX_DEPTH: usize = 12;
/// A person who gives `/` or `C:\` should hear so, not wait an hour.
const MAX_ENTRIES: usize = 500_000;

/// One cuDNN, where it lies.
#[derive(Debug, Clone)]
pub struct Found {
    /// What it is.
    pub identity: Identity,
    /// The folder of its main library.
    pub folder: PathBuf,
    /// Libraries that it opens and that are not in it.
    pub needs: Vec<String>,
    /// Things a person should know.
    pub remarks: Vec<String>,
    name: Claims,
    files: Vec<(Place, PathBuf)>,
}

/// Every cuDNN in and below a folder, newest first.
///
/// # Errors
///
/// When the folder can't be read or has too much in it. What is unreadable further down is passed over.
pub fn find(top: &Path) -> Result<Vec<Found>, Error> {
    let mut folders = Vec::new();
    let mut left = MAX_ENTRIES;
    walk(top, MAX_DEPTH, &mut left, &mut folders)?;
    folders.extend(neighbours(top));
    let mut found = find_in(top, &folders);
    found.retain(|found| found.folder.starts_with(top));
    Ok(found)
}

/// Folders beside `top` in which headers and import libraries lie when `top` itself is the folder of the libraries:
/// `include` and `lib` one or two levels up, with the same folders below (`bin\\12.9` → `include\\12.9`).
fn neighbours(top: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for above in top.ancestors().skip(1).take(2) {
        let inside = top
            .strip_prefix(above)
            .map(|path| path.components().skip(1).collect::<PathBuf>());
        for name in ["include", "lib", "."] {
            let folder = above.join(name);
            found.push(folder.join("x64"));
            found.extend(inside.as_ref().ok().map(|inside| folder.join(inside)));
            found.push(folder);
        }
    }
    found.retain(|folder| folder.is_dir() && !folder.starts_with(top));
    found.sort();
    found.dedup();
    found
}

/// Every cuDNN whose files lie directly in one of these folders, newest first.
pub fn find_in(top: &Path, folders: &[PathBuf]) -> Vec<Found> {
    let listed: Vec<Listed> = folders
        .iter()
        .filter_map(|folder| Listed::read(folder).ok())
        .collect();
    let mut found: Vec<Found> = listed
        .iter()
        .flat_map(|folder| mains(folder).into_iter().map(move |main| (folder, main)))
        .filter_map(|(folder, main)| assemble(top, folder, &main, &listed))
        .collect();
    found.sort_by(|a, b| {
        b.identity
            .build()
            .cmp(&a.identity.build())
            .then(a.folder.cmp(&b.folder))
    });
    found
}

/// The one cuDNN in and below a folder.
///
/// # Errors
///
/// When there is none, or several.
pub fn only(top: &Path) -> Result<Found, Error> {
    let mut found = find(top)?;
    match found.len() {
        0 => Err(Error::NoCudnn {
            path: top.to_owned(),
            seems: None,
        }),
        1 => Ok(found.remove(0)),
        _ => Err(Error::Several {
            path: top.to_owned(),
            found: found
                .into_iter()
                .map(|found| (found.identity.build().to_string(), found.folder))
                .collect(),
        }),
    }
}

impl Found {
    /// Sum of the sizes of its files.
    pub fn size(&self) -> u64 {
        self.files
            .iter()
            .filter_map(|(_, path)| path.metadata().ok())
            .map(|it| it.len())
            .sum()
    }

    /// Copies its files, and nothing else, into the empty folder `target`.
    ///
    /// `progress` hears how many bytes have been copied, as a running total.
    ///
    /// # Errors
    ///
    /// When reading or writing fails.
    pub fn copy(&self, target: &Path, progress: &mut dyn FnMut(u64)) -> Result<Unpacked, Error> {
        let intake = Intake::new(
            &self.folder,
            target,
            Rule::Cudnn,
            Budget::with_limit(u64::MAX),
        );
        let mut done = 0;
        for (place, path) in &self.files {
            let name = path.to_string_lossy();
            let file = File::open(path).map_err(IoError::at("read", path))?;
            let mut file = BufReader::with_capacity(CHUNK, file);
            let slot = intake.claim(place.clone(), &name);
            intake.take(Wanted::File(slot), &name, &mut file)?;
            done += file.get_ref().metadata().map_or(0, |it| it.len());
            progress(done);
        }
        let unpacked = super::finish(&self.folder, target, intake.finish(), self.name)?;
        // What the tree told besides (a wheel's METADATA, a folder's name) stands in what was found.
        Ok(Unpacked {
            identity: self.identity,
            needs: self.needs.clone(),
            remarks: self.remarks.clone(),
            ..unpacked
        })
    }

    /// Fills `target` with links to its files instead: only cuDNN's, however much lies beside them.
    ///
    /// # Errors
    ///
    /// When a link can't be made: on Windows, when the folder is on another drive.
    pub fn link(&self, target: &Path, progress: &mut dyn FnMut(u64)) -> Result<Unpacked, Error> {
        let (mut files, mut done) = (Vec::new(), 0);
        for (place, path) in &self.files {
            let link = target.join(place.path());
            if let Some(parent) = link.parent() {
                fs::create_dir_all(parent).map_err(IoError::at("create", parent))?;
            }
            let real = dunce::canonicalize(path).map_err(IoError::at("read", path))?;
            reference(&real, &link).map_err(IoError::at("link to", &real))?;
            let (size, sha256) = super::digest(&real)?;
            done += size;
            progress(done);
            files.push(FileRecord {
                path: place.path(),
                size,
                sha256,
            });
        }
        let sonames = sonames(&self.files)?;
        let mut links = BTreeMap::new();
        for (name, to) in layout::soname_links(&sonames, &BTreeSet::new()) {
            // On Windows there are no shared objects to link.
            let link = target.join("lib").join(&name);
            reference(Path::new(&to), &link).map_err(IoError::at("create", &link))?;
            links.insert(format!("lib/{name}"), to);
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Unpacked {
            identity: self.identity,
            files,
            links,
            needs: self.needs.clone(),
            remarks: self.remarks.clone(),
        })
    }
}

fn sonames(files: &[(Place, PathBuf)]) -> Result<BTreeMap<String, Option<String>>, Error> {
    let mut libraries = Vec::new();
    for (place, path) in files.iter().filter(|(place, _)| place.is_library()) {
        libraries.push(identity::Library {
            name: place.name.clone(),
            ..identity::library(path, path)?
        });
    }
    Ok(identity::sonames(&libraries))
}

#[cfg(unix)]
fn reference(target: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

/// Symbolic links need a privilege on Windows; a second name of the same file does not, but can't leave the drive.
#[cfg(windows)]
fn reference(target: &Path, link: &Path) -> std::io::Result<()> {
    fs::hard_link(target, link)
}

/// Names and kinds of what lies directly in a folder.
struct Listed {
    folder: PathBuf,
    /// Placed files: name → place. Links to a sibling are left out.
    files: BTreeMap<String, Place>,
}

impl Listed {
    fn read(folder: &Path) -> std::io::Result<Self> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder)?.flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let path = entry.path();
            // A folder's parts say what its files are (`torch/…`), but only the last few: `/home/torch/…` says nothing.
            let parts: Vec<String> = path
                .components()
                .filter_map(|part| part.as_os_str().to_str().map(str::to_owned))
                .collect();
            let parts = &parts[parts.len().saturating_sub(4)..];
            let Some(place) = layout::place(parts) else {
                continue;
            };
            if path.is_file() && !is_link_to_sibling(folder, &path, &name) {
                files.insert(name, place);
            }
        }
        Ok(Self {
            folder: folder.to_owned(),
            files,
        })
    }

    fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }
}

fn is_link_to_sibling(folder: &Path, path: &Path, name: &str) -> bool {
    let Ok(target) = fs::read_link(path) else {
        return false;
    };
    let sibling = target
        .parent()
        .is_none_or(|parent| parent.as_os_str().is_empty())
        || target.parent() == Some(folder);
    sibling
        && target.file_name().is_some_and(|target| target != name)
        && target.to_string_lossy().contains(stem(name))
}

/// What all names of one shared object have in common: `libcudnn_ops.so`.
fn stem(name: &str) -> &str {
    name.find(".so").map_or(name, |at| &name[..at + 3])
}

fn walk(
    folder: &Path,
    depth: usize,
    left: &mut usize,
    folders: &mut Vec<PathBuf>,
) -> Result<(), Error> {
    let entries = fs::read_dir(folder).map_err(IoError::at("read", folder))?;
    folders.push(folder.to_owned());
    for entry in entries.flatten() {
        *left = left.checked_sub(1).ok_or_else(|| Error::Unsupported {
            path: folder.to_owned(),
            what: format!(
                "it lies in a folder with more than {MAX_ENTRIES} files; name one nearer to cuDNN"
            ),
        })?;
        if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            match walk(&entry.path(), depth - 1, left, folders) {
                Err(Error::Io(_)) | Ok(()) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// The number that the files of one cuDNN share: `8` (`cudnn64_8.dll`, `libcudnn.so.8`) or `8.9.7`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Main {
    numbers: Vec<u32>,
    windows: bool,
}

fn mains(folder: &Listed) -> Vec<Main> {
    let mut mains: Vec<Main> = Vec::new();
    for name in folder.files.keys().filter(|name| identity::is_main(name)) {
        let main = match identity::dll_major(name) {
            Some(major) => Main {
                numbers: vec![major],
                windows: true,
            },
            None => Main {
                numbers: identity::so_numbers(name),
                windows: false,
            },
        };
        if !mains.contains(&main) {
            mains.push(main);
        }
    }
    // A bare `libcudnn.so` beside numbered ones is one of them under another name.
    if mains.len() > 1 {
        mains.retain(|main| !main.numbers.is_empty());
    }
    mains
}

fn assemble(top: &Path, home: &Listed, main: &Main, all: &[Listed]) -> Option<Found> {
    let mut files: Vec<(Place, PathBuf)> = libraries(home, main);
    let mut libraries = Vec::new();
    for (_, path) in files.iter().filter(|(place, _)| place.is_library()) {
        // A library that can't be read makes the whole unusable: it is no candidate.
        libraries.push(identity::library(path, path).ok()?);
    }
    let alone = mains(home).len() == 1;
    files.extend(
        home.files
            .iter()
            .filter(|(name, _)| alone && name.ends_with(".a"))
            .map(|(name, place)| (place.clone(), home.folder.join(name))),
    );
    let known = libraries
        .iter()
        .find_map(|library| library.version)
        .or(match *main.numbers {
            [major, minor, patch, ..] => Some(CudnnVersion::new(major, minor, patch)),
            _ => None,
        });
    let major = main.numbers.first().copied();
    let headers = headers(home, all, known, major);
    let header_version = headers.as_ref().map(|(version, _)| *version);
    files.extend(headers.into_iter().flat_map(|(_, files)| files));
    if main.windows {
        files.extend(import_libraries(home, all, major));
    }
    files.extend(licence(home, all));
    let name = folder_claims(top, &home.folder);
    let evidence = Evidence {
        headers: header_version,
        libraries,
        package: installed_package(&home.folder),
        name,
    };
    let conclusion = identity::conclude(&evidence).ok()?;
    Some(Found {
        identity: conclusion.identity,
        folder: home.folder.clone(),
        needs: conclusion.needs,
        remarks: conclusion.remarks,
        name,
        files,
    })
}

/// The libraries beside the main one that have its number.
fn libraries(home: &Listed, main: &Main) -> Vec<(Place, PathBuf)> {
    home.files
        .iter()
        .filter(|(name, place)| {
            if !place.is_library() {
                return false;
            }
            if main.windows {
                return identity::dll_major(name) == main.numbers.first().copied();
            }
            let numbers = identity::so_numbers(name);
            if numbers == main.numbers {
                return true;
            }
            // Of a part that has the full number, the short name is another version's.
            let full: Vec<String> = main.numbers.iter().map(u32::to_string).collect();
            numbers.len() < main.numbers.len()
                && numbers.first() == main.numbers.first()
                && !home.has(&format!("{}.{}", stem(name), full.join(".")))
        })
        .map(|(name, place)| (place.clone(), home.folder.join(name)))
        .collect()
}

/// The nearest headers of the same version, with the version they state.
fn headers(
    home: &Listed,
    all: &[Listed],
    known: Option<CudnnVersion>,
    major: Option<u32>,
) -> Option<(CudnnVersion, Vec<(Place, PathBuf)>)> {
    let mut best: Option<(usize, CudnnVersion, &Listed)> = None;
    for folder in all {
        let Some(version) = stated_version(folder, known, major) else {
            continue;
        };
        let nearness = nearness(&home.folder, &folder.folder);
        if best.is_none_or(|(other, ..)| nearness > other) {
            best = Some((nearness, version, folder));
        }
    }
    let (_, version, chosen) = best?;
    // Debian spreads them over `/usr/include` and `/usr/include/x86_64-linux-gnu`, the former leading to the latter.
    let suffix = format!("_v{}.h", version.major);
    let mut files: BTreeMap<String, (Place, PathBuf)> = BTreeMap::new();
    for (name, place) in &chosen.files {
        if place.folder == Folder::Include {
            let other_major = name
                .rsplit_once("_v")
                .and_then(|(_, rest)| rest.strip_suffix(".h")?.parse::<u32>().ok())
                .is_some_and(|other| other != version.major);
            if !other_major {
                files.insert(name.clone(), (place.clone(), chosen.folder.join(name)));
            }
        }
    }
    // Programs include `cudnn.h`: where only `cudnn_v9.h` lies there, it is that.
    let plain_is_ours = plain_version(chosen) == Some(version);
    let suffixed: Vec<String> = files
        .keys()
        .filter(|name| name.ends_with(&suffix))
        .cloned()
        .collect();
    if !suffixed.is_empty() && !plain_is_ours {
        files.retain(|name, _| name.ends_with(&suffix));
        for name in suffixed {
            let plain = name.replace(&suffix, ".h");
            let place = Place {
                folder: Folder::Include,
                name: plain.clone(),
            };
            files.insert(plain, (place, chosen.folder.join(&name)));
        }
    }
    Some((version, files.into_values().collect()))
}

/// The version that a folder's headers state, if it is the wanted one.
fn stated_version(
    folder: &Listed,
    known: Option<CudnnVersion>,
    major: Option<u32>,
) -> Option<CudnnVersion> {
    let fits = |version: &CudnnVersion| match known {
        Some(known) => known.same_release(*version),
        None => major.is_none_or(|major| major == version.major),
    };
    let suffixed = major.map(|major| format!("cudnn_version_v{major}.h"));
    plain_version(folder).filter(fits).or_else(|| {
        let name = suffixed.filter(|name| folder.has(name))?;
        identity::version_of_header(&folder.folder.join(name))
            .ok()?
            .filter(fits)
    })
}

fn plain_version(folder: &Listed) -> Option<CudnnVersion> {
    ["cudnn_version.h", "cudnn.h"]
        .iter()
        .filter(|name| folder.has(name))
        .find_map(|name| identity::version_of_header(&folder.folder.join(name)).ok()?)
}

/// The nearest import libraries; in a toolkit that has seen several majors only those that carry the number.
fn import_libraries(home: &Listed, all: &[Listed], major: Option<u32>) -> Vec<(Place, PathBuf)> {
    let number = |name: &str| {
        let stem = name.to_lowercase();
        stem.strip_suffix(".lib")?
            .rsplit_once("64_")?
            .1
            .parse::<u32>()
            .ok()
    };
    let is_library = |name: &str| name.to_lowercase().ends_with(".lib");
    let Some(chosen) = all
        .iter()
        .filter(|folder| folder.files.keys().any(|name| is_library(name)))
        .filter(|folder| {
            let numbers: Vec<u32> = folder
                .files
                .keys()
                .filter_map(|name| number(name))
                .collect();
            numbers.is_empty() || major.is_none_or(|major| numbers.contains(&major))
        })
        .max_by_key(|folder| nearness(&home.folder, &folder.folder))
    else {
        return Vec::new();
    };
    let foreign = chosen
        .files
        .keys()
        .filter_map(|name| number(name))
        .any(|other| Some(other) != major);
    chosen
        .files
        .iter()
        .filter(|(name, _)| is_library(name))
        .filter(|(name, _)| match number(name) {
            Some(number) => Some(number) == major,
            None => !foreign,
        })
        .map(|(name, place)| (place.clone(), chosen.folder.join(name)))
        .collect()
}

/// A licence in the folder of the libraries or up to two above it, or in the description of the wheel they came by.
fn licence(home: &Listed, all: &[Listed]) -> Option<(Place, PathBuf)> {
    let in_folder = |folder: &Listed| {
        let (name, place) = folder
            .files
            .iter()
            .find(|(_, place)| place.folder == Folder::Root)?;
        Some((place.clone(), folder.folder.join(name)))
    };
    let of_wheel = |folder: &&Listed| {
        folder.folder.components().any(|part| {
            let part = part.as_os_str().to_string_lossy();
            part.starts_with("nvidia_cudnn") && part.ends_with(".dist-info")
        })
    };
    home.folder
        .ancestors()
        .take(3)
        .find_map(|above| in_folder(all.iter().find(|folder| folder.folder == above)?))
        .or_else(|| {
            all.iter()
                .filter(of_wheel)
                .max_by_key(|folder| nearness(&home.folder, &folder.folder))
                .and_then(in_folder)
        })
}

/// Parts that two paths share at their beginning, minus a little for each step down from there.
fn nearness(home: &Path, other: &Path) -> usize {
    let shared = home
        .components()
        .zip(other.components())
        .take_while(|(a, b)| a == b)
        .count();
    shared * 64 + 32usize.saturating_sub(other.components().count() - shared)
}

/// What the names of the folders between the given one and the libraries claim, the given one included.
fn folder_claims(top: &Path, home: &Path) -> Claims {
    home.ancestors()
        .take_while(|folder| folder.starts_with(top))
        .filter_map(|folder| folder.file_name()?.to_str())
        .map(Claims::of_file_name)
        .fold(Claims::default(), Claims::or)
}

/// What the package that put the libraries there says: a wheel's `dist-info`, a conda record.
fn installed_package(home: &Path) -> Claims {
    for above in home.ancestors().take(5) {
        // site-packages/nvidia/cudnn/lib: the wheel's own folder tells which of several packages it is.
        let flavour = if home.ancestors().any(|part| part.ends_with("cudnn_jit")) {
            "nvidia_cudnn_jit_cu"
        } else {
            "nvidia_cudnn_cu"
        };
        if let Some(info) = entry(above, |name| {
            name.starts_with(flavour) && name.ends_with(".dist-info")
        }) {
            let text = fs::read_to_string(info.join("METADATA")).unwrap_or_default();
            return Claims::of_metadata(&text);
        }
        let is_record = |name: &str| {
            let name = name.strip_prefix("lib").unwrap_or(name);
            let digits = name
                .strip_prefix("cudnn-")
                .and_then(|rest| rest.bytes().next());
            digits.is_some_and(|first| first.is_ascii_digit()) && name.ends_with(".json")
        };
        if let Some(record) = entry(&above.join("conda-meta"), is_record) {
            let text = fs::read_to_string(record).unwrap_or_default();
            return Claims::of_conda_index(&text);
        }
    }
    Claims::default()
}

fn entry(folder: &Path, wanted: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let mut names: Vec<PathBuf> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(&wanted))
        .map(|entry| entry.path())
        .collect();
    names.sort();
    names.into_iter().next()
}
