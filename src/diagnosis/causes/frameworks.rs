//! Frameworks that can't use a GPU here at all, and those that bring a cuDNN of their own.

use crate::companion::Dotted;
use crate::diagnosis::facts::{Facts, Package};
use crate::diagnosis::finding::{Certainty, Code, Finding};
use crate::diagnosis::signs::Meaning;
use crate::diagnosis::signs_with;

pub fn rule(facts: &Facts, findings: &mut Vec<Finding>) {
    if facts.expects_gpu() {
        tensorflow_on_windows(facts, findings);
        cpu_only(facts, findings);
    }
    two_onnxruntimes(facts, findings);
    bundled(facts, findings);
}

/// Whether a version is at least this one.
pub fn at_least(package: &Package, numbers: &[u64]) -> bool {
    let end = package
        .version
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(package.version.len());
    Dotted::parse(package.version[..end].trim_end_matches('.'))
        .is_some_and(|version| version.numbers() >= numbers)
}

fn tensorflow_on_windows(facts: &Facts, findings: &mut Vec<Finding>) {
    if !facts.is_windows() || facts.wsl.known() == Some(&true) {
        return;
    }
    let package = ["tensorflow", "tensorflow-intel", "tensorflow-gpu"]
        .iter()
        .find_map(|name| facts.package(name))
        .filter(|package| at_least(package, &[2, 11]));
    let Some(package) = package else { return };
    let signs: Vec<usize> = signs_with(facts, Meaning::DynamicNotFound)
        .map(|(position, _)| position)
        .collect();
    findings.push(
        Finding::fail(
            Code::Framework,
            format!("TensorFlow {} can't use a GPU on native Windows, whatever cuDNN is installed", package.version),
        )
        .why("2.10 was the last release with GPU support for Windows; since 2.11 it runs on the CPU there without a message")
        .fix("python -m pip install \"tensorflow<2.11\"    # then: cudnnm use 8.1")
        .fix("or run it in WSL 2: python -m pip install \"tensorflow[and-cuda]\"")
        .explains(signs),
    );
}

fn cpu_only(facts: &Facts, findings: &mut Vec<Finding>) {
    for package in facts.packages.all() {
        let local_cpu = package
            .local
            .as_deref()
            .is_some_and(|local| local.starts_with("cpu"));
        if package.name == "torch" && local_cpu {
            findings.push(
                Finding::fail(
                    Code::Framework,
                    format!("torch {}+cpu is a CPU-only build", package.version),
                )
                .why("it was built without CUDA, so it never looks for a cuDNN")
                .fix("install a CUDA build of torch from PyTorch's own index, for example the one for cu121"),
            );
        } else if package.name == "tensorflow-cpu" {
            findings.push(
                Finding::fail(
                    Code::Framework,
                    format!("tensorflow-cpu {} is a CPU-only build", package.version),
                )
                .why("it was built without CUDA, so it never looks for a cuDNN")
                .fix("python -m pip uninstall tensorflow-cpu")
                .fix("python -m pip install tensorflow"),
            );
        }
    }
}

fn two_onnxruntimes(facts: &Facts, findings: &mut Vec<Finding>) {
    if facts.package("onnxruntime").is_some() && facts.package("onnxruntime-gpu").is_some() {
        findings.push(
            Finding::warn(
                Code::Framework,
                "onnxruntime and onnxruntime-gpu are both installed, and they overwrite each other's files",
            )
            .why("both are the Python module `onnxruntime`; which one is left decides whether there is a GPU")
            .fix("python -m pip uninstall onnxruntime onnxruntime-gpu")
            .fix("python -m pip install onnxruntime-gpu"),
        );
    }
}

/// A cuDNN was chosen, and a framework uses its own.
fn bundled(facts: &Facts, findings: &mut Vec<Finding>) {
    let Some(active) = facts.active.known() else {
        return;
    };
    for reported in &facts.reported {
        if active.same_release(reported.version) {
            continue;
        }
        findings.push(
            Finding::warn(
                Code::Bundled,
                format!(
                    "{} carries cuDNN {} and will use it; the selected {active} applies to other libraries in the process",
                    reported.framework, reported.version
                ),
            )
            .why("its package brings the libraries and loads them from its own folder; copying others over them mixes versions")
            .fix(format!("cudnnm test --framework {}    # what it really loads", reported.framework))
            .fix(format!(
                "cudnnm use {}.{}    # the one it was made for, or install the release of {} that carries {active}",
                reported.version.major, reported.version.minor, reported.framework
            ))
            .certainty(Certainty::Certain),
        );
    }
}
