//! Where the libraries lie that a cuDNN opens beside its own: toolkit, store, the active Python environment, the system.
//!
//! This runs on every launch, so it is a handful of `stat`s by known names and no more.

use std::path::{Path, PathBuf};

use crate::companion::{CompanionId, CompanionKind};
use crate::process::Env;
use crate::store::Store;
use crate::version::Platform;

/// A companion that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The folder with the library in it.
    pub folder: PathBuf,
    /// What kind of place that is.
    pub place: Place,
}

/// The places in which a companion is looked for, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A CUDA toolkit of the right major.
    Toolkit,
    /// Our store.
    Store,
    /// `nvidia-…` wheels of the active virtual or conda environment.
    SitePackages,
    /// A folder that the loader searches anyway.
    System,
}

/// What is known of the surroundings of one launch.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// Variables.
    pub env: &'a Env,
    /// The store.
    pub store: &'a Store,
    /// Its companions, newest first.
    pub installed: &'a [CompanionId],
    /// For which platform.
    pub platform: Platform,
}

impl Surroundings<'_> {
    /// The first place that has this companion for a CUDA major.
    pub fn find(&self, kind: CompanionKind, cuda_major: u32) -> Option<Found> {
        let system = || {
            let telling = self.telling_library(kind, cuda_major);
            self.system_folders()
                .find(|folder| folder.join(&telling).is_file())
        };
        self.find_outside_system(kind, cuda_major).or_else(|| {
            system().map(|folder| Found {
                folder,
                place: Place::System,
            })
        })
    }

    /// The folders that a launch must add for a build of this CUDA major, in order, each once. What only the system
    /// has needs no folder: the loader searches there anyway.
    pub fn folders(&self, cuda_major: u32) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for found in CompanionKind::ALL
            .iter()
            .filter_map(|kind| self.find_outside_system(*kind, cuda_major))
        {
            if !folders.contains(&found.folder) {
                folders.push(found.folder);
            }
        }
        folders
    }

    fn find_outside_system(&self, kind: CompanionKind, cuda_major: u32) -> Option<Found> {
        let telling = self.telling_library(kind, cuda_major);
        let toolkit = self
            .toolkit_folders(cuda_major)
            .map(|folder| (folder, Place::Toolkit));
        let store = self
            .store_folder(kind, cuda_major)
            .into_iter()
            .map(|folder| (folder, Place::Store));
        let python = self
            .python_folders(kind, cuda_major)
            .map(|folder| (folder, Place::SitePackages));
        toolkit
            .chain(store)
            .chain(python)
            .find(|(folder, _)| folder.join(&telling).is_file())
            .map(|(folder, place)| Found { folder, place })
    }

    fn telling_library(&self, kind: CompanionKind, cuda_major: u32) -> String {
        kind.libraries(cuda_major, self.platform).swap_remove(0)
    }

    fn toolkit_folders(&self, cuda_major: u32) -> impl Iterator<Item = PathBuf> {
        let windows = self.platform.is_windows();
        let numbered = format!("CUDA_PATH_V{cuda_major}_");
        let mut roots: Vec<PathBuf> = ["CUDA_PATH", "CUDA_HOME"]
            .iter()
            .filter_map(|name| self.env.path(name))
            .map(Path::to_owned)
            .collect();
        if windows {
            // The installer sets one of these for each toolkit: CUDA_PATH_V12_8.
            let of_major = self.env.iter().filter(|(name, value)| {
                !value.is_empty()
                    && name
                        .to_str()
                        .is_some_and(|name| name.to_ascii_uppercase().starts_with(&numbered))
            });
            roots.extend(of_major.map(|(_, value)| PathBuf::from(value)));
        } else {
            roots.push(PathBuf::from(format!("/usr/local/cuda-{cuda_major}")));
            roots.push(PathBuf::from("/usr/local/cuda"));
        }
        // From CUDA 13 on the Windows DLLs lie in bin\x64.
        let below: &[&str] = if windows {
            &["bin", r"bin\x64"]
        } else {
            &["lib64", "targets/x86_64-linux/lib", "lib"]
        };
        roots
            .into_iter()
            .flat_map(move |root| below.iter().map(move |folder| root.join(folder)))
    }

    fn store_folder(&self, kind: CompanionKind, cuda_major: u32) -> Option<PathBuf> {
        let fits = |id: &&CompanionId| {
            id.kind == kind && id.cuda_major == cuda_major && id.platform == self.platform
        };
        let newest = self.installed.iter().filter(fits).max()?;
        let below = if self.platform.is_windows() {
            "bin"
        } else {
            "lib"
        };
        Some(self.store.companion_folder(newest).join(below))
    }

    fn python_folders(
        &self,
        kind: CompanionKind,
        cuda_major: u32,
    ) -> impl Iterator<Item = PathBuf> {
        let windows = self.platform.is_windows();
        let prefixes = ["VIRTUAL_ENV", "CONDA_PREFIX"]
            .into_iter()
            .filter_map(|name| self.env.path(name));
        let sites = prefixes.flat_map(move |prefix| site_packages(prefix, windows));
        let package = match kind {
            CompanionKind::Cublas => "cublas",
            CompanionKind::Nvrtc => "cuda_nvrtc",
        };
        let below = if windows { "bin" } else { "lib" };
        // The wheels of CUDA 13 share one folder: nvidia/cu13/lib.
        sites.flat_map(move |site| {
            let nvidia = site.join("nvidia");
            [
                nvidia.join(package).join(below),
                nvidia.join(format!("cu{cuda_major}")).join(below),
            ]
        })
    }

    fn system_folders(&self) -> impl Iterator<Item = PathBuf> {
        let folders: &[&str] = if self.platform.is_windows() {
            &[]
        } else {
            &[
                "/usr/lib/x86_64-linux-gnu",
                "/usr/lib64",
                "/usr/lib/aarch64-linux-gnu",
                "/usr/lib",
            ]
        };
        folders.iter().map(PathBuf::from)
    }
}

/// The site-packages of a virtual or conda environment.
pub fn site_packages(prefix: &Path, windows: bool) -> Vec<PathBuf> {
    if windows {
        return vec![prefix.join("Lib").join("site-packages")];
    }
    let lib = prefix.join("lib");
    let mut found: Vec<PathBuf> = std::fs::read_dir(&lib)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            entry
                .file_name()
                .to_str()
                .is_some_and(|name| name.starts_with("python3."))
        })
        .map(|entry| entry.path().join("site-packages"))
        .collect();
    found.sort();
    found
}
