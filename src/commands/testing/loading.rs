//! Layer 2: what a program started by `exec` would really load. In a child, without a GPU.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::environment;
use crate::probe::files::is_cudnn;
use crate::probe::{Event, Heard, Request};
use crate::version::{BuildId, CudnnVersion};

use super::files::Libraries;
use super::{Findings, Layer, counted};

/// One library in the process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loaded {
    /// Its file name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Whether it is the active build's own.
    pub active: bool,
    /// As its name says, when it says so.
    pub version: Option<String>,
}

/// What the child is asked.
pub fn request(build: &BuildId, libraries: &Libraries) -> Request {
    Request {
        library: environment::main_library(build),
        parts: libraries.parts.clone(),
        strangers: libraries.strangers.clone(),
        compute: None,
    }
}

/// Judges what the child told.
pub fn layer(build: &BuildId, libraries: &Libraries, heard: &Heard) -> (Layer, Vec<Loaded>) {
    let mut findings = Findings::default();
    let mut version = None;
    for told in &heard.events {
        match &told.event {
            Event::Library { version: found, .. } => version = Some(*found),
            Event::Part {
                name,
                version: Some(found),
            } if !found.same_release(build.version) => findings.fail(
                format!(
                    "{name} is of cuDNN {}, not {}",
                    found.label(),
                    build.version.label()
                ),
                None,
            ),
            Event::PartMissing { name, why } => {
                findings.fail(format!("{name} can't be loaded: {why}"), None);
            }
            _ => {}
        }
    }
    if let Some(sentence) = heard.sentence() {
        findings.fail(sentence, None);
    }
    if let Some(version) = version
        && !version.same_release(build.version)
    {
        findings.fail(
            format!(
                "{} says it is {}, not {}",
                environment::main_library(build),
                version.label(),
                build.version.label()
            ),
            None,
        );
    }
    let loaded = loaded(heard, libraries);
    mixture(build, &loaded, &mut findings);
    strangers(heard, &mut findings);
    let ours = loaded.iter().filter(|file| file.active).count();
    let says = version.map_or_else(
        || "not loaded".to_owned(),
        |version| format!("cudnnGetVersion says {}", version.label()),
    );
    let folders: BTreeSet<&Path> = loaded
        .iter()
        .filter(|file| is_cudnn(Path::new(&file.name)))
        .map(|file| file.folder.as_path())
        .collect();
    let from = match folders.into_iter().collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [only] => format!("; {} from {}", counted(ours, "cuDNN file"), only.display()),
        several => format!("; cuDNN files from {} folders", several.len()),
    };
    (findings.layer(format!("{says}{from}")), loaded)
}

/// The libraries that the child last saw in itself.
pub fn loaded(heard: &Heard, libraries: &Libraries) -> Vec<Loaded> {
    let last = heard
        .events
        .iter()
        .rev()
        .find_map(|told| match &told.event {
            Event::Files { files } => Some(files.as_slice()),
            _ => None,
        });
    last.unwrap_or_default()
        .iter()
        .map(|path| Loaded {
            name: name(path),
            folder: path.parent().map(Path::to_owned).unwrap_or_default(),
            active: dunce::canonicalize(path).is_ok_and(|real| libraries.real.contains(&real)),
            version: version_in(&name(path)),
        })
        .collect()
}

/// More than one cuDNN in a process is the commonest break: both folders are named.
pub fn mixture(build: &BuildId, loaded: &[Loaded], findings: &mut Findings) {
    let mut foreign: BTreeMap<&Path, Vec<&Loaded>> = BTreeMap::new();
    for file in loaded {
        if is_cudnn(Path::new(&file.name)) && !file.active {
            foreign.entry(&file.folder).or_default().push(file);
        }
    }
    let ours: BTreeSet<&Path> = loaded
        .iter()
        .filter(|file| file.active)
        .map(|file| file.folder.as_path())
        .collect();
    for (folder, files) in foreign {
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        let version = files
            .iter()
            .find_map(|file| file.version.clone())
            .map(|version| format!(" ({version})"))
            .unwrap_or_default();
        let text = match ours.iter().next() {
            Some(own) => format!(
                "two cuDNNs in one process: {} from {}, and {}{version} from {}",
                build.version.label(),
                own.display(),
                names.join(", "),
                folder.display(),
            ),
            None => format!(
                "not this build is loaded, but {}{version} from {}",
                names.join(", "),
                folder.display()
            ),
        };
        findings.fail(
            text,
            Some(format!(
                "take {} off the loader's path, or use a full build, which has all its parts itself",
                folder.display()
            )),
        );
    }
}

/// Parts that this build lacks and the loader finds elsewhere: harmless until they are asked for.
fn strangers(heard: &Heard, findings: &mut Findings) {
    let mut by_folder: BTreeMap<PathBuf, (Vec<String>, Option<CudnnVersion>)> = BTreeMap::new();
    for told in &heard.events {
        let Event::Stranger {
            name,
            version,
            file,
            ..
        } = &told.event
        else {
            continue;
        };
        let folder = file
            .as_ref()
            .and_then(|file| {
                dunce::canonicalize(file)
                    .ok()
                    .or_else(|| Some(file.clone()))
            })
            .and_then(|file| file.parent().map(Path::to_owned))
            .unwrap_or_default();
        let entry = by_folder.entry(folder).or_default();
        entry.0.push(name.clone());
        entry.1 = entry.1.or(*version);
    }
    for (folder, (names, version)) in by_folder {
        let place = if folder.as_os_str().is_empty() {
            "the loader's path".to_owned()
        } else {
            folder.display().to_string()
        };
        let version = version
            .map(|version| format!(" (cuDNN {})", version.label()))
            .unwrap_or_default();
        findings.warn(
            format!(
                "this build has no {}; another cuDNN's would be loaded from {place}{version} if a program asked for it",
                names.join(", ")
            ),
            None,
        );
    }
}

/// `9.14.0` of `libcudnn_cnn.so.9.14.0`.
fn version_in(name: &str) -> Option<String> {
    let (_, numbers) = name.split_once(".so.")?;
    (numbers.matches('.').count() >= 2).then(|| numbers.to_owned())
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
