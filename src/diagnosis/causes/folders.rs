//! LAYOUT: the folder on the search path is not the one with the libraries, but a level above it.

use crate::diagnosis::facts::{Facts, Library, Reach, SearchKind, SearchList, View};
use crate::diagnosis::finding::{Certainty, Code, Finding};
use crate::diagnosis::library::{self, base_name, folder};
use crate::diagnosis::order;
use crate::diagnosis::signs::Meaning;
use crate::diagnosis::{knowledge, signs_with};
use crate::version::CudaVersion;

pub fn rule(facts: &Facts, findings: &mut Vec<Finding>) {
    for list in facts.searches.all() {
        if list.view == View::Before {
            continue;
        }
        for element in &list.elements {
            too_high(facts, list, element, findings);
        }
    }
}

fn too_high(facts: &Facts, list: &SearchList, element: &str, findings: &mut Vec<Finding>) {
    let element = element.trim().trim_matches('"');
    if element.len() < 4 {
        return;
    }
    let main: Vec<&Library> = facts
        .libraries
        .all()
        .iter()
        .filter(|library| library.name.is_cudnn)
        .collect();
    let holds_some = main
        .iter()
        .any(|library| order::same_folder(folder(&library.path), element));
    if holds_some {
        return;
    }
    let mut below: Vec<&str> = Vec::new();
    // What programs reach all the same is not misplaced: `/usr/lib` is above the loader's own folders.
    for library in main
        .iter()
        .filter(|library| library.reach == Reach::Private)
    {
        let place = folder(&library.path);
        if order::below(element, place).is_some()
            && !below.iter().any(|known| order::same_folder(known, place))
        {
            below.push(place);
        }
    }
    // Folders far below belong to somebody else: `C:\` is above everything.
    below.retain(|place| {
        order::below(element, place).is_some_and(|rest| rest.split(['\\', '/']).count() <= 2)
    });
    if below.is_empty() {
        installer_pattern(facts, list, element, findings);
        return;
    }
    let covered = |place: &&str| {
        list.elements
            .iter()
            .any(|other| order::same_folder(other.trim(), place))
    };
    if below.iter().any(covered) {
        return;
    }
    let Some(right) = best(facts, list, element, &below) else {
        return;
    };
    let level_fail = !order::reachable_mains(facts)
        .any(|library| !order::same_folder(folder(&library.path), right));
    let others: Vec<&str> = below
        .iter()
        .copied()
        .filter(|place| *place != right)
        .collect();
    let choice = if others.is_empty() {
        String::new()
    } else if let Some(cuda) = cuda_here(facts, list) {
        format!(" (the one for CUDA {cuda}, which is the toolkit here)")
    } else {
        String::new()
    };
    let what = format!(
        "{} names `{element}`, but the libraries lie below it, in `{right}`{choice}",
        list.kind.variable()
    );
    let finding = if level_fail || has_signs(facts) {
        Finding::fail(Code::Layout, what)
    } else {
        Finding::warn(Code::Layout, what)
    };
    let version = crate::diagnosis::read::version::in_path(right)
        .map(|version| format!("{}.{}", version.major, version.minor));
    let mut finding = finding
        .why("the loader looks into the folders of the list only, never into what lies below them")
        .explains(signs(facts));
    finding = match version {
        Some(version) if facts.is_windows() || list.kind == SearchKind::Path => finding
            .fix("cudnnm import    # lists the copies here; with the folder of one it takes it into the store")
            .fix(format!("cudnnm use {version}    # then: cudnnm exec python …, which needs no PATH entry")),
        _ => finding
            .fix("cudnnm import    # lists the copies here; with the folder of one it takes it into the store")
            .fix("cudnnm exec PROGRAM    # needs no entry in the search path"),
    };
    findings.push(finding);
}

/// NVIDIA's graphical installer puts `…\NVIDIA\CUDNN\v9.x\bin` on PATH and the DLLs into a folder per CUDA below it.
fn installer_pattern(facts: &Facts, list: &SearchList, element: &str, findings: &mut Vec<Finding>) {
    let normal = element.replace('/', "\\").to_ascii_lowercase();
    let normal = normal.trim_end_matches('\\');
    let is_installer = normal.contains("\\nvidia\\cudnn\\v9") && normal.ends_with("\\bin");
    if !is_installer || list.kind != SearchKind::Path || !has_signs(facts) {
        return;
    }
    let has_better = list.elements.iter().any(|other| {
        let other = other.to_ascii_lowercase();
        other.contains("\\nvidia\\cudnn\\v9") && other.contains("\\bin\\")
    });
    if has_better {
        return;
    }
    let cuda = cuda_here(facts, list).map_or_else(|| "12.x".to_owned(), |cuda| cuda.to_string());
    let bare = element.trim_end_matches(['\\', '/']);
    findings.push(
        Finding::fail(
            Code::Layout,
            format!("PATH names `{bare}`, but NVIDIA's installer puts the DLLs into a folder per CUDA version below it: `{bare}\\{cuda}`"),
        )
        .why("the loader looks into the folders of PATH only, never into what lies below them")
        .fix("cudnnm import    # lists the copies here; with the folder of one it takes it into the store")
        .fix("cudnnm exec PROGRAM    # needs no PATH entry")
        .certainty(Certainty::Likely)
        .explains(signs(facts)),
    );
}

fn signs(facts: &Facts) -> Vec<usize> {
    [
        Meaning::NotLocated,
        Meaning::DllImport,
        Meaning::DynamicNotFound,
        Meaning::CannotOpen,
        Meaning::LoadMissing,
        Meaning::LoadError,
        Meaning::NoneOf,
        Meaning::ExitNotFound,
    ]
    .into_iter()
    .flat_map(|meaning| signs_with(facts, meaning))
    .filter(|(_, sign)| {
        // What is wrong with a file that was found does not come from where it lies.
        !(sign.means(Meaning::LoadError) && sign.number("code") != Some(126))
    })
    .map(|(position, _)| position)
    .collect()
}

fn has_signs(facts: &Facts) -> bool {
    !signs(facts).is_empty()
}

/// Of several folders, the one for the CUDA that is at work here.
fn best<'a>(facts: &Facts, list: &SearchList, element: &str, below: &[&'a str]) -> Option<&'a str> {
    let cuda = cuda_here(facts, list);
    let number = |place: &str| -> Option<CudaVersion> {
        order::below(element, place)?
            .split(['\\', '/'])
            .find_map(|part| part.parse().ok())
    };
    let major = facts
        .signs
        .iter()
        .filter_map(|sign| sign.get("library"))
        .find_map(|name| library::LibraryName::of(name).major);
    let fits_major = |place: &str| {
        major.is_none()
            || facts.libraries.all().iter().any(|library| {
                order::same_folder(folder(&library.path), place) && library.name.major == major
            })
    };
    let candidates: Vec<&str> = below
        .iter()
        .copied()
        .filter(|place| fits_major(place))
        .collect();
    let candidates = if candidates.is_empty() {
        below.to_vec()
    } else {
        candidates
    };
    candidates.iter().copied().max_by_key(|place| {
        let own = number(place);
        let exact = own.is_some() && own == cuda;
        let same_major = own.map(|own| own.major) == cuda.map(|cuda| cuda.major) && own.is_some();
        (exact, same_major, own)
    })
}

/// The CUDA at work: of the toolkit first on PATH, of the variables, the compiler, the packages.
fn cuda_here(facts: &Facts, list: &SearchList) -> Option<CudaVersion> {
    let of_folder = |folder: &str| -> Option<CudaVersion> {
        folder.split(['\\', '/']).find_map(|part| {
            let part = part.to_ascii_lowercase();
            let number = part
                .strip_prefix("cuda-")
                .or_else(|| part.strip_prefix('v'))?;
            number
                .parse::<CudaVersion>()
                .ok()
                .filter(|version| version.minor.is_some())
        })
    };
    let is_toolkit = |folder: &str| {
        let lower = folder.to_ascii_lowercase();
        !lower.contains("cudnn")
            && (lower.contains("computing toolkit")
                || base_name(&lower).starts_with("cuda-")
                || lower.contains("/cuda-"))
    };
    list.elements
        .iter()
        .filter(|element| is_toolkit(element))
        .find_map(|element| of_folder(element))
        .or_else(|| facts.variable("CUDA_PATH").and_then(of_folder))
        .or_else(
            || match facts.nvcc.known().map(crate::companion::Dotted::numbers) {
                Some([major, minor, ..]) => Some(CudaVersion::new(
                    u32::try_from(*major).ok()?,
                    u32::try_from(*minor).ok()?,
                )),
                _ => None,
            },
        )
        .or_else(|| facts.packages.all().iter().find_map(knowledge::cuda_of))
        .or_else(|| facts.toolkits.all().first().map(|toolkit| toolkit.version))
}
