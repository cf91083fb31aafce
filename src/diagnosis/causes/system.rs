//! Full disks, missing rights, paths that are too long.

use crate::diagnosis::facts::Facts;
use crate::diagnosis::finding::{Certainty, Code, Finding};
use crate::diagnosis::library::{LibraryName, base_name};
use crate::diagnosis::signs::Meaning;
use crate::diagnosis::signs_with;
use crate::output;

/// What an install needs at least: a wheel of cuDNN 9 and its content.
const NEEDED: u64 = 1_500_000_000;

pub fn rule(facts: &Facts, findings: &mut Vec<Finding>) {
    disks(facts, findings);
    denied(facts, findings);
    modes(facts, findings);
    too_long(facts, findings);
}

fn disks(facts: &Facts, findings: &mut Vec<Finding>) {
    let signs: Vec<usize> = facts
        .signs
        .iter()
        .enumerate()
        .filter(|(_, sign)| sign.name == "no-space")
        .map(|(position, _)| position)
        .collect();
    let ignored = [
        "/dev",
        "/run",
        "/sys",
        "/proc",
        "/snap",
        "/boot",
        "/mnt/wsl",
        "/init",
        "/usr/lib/wsl",
    ];
    let low: Vec<_> = facts
        .disks
        .all()
        .iter()
        .filter(|disk| disk.available < NEEDED)
        .filter(|disk| !ignored.iter().any(|start| disk.at.starts_with(start)))
        .collect();
    if low.is_empty() {
        return;
    }
    let places: Vec<String> = low
        .iter()
        .map(|disk| format!("`{}` has {} left", disk.at, output::size(disk.available)))
        .collect();
    // Less than this and not even a small program can write.
    let full = low.iter().any(|disk| disk.available < 100_000_000);
    let finding = if signs.is_empty() && full {
        Finding::fail(
            Code::Disk,
            format!("no space left: {}", super::joined(&places)),
        )
    } else if signs.is_empty() {
        Finding::warn(
            Code::Disk,
            format!("little space left: {}", super::joined(&places)),
        )
    } else {
        Finding::fail(
            Code::Disk,
            format!("no space left: {}", super::joined(&places)),
        )
    };
    findings.push(
        finding
            .why("a cuDNN needs 0.4 to 1.9 GB for its archive and as much again unpacked; pip also fills the folder for temporary files (TMPDIR)")
            .fix("cudnnm prune --dry-run    # what the store can give back")
            .fix("set CUDNNM_ROOT (and TMPDIR for pip) to a folder on a larger disk")
            .explains(signs),
    );
}

fn denied(facts: &Facts, findings: &mut Vec<Finding>) {
    for (position, sign) in signs_with(facts, Meaning::Denied) {
        let place = sign
            .get("path")
            .map_or_else(|| "a file or folder".to_owned(), |path| format!("`{path}`"));
        findings.push(
            Finding::fail(Code::Perm, format!("{place} may not be used by this user"))
                .why(format!(
                    "the system said: {}. Folders of the system and of other users need rights that a version of cuDNN does not need to have",
                    sign.line
                ))
                .fix("cudnnm install 9    # into your own store, which needs no special rights; choose the version you need")
                .explains([position])
                .certainty(Certainty::Likely),
        );
    }
    for (position, sign) in crate::diagnosis::signs_with(facts, Meaning::CannotOpen) {
        let denied = sign
            .get("reason")
            .is_some_and(|reason| reason.to_ascii_lowercase().contains("permission denied"));
        if denied {
            let library = sign.get("library").unwrap_or("the library");
            findings.push(
                Finding::fail(
                    Code::Perm,
                    format!("`{library}` is there but may not be read by this user"),
                )
                .why("it was copied as root with rights for root only")
                .fix("cudnnm install 9    # into your own store; choose the version you need")
                .explains([position]),
            );
        }
    }
}

/// Libraries that only their owner may read.
fn modes(facts: &Facts, findings: &mut Vec<Finding>) {
    let closed: Vec<&str> = facts
        .entries
        .iter()
        .filter(|entry| LibraryName::of(&entry.path).is_cudnn && entry.link.is_none())
        .filter(|entry| {
            entry
                .mode
                .as_deref()
                .and_then(|mode| mode.get(7..8))
                .is_some_and(|other| other == "-")
        })
        .map(|entry| entry.path.as_str())
        .collect();
    let Some(first) = closed.first() else { return };
    let base = base_name(first);
    findings.push(
        Finding::fail(Code::Perm, format!("`{first}` may only be read by its owner"))
            .why("it was copied as root with rights for root only; programs of other users do not find a library behind the name")
            .fix(format!("cudnnm install 9    # into your own store, instead of {base} in a system folder; choose the version you need"))
            .explains(
                signs_with(facts, Meaning::CannotOpen)
                    .chain(signs_with(facts, Meaning::Denied))
                    .map(|(position, _)| position),
            ),
    );
}

fn too_long(facts: &Facts, findings: &mut Vec<Finding>) {
    let windows_path = |path: &&String| path.as_bytes().get(1) == Some(&b':');
    if let Some(path) = facts
        .files
        .iter()
        .filter(windows_path)
        .find(|path| path.chars().count() > 259)
    {
        findings.push(
            Finding::warn(
                Code::LongPath,
                format!("a path is {} characters long, and Windows opens 259: `{path}`", path.chars().count()),
            )
            .why("without long path support a file beyond that counts as missing, and the loader never sees it")
            .fix("move the project or the virtual environment to a shorter folder, such as D:\\p")
            .fix("set CUDNNM_ROOT to a short folder, such as D:\\ai-libs"),
        );
    }
    for (position, sign) in signs_with(facts, Meaning::TooLong) {
        let what = sign.get("path").map_or_else(
            || "a path is longer than the system allows".to_owned(),
            |path| {
                format!(
                    "the path is {} characters long: `{path}`",
                    path.chars().count()
                )
            },
        );
        if sign
            .get("path")
            .is_some_and(|path| path.chars().count() < 255)
        {
            continue;
        }
        findings.push(
            Finding::fail(Code::LongPath, what)
                .why("without long path support Windows opens at most 260 characters, and a file beyond that counts as missing")
                .fix("move the project or the virtual environment to a shorter folder, such as D:\\p")
                .fix("set CUDNNM_ROOT to a short folder, such as D:\\ai-libs")
                .explains([position]),
        );
    }
}
