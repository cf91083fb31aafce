//! Python interpreters and the packages of their environments, read from files: no interpreter is started.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::Look;
use crate::binary;
use crate::diagnosis::facts::{Fact, Facts, Machine, Package, PackageSource, Python, Reported};
use crate::diagnosis::read;
use crate::host::companions::site_packages;

/// Fills in interpreters and packages.
pub fn find(look: &Look, facts: &mut Facts) {
    facts.pythons = Fact::Known(interpreters(look));
    let sites = sites(look);
    let mut packages: Vec<Package> = Vec::new();
    for site in &sites {
        packages.extend(pip(site));
    }
    if let Some(prefix) = look.env.path("CONDA_PREFIX") {
        packages.extend(conda(&look.real(prefix)));
    }
    facts.packages = Fact::Known(packages);
    if look.frameworks {
        for site in &sites {
            facts.reported.extend(bundled(site));
        }
    }
}

/// The first Python on `PATH`, which is the one a person starts.
fn interpreters(look: &Look) -> Vec<Python> {
    if !look.is_own() {
        return Vec::new();
    }
    let Some(path) = ["python3", "python"]
        .iter()
        .find_map(|name| which::which_in(name, look.env.var("PATH"), look.cwd).ok())
    else {
        return Vec::new();
    };
    let machine = File::open(&path)
        .ok()
        .and_then(|mut file| binary::read(&mut file).ok().flatten());
    let machine = match machine.map(|binary| binary.machine) {
        Some(binary::Machine::X64) => Fact::Known(Machine::X64),
        Some(binary::Machine::X86) => Fact::Known(Machine::X86),
        Some(binary::Machine::Arm64) => Fact::Known(Machine::Arm64),
        Some(binary::Machine::Ppc64le) => Fact::Known(Machine::Ppc64le),
        Some(binary::Machine::Other(_)) => Fact::Known(Machine::Other),
        None => Fact::Unknown("the launcher is not a program file".to_owned()),
    };
    let version = path
        .ancestors()
        .nth(2)
        .and_then(|prefix| super::text(&prefix.join("pyvenv.cfg")))
        .and_then(|text| {
            text.lines().find_map(|line| {
                let (name, value) = line.split_once('=')?;
                name.trim()
                    .starts_with("version")
                    .then(|| value.trim().to_owned())
            })
        });
    vec![Python {
        path: path.display().to_string(),
        version: version.map_or_else(
            || Fact::Unknown("only a virtual environment tells it without starting it".to_owned()),
            Fact::Known,
        ),
        machine,
        active: true,
    }]
}

/// The folders of packages of the active environments, else of the Python on `PATH`.
pub fn sites(look: &Look) -> Vec<PathBuf> {
    let mut prefixes: Vec<PathBuf> = ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .iter()
        .filter_map(|name| look.env.path(name))
        .map(|prefix| look.real(prefix))
        .collect();
    if prefixes.is_empty() && look.is_own() {
        let python = which::which_in("python3", look.env.var("PATH"), look.cwd)
            .or_else(|_| which::which_in("python", look.env.var("PATH"), look.cwd));
        if let Ok(python) = python {
            // On Windows python.exe lies in the prefix itself.
            let above = if cfg!(windows) { 1 } else { 2 };
            prefixes.extend(python.ancestors().nth(above).map(Path::to_owned));
        }
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for prefix in prefixes {
        found.extend(site_packages(&prefix, cfg!(windows)));
        for site in site_packages(&prefix.join("local"), cfg!(windows)) {
            found.push(site.with_file_name("dist-packages"));
        }
    }
    found.retain(|site| site.is_dir());
    found
}

/// Packages by their `name-version.dist-info` folders.
fn pip(site: &Path) -> Vec<Package> {
    let mut names: Vec<String> = fs::read_dir(site)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| {
            let stem = name.strip_suffix(".dist-info")?;
            let (name, version) = stem.split_once('-')?;
            Some(format!("{name}=={version}"))
        })
        .collect();
    names.sort();
    read::packages::pip(&names.join("\n"), PackageSource::Pip)
}

/// Packages by conda's records, `conda-meta/cudnn-8.9.2.26-cuda11_0.json`.
fn conda(prefix: &Path) -> Vec<Package> {
    let mut lines: Vec<String> = fs::read_dir(prefix.join("conda-meta"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| {
            let stem = name.strip_suffix(".json")?;
            let mut parts = stem.rsplitn(3, '-');
            let (build, version, name) = (parts.next()?, parts.next()?, parts.next()?);
            Some(format!("{name} {version} {build}"))
        })
        .collect();
    lines.sort();
    read::packages::conda(&lines.join("\n"))
}

/// The cuDNN that torch carries in its own folder on Windows, where it always wins.
fn bundled(site: &Path) -> Vec<Reported> {
    if !cfg!(windows) {
        return Vec::new();
    }
    let folder = site.join("torch").join("lib");
    fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let parsed = crate::diagnosis::library::LibraryName::of(&name);
            if !parsed.is_main() || parsed.major.is_none() {
                return None;
            }
            let mut file = File::open(entry.path()).ok()?;
            let binary = binary::read(&mut file).ok().flatten()?;
            let [major, minor, patch, _] = binary.file_version?;
            Some(Reported {
                framework: "torch".to_owned(),
                version: crate::version::CudnnVersion::new(
                    major.into(),
                    minor.into(),
                    patch.into(),
                ),
            })
        })
        .collect()
}
