//! CUDA toolkits and the driver, as far as choosing a variant needs them: a few `stat`s, no process is started.

use std::path::{Path, PathBuf};

use crate::companion::Dotted;
use crate::process::Env;
use crate::selection::MachineCuda;
use crate::version::CudaVersion;

/// A CUDA toolkit on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolkit {
    /// Its version.
    pub version: CudaVersion,
    /// Its root, with `bin` and `lib64` in it.
    pub root: PathBuf,
}

/// The toolkit in force and the newest CUDA of the driver.
pub fn machine(env: &Env) -> MachineCuda {
    let toolkit = toolkits(env)
        .into_iter()
        .next()
        .map(|toolkit| toolkit.version);
    MachineCuda {
        toolkit,
        driver: driver(env),
    }
}

/// Toolkits in the order in which they are in force: the variables first, then the usual places, newest first.
pub fn toolkits(env: &Env) -> Vec<Toolkit> {
    let mut found: Vec<Toolkit> = Vec::new();
    let variables = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT"]
        .into_iter()
        .filter_map(|name| env.path(name));
    for root in variables.map(Path::to_owned).chain(usual_places(env)) {
        // Two names of one folder (`/usr/local/cuda`) are one toolkit.
        let real = dunce::canonicalize(&root).unwrap_or_else(|_| root.clone());
        if found
            .iter()
            .any(|toolkit| dunce::canonicalize(&toolkit.root).is_ok_and(|other| other == real))
        {
            continue;
        }
        if let Some(version) = toolkit_version(&root, &real) {
            found.push(Toolkit { version, root });
        }
    }
    found
}

fn usual_places(env: &Env) -> Vec<PathBuf> {
    let parent = if cfg!(windows) {
        let files = env
            .path("ProgramFiles")
            .unwrap_or(Path::new(r"C:\Program Files"));
        files.join("NVIDIA GPU Computing Toolkit").join("CUDA")
    } else {
        PathBuf::from("/usr/local")
    };
    let prefix = if cfg!(windows) { "v" } else { "cuda-" };
    let mut numbered: Vec<(CudaVersion, PathBuf)> = std::fs::read_dir(&parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let version: CudaVersion = name.to_str()?.strip_prefix(prefix)?.parse().ok()?;
            version.minor.is_some().then(|| (version, entry.path()))
        })
        .collect();
    numbered.sort_by(|a, b| b.cmp(a));
    let plain = (!cfg!(windows)).then(|| parent.join("cuda"));
    plain
        .into_iter()
        .chain(numbered.into_iter().map(|(_, path)| path))
        .collect()
}

/// A toolkit's version in two numbers; see [`full_version`].
fn toolkit_version(root: &Path, real: &Path) -> Option<CudaVersion> {
    full_version(root, real)?.to_string().parse().ok()
}

/// From `version.json` (11.1 and up), `version.txt` (to 11.0), else the folder's name: `12.6.77`, `10.2`.
pub fn full_version(root: &Path, real: &Path) -> Option<Dotted> {
    if let Ok(text) = std::fs::read_to_string(root.join("version.json"))
        && let Ok(json) = serde_json::from_str::<serde_json::Value>(&text)
        && let Some(version) = json
            .pointer("/cuda/version")
            .and_then(serde_json::Value::as_str)
    {
        return Dotted::parse(version);
    }
    if let Ok(text) = std::fs::read_to_string(root.join("version.txt")) {
        return Dotted::parse(text.trim().strip_prefix("CUDA Version ")?);
    }
    let has_libraries = ["bin", "lib64", "lib"]
        .iter()
        .any(|folder| root.join(folder).is_dir());
    let name = real.file_name()?.to_str()?;
    let number = name
        .strip_prefix("cuda-")
        .or_else(|| name.strip_prefix('v'))?;
    let version = Dotted::parse(number)?;
    has_libraries.then_some(version)
}

/// The newest CUDA that the installed driver runs; `CUDNNM_CUDA_DRIVER` overrules (containers, build machines).
pub fn driver(env: &Env) -> Option<CudaVersion> {
    if let Some(text) = env.text("CUDNNM_CUDA_DRIVER") {
        return text.parse().ok();
    }
    driver_cuda::newest()
}

#[cfg(unix)]
mod driver_cuda {
    use crate::version::CudaVersion;

    /// Asks the driver library itself; it answers without initialising a GPU.
    pub fn newest() -> Option<CudaVersion> {
        super::cuda_of_driver_library("libcuda.so.1")
    }
}

#[cfg(windows)]
mod driver_cuda {
    use crate::version::CudaVersion;

    /// Asks the driver library itself; it answers without initialising a GPU.
    pub fn newest() -> Option<CudaVersion> {
        super::cuda_of_driver_library("nvcuda.dll")
    }
}

fn cuda_of_driver_library(name: &str) -> Option<CudaVersion> {
    // SAFETY: the driver's library runs no code of ours; its initialisers are what every CUDA program runs.
    let library = unsafe { libloading::Library::new(name) }.ok()?;
    // SAFETY: `CUresult cuDriverGetVersion(int *)` is the documented signature since CUDA 2.2.
    let get: libloading::Symbol<unsafe extern "C" fn(*mut i32) -> i32> =
        unsafe { library.get(b"cuDriverGetVersion\0") }.ok()?;
    let mut number = 0;
    // SAFETY: `number` is a valid place for an int.
    let status = unsafe { get(&raw mut number) };
    // 13000 means 13.0, 12080 means 12.8. A stub library answers 0.
    let number = u32::try_from(number)
        .ok()
        .filter(|number| status == 0 && (1000..1_000_000).contains(number))?;
    Some(CudaVersion::new(number / 1000, number % 1000 / 10))
}
