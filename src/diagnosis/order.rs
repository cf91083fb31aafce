//! Which of several copies a loader would take.
//!
//! Windows looks into its own folder before `PATH`, whatever order `where` shows. Linux takes `LD_LIBRARY_PATH` element by
//! element, then the loader's cache and its default folders. Folders that only one program knows (a wheel's RPATH) are
//! last: they count for that program alone.

use super::facts::{Facts, Library, Reach, SearchKind, SearchList, View};
use super::library;
use super::read::search_path::normal;
use crate::version::CudnnVersion;

/// Two spellings of one file.
pub fn same_path(a: &str, b: &str) -> bool {
    a == b || (is_windows(a) && key(a) == key(b))
}

/// A path for comparing.
fn key(path: &str) -> String {
    let kind = if is_windows(path) {
        SearchKind::Path
    } else {
        SearchKind::LdLibraryPath
    };
    normal(path, kind)
}

fn is_windows(path: &str) -> bool {
    path.contains('\\') || path.to_ascii_lowercase().ends_with(".dll")
}

/// Whether two folders are one.
pub fn same_folder(a: &str, b: &str) -> bool {
    !a.is_empty() && key_of_folder(a) == key_of_folder(b)
}

fn key_of_folder(folder: &str) -> String {
    let windows = folder.contains('\\') || folder.as_bytes().get(1) == Some(&b':');
    let kind = if windows {
        SearchKind::Path
    } else {
        SearchKind::LdLibraryPath
    };
    normal(folder, kind)
}

/// What follows `folder` in `path`, if `path` lies below it: `12.8` for `…\bin\12.8` below `…\bin`.
pub fn below<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    let folder = folder.trim().trim_end_matches(['/', '\\']);
    if folder.is_empty() || folder.chars().count() >= path.chars().count() {
        return None;
    }
    let split = path.char_indices().nth(folder.chars().count())?.0;
    let (head, tail) = path.split_at(split);
    (same_folder(head, folder) && tail.starts_with(['/', '\\']))
        .then(|| tail.trim_start_matches(['/', '\\']))
        .filter(|rest| !rest.is_empty())
}

/// The search list that the loader would use: a process's own before the stored one.
pub fn effective(facts: &Facts) -> Option<&SearchList> {
    let lists = facts.searches.all();
    [View::Process, View::Plain, View::After, View::Stored]
        .iter()
        .find_map(|view| {
            lists
                .iter()
                .find(|list| list.view == *view && list.kind == wanted_kind(facts))
        })
        .or_else(|| lists.first())
}

fn wanted_kind(facts: &Facts) -> SearchKind {
    if facts.is_linux() {
        SearchKind::LdLibraryPath
    } else {
        SearchKind::Path
    }
}

/// Sets how each library is reached, sorts them in the order of the search, and names the winners.
pub fn settle(facts: &mut Facts) {
    let elements: Vec<String> = effective(facts)
        .map(|list| list.elements.clone())
        .unwrap_or_default();
    let super::facts::Fact::Known(libraries) = &mut facts.libraries else {
        return;
    };
    for library in libraries.iter_mut() {
        library.reach = reach(library, &elements);
    }
    libraries.sort_by_key(|library| rank(&library.reach));
    let mut winners = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for library in libraries.iter().filter(|library| library.name.is_main()) {
        let name = library.name.soname();
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        winners.push(match version_of(library) {
            Some(version) => format!("{} {version}", library.path),
            None => library.path.clone(),
        });
    }
    facts.winners = winners;
}

fn reach(library: &Library, elements: &[String]) -> Reach {
    let folder = library::folder(&library.path);
    let lower = library.path.to_ascii_lowercase();
    if lower.contains(r":\windows\system32\") {
        return Reach::System;
    }
    if let Some(position) = elements
        .iter()
        .position(|element| same_folder(element, folder))
    {
        return Reach::Element(position + 1);
    }
    match &library.reach {
        Reach::Private if is_default_folder(folder) => Reach::Cache,
        // An empty element is the current folder, whatever that was.
        Reach::Element(position)
            if elements
                .get(position.wrapping_sub(1))
                .is_some_and(|element| element.is_empty()) =>
        {
            Reach::Element(*position)
        }
        // An element that was counted against another list than this one.
        Reach::Element(position) => Reach::Listed(*position),
        other => other.clone(),
    }
}

/// The folders that Linux' loader knows by itself.
fn is_default_folder(folder: &str) -> bool {
    ["/lib", "/usr/lib", "/lib64", "/usr/lib64"].contains(&folder)
        || ["/lib/", "/usr/lib/"].iter().any(|start| {
            folder
                .strip_prefix(start)
                .is_some_and(|rest| rest.ends_with("-linux-gnu"))
        })
}

fn rank(reach: &Reach) -> (u8, usize) {
    match reach {
        Reach::System => (0, 0),
        Reach::Element(position) => (1, *position),
        Reach::Listed(position) => (2, *position),
        Reach::Cache => (3, 0),
        Reach::Private => (4, 0),
    }
}

/// A library's version: read from the file, else the full number that its Linux name carries.
pub fn version_of(library: &Library) -> Option<CudnnVersion> {
    library.version.known().copied().or(library.name.full)
}

/// Copies of the main library that programs reach without knowing a folder, in order.
pub fn reachable_mains(facts: &Facts) -> impl Iterator<Item = &Library> {
    facts
        .libraries
        .all()
        .iter()
        .filter(|library| library.name.is_main() && library.reach != Reach::Private)
}
