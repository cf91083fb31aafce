//! MAJOR: a library of a major is asked for that is not here.

use crate::diagnosis::facts::{Facts, PackageSource};
use crate::diagnosis::finding::{Certainty, Code, Finding};
use crate::diagnosis::signs::Meaning;
use crate::diagnosis::{knowledge, order};

/// Majors of cuDNN that are here, as files or packages, newest first.
pub fn majors_here(facts: &Facts) -> Vec<u32> {
    let mut majors: Vec<u32> = facts
        .libraries
        .all()
        .iter()
        .filter(|library| library.name.is_cudnn)
        .filter_map(|library| library.name.major)
        .chain(
            facts
                .packages
                .all()
                .iter()
                .filter(|package| package.by != PackageSource::Requirement)
                .filter_map(|package| knowledge::provided(package).map(|version| version.major)),
        )
        .collect();
    majors.sort_unstable_by(|a, b| b.cmp(a));
    majors.dedup();
    majors
}

/// What is here, in words: `9.2.0` where a version is known, else `9`.
fn here_in_words(facts: &Facts, majors: &[u32]) -> String {
    let words: Vec<String> = majors
        .iter()
        .map(|major| {
            facts
                .libraries
                .all()
                .iter()
                .filter(|library| library.name.major == Some(*major))
                .find_map(order::version_of)
                .or_else(|| {
                    facts
                        .packages
                        .all()
                        .iter()
                        .filter_map(knowledge::provided)
                        .find(|version| version.major == *major)
                })
                .map_or_else(|| major.to_string(), |version| version.to_string())
        })
        .collect();
    super::super::joined(&words)
}

/// The last release of a major, the safe choice for a program that only names the major.
pub fn last_of(major: u32) -> &'static str {
    match major {
        5 => "5.1",
        6 => "6.0",
        7 => "7.6.5",
        8 => "8.9.7",
        _ => "9",
    }
}

/// MAJOR: a library of a major is asked for that is not here.
pub fn major(facts: &Facts, asked: &str, wanted: u32, certainty: Certainty) -> Finding {
    let here: Vec<u32> = majors_here(facts);
    let others: Vec<u32> = here
        .iter()
        .copied()
        .filter(|major| *major != wanted)
        .collect();
    let have = if others.is_empty() {
        String::new()
    } else {
        format!("; here is {}", here_in_words(facts, &others))
    };
    let by = wanting(facts, wanted);
    let program = by.as_deref().unwrap_or("the program");
    let last = last_of(wanted);
    let mut finding = Finding::fail(
        Code::Major,
        format!("{program} was built for cuDNN {wanted} and asks for `{asked}`{have}"),
    )
    .why(format!(
        "majors are not interchangeable: the libraries have other names and other functions{}. Two majors may live side by side, even in one process, since their file names differ",
        if wanted == 8 && (asked.contains("_infer") || asked.contains("_train")) {
            " (the _infer and _train libraries exist in cuDNN 8 only)"
        } else {
            ""
        }
    ))
    .fix_by_version(last, wanted)
    .certainty(certainty);
    if let Some(step) = upgrade(by.as_deref(), wanted) {
        finding = finding.fix(step);
    }
    finding
}

/// The package here that loads that major.
fn wanting(facts: &Facts, major: u32) -> Option<String> {
    facts
        .packages
        .all()
        .iter()
        .filter(|package| knowledge::need_of(package).is_some_and(|need| need.major == major))
        .max_by_key(|package| knowledge::need_of(package).is_some_and(|need| !need.carries_own))
        .map(|package| format!("{} {}", package.name, package.version))
}

fn upgrade(program: Option<&str>, wanted: u32) -> Option<String> {
    let name = program?.split(' ').next()?;
    match (name, wanted) {
        ("ctranslate2", 8) => Some(
            "or move to the release for cuDNN 9: python -m pip install \"ctranslate2>=4.5\""
                .to_owned(),
        ),
        ("onnxruntime-gpu", 8) => Some(
            "or move to a release for cuDNN 9: python -m pip install \"onnxruntime-gpu>=1.19\""
                .to_owned(),
        ),
        _ => None,
    }
}

/// A package that needs `major`, while another brings a different one.
pub fn conflicting(facts: &Facts, major: u32) -> bool {
    let needs = facts.packages.all().iter().filter_map(knowledge::need_of);
    let others = needs.clone().any(|need| need.major != major);
    let wants = needs
        .clone()
        .any(|need| need.major == major && !need.carries_own);
    others && wants
}

/// Without a message: packages that load a major which nothing here provides.
pub fn conflict(facts: &Facts, findings: &mut Vec<Finding>) {
    if facts.signs.iter().any(|sign| {
        matches!(
            sign.meaning,
            Some(
                Meaning::LoadMissing
                    | Meaning::CannotOpen
                    | Meaning::NotLocated
                    | Meaning::NoneOf
                    | Meaning::DynamicNotFound
            )
        )
    }) {
        return;
    }
    let here = majors_here(facts);
    if here.is_empty() || !facts.expects_gpu() {
        return;
    }
    let has_wheel = facts
        .packages
        .all()
        .iter()
        .any(|package| package.name.starts_with("nvidia-cudnn-cu"));
    for package in facts.packages.all() {
        // On Linux what torch carries is a wheel of its own, and pip lets another package replace it.
        let by_wheel = has_wheel && facts.is_linux();
        let Some(need) = knowledge::need_of(package).filter(|need| !need.carries_own || by_wheel)
        else {
            continue;
        };
        if here.contains(&need.major) || package.by == PackageSource::Requirement {
            continue;
        }
        let asked = if facts.is_windows() {
            format!("cudnn64_{}.dll", need.major)
        } else {
            format!("libcudnn.so.{}", need.major)
        };
        findings.push(major(facts, &asked, need.major, Certainty::Certain));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::library::major_of_part;

    #[test]
    fn the_last_release_of_each_major_is_offered() {
        assert_eq!(last_of(8), "8.9.7");
        assert_eq!(last_of(7), "7.6.5");
        assert_eq!(major_of_part("cnn_train"), Some(8));
    }
}
