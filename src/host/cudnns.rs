//! Places of this machine where a cuDNN may lie that cudnnm did not put there. Only places; what lies in them is read elsewhere.

use std::path::{Path, PathBuf};

use super::companions::site_packages;
use super::cuda;
use crate::process::Env;

/// One place: folders whose files belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// In words: `the CUDA 11.3 toolkit`.
    pub what: String,
    /// The folder that a person would name.
    pub top: PathBuf,
    /// Where files lie; each is listed, none is searched further down.
    pub folders: Vec<PathBuf>,
}

/// Every place, the likeliest first; only those that exist. `python` is an interpreter to look beside.
pub fn places(env: &Env, python: Option<&Path>) -> Vec<Place> {
    let mut places = Vec::new();
    if let Some(prefix) = python.and_then(prefix_of) {
        python_places(&mut places, &prefix, "this Python");
    }
    if let Some(prefix) = env.path("VIRTUAL_ENV") {
        python_places(&mut places, prefix, "the active virtual environment");
    }
    if let Some(prefix) = env.path("CONDA_PREFIX") {
        let below = [
            "lib",
            "include",
            "Library/bin",
            "Library/lib",
            "Library/lib/x64",
            "Library/include",
        ];
        push(&mut places, "the active conda environment", prefix, &below);
        python_places(&mut places, prefix, "the active conda environment");
    }
    for toolkit in cuda::toolkits(env) {
        let below = [
            "bin",
            "bin/x64",
            "lib64",
            "lib",
            "lib/x64",
            "include",
            "targets/x86_64-linux/lib",
            "targets/x86_64-linux/include",
            "targets/sbsa-linux/lib",
            "targets/sbsa-linux/include",
            ".",
        ];
        push(
            &mut places,
            &format!("the CUDA {} toolkit", toolkit.version),
            &toolkit.root,
            &below,
        );
    }
    if cfg!(windows) {
        installer(&mut places, env);
        system32(&mut places, env);
    } else {
        unix(&mut places, env);
    }
    places
}

fn push(places: &mut Vec<Place>, what: &str, top: &Path, below: &[&str]) {
    let folders: Vec<PathBuf> = below
        .iter()
        .map(|folder| top.join(folder))
        .filter(|folder| folder.is_dir())
        .collect();
    if !folders.is_empty() {
        places.push(Place {
            what: what.to_owned(),
            top: top.to_owned(),
            folders,
        });
    }
}

fn python_places(places: &mut Vec<Place>, prefix: &Path, what: &str) {
    let mut sites = site_packages(prefix, cfg!(windows));
    // Debian's own Python keeps its packages elsewhere.
    sites.push(prefix.join("lib/python3/dist-packages"));
    sites.extend(
        site_packages(&prefix.join("local"), cfg!(windows))
            .into_iter()
            .map(|site| site.with_file_name("dist-packages")),
    );
    for site in sites {
        for (package, below) in [
            ("nvidia/cudnn", ["bin", "lib", "lib/x64", "include", "."]),
            (
                "nvidia/cudnn_jit",
                ["bin", "lib", "lib/x64", "include", "."],
            ),
            ("torch", ["lib", ".", ".", ".", "."]),
        ] {
            let package_what = package.rsplit('/').next().unwrap_or(package);
            push(
                places,
                &format!("{what} ({package_what})"),
                &site.join(package),
                &below,
            );
        }
    }
}

/// The environment that an interpreter belongs to.
fn prefix_of(python: &Path) -> Option<PathBuf> {
    let folder = python.parent()?;
    let scripts = folder.file_name().is_some_and(|name| {
        name.eq_ignore_ascii_case("bin") || name.eq_ignore_ascii_case("Scripts")
    });
    // On Windows python.exe lies in the prefix itself, except in a virtual environment.
    if scripts {
        folder.parent().map(Path::to_owned)
    } else {
        Some(folder.to_owned())
    }
}

/// NVIDIA's graphical installer: `NVIDIA\CUDNN\v9.10\bin\12.9`, later with `x64` below.
fn installer(places: &mut Vec<Place>, env: &Env) {
    let files = env
        .path("ProgramFiles")
        .unwrap_or(Path::new(r"C:\Program Files"));
    for version in subfolders(&files.join("NVIDIA").join("CUDNN")) {
        let mut cudas: Vec<String> = subfolders(&version.join("bin"))
            .iter()
            .filter_map(|folder| folder.file_name()?.to_str().map(str::to_owned))
            .collect();
        cudas.retain(|name| {
            name.bytes()
                .next()
                .is_some_and(|first| first.is_ascii_digit())
        });
        let name = version
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        for cuda in &cudas {
            let below: Vec<String> = ["bin", "lib", "include"]
                .iter()
                .flat_map(|folder| [format!("{folder}/{cuda}"), format!("{folder}/{cuda}/x64")])
                .collect();
            let below: Vec<&str> = below.iter().map(String::as_str).collect();
            push(
                places,
                &format!("NVIDIA's installer, cuDNN {name} for CUDA {cuda}"),
                &version,
                &below,
            );
        }
        if cudas.is_empty() {
            push(
                places,
                &format!("NVIDIA's installer, cuDNN {name}"),
                &version,
                &["bin", "lib", "lib/x64", "include"],
            );
        }
    }
}

fn system32(places: &mut Vec<Place>, env: &Env) {
    let windows = env.path("SystemRoot").unwrap_or(Path::new(r"C:\Windows"));
    push(places, "Windows' own folder", windows, &["System32"]);
}

fn unix(places: &mut Vec<Place>, env: &Env) {
    let triple = if cfg!(target_arch = "aarch64") {
        "aarch64-linux-gnu"
    } else {
        "x86_64-linux-gnu"
    };
    let (lib, include) = (format!("lib/{triple}"), format!("include/{triple}"));
    push(
        places,
        "system packages",
        Path::new("/usr"),
        &[&lib, "lib64", "lib", &include, "include"],
    );
    push(
        places,
        "/usr/local",
        Path::new("/usr/local"),
        &["lib", "lib64", "include"],
    );
    if let Some(home) = env.path("HOME") {
        python_places(places, &home.join(".local"), "your own Python packages");
    }
    for folder in env
        .var("LD_LIBRARY_PATH")
        .into_iter()
        .flat_map(std::env::split_paths)
    {
        if folder.is_absolute() {
            let above = folder.parent().unwrap_or(&folder);
            let name = folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            push(places, "LD_LIBRARY_PATH", above, &[&name, "include"]);
        }
    }
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}
