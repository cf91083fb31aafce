//! `requirements.txt` and the output of `pip freeze`: which cuDNN each package loads, and where they disagree.

use serde::Serialize;

use super::framework::{brings, find, release};
use super::{Error, Named};
use crate::manifest::{Bundled, Facts, Releases};
use crate::selection::Candidate;
use crate::version::{BuildId, CudaVersion, CudnnVersion, Flavour, Platform, VersionSpec};

/// One package that has to do with cuDNN.
#[derive(Debug, Clone, Serialize)]
pub struct Package {
    /// As written.
    pub name: String,
    /// Its exact version, where the line pins one.
    pub version: Option<String>,
    /// The cuDNN major it loads or is.
    pub cudnn_major: Option<u32>,
    /// The cuDNN it was built with or is.
    pub cudnn: Option<String>,
    /// All that it runs with.
    pub accepts: Option<VersionSpec>,
    /// The CUDA major it was built for.
    pub cuda_major: Option<u32>,
    /// Where its cuDNN comes from, in words.
    pub how: String,
    /// Another one can take the place of its own.
    pub replaceable: bool,
    /// The source of the facts.
    pub source: String,
}

/// What a list of packages means for cuDNN.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Packages that load cuDNN or are one.
    pub packages: Vec<Package>,
    /// What can't work together.
    pub conflicts: Vec<String>,
    /// What to know.
    pub notes: Vec<String>,
    /// The newest build that all of them run with.
    pub build: Option<BuildId>,
}

/// Reads the list for one platform.
pub fn read(text: &str, platform: Platform, releases: &Releases, facts: &Facts) -> Report {
    let mut report = Report::default();
    let mut wheels: Vec<(CudnnVersion, Package)> = Vec::new();
    for line in logical_lines(text) {
        let Some(requirement) = Requirement::parse(&line) else {
            continue;
        };
        if let Some(cuda) = cudnn_wheel(&requirement.name) {
            let version = requirement.version.as_deref();
            let package = wheel_package(&requirement, cuda);
            match version.and_then(|version| version.parse::<CudnnVersion>().ok()) {
                Some(version) => wheels.push((version, package)),
                None => report.packages.push(package),
            }
            continue;
        }
        match framework_package(&requirement, platform, facts) {
            Ok(Some(package)) => report.packages.push(package),
            Ok(None) => {}
            Err(note) => report.notes.push(note),
        }
    }
    compare(&mut report, &wheels);
    report.packages.extend(wheels.into_iter().map(|(_, package)| package));
    if report.conflicts.is_empty() && !report.packages.is_empty() {
        report.build = common_build(&report.packages, platform, releases);
    }
    report
}

struct Requirement {
    name: String,
    version: Option<String>,
}

impl Requirement {
    /// `torch==2.4.1+cu121 ; python_version > "3.8" --hash=…`; `None` for what is no requirement (`-r other.txt`).
    fn parse(line: &str) -> Option<Self> {
        let line = line.split(';').next().unwrap_or(line);
        let line = line.split(" --").next().unwrap_or(line).trim();
        if line.is_empty() || line.starts_with('-') {
            return None;
        }
        let end = line
            .find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)))
            .unwrap_or(line.len());
        let name = line[..end].to_ascii_lowercase().replace(['_', '.'], "-");
        if name.is_empty() {
            return None;
        }
        let mut rest = line[end..].trim();
        if let Some(extras) = rest.strip_prefix('[') {
            rest = extras.split_once(']').map_or("", |(_, rest)| rest).trim();
        }
        let version = if let Some(exact) = rest.strip_prefix("==") {
            let exact = exact.trim_start_matches('=').split(',').next().unwrap_or_default();
            let exact = exact.trim().trim_end_matches(".*");
            release(exact).map(|_| exact.to_owned())
        } else if let Some(url) = rest.strip_prefix('@') {
            // `torch @ https://…/torch-2.4.1%2Bcu121-cp311-…whl`: the file's name has the version.
            let file = url.trim().rsplit('/').next().unwrap_or_default();
            let version = file.split('-').nth(1).unwrap_or_default().replace("%2B", "+");
            release(&version).map(|_| version)
        } else {
            None
        };
        Some(Self { name, version })
    }
}

/// Lines without comments, with `\` continuations joined. `conda list` columns (`torch  2.4.1  py311  pypi`) become pins.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut pending = String::new();
    for line in text.trim_start_matches('\u{feff}').lines() {
        let line = match line.find('#') {
            Some(0) => "",
            Some(at) if line[..at].ends_with(char::is_whitespace) => &line[..at],
            _ => line,
        };
        let line = line.trim_end();
        if let Some(start) = line.strip_suffix('\\') {
            pending.push_str(start);
            continue;
        }
        pending.push_str(line);
        let whole = std::mem::take(&mut pending);
        let columns: Vec<&str> = whole.split_whitespace().collect();
        let is_listing = matches!(columns.as_slice(), [_, version, ..]
            if version.starts_with(|c: char| c.is_ascii_digit()) && release(version).is_some());
        if is_listing {
            lines.push(format!("{}=={}", columns[0], columns[1]));
        } else {
            lines.push(whole);
        }
    }
    if !pending.is_empty() {
        lines.push(pending);
    }
    lines
}

/// The CUDA major of `nvidia-cudnn-cu12` and `nvidia-cudnn-jit-cu13`.
fn cudnn_wheel(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("nvidia-cudnn-")?;
    rest.strip_prefix("jit-").unwrap_or(rest).strip_prefix("cu")?.parse().ok()
}

fn wheel_package(requirement: &Requirement, cuda: u32) -> Package {
    let major = requirement
        .version
        .as_deref()
        .and_then(release)
        .and_then(|version| version.numbers().first().copied())
        .and_then(|major| u32::try_from(major).ok());
    Package {
        name: requirement.name.clone(),
        version: requirement.version.clone(),
        cudnn_major: major,
        cudnn: requirement.version.clone(),
        accepts: None,
        cuda_major: Some(cuda),
        how: "is NVIDIA's cuDNN itself".to_owned(),
        replaceable: true,
        source: "the package's name".to_owned(),
    }
}

/// `Ok(None)` for packages that have nothing to do with cuDNN; `Err` with what a person should know.
fn framework_package(
    requirement: &Requirement,
    platform: Platform,
    facts: &Facts,
) -> Result<Option<Package>, String> {
    let text = match &requirement.version {
        Some(version) => format!("{}=={version}", requirement.name),
        None => requirement.name.clone(),
    };
    // The opencv wheels of the index, onnxruntime and paddlepaddle without -gpu have no CUDA in them.
    let cpu_names = ["opencv-python", "paddlepaddle", "tensorflow-cpu", "tensorflow-intel"];
    if cpu_names.contains(&requirement.name.as_str()) {
        return Ok(None);
    }
    let Ok(named) = Named::parse(&text) else {
        return Ok(None);
    };
    // `jax` and `jaxlib` stand side by side in every list.
    if requirement.name == "jaxlib" {
        return Ok(None);
    }
    let (framework, version, _) = match find(&named, platform, facts) {
        Ok(found) => found,
        Err(Error::UnknownFramework { .. }) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let is_cpu = named
        .package
        .as_deref()
        .is_some_and(|package| package == "cpu");
    if is_cpu || framework.bundled == Bundled::NotUsed {
        return Err(format!("{} {version} does not use cuDNN", requirement.name));
    }
    if framework.bundled == Bundled::Inherits {
        return Err(format!("{} {version} loads the cuDNN of the package it is built on", requirement.name));
    }
    let numbers = framework
        .built
        .as_ref()
        .map(ToString::to_string)
        .or_else(|| framework.accepts.as_ref().map(ToString::to_string));
    let major = numbers.as_deref().and_then(|text| {
        text.trim_start_matches(['>', '=']).split(['.', ',']).next()?.parse().ok()
    });
    Ok(Some(Package {
        name: requirement.name.clone(),
        version: Some(version).filter(|_| requirement.version.is_some()),
        cudnn_major: major,
        cudnn: framework.built.as_ref().map(ToString::to_string),
        accepts: framework.accepts.clone(),
        cuda_major: framework.cuda.last().map(|cuda| cuda.major),
        how: brings(framework),
        replaceable: framework.bundled != Bundled::Static,
        source: facts.source(&framework.fact),
    }))
}

fn compare(report: &mut Report, wheels: &[(CudnnVersion, Package)]) {
    let mut conflicts = Vec::new();
    let label = |package: &Package| match &package.version {
        Some(version) => format!("{} {version}", package.name),
        None => package.name.clone(),
    };
    for (index, one) in report.packages.iter().enumerate() {
        for other in &report.packages[index + 1..] {
            let majors = one.cudnn_major.zip(other.cudnn_major);
            let cudas = one.cuda_major.zip(other.cuda_major);
            if let Some((a, b)) = majors.filter(|(a, b)| a != b) {
                conflicts.push(format!(
                    "{} loads cuDNN {a} and {} loads cuDNN {b}: no one build serves both",
                    label(one),
                    label(other)
                ));
            } else if let Some((a, b)) = cudas.filter(|(a, b)| a != b) {
                conflicts.push(format!(
                    "{} is built for CUDA {a} and {} for CUDA {b}: no one build serves both",
                    label(one),
                    label(other)
                ));
            }
        }
        for (version, wheel) in wheels {
            let refused = one
                .accepts
                .as_ref()
                .is_some_and(|accepts| !accepts.requirement.matches(*version));
            if refused {
                let accepts = one.accepts.as_ref().map(ToString::to_string).unwrap_or_default();
                conflicts.push(format!(
                    "{} runs with cuDNN {accepts}, but {} is {version}",
                    label(one),
                    wheel.name
                ));
            } else if let Some((a, b)) = one.cuda_major.zip(wheel.cuda_major).filter(|(a, b)| a != b) {
                conflicts.push(format!(
                    "{} is built for CUDA {a}, but {} is for CUDA {b}",
                    label(one),
                    wheel.name
                ));
            }
        }
    }
    for (index, (one_version, one)) in wheels.iter().enumerate() {
        for (other_version, other) in &wheels[index + 1..] {
            if !one_version.same_release(*other_version) {
                conflicts.push(format!(
                    "{} {one_version} and {} {other_version} put their files into one folder and overwrite each other",
                    one.name, other.name
                ));
            }
        }
    }
    for package in report.packages.iter().filter(|package| package.version.is_none()) {
        let note = format!(
            "{} is not pinned; what is said here is about the newest release known",
            package.name
        );
        report.notes.push(note);
    }
    report.conflicts = conflicts;
}

/// The newest build that every package runs with.
fn common_build(
    packages: &[Package],
    platform: Platform,
    releases: &Releases,
) -> Option<BuildId> {
    releases
        .all()
        .iter()
        .map(Candidate::build)
        .filter(|build| build.platform == platform && build.flavour == Flavour::Full)
        .filter(|build| {
            packages.iter().all(|package| {
                let version = match (&package.accepts, &package.cudnn) {
                    (Some(accepts), _) => accepts.requirement.matches(build.version),
                    (None, Some(cudnn)) => cudnn
                        .parse::<CudnnVersion>()
                        .is_ok_and(|version| version.same_release(build.version)),
                    (None, None) => true,
                };
                let cuda = package
                    .cuda_major
                    .zip(build.variant)
                    .is_none_or(|(major, variant): (u32, CudaVersion)| major == variant.major);
                version && cuda
            })
        })
        .max_by_key(|build| (build.version, build.variant))
}
