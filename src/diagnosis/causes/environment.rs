//! Variables that hold what they can't hold, processes with an old environment, folders that leak into every program.

use crate::companion::Dotted;
use crate::diagnosis::facts::{Facts, SearchKind, SearchList, View};
use crate::diagnosis::finding::{Certainty, Code, Finding};
use crate::diagnosis::library::base_name;
use crate::diagnosis::order;
use crate::diagnosis::read::search_path::{is_windows_path, normal};
use crate::diagnosis::signs::Meaning;
use crate::diagnosis::signs_with;

pub fn rule(facts: &Facts, findings: &mut Vec<Finding>) {
    variables(facts, findings);
    toolkit_disagrees(facts, findings);
    stale(facts, findings);
    leak(facts, findings);
}

fn is_root_variable(name: &str) -> bool {
    matches!(
        name,
        "CUDA_PATH"
            | "CUDA_HOME"
            | "CUDA_ROOT"
            | "CUDA_TOOLKIT_ROOT_DIR"
            | "CUDNN_PATH"
            | "CUDNN_HOME"
            | "CUDNN_ROOT"
            | "CUDNN_ROOT_DIR"
            | "CUDNN_INCLUDE_DIR"
            | "CUDNN_LIBRARY"
    ) || name
        .strip_prefix("CUDA_PATH_V")
        .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '_'))
}

fn variables(facts: &Facts, findings: &mut Vec<Finding>) {
    for variable in facts.variables.all() {
        let name = variable.name.trim_matches(['\'', '"']).to_ascii_uppercase();
        if !is_root_variable(&name) {
            continue;
        }
        let value = variable.value.as_str();
        let windows = is_windows_path(value);
        let separator = if windows { ';' } else { ':' };
        let tail = value.trim_end_matches(['\\', '/']);
        let is_bin = name.starts_with("CUDA_") && base_name(tail).eq_ignore_ascii_case("bin");
        let (level_fail, fault) = if value.contains(separator) {
            (
                true,
                format!("holds more than one folder, or a stray \"{separator}\""),
            )
        } else if value.contains(['"', '\'']) {
            (
                true,
                "holds a quote, which is taken for a part of the path".to_owned(),
            )
        } else if value != value.trim() {
            (
                true,
                "begins or ends with a blank, which is taken for a part of the path".to_owned(),
            )
        } else if value.contains('%') || value.starts_with('$') {
            (
                true,
                "holds the name of a variable that was not replaced".to_owned(),
            )
        } else if is_bin {
            (
                true,
                "names the bin folder; programs add \\bin themselves and then look in bin\\bin"
                    .to_owned(),
            )
        } else if !value.is_empty() && !windows && !value.starts_with('/') {
            (false, "is not an absolute path".to_owned())
        } else {
            continue;
        };
        let what = format!("{name} {fault}: `{value}`");
        let finding = if level_fail {
            Finding::fail(Code::EnvVar, what)
        } else {
            Finding::warn(Code::EnvVar, what)
        };
        let first = value
            .split(separator)
            .map(|part| part.trim().trim_matches(['"', '\'']))
            .find(|part| !part.is_empty())
            .unwrap_or_default();
        let first = strip_bin(first);
        findings.push(
            finding
                .why(format!("{name} must be one existing folder; frameworks and build scripts join their own parts to it"))
                .fix(if first.is_empty() || first.contains(['%', '$']) {
                    format!("set {name} to one folder")
                } else {
                    format!("set {name} to one folder: {}", without_programs(first))
                })
                .fix("cudnnm exec PROGRAM    # sets a consistent set of variables for that program")
                .explains(
                    signs_with(facts, Meaning::DllImport)
                        .chain(signs_with(facts, Meaning::CmakeCudnn))
                        .map(|(position, _)| position),
                ),
        );
    }
}

/// A folder to set a variable to; where it lies in a folder of installed programs it is the toolkit's own and needs no
/// repeating: its last part says which.
fn without_programs(folder: &str) -> String {
    let lower = folder.to_ascii_lowercase();
    if lower.contains("program files") {
        format!("the toolkit's root, {}", base_name(folder))
    } else {
        folder.to_owned()
    }
}

fn strip_bin(folder: &str) -> &str {
    let tail = folder.trim_end_matches(['\\', '/']);
    match tail.get(tail.len().saturating_sub(4)..) {
        Some(end) if end.eq_ignore_ascii_case("\\bin") || end.eq_ignore_ascii_case("/bin") => {
            &tail[..tail.len() - 4]
        }
        _ => tail,
    }
}

/// The toolkit that a variable names, and the compiler that is found first.
fn toolkit_disagrees(facts: &Facts, findings: &mut Vec<Finding>) {
    let compiler = match facts.nvcc.known().map(Dotted::numbers) {
        Some([major, minor, ..]) => Some(([*major, *minor], "the nvcc that is found first is")),
        _ => order::effective(facts)
            .filter(|list| list.kind == SearchKind::Path)
            .and_then(|list| {
                list.elements
                    .iter()
                    .filter(|element| element.to_ascii_lowercase().contains("computing toolkit"))
                    .find_map(|element| toolkit_version(strip_bin(element)))
            })
            .map(|version| (version, "the toolkit first on PATH is")),
    };
    let Some(([major, minor], whose)) = compiler else {
        return;
    };
    for name in ["CUDA_PATH", "CUDA_HOME"] {
        let Some(value) = facts.variable(name) else {
            continue;
        };
        let first = value.split(';').next().unwrap_or(value);
        let Some(version) = toolkit_version(strip_bin(first)) else {
            continue;
        };
        if version != [major, minor] {
            findings.push(
                Finding::warn(
                    Code::EnvVar,
                    format!(
                        "{name} names CUDA {}.{}, but {whose} {major}.{minor}",
                        version[0], version[1]
                    ),
                )
                .why("build scripts take headers from one and the compiler from the other")
                .fix(format!(
                    "set {name} to the toolkit whose bin folder stands first on PATH"
                )),
            );
        }
    }
}

/// 11.3 of `…\CUDA\v11.3`, `/usr/local/cuda-11.3`.
fn toolkit_version(folder: &str) -> Option<[u64; 2]> {
    let base = base_name(folder).to_ascii_lowercase();
    let number = base
        .strip_prefix("cuda-")
        .or_else(|| base.strip_prefix('v'))?;
    match *Dotted::parse(number)?.numbers() {
        [major, minor, ..] => Some([major, minor]),
        _ => None,
    }
}

/// A process whose search path is older than the stored one.
fn stale(facts: &Facts, findings: &mut Vec<Finding>) {
    let lists = facts.searches.all();
    for process in lists.iter().filter(|list| list.view == View::Process) {
        let stored = lists.iter().find(|list| {
            list.kind == process.kind && matches!(list.view, View::Stored | View::Plain)
        });
        let Some(stored) = stored else { continue };
        let missing: Vec<&str> = stored
            .elements
            .iter()
            .map(String::as_str)
            .filter(|element| !element.trim().is_empty() && !element.contains('%'))
            .filter(|element| !holds(process, element))
            .collect();
        let ours: Vec<&str> = missing
            .iter()
            .copied()
            .filter(|element| concerns_cuda(element))
            .collect();
        if ours.is_empty() {
            continue;
        }
        let variable = process.kind.variable();
        findings.push(
            Finding::fail(
                Code::StaleEnv,
                format!("this process has an old copy of {variable}: it lacks {}", super::quoted(&ours)),
            )
            .why("a program keeps the environment it was started with; the IDE, notebook or service (or what started it) was running before the change, or starts without activating the environment")
            .fix("close it and what started it, sign out and in again, then start it anew")
            .fix("cudnnm exec code .    # or another IDE: it and all it starts get the right cuDNN")
            .fix("cudnnm venv attach    # for a run button or a notebook in a virtual environment")
            .explains(
                facts
                    .signs
                    .iter()
                    .enumerate()
                    .filter(|(_, sign)| {
                        matches!(
                            sign.meaning,
                            Some(
                                Meaning::DllImport
                                    | Meaning::DynamicNotFound
                                    | Meaning::CannotOpen
                                    | Meaning::NotLocated
                                    | Meaning::LoadMissing
                                    | Meaning::NoneOf
                            )
                        )
                    })
                    .map(|(position, _)| position),
            ),
        );
    }
}

fn holds(list: &SearchList, element: &str) -> bool {
    let wanted = normal(element, list.kind);
    list.elements
        .iter()
        .any(|other| normal(other, list.kind) == wanted)
}

/// Whether a folder on a search path has to do with CUDA or cuDNN.
pub fn concerns_cuda(folder: &str) -> bool {
    let lower = folder.to_ascii_lowercase();
    ["cuda", "cudnn", "nvidia", "ai-libs"]
        .iter()
        .any(|word| lower.contains(word))
        && !lower.contains("physx")
        && !lower.contains("nvidia corporation")
        && !lower.contains("nsight")
}

/// A folder with the libraries of a whole environment on LD_LIBRARY_PATH.
fn leak(facts: &Facts, findings: &mut Vec<Finding>) {
    let Some(list) = facts
        .searches
        .all()
        .iter()
        .find(|list| list.kind == SearchKind::LdLibraryPath && list.view != View::Before)
    else {
        return;
    };
    let foreign = [
        "libcrypto.so",
        "libssl.so",
        "libstdc++.so",
        "libgcc_s.so",
        "libz.so",
        "libcurl.so",
        "libpython",
    ];
    let elements: Vec<&String> = list
        .elements
        .iter()
        .filter(|element| !element.trim().is_empty())
        .collect();
    for element in &elements {
        if is_system(element) {
            continue;
        }
        let seen: Vec<&str> = facts
            .files
            .iter()
            .filter(|file| {
                let folder = crate::diagnosis::library::folder(file);
                // A listing of bare names belongs to the only folder there is.
                order::same_folder(folder, element) || (folder.is_empty() && elements.len() == 1)
            })
            .map(|file| base_name(file))
            .filter(|name| foreign.iter().any(|start| name.starts_with(start)))
            .collect();
        let holds_cudnn = facts.libraries.all().iter().any(|library| {
            let folder = crate::diagnosis::library::folder(&library.path);
            library.name.is_cudnn
                && (order::same_folder(folder, element)
                    || (folder.is_empty() && elements.len() == 1))
        });
        let is_conda = is_conda_lib(facts, element);
        let what = if !seen.is_empty() && (holds_cudnn || is_conda || concerns_cuda(element)) {
            format!(
                "LD_LIBRARY_PATH holds `{element}`, a folder with {} beside cuDNN",
                super::joined(&seen)
            )
        } else if is_conda {
            format!(
                "LD_LIBRARY_PATH holds `{element}`, the libraries of a whole conda environment (libcrypto, libssl, libstdc++ and all)"
            )
        } else {
            continue;
        };
        let certainty = if seen.is_empty() {
            Certainty::Possible
        } else {
            Certainty::Certain
        };
        findings.push(
            Finding::warn(Code::Leak, what)
                .why("every program started from here gets these instead of its own: git, ssh and curl break on a foreign libcrypto")
                .fix("unset LD_LIBRARY_PATH    # and remove the line from the shell's start file or the environment's activation script")
                .fix("cudnnm exec PROGRAM    # sets it for that one program only, to a folder with nothing but cuDNN")
                .certainty(certainty)
                .explains(
                    facts
                        .signs
                        .iter()
                        .enumerate()
                        .filter(|(_, sign)| matches!(sign.name.as_str(), "version-information" | "symbol-version-leak"))
                        .map(|(position, _)| position),
                ),
        );
    }
}

/// The loader's own folders hold the system's libraries, which is what every program gets anyway.
fn is_system(element: &str) -> bool {
    let folder = element.trim_end_matches('/');
    ["/lib", "/usr/lib", "/lib64", "/usr/lib64"].contains(&folder)
        || (folder.starts_with("/lib/") || folder.starts_with("/usr/lib/"))
            && folder.ends_with("-linux-gnu")
}

fn is_conda_lib(facts: &Facts, element: &str) -> bool {
    let trimmed = element.trim_end_matches('/');
    let prefix = facts
        .variable("CONDA_PREFIX")
        .is_some_and(|prefix| trimmed == format!("{}/lib", prefix.trim_end_matches('/')));
    let lower = trimmed.to_ascii_lowercase();
    let by_name = lower.ends_with("/lib")
        && (lower.contains("conda") || lower.contains("/envs/"))
        && !lower.contains("/site-packages/");
    prefix || by_name
}
