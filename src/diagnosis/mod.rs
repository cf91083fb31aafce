//! From facts to findings. Pure: no file, clock or variable is looked at here.
//!
//! [`facts::Facts`] come from this machine (`host`) or from outputs that somebody saved ([`saved`]); [`diagnose`] tells
//! what is wrong. Each kind of cause is a rule in [`causes`]; rules do not know each other. What they say is put in order
//! here: the decisive finding first, and a guess about a message is dropped when something surer explains it.

#[cfg(test)]
mod cases;
pub mod causes;
pub mod facts;
pub mod finding;
pub mod knowledge;
pub mod library;
mod order;
pub mod owner;
pub mod read;
pub mod save;
pub mod saved;
pub mod signs;

use facts::{Facts, PackageNeed};
use finding::{Certainty, Code, Finding, Level};
use signs::{Meaning, Sign, Texts};
use std::sync::{Arc, LazyLock};

use crate::manifest;

/// What a diagnosis is made with: the known texts, and what fits what.
#[derive(Debug)]
pub struct Reference {
    /// Error texts; made ready when the first text is looked at, which a look at a machine never does.
    pub texts: LazyLock<Texts>,
    /// Frameworks, GPUs, CUDA.
    pub fits: Arc<manifest::Facts>,
}

impl Reference {
    /// With the built-in texts.
    pub fn new(fits: manifest::Facts) -> Self {
        Self {
            texts: LazyLock::new(Texts::built_in),
            fits: Arc::new(fits),
        }
    }
}

/// What is wrong, the decisive finding first; empty when nothing is.
pub fn diagnose(facts: &Facts) -> Vec<Finding> {
    settle(causes::all(facts))
}

/// The verdict over all findings: the worst level.
pub fn verdict(findings: &[Finding]) -> Level {
    findings
        .iter()
        .map(|finding| finding.level)
        .min()
        .unwrap_or(Level::Ok)
}

/// Fills in what follows from the facts themselves: the search order, who wins, what packages need.
pub fn complete(facts: &mut Facts) {
    order::settle(facts);
    facts.summary = summary(facts);
    let system = facts.system.known().copied();
    if let facts::Fact::Known(packages) = &mut facts.packages {
        for package in packages {
            package.need = knowledge::look_up(package, system, &facts.fits);
        }
    }
    facts.needs = facts
        .packages
        .all()
        .iter()
        .filter_map(|package| {
            let need = knowledge::need_of(package)?;
            Some(PackageNeed {
                package: format!("{} {}", package.name, package.version),
                cudnn: need.major.to_string(),
                built_with: need.built,
                carries_own: need.carries_own,
            })
        })
        .collect();
}

fn summary(facts: &Facts) -> facts::Summary {
    let mut drivers: Vec<String> = Vec::new();
    let mut cudas: Vec<String> = Vec::new();
    for driver in facts.drivers() {
        let version = driver.version.iter().map(ToString::to_string);
        drivers.extend(
            version
                .filter(|version| !drivers.contains(version))
                .collect::<Vec<_>>(),
        );
        let cuda = driver.cuda.iter().map(ToString::to_string);
        cudas.extend(
            cuda.filter(|cuda| !cudas.contains(cuda))
                .collect::<Vec<_>>(),
        );
    }
    facts::Summary {
        driver: drivers.join(" / "),
        cuda: cudas.join(" / "),
        gpus: facts
            .gpus
            .all()
            .iter()
            .map(|gpu| match gpu.capability_text() {
                Some(capability) => format!("{} ({capability})", gpu.name),
                None => gpu.name.clone(),
            })
            .collect(),
        cudnn: facts
            .libraries
            .all()
            .iter()
            .filter(|library| library.name.is_main())
            .map(|library| {
                let version = order::version_of(library).map_or_else(
                    || "version unknown".to_owned(),
                    |version| version.to_string(),
                );
                let private = if library.reach == facts::Reach::Private {
                    ", only for its owner"
                } else {
                    ""
                };
                format!("{version}  {}  ({}{private})", library.path, library.owner)
            })
            .collect(),
    }
}

/// The messages with that meaning, and their positions.
fn signs_with(facts: &Facts, meaning: Meaning) -> impl Iterator<Item = (usize, &Sign)> {
    facts
        .signs
        .iter()
        .enumerate()
        .filter(move |(_, sign)| sign.means(meaning))
}

/// Sorts, drops what a surer finding explains already, and keeps one finding of a kind for the same thing.
fn settle(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| {
        (
            finding.level,
            finding.certainty,
            finding.second,
            priority(finding.code),
        )
    });
    let mut explained: Vec<(usize, Certainty)> = Vec::new();
    let mut kept: Vec<Finding> = Vec::new();
    for finding in findings {
        let is_new = |sign: &usize| {
            !explained
                .iter()
                .any(|(other, certainty)| other == sign && *certainty < finding.certainty)
        };
        if !finding.explains.is_empty() && !finding.explains.iter().any(is_new) {
            continue;
        }
        // A guess about the state of things is noise beside something that fails for sure.
        let is_guess = finding.explains.is_empty() && finding.certainty == Certainty::Possible;
        if is_guess && kept.iter().any(|other| other.level == Level::Fail) {
            continue;
        }
        let said = kept
            .iter()
            .any(|other| other.code == finding.code && other.what == finding.what);
        if said {
            continue;
        }
        explained.extend(
            finding
                .explains
                .iter()
                .map(|sign| (*sign, finding.certainty)),
        );
        kept.push(finding);
    }
    kept
}

/// Of equally bad and equally sure findings, which comes first: what stops everything else from being reached, then what
/// is wrong with the file that is loaded, then what is wrong with the way to it.
fn priority(code: Code) -> u8 {
    match code {
        Code::Disk | Code::Perm | Code::LongPath => 0,
        Code::Download | Code::Checksum | Code::NoWheel => 1,
        Code::Container | Code::Wsl | Code::Driver => 2,
        Code::Arch | Code::Bitness => 3,
        Code::Corrupt => 4,
        Code::GpuArch | Code::Framework => 5,
        Code::Zlib => 6,
        Code::Renamed => 7,
        Code::System32 => 8,
        Code::Mixed => 9,
        Code::Shadow => 10,
        Code::Header => 11,
        Code::VersionLow => 12,
        Code::Major => 13,
        Code::Layout => 14,
        Code::PathChars => 15,
        Code::EnvVar => 16,
        Code::StaleEnv => 17,
        Code::PathSyntax => 18,
        Code::SymLink => 19,
        Code::PyDll => 20,
        Code::Build => 21,
        Code::Leak => 22,
        Code::NotFound => 23,
        Code::Bundled | Code::BuildRuntimeDiff | Code::Encoding => 24,
        Code::SmiFormat | Code::VersionFmt => 25,
        Code::Unknown => 26,
        Code::FollowUp => 27,
    }
}
