//! This machine as facts for a diagnosis.
//!
//! Nothing here starts a program unless the driver can't be asked through its library. Every part that can't be read says
//! why and the rest goes on. On Linux another root than `/` may be given (a container's file system, a mounted disk).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnosis::facts::{
    Disk, Fact, Facts, Machine, SearchKind, System, Toolkit, Variable, View,
};
use crate::diagnosis::read::{decode, search_path};
use crate::diagnosis::{self, Reference};
use crate::host::{cuda, disk};
use crate::process::Env;

mod driver;
mod inspect;
mod libraries;
mod python;
#[cfg(windows)]
mod registry;

/// What to look at, and how closely.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// Variables.
    pub env: &'a Env,
    /// The current folder, which an empty element of a search list means.
    pub cwd: &'a Path,
    /// Where the system lies; `/` except for another system's files.
    pub root: &'a Path,
    /// The store's folder, for its disk.
    pub store: &'a Path,
    /// Also look at the copies that frameworks bring.
    pub frameworks: bool,
}

impl Look<'_> {
    /// A path of the system, where it really lies.
    fn real(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("/") {
            Ok(rest) if !self.is_own() => self.root.join(rest),
            _ => path.to_owned(),
        }
    }

    /// A real path as the system itself would call it.
    fn shown(&self, path: &Path) -> String {
        let inside = if self.is_own() {
            None
        } else {
            path.strip_prefix(self.root).ok()
        };
        match inside {
            Some(rest) => format!("/{}", rest.display()),
            None => path.display().to_string(),
        }
    }

    /// Windows' own folder.
    fn windows_folder(&self) -> PathBuf {
        if self.is_own() {
            let named = self.env.path("SystemRoot");
            named.unwrap_or(Path::new(r"C:\Windows")).to_owned()
        } else {
            self.root.join("Windows")
        }
    }

    /// The running system's own root.
    fn is_own(&self) -> bool {
        self.root == Path::new("/")
    }
}

/// Variables that loading, building or the driver depend on. By name, not by pattern: others may hold secrets, and these
/// are printed and saved.
const TELLING: [&str; 27] = [
    "CUDNNM_ACTIVE",
    "PATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "CUDA_PATH",
    "CUDA_HOME",
    "CUDA_ROOT",
    "CUDA_TOOLKIT_ROOT_DIR",
    "CUDA_VISIBLE_DEVICES",
    "CUDNN_PATH",
    "CUDNN_HOME",
    "CUDNN_ROOT",
    "CUDNN_ROOT_DIR",
    "CUDNN_INCLUDE_DIR",
    "CUDNN_LIBRARY",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "CONDA_PREFIX",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "PYTHONHOME",
    "WSL_DISTRO_NAME",
    "TMPDIR",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "PYTORCH_SKIP_CUDNN_COMPATIBILITY_CHECK",
    "FLAGS_CUDNN_DIR",
    "OS",
];

fn is_telling(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    TELLING.contains(&upper.as_str()) || upper.starts_with("CUDA_PATH_V")
}

/// Gathers the facts.
pub fn facts(look: &Look, reference: &Reference) -> Facts {
    let mut facts = Facts {
        fits: Arc::clone(&reference.fits),
        system: Fact::Known(if cfg!(windows) {
            System::Windows
        } else {
            System::Linux
        }),
        machine: machine(look),
        wsl: wsl(look),
        container: container(look),
        ..Facts::default()
    };
    variables(look, &mut facts);
    if look.is_own() {
        driver::ask(look.env, &mut facts);
    } else {
        let why = "another system's files are looked at".to_owned();
        facts.driver = Fact::Unknown(why.clone());
        facts.gpus = Fact::Unknown(why);
    }
    toolkits(look, &mut facts);
    libraries::find(look, &mut facts);
    python::find(look, &mut facts);
    disks(look, &mut facts);
    diagnosis::complete(&mut facts);
    facts
}

fn machine(look: &Look) -> Fact<Machine> {
    if !look.is_own() {
        return Fact::Unknown("another system's files are looked at".to_owned());
    }
    Fact::Known(if cfg!(target_arch = "x86_64") {
        Machine::X64
    } else if cfg!(target_arch = "aarch64") {
        Machine::Arm64
    } else if cfg!(target_arch = "powerpc64") {
        Machine::Ppc64le
    } else if cfg!(target_arch = "x86") {
        Machine::X86
    } else {
        Machine::Other
    })
}

fn wsl(look: &Look) -> Fact<bool> {
    if cfg!(windows) {
        return Fact::Known(false);
    }
    match std::fs::read_to_string(look.real(Path::new("/proc/version"))) {
        Ok(text) => Fact::Known(text.to_ascii_lowercase().contains("microsoft")),
        Err(error) if look.is_own() => Fact::Unknown(format!("/proc/version: {error}")),
        Err(_) => Fact::Known(false),
    }
}

fn container(look: &Look) -> Fact<bool> {
    let marks = ["/.dockerenv", "/run/.containerenv", "/.singularity.d"];
    let by_file = marks.iter().any(|mark| look.real(Path::new(mark)).exists());
    let by_variable = ["NVIDIA_VISIBLE_DEVICES", "KUBERNETES_SERVICE_HOST"]
        .iter()
        .any(|name| look.env.var(name).is_some());
    Fact::Known(!cfg!(windows) && (by_file || by_variable))
}

fn variables(look: &Look, facts: &mut Facts) {
    facts.variables = Fact::Known(Vec::new());
    facts.searches = Fact::Known(Vec::new());
    for (name, value) in look.env.iter() {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        if is_telling(&name) {
            facts.variables.push(Variable {
                name: name.into_owned(),
                value: value.into_owned(),
                from: "environment".to_owned(),
            });
        }
    }
    let (kind, name) = if cfg!(windows) {
        (SearchKind::Path, "PATH")
    } else {
        (SearchKind::LdLibraryPath, "LD_LIBRARY_PATH")
    };
    if let Some(value) = look.env.var(name) {
        let value = value.to_string_lossy();
        let view = if cfg!(windows) {
            View::Process
        } else {
            View::Plain
        };
        facts
            .searches
            .push(search_path::list(kind, &value, "environment", view));
    }
    #[cfg(windows)]
    if look.is_own()
        && let Some(stored) = registry::stored_path(look.env)
    {
        facts.searches.push(search_path::list(
            SearchKind::Path,
            &stored,
            "registry",
            View::Stored,
        ));
    }
}

fn toolkits(look: &Look, facts: &mut Facts) {
    if !look.is_own() {
        facts.toolkits = Fact::Known(Vec::new());
        return;
    }
    let found = cuda::toolkits(look.env)
        .into_iter()
        .map(|toolkit| Toolkit {
            version: toolkit.version,
            at: toolkit.root.display().to_string(),
        })
        .collect();
    facts.toolkits = Fact::Known(found);
    facts.nvcc = match which::which_in("nvcc", look.env.var("PATH"), look.cwd) {
        Ok(nvcc) => nvcc_version(&nvcc),
        Err(_) => Fact::Unknown("no nvcc on PATH".to_owned()),
    };
}

/// The version of the toolkit that an nvcc belongs to, from the toolkit's own files: nothing is started.
fn nvcc_version(nvcc: &Path) -> Fact<crate::companion::Dotted> {
    let real = dunce::canonicalize(nvcc).unwrap_or_else(|_| nvcc.to_owned());
    let version = real
        .parent()
        .and_then(Path::parent)
        .and_then(|root| cuda::full_version(root, root));
    match version {
        Some(version) => Fact::Known(version),
        None => Fact::Unknown(format!(
            "the toolkit of `{}` does not tell its version",
            nvcc.display()
        )),
    }
}

fn disks(look: &Look, facts: &mut Facts) {
    if !look.is_own() {
        return;
    }
    facts.disks = Fact::Known(Vec::new());
    let temporary = look.env.path("TMPDIR").or_else(|| look.env.path("TEMP"));
    let places = [Some(look.store), temporary];
    for place in places.into_iter().flatten() {
        if let Some(available) = disk::available(place) {
            facts.disks.push(Disk {
                at: place.display().to_string(),
                available,
                size: None,
            });
        }
    }
}

/// A small text file, whatever encoding it is in.
fn text(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Some(decode::text(&bytes).text)
}

/// This machine's name, as far as a file tells it.
pub fn host_name() -> Option<String> {
    let text = text(Path::new("/proc/sys/kernel/hostname"))
        .or_else(|| text(Path::new("/etc/hostname")))?;
    Some(text.trim().to_owned()).filter(|name| !name.is_empty())
}
