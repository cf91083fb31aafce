//! `requirements.txt` and the output of `pip freeze`: which cuDNN each package loads, and where they disagree.

use std::collections::BTreeMap;

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
    /// What it makes pip install.
    pub pin: Option<String>,
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
    report
        .packages
        .extend(wheels.into_iter().map(|(_, package)| package));
    if report.conflicts.is_empty() && !report.packages.is_empty() {
        report.build = common_build(&report.packages, platform, releases);
    }
    report
}

struct Requirement {
    name: String,
    /// `[cuda12]`, or empty.
    extras: String,
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
        let mut extras = String::new();
        if let Some((inner, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            extras = format!("[{inner}]");
            rest = after.trim();
        }
        let version = if let Some(exact) = rest.strip_prefix("==") {
            let exact = exact
                .trim_start_matches('=')
                .split(',')
                .next()
                .unwrap_or_default();
            let exact = exact.trim().trim_end_matches(".*");
            release(exact).map(|_| exact.to_owned())
        } else if let Some(url) = rest.strip_prefix('@') {
            // `torch @ https://…/torch-2.4.1%2Bcu121-cp311-…whl`: the file's name has the version.
            let file = url.trim().rsplit('/').next().unwrap_or_default();
            let version = file
                .split('-')
                .nth(1)
                .unwrap_or_default()
                .replace("%2B", "+");
            release(&version).map(|_| version)
        } else {
            None
        };
        Some(Self {
            name,
            extras,
            version,
        })
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
    rest.strip_prefix("jit-")
        .unwrap_or(rest)
        .strip_prefix("cu")?
        .parse()
        .ok()
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
        pin: None,
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
        Some(version) => format!("{}{}=={version}", requirement.name, requirement.extras),
        None => format!("{}{}", requirement.name, requirement.extras),
    };
    // The opencv wheels of the index, onnxruntime and paddlepaddle without -gpu have no CUDA in them.
    let cpu_names = [
        "opencv-python",
        "paddlepaddle",
        "tensorflow-cpu",
        "tensorflow-intel",
    ];
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
        return Err(format!(
            "{} {version} loads the cuDNN of the package it is built on",
            requirement.name
        ));
    }
    // TensorFlow's pin counts only for `tensorflow[and-cuda]`.
    let optional = framework
        .bundled_at
        .as_deref()
        .is_some_and(|place| place.contains("only with extra"));
    let numbers = framework
        .built
        .as_ref()
        .map(ToString::to_string)
        .or_else(|| framework.accepts.as_ref().map(ToString::to_string));
    let major = numbers.as_deref().and_then(|text| {
        text.trim_start_matches(['>', '='])
            .split(['.', ','])
            .next()?
            .parse()
            .ok()
    });
    Ok(Some(Package {
        name: requirement.name.clone(),
        version: Some(version).filter(|_| requirement.version.is_some()),
        cudnn_major: major,
        cudnn: framework.built.as_ref().map(ToString::to_string),
        accepts: framework.accepts.clone(),
        cuda_major: named
            .cuda
            .or_else(|| framework.cuda.last().copied())
            .map(|cuda| cuda.major),
        how: brings(framework),
        pin: framework
            .pin
            .clone()
            .filter(|_| !optional || !requirement.extras.is_empty()),
        replaceable: framework.bundled != Bundled::Static,
        source: facts.source(&framework.fact),
    }))
}

fn compare(report: &mut Report, wheels: &[(CudnnVersion, Package)]) {
    let mut conflicts = Vec::new();
    conflicts.extend(split(&report.packages, "cuDNN", |package| {
        package.cudnn_major
    }));
    if conflicts.is_empty() {
        conflicts.extend(split(&report.packages, "CUDA", |package| {
            package.cuda_major
        }));
    }
    // What pip installs: the wheels of the list, and those that a package pins without naming them there.
    let mut installed: Vec<(CudnnVersion, String, Option<u32>)> = wheels
        .iter()
        .map(|(version, wheel)| {
            (
                *version,
                format!("{} {version}", wheel.name),
                wheel.cuda_major,
            )
        })
        .collect();
    for package in &report.packages {
        if let Some((project, version)) = package.pin.as_deref().and_then(exact_pin)
            && wheels.iter().all(|(_, wheel)| wheel.name != project)
        {
            let words = format!("the {project} {version} that {} pins", label(package));
            installed.push((version, words, cudnn_wheel(project)));
        }
    }
    for (version, words, cuda) in &installed {
        for package in &report.packages {
            let accepts = package
                .accepts
                .as_ref()
                .filter(|accepts| !accepts.requirement.matches(*version));
            // A cuDNN of another major is another file; that is told above.
            if let Some(accepts) = accepts.filter(|_| package.cudnn_major == Some(version.major)) {
                conflicts.push(format!(
                    "{} runs with cuDNN {accepts}, not with {words}",
                    label(package)
                ));
            } else if wheels.iter().any(|(known, _)| known == version)
                && let Some((a, b)) = package.cuda_major.zip(*cuda).filter(|(a, b)| a != b)
            {
                conflicts.push(format!(
                    "{} is built for CUDA {a}, {words} is for CUDA {b}",
                    label(package)
                ));
            } else if accepts.is_some() && wheels.iter().any(|(known, _)| known == version) {
                conflicts.push(format!(
                    "{} runs with another major of cuDNN than {words}",
                    label(package)
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
    for package in report
        .packages
        .iter()
        .filter(|package| package.version.is_none())
    {
        let note = format!(
            "{} is not pinned; what is said here is about the newest release known",
            package.name
        );
        report.notes.push(note);
    }
    report.conflicts = conflicts;
}

fn label(package: &Package) -> String {
    match &package.version {
        Some(version) => format!("{} {version}", package.name),
        None => package.name.clone(),
    }
}

/// One line that sorts the packages by a major, if there are several.
fn split(
    packages: &[Package],
    what: &str,
    major: impl Fn(&Package) -> Option<u32>,
) -> Option<String> {
    let mut groups: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for package in packages {
        if let Some(major) = major(package) {
            groups.entry(major).or_default().push(label(package));
        }
    }
    let words: Vec<String> = groups
        .iter()
        .map(|(major, names)| format!("{what} {major} for {}", names.join(", ")))
        .collect();
    (groups.len() > 1).then(|| format!("no one build serves all: {}", words.join("; ")))
}

/// `nvidia-cudnn-cu12==9.1.0.70`
fn exact_pin(pin: &str) -> Option<(&str, CudnnVersion)> {
    let (project, version) = pin.split_once("==")?;
    Some((project, version.trim().parse().ok()?))
}

/// The newest build that every package runs with.
fn common_build(packages: &[Package], platform: Platform, releases: &Releases) -> Option<BuildId> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Texts;

    fn report(text: &str) -> Report {
        let releases = Releases::load(None).unwrap();
        let facts = Facts::load(Texts::default()).unwrap();
        read(text, Platform::LinuxX64, &releases, &facts)
    }

    fn lines(report: &Report) -> Vec<String> {
        report
            .packages
            .iter()
            .map(|package| {
                let number = |number: Option<u32>| number.map_or("?".to_owned(), |n| n.to_string());
                format!(
                    "{} {} {}",
                    label(package),
                    number(package.cudnn_major),
                    number(package.cuda_major)
                )
            })
            .collect()
    }

    #[test]
    fn every_way_to_write_a_requirement_is_read() {
        let found = report(
            "\u{feff}# our set\n-r base.txt\n--extra-index-url https://example.org/simple\n\
             Torch == 2.4.1+cu121 ; python_version > '3.8'  # pinned\n\
             tensorflow[and-cuda]==2.15.1 \\\n    --hash=sha256:00\n\
             onnxruntime_gpu>=1.19,<2\nnumpy==1.26\nopencv-python==4.9\n\
             jax @ https://example.org/jax-0.4.28-py3-none-any.whl\njaxlib==0.4.28\n",
        );
        assert_eq!(
            lines(&found),
            [
                "torch 2.4.1+cu121 9 12",
                "tensorflow 2.15.1 8 12",
                "onnxruntime-gpu 9 13",
                "jax 0.4.28 8 12"
            ]
        );
        assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
        let conda =
            report("# packages in environment\npytorch   1.13.1   py3.10_cuda11.7   pytorch\n");
        assert_eq!(lines(&conda), ["pytorch 1.13.1 8 11"]);
    }

    #[test]
    fn conflicts_are_named_and_a_healthy_list_gets_its_build() {
        let split = report("torch==1.13.1\ntensorflow==2.18.0\n");
        assert_eq!(
            split.conflicts,
            ["no one build serves all: cuDNN 8 for torch 1.13.1; cuDNN 9 for tensorflow 2.18.0"]
        );
        // torch pins its cuDNN exactly; TensorFlow then loads that one from site-packages.
        let pinned = report("torch==2.4.1\ntensorflow==2.18.0\n");
        assert_eq!(pinned.conflicts.len(), 1);
        assert!(
            pinned.conflicts[0].contains("that torch 2.4.1 pins"),
            "{pinned:?}"
        );
        let swapped = report("torch==2.4.1\nnvidia-cudnn-cu12==8.9.7.29\n");
        assert!(
            swapped.conflicts[0].contains("another major"),
            "{swapped:?}"
        );
        let overwritten = report("nvidia-cudnn-cu11==9.10.2.21\nnvidia-cudnn-cu12==9.1.0.70\n");
        assert!(
            overwritten.conflicts[0].contains("overwrite each other"),
            "{overwritten:?}"
        );

        let healthy =
            report("torch==2.8.0\nonnxruntime-gpu==1.22.0\nnvidia-cudnn-cu12==9.10.2.21\n");
        assert!(healthy.conflicts.is_empty(), "{:?}", healthy.conflicts);
        assert_eq!(
            healthy
                .build
                .map(|build| build.version.to_string())
                .as_deref(),
            Some("9.10.2.21")
        );
        assert!(report("numpy\n\u{0}\u{1}\n==\n[x]\n").packages.is_empty());
    }
}
