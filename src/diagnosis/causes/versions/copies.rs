//! Several copies: in one process, in one folder, in the search order.

use super::{install, range, serves};
use crate::diagnosis::facts::{Facts, Library, PackageSource, Reach};
use crate::diagnosis::finding::{Code, Finding};
use crate::diagnosis::library::folder;
use crate::diagnosis::signs::Meaning;
use crate::diagnosis::{knowledge, order, signs_with};
use crate::version::CudnnVersion;

/// Sub-libraries of one process that come from more than one folder, or one folder with several versions.
pub fn mixed(facts: &Facts, findings: &mut Vec<Finding>) {
    let signs: Vec<usize> = signs_with(facts, Meaning::Status)
        .filter(|(_, sign)| {
            sign.get("status")
                .is_some_and(|status| status.to_ascii_uppercase().contains("VERSION_MISMATCH"))
        })
        .chain(signs_with(facts, Meaning::Undefined))
        .chain(signs_with(facts, Meaning::DependencyMissing))
        .chain(
            signs_with(facts, Meaning::LoadError)
                .filter(|(_, sign)| matches!(sign.number("code"), Some(126 | 127))),
        )
        .map(|(position, _)| position)
        .collect();
    let mut folders: Vec<(&str, Vec<&str>)> = Vec::new();
    for path in &facts.loaded {
        let place = folder(path);
        match folders.iter_mut().find(|(known, _)| *known == place) {
            Some((_, files)) => files.push(path),
            None => folders.push((place, vec![path])),
        }
    }
    if folders.len() > 1 {
        folders.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
        let odd: Vec<&str> = folders[1..]
            .iter()
            .flat_map(|(_, files)| files.clone())
            .collect();
        let (main, files) = &folders[0];
        findings.push(
            Finding::fail(
                Code::Mixed,
                format!("one process uses cuDNN files from {} folders: {} does not come from where the other {} come from", folders.len(), super::super::quoted(&odd), files.len()),
            )
            .why(format!("the others lie in `{main}`; all parts must be of one version, and the loader takes a part that is missing there from wherever it finds one"))
            .fix("cudnnm exec PROGRAM    # gives the program one complete set")
            .fix("take the other copy off LD_LIBRARY_PATH (or remove the system's package) if nothing else needs it")
            .explains(signs.clone()),
        );
    }
    // A folder into which two versions were copied.
    let mut seen: Vec<(&str, CudnnVersion, &Library)> = Vec::new();
    for library in facts.libraries.all() {
        let Some(version) = order::version_of(library).filter(|_| library.name.is_cudnn) else {
            continue;
        };
        let place = folder(&library.path);
        if place.is_empty() {
            continue;
        }
        let other = seen.iter().find(|(known, other, _)| {
            order::same_folder(known, place)
                && other.major == version.major
                && !other.same_release(version)
        });
        if let Some((_, other, first)) = other
            && first.name.part != library.name.part
        {
            findings.push(
                Finding::fail(
                    Code::Mixed,
                    format!("`{place}` holds parts of two versions: `{}` is {other}, `{}` is {version}", first.name.base, library.name.base),
                )
                .why("one version was copied over another, and some files were left; all parts must be of one version")
                .fix(format!("cudnnm install {}.{}    # a complete set in a folder of its own", version.major, version.minor))
                .fix("delete cuDNN's files from that folder")
                .explains(signs.clone()),
            );
            break;
        }
        seen.push((place, version, library));
    }
}

/// Two wheels of NVIDIA that unpack into one folder.
pub fn two_wheels(facts: &Facts, findings: &mut Vec<Finding>) {
    let wheels: Vec<String> = facts
        .packages
        .all()
        .iter()
        .filter(|package| {
            package.by == PackageSource::Pip && package.name.starts_with("nvidia-cudnn-cu")
        })
        .map(|package| format!("{} {}", package.name, package.version))
        .collect();
    if wheels.len() < 2 {
        return;
    }
    findings.push(
        Finding::warn(
            Code::Mixed,
            format!("{} are installed together, and they share one folder", super::super::joined(&wheels)),
        )
        .why("both unpack into site-packages/nvidia/cudnn, so files of one lie among those of the other")
        .fix("python -m pip uninstall -y nvidia-cudnn-cu11 nvidia-cudnn-cu12 nvidia-cudnn-cu13")
        .fix("install the framework anew: it brings the one it needs")
        .explains(
            signs_with(facts, Meaning::Status)
                .filter(|(_, sign)| sign.get("status").is_some_and(|status| status.contains("MISMATCH")))
                .chain(signs_with(facts, Meaning::Undefined))
                .map(|(position, _)| position),
        ),
    );
}

/// A copy in Windows' own folder beats everything on PATH.
pub fn system_folder(facts: &Facts, findings: &mut Vec<Finding>) {
    let mut said = false;
    for library in facts.libraries.all() {
        if library.reach != Reach::System || !library.name.is_cudnn || said {
            continue;
        }
        let version = order::version_of(library);
        let other = facts
            .libraries
            .all()
            .iter()
            .find(|other| other.name.base == library.name.base && other.reach != Reach::System);
        let differs = other
            .and_then(order::version_of)
            .zip(version)
            .is_some_and(|(other, version)| !other.same_release(version));
        let signs: Vec<usize> = [
            Meaning::NotLocated,
            Meaning::LoadError,
            Meaning::Undefined,
            Meaning::Status,
            Meaning::DllImport,
        ]
        .into_iter()
        .flat_map(|meaning| signs_with(facts, meaning))
        .map(|(position, _)| position)
        .collect();
        let named = version.map_or(String::new(), |version| format!(" (cuDNN {version})"));
        let what = match other {
            Some(other) => format!(
                "`{}`{named} is loaded before `{}`{}",
                library.path,
                other.path,
                order::version_of(other).map_or(String::new(), |version| format!(" ({version})"))
            ),
            None => format!("`{}`{named} lies in Windows' own folder", library.path),
        };
        let finding = if differs || !signs.is_empty() {
            Finding::fail(Code::System32, what)
        } else {
            Finding::warn(Code::System32, what)
        };
        findings.push(
            finding
                .why("Windows searches its own folder before PATH, for every program; a cuDNN there hides all others and no list of PATH shows it")
                .fix("delete that stale file (it takes administrator rights once), then: cudnnm doctor")
                .fix("cudnnm install 8    # keeps each version in a folder of its own; choose the one you need")
                .explains(signs),
        );
        said = true;
    }
}

/// A folder on LD_LIBRARY_PATH supplies the parts of a wheel's cuDNN: the wheel's main library looks there first.
pub fn over_wheel(facts: &Facts, findings: &mut Vec<Finding>) {
    let outside = order::reachable_mains(facts).find_map(|library| match library.reach {
        Reach::Element(_) => Some((library, order::version_of(library)?)),
        _ => None,
    });
    let Some((outside, version)) = outside.filter(|_| !facts.is_windows()) else {
        return;
    };
    let wheel = facts
        .libraries
        .all()
        .iter()
        .filter(|library| library.reach == Reach::Private && library.name.is_main())
        .filter(|library| library.owner.starts_with("pip") || library.owner == "torch")
        .find_map(|library| {
            let own = order::version_of(library)?;
            (own.major == version.major && !own.same_release(version)).then_some((library, own))
        });
    let Some((wheel, own)) = wheel else { return };
    findings.push(
        Finding::warn(
            Code::Shadow,
            format!("`{}` ({version}) on LD_LIBRARY_PATH is found before the parts of `{}` ({own})", outside.path, wheel.path),
        )
        .why("the wheel's main library opens its parts by name, and LD_LIBRARY_PATH is searched before its own folder: frameworks in this environment run with a mix of both or stop with CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH")
        .fix(format!("unset LD_LIBRARY_PATH    # or take `{}` out of it", folder(&outside.path)))
        .fix("cudnnm exec PROGRAM    # for the program that needs the other one"),
    );
}

/// Several copies of one name that programs reach without knowing a folder.
pub fn several(facts: &Facts, findings: &mut Vec<Finding>) {
    // Inside `cudnnm exec` the first one is first on purpose.
    if facts.variable("CUDNNM_ACTIVE").is_some() {
        return;
    }
    over_wheel(facts, findings);
    let mut names: Vec<String> = Vec::new();
    for library in order::reachable_mains(facts) {
        let name = library.name.soname();
        if library.name.major.is_none() || names.contains(&name) {
            continue;
        }
        names.push(name.clone());
        let all: Vec<&Library> = order::reachable_mains(facts)
            .filter(|other| other.name.soname() == name && other.reach != Reach::System)
            .collect();
        let Some(first) = all.first().filter(|first| first.reach != Reach::System) else {
            continue;
        };
        let Some(winner) = order::version_of(first) else {
            continue;
        };
        // A file and the link to it are one copy.
        let mut others: Vec<&&Library> = Vec::new();
        for other in &all {
            let differs =
                order::version_of(other).is_some_and(|version| !version.same_release(winner));
            let is_new = !others.iter().any(|known| {
                order::same_folder(folder(&known.path), folder(&other.path))
                    && order::version_of(known) == order::version_of(other)
            });
            if differs && is_new {
                others.push(other);
            }
        }
        if others.is_empty() {
            continue;
        }
        // A program that needs more than the winner is served by one that is hidden.
        let needy = facts.packages.all().iter().find_map(|package| {
            let need = knowledge::need_of(package)?;
            let built = need.built.filter(|_| !need.carries_own)?;
            let hidden = others.iter().any(|other| {
                order::version_of(other).is_some_and(|version| serves(version, built))
            });
            (built.major == winner.major && !serves(winner, built) && hidden)
                .then(|| (format!("{} {}", package.name, package.version), built))
        });
        let hidden: Vec<String> = others
            .iter()
            .map(|other| {
                format!(
                    "{} ({})",
                    other.path,
                    order::version_of(other).expect("filtered by having one")
                )
            })
            .collect();
        let what = format!(
            "{name} is there in several versions: `{}` ({winner}, {}) is found first and hides {}",
            first.path,
            first.owner,
            super::super::quoted(&hidden)
        );
        let finding = match &needy {
            Some((package, built)) => install(
                Finding::fail(Code::Shadow, what).why(format!("{package} needs {} and would be served by a hidden one", range(*built))),
                *built,
            ),
            None => Finding::warn(Code::Shadow, what)
                .why("which version a program gets depends on the order of folders alone, and changes with it")
                .fix("cudnnm exec PROGRAM    # gives each program the version its project names")
                .fix("remove the copy that nothing needs"),
        };
        let signs = signs_with(facts, Meaning::Undefined)
            .chain(signs_with(facts, Meaning::Status))
            .filter(|(_, sign)| {
                sign.means(Meaning::Undefined)
                    || sign
                        .get("status")
                        .is_some_and(|status| status.contains("MISMATCH"))
            })
            .map(|(position, _)| position);
        findings.push(finding.explains(signs));
    }
}
