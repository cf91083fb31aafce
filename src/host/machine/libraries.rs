//! Every cuDNN that a program could find here, in the order in which a loader would come upon it.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::Look;
use super::inspect::{self, Head};
use crate::diagnosis::facts::{Binary, Fact, Facts, Header, Library, Reach, SearchKind, System};
use crate::diagnosis::library::LibraryName;
use crate::diagnosis::owner;
use crate::diagnosis::read::{self, listing::Entry};
use crate::host::cudnns;

/// Files of a cuDNN's folder beyond that are not cuDNN's.
const MOST_IN_FOLDER: usize = 20_000;

/// Fills in libraries and headers.
pub fn find(look: &Look, facts: &mut Facts) {
    let mut finder = Finder {
        look,
        seen: HashSet::new(),
        libraries: Vec::new(),
        binaries: Vec::new(),
        entries: Vec::new(),
        zlib: Vec::new(),
        foreign: Vec::new(),
    };
    finder.search(facts);
    for header in headers(look) {
        facts.headers.push(header);
    }
    let Finder {
        libraries,
        binaries,
        entries,
        zlib,
        foreign,
        ..
    } = finder;
    facts
        .files
        .extend(libraries.iter().map(|library| library.path.clone()));
    facts.files.extend(zlib);
    facts.files.extend(foreign);
    facts.libraries = Fact::Known(libraries);
    facts.binaries.extend(binaries);
    facts.entries.extend(entries);
}

struct Finder<'a> {
    look: &'a Look<'a>,
    /// Real folders that were listed already.
    seen: HashSet<PathBuf>,
    libraries: Vec<Library>,
    binaries: Vec<Binary>,
    entries: Vec<Entry>,
    zlib: Vec<String>,
    foreign: Vec<String>,
}

impl Finder<'_> {
    fn search(&mut self, facts: &Facts) {
        if cfg!(windows) {
            let windows = self.look.windows_folder();
            self.folder(&windows.join("System32"), |_| Reach::System);
        }
        let elements = facts
            .searches
            .all()
            .first()
            .map(|list| (list.kind, list.elements.clone()));
        if let Some((kind, elements)) = elements {
            for (position, element) in elements.iter().enumerate() {
                let folder = if element.is_empty() && kind == SearchKind::LdLibraryPath {
                    self.look.cwd.to_owned()
                } else if element.trim().is_empty() {
                    continue;
                } else {
                    self.look.real(Path::new(element))
                };
                self.folder(&folder, |_| Reach::Element(position + 1));
                self.below(&folder);
            }
        }
        if !cfg!(windows) {
            self.cache();
            for folder in default_folders() {
                self.folder(&self.look.real(Path::new(folder)), |_| Reach::Cache);
            }
        }
        for site in super::python::sites(self.look) {
            for below in ["nvidia/cudnn/lib", "nvidia/cudnn/bin", "torch/lib"] {
                self.folder(&site.join(below), |_| Reach::Private);
            }
        }
        if self.look.is_own() {
            for place in cudnns::places(self.look.env, None) {
                for folder in &place.folders {
                    self.folder(folder, |_| Reach::Private);
                }
            }
        }
    }

    /// NVIDIA's installer puts the folder above those with the DLLs on `PATH`: `v9.7\bin` for `v9.7\bin\12.8`.
    fn below(&mut self, folder: &Path) {
        let name = folder.to_string_lossy().to_ascii_lowercase();
        if !name.contains("cudnn") {
            return;
        }
        for inner in subfolders(folder) {
            self.folder(&inner, |_| Reach::Private);
            for innermost in subfolders(&inner) {
                self.folder(&innermost, |_| Reach::Private);
            }
        }
    }

    /// Libraries that the loader's cache knows.
    fn cache(&mut self) {
        let Ok(bytes) = fs::read(self.look.real(Path::new("/etc/ld.so.cache"))) else {
            return;
        };
        let mut folders: Vec<PathBuf> = Vec::new();
        for entry in read::loader::cache(&bytes) {
            if LibraryName::of(&entry.soname).is_cudnn
                && let Some(folder) = Path::new(&entry.path).parent()
                && !folders.iter().any(|known| known == folder)
            {
                folders.push(folder.to_owned());
            }
        }
        for folder in folders {
            self.folder(&self.look.real(&folder), |_| Reach::Cache);
        }
    }

    /// The cuDNN libraries that lie directly in a folder.
    fn folder(&mut self, folder: &Path, reach: impl Fn(&LibraryName) -> Reach) {
        let real = dunce::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        if !self.seen.insert(real) {
            return;
        }
        let mut found: Vec<(LibraryName, PathBuf)> = Vec::new();
        let mut names: Vec<String> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .take(MOST_IN_FOLDER)
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        for name in names {
            let path = folder.join(&name);
            if name.eq_ignore_ascii_case("zlibwapi.dll") {
                self.zlib.push(self.look.shown(&path));
                continue;
            }
            // Libraries of the system that every program would get from this folder.
            let foreign = ["libcrypto.so", "libssl.so", "libstdc++.so"];
            if foreign.iter().any(|start| name.starts_with(start)) {
                self.foreign.push(self.look.shown(&path));
                continue;
            }
            let parsed = LibraryName::of(&name);
            let is_for_here = parsed.system
                == Some(if cfg!(windows) {
                    System::Windows
                } else {
                    System::Linux
                });
            // `libcudnn.so` is for linkers; programs ask for a number.
            if !parsed.is_cudnn || !is_for_here || parsed.major.is_none() {
                continue;
            }
            found.push((parsed, path));
        }
        for (name, path) in &found {
            self.entry(path);
            // A file under its full number is the same as the link that leads to it, if there is one.
            let has_short_name = name.full.is_some()
                && found.iter().any(|(other, other_path)| {
                    other.full.is_none()
                        && other.soname() == name.soname()
                        && same_file(path, other_path)
                });
            if !has_short_name {
                self.library(name, path, reach(name));
            }
        }
    }

    /// As a listing would show it, for links that lead nowhere and files that only their owner may read.
    fn entry(&mut self, path: &Path) {
        let Ok(metadata) = fs::symlink_metadata(path) else {
            return;
        };
        let link = fs::read_link(path)
            .ok()
            .map(|target| target.display().to_string());
        let size = link.is_none().then_some(metadata.len());
        self.entries.push(Entry {
            path: self.look.shown(path),
            size,
            link,
            mode: mode(&metadata),
            is_folder: false,
        });
    }

    fn library(&mut self, name: &LibraryName, path: &Path, reach: Reach) {
        let Ok(metadata) = fs::metadata(path) else {
            // A link to nowhere: the entry tells.
            return;
        };
        if metadata.is_dir() {
            return;
        }
        let shown = self.look.shown(path);
        let content = inspect::content(path, metadata.len());
        let (machine, resource, imports_zlib) = match &content {
            Head::Good(machine, resource, zlib) => (Fact::Known(*machine), *resource, Some(*zlib)),
            Head::Bad(content) => {
                self.binaries.push(Binary {
                    path: shown.clone(),
                    content: content.clone(),
                    size: metadata.len(),
                });
                (Fact::Unknown("it is no library".to_owned()), None, None)
            }
            Head::Unreadable(why) => (Fact::Unknown(why.clone()), None, None),
        };
        let version = inspect::version(name, path, resource);
        self.libraries.push(Library {
            owner: owner::of(&shown),
            path: shown,
            version,
            machine,
            size: Some(metadata.len()),
            reach,
            imports_zlib,
            name: name.clone(),
        });
    }
}

/// `-rw-r--r--`, for what a listing would show.
#[cfg(unix)]
fn mode(metadata: &fs::Metadata) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    let bits = metadata.permissions().mode();
    let kind = if metadata.is_symlink() { 'l' } else { '-' };
    let rights = (0..9).map(|position| {
        if bits & (0o400 >> position) == 0 {
            '-'
        } else {
            ['r', 'w', 'x'][position % 3]
        }
    });
    Some(std::iter::once(kind).chain(rights).collect())
}

#[cfg(windows)]
fn mode(_: &fs::Metadata) -> Option<String> {
    None
}

fn same_file(a: &Path, b: &Path) -> bool {
    match (dunce::canonicalize(a), dunce::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .take(200)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// The folders of Linux' loader in its own order.
fn default_folders() -> &'static [&'static str] {
    if cfg!(target_arch = "aarch64") {
        &[
            "/lib/aarch64-linux-gnu",
            "/usr/lib/aarch64-linux-gnu",
            "/lib64",
            "/usr/lib64",
            "/lib",
            "/usr/lib",
        ]
    } else {
        &[
            "/lib/x86_64-linux-gnu",
            "/usr/lib/x86_64-linux-gnu",
            "/lib64",
            "/usr/lib64",
            "/lib",
            "/usr/lib",
        ]
    }
}

/// Headers where compilers look by themselves, and in the toolkits.
fn headers(look: &Look) -> Vec<Header> {
    let mut folders: Vec<PathBuf> = Vec::new();
    if !cfg!(windows) {
        for folder in [
            "/usr/include",
            "/usr/include/x86_64-linux-gnu",
            "/usr/local/cuda/include",
        ] {
            folders.push(look.real(Path::new(folder)));
        }
    }
    let mut found = Vec::new();
    for folder in folders {
        // From 8 on cudnn.h only includes the other.
        for name in ["cudnn_version.h", "cudnn.h"] {
            let path = folder.join(name);
            if let Some(version) = super::text(&path)
                .as_deref()
                .and_then(read::header::version)
            {
                found.push(Header {
                    path: look.shown(&path),
                    version: Fact::Known(version),
                });
                break;
            }
        }
    }
    found
}
