//! What is wrong with the search path as a text, and with characters and length of the paths in it.

use super::environment::concerns_cuda;
use crate::diagnosis::facts::{Facts, SearchKind, SearchList, View};
use crate::diagnosis::finding::{Certainty, Code, Finding};
use crate::diagnosis::library::base_name;
use crate::diagnosis::signs::Meaning;
use crate::diagnosis::signs_with;

/// The longest name among cuDNN's DLLs, `cudnn_engines_runtime_compiled64_9.dll`.
const LONGEST_NAME: usize = 38;
/// What Windows opens without long path support.
const MAX_PATH: usize = 259;

pub fn rule(facts: &Facts, findings: &mut Vec<Finding>) {
    brackets(facts, findings);
    for list in facts.searches.all() {
        if list.view == View::Before {
            continue;
        }
        quotes(list, findings);
        malformed(facts, list, findings);
        empty(list, findings);
        cut(facts, list, findings);
        too_long(list, findings);
    }
}

/// Square brackets: two reports were cured by renaming the folder; how they break cuDNN's look-up is not known.
fn brackets(facts: &Facts, findings: &mut Vec<Finding>) {
    let odd = |path: &&str| path.contains('[') || path.contains(']');
    let places: Vec<&str> = facts
        .searches
        .all()
        .iter()
        .filter(|list| list.kind == SearchKind::Path)
        .flat_map(|list| &list.elements)
        .chain(&facts.files)
        .map(String::as_str)
        .chain(
            facts
                .signs
                .iter()
                .filter_map(|sign| sign.get("library").or(sign.get("path"))),
        )
        .filter(odd)
        .collect();
    let relevant = |path: &str| {
        let lower = path.to_ascii_lowercase();
        [
            "torch",
            "cudnn",
            "cuda",
            "nvidia",
            "site-packages",
            "scripts",
            "venv",
        ]
        .iter()
        .any(|word| lower.contains(word))
    };
    let Some(place) = places
        .iter()
        .copied()
        .find(|place| {
            relevant(place)
                && (place.to_ascii_lowercase().contains("lib") || place.contains("cudnn"))
        })
        .or_else(|| places.iter().copied().find(|place| relevant(place)))
    else {
        return;
    };
    let signs: Vec<usize> = [
        Meaning::NotLocated,
        Meaning::LoadError,
        Meaning::DependencyMissing,
        Meaning::DllImport,
    ]
    .into_iter()
    .flat_map(|meaning| signs_with(facts, meaning))
    .map(|(position, _)| position)
    .collect();
    let what = format!("the path `{place}` has square brackets [ ] in it");
    let finding = if signs.is_empty() {
        Finding::warn(Code::PathChars, what).certainty(Certainty::Possible)
    } else {
        Finding::fail(Code::PathChars, what)
    };
    findings.push(
        finding
            .why("cuDNN's own look-up of its parts has failed in such folders although every file was there, and renaming the folder cured it")
            .fix("rename the folder to a name without [ and ], and make a virtual environment in it anew")
            .explains(signs),
    );
}

fn quotes(list: &SearchList, findings: &mut Vec<Finding>) {
    let entries: Vec<&String> = list
        .elements
        .iter()
        .filter(|element| element.contains('"'))
        .collect();
    if entries.is_empty() || list.kind != SearchKind::Path {
        return;
    }
    let total: usize = entries.iter().map(|entry| entry.matches('"').count()).sum();
    let kind = if total % 2 == 1 {
        "an unbalanced double quote"
    } else {
        "double quotes"
    };
    findings.push(
        Finding::warn(
            Code::PathSyntax,
            format!("{kind} in {}: {}", list.kind.variable(), super::quoted(&entries)),
        )
        .why("the loader takes a quote for a part of the folder's name, and the command interpreter takes everything behind an odd one for one entry; set-up scripts of Visual Studio then fail")
        .fix("take the quotes out of PATH in the system's environment settings")
        .fix("cudnnm exec PROGRAM    # starts it with a PATH without quotes")
    );
}

fn malformed(facts: &Facts, list: &SearchList, findings: &mut Vec<Finding>) {
    let missing: Vec<usize> = [
        Meaning::NotLocated,
        Meaning::DllImport,
        Meaning::DynamicNotFound,
        Meaning::ExitNotFound,
        Meaning::CannotOpen,
    ]
    .into_iter()
    .flat_map(|meaning| signs_with(facts, meaning))
    .map(|(position, _)| position)
    .collect();
    let mut say = |fault: &str, entries: &[&str], why: &str| {
        let matters = entries.iter().any(|entry| concerns_cuda(entry)) && !missing.is_empty();
        let what = format!(
            "{} {fault}: {}",
            list.kind.variable(),
            super::quoted(entries)
        );
        let finding = if matters {
            Finding::fail(Code::PathSyntax, what).explains(missing.clone())
        } else {
            Finding::warn(Code::PathSyntax, what)
        };
        findings.push(
            finding
                .why(why)
                .fix("put the entry right where the variable is set, then start the program anew")
                .fix("cudnnm exec PROGRAM    # needs no entry in the search path"),
        );
    };
    let entries = |test: &dyn Fn(&str) -> bool| -> Vec<&str> {
        list.elements
            .iter()
            .map(String::as_str)
            .filter(|element| !element.trim().is_empty() && test(element))
            .collect()
    };
    let windows = list.kind == SearchKind::Path;
    let blanks = entries(&|element| {
        element != element.trim() && (concerns_cuda(element) || element.ends_with(' '))
    });
    if !blanks.is_empty() {
        say(
            "has an entry with a blank before or behind it",
            &blanks,
            "the blank is taken for a part of the folder's name, so the folder is not found",
        );
    }
    if windows {
        let unexpanded =
            entries(&|element| element.matches('%').count() >= 2 && list.view != View::Stored);
        if !unexpanded.is_empty() {
            say(
                "has an entry with the name of a variable that was not replaced",
                &unexpanded,
                "the value was stored as plain text (REG_SZ), or the variable does not exist; the loader takes the % for a part of the name",
            );
        }
        let files = entries(&|element| {
            let lower = element.trim_matches('"').to_ascii_lowercase();
            lower.ends_with(".dll") || lower.ends_with(".exe")
        });
        if !files.is_empty() {
            say(
                "has an entry that is a file, not a folder",
                &files,
                "the list holds folders; the loader looks for a folder of that name",
            );
        }
        let relative = entries(&|element| {
            element == "." || element.starts_with(".\\") || element.starts_with("..")
        });
        if !relative.is_empty() {
            say(
                "has an entry that depends on the current folder",
                &relative,
                "which folder that is changes with every program, and so does which DLL is found",
            );
        }
    } else {
        let files = entries(&|element| {
            let base = base_name(element);
            base.ends_with(".so") || base.contains(".so.")
        });
        if !files.is_empty() {
            say(
                "has an entry that is a file, not a folder",
                &files,
                "the list holds folders; the loader looks for a folder of that name",
            );
        }
        let literal = entries(&|element| element.starts_with('$') || element.starts_with('~'));
        if !literal.is_empty() {
            say(
                "has an entry with a name that was not replaced",
                &literal,
                "the loader takes $ and ~ for parts of a folder's name; only a shell replaces them, and not inside quotes",
            );
        }
    }
}

/// An empty element is the current folder on Linux; on Windows it is nothing.
fn empty(list: &SearchList, findings: &mut Vec<Finding>) {
    if list.kind != SearchKind::LdLibraryPath || list.empty == 0 {
        return;
    }
    findings.push(
        Finding::warn(
            Code::PathSyntax,
            format!(
                "LD_LIBRARY_PATH has {} empty element{}, which means the current folder",
                list.empty,
                if list.empty == 1 { "" } else { "s" }
            ),
        )
        .why("a colon at the begin, the end or next to another makes the loader look into whatever folder a program is started in")
        .fix("export LD_LIBRARY_PATH=/the/folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}    # adds no empty element")
        .fix("cudnnm exec PROGRAM    # sets it without empty elements, for that one program"),
    );
}

/// A PATH that was cut when it was saved: of exactly the length that some tool keeps, or the beginning of another list.
fn cut(facts: &Facts, list: &SearchList, findings: &mut Vec<Finding>) {
    const KEPT: [usize; 3] = [1024, 2047, 2048];
    let Some((last, head)) = list.elements.split_last() else {
        return;
    };
    if list.kind != SearchKind::Path {
        return;
    }
    let whole = facts
        .searches
        .all()
        .iter()
        .filter(|other| other.from != list.from)
        .find_map(|other| {
            let next = other.elements.get(head.len())?;
            let continues = other.elements.starts_with(head)
                && !last.is_empty()
                && next.len() > last.len()
                && next.starts_with(last.as_str());
            continues.then_some(next)
        });
    if whole.is_none() && !KEPT.contains(&list.length) {
        return;
    }
    let tail = match whole {
        Some(whole) => format!("its last entry `{last}` is the beginning of `{whole}`"),
        None => format!("its last entry is `{last}`"),
    };
    findings.push(
        Finding::warn(
            Code::PathSyntax,
            format!(
                "PATH in `{}` looks cut off: it is {} characters long, {tail}",
                list.from, list.length
            ),
        )
        .why("a tool that saves PATH keeps 1024 (or 2047) characters and drops the rest; what stood behind is lost")
        .fix("put the lost entries back in the system's environment settings")
        .fix("cudnnm exec PROGRAM    # needs no PATH entry at all"),
    );
}

fn too_long(list: &SearchList, findings: &mut Vec<Finding>) {
    if list.kind != SearchKind::Path {
        return;
    }
    for element in &list.elements {
        let length = element.chars().count();
        let longest = length + 1 + LONGEST_NAME;
        let matters = concerns_cuda(element) || element.to_ascii_lowercase().contains("torch");
        if !(length > 240 || (matters && longest > MAX_PATH)) {
            continue;
        }
        findings.push(
            Finding::warn(
                Code::LongPath,
                format!("a folder on PATH is {length} characters long; with the longest DLL name of cuDNN that makes {longest}, and Windows opens {MAX_PATH}: `{element}`"),
            )
            .why("the loader and cuDNN's own look-up do not use the form of path that allows more, so a file there counts as missing")
            .fix("move the project or the virtual environment to a shorter folder, such as D:\\p")
            .fix("cudnnm install 9    # the store's folders are short; choose the version you need"),
        );
    }
}
