//! `cudnnm prune`: gives back space that nothing needs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::space::Space;
use crate::companion::CompanionId;
use crate::context::Context;
use crate::error::{Error, Exit, IoError};
use crate::output::size;
use crate::project;
use crate::selection::newest_matching;
use crate::store::{self, Contents, Lock};
use crate::version::{BuildId, VersionSpec};

/// Give back space: partial downloads, kept archives, leftovers, companions that no build needs
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also remove builds that neither a project known from `cudnnm use` nor the default selects
    #[arg(long)]
    unused: bool,
    /// Only downloads not touched, and with --unused only builds installed, longer ago than this: 12h, 30d, 8w
    #[arg(long, value_name = "AGE")]
    older_than: Option<Age>,
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    schema: u32,
    dry_run: bool,
    /// What the disk gets back: files that a remaining build shares are not counted.
    bytes: u64,
    items: Vec<Item>,
    /// Downloads that another cudnnm is working on: left alone.
    busy: Vec<String>,
}

#[derive(Serialize)]
struct Item {
    what: &'static str,
    name: String,
    bytes: u64,
    #[serde(skip)]
    target: Target,
}

enum Target {
    /// A folder of the store's root, removed through the trash.
    Folder(String),
    /// A file.
    File(PathBuf),
    /// What a dead process left: cleared by the store itself.
    Leftover,
}

/// A span of time as a person types it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Age(Duration);

/// Not a span of time.
#[derive(Debug, thiserror::Error)]
#[error("a number and h, d or w is expected, like 30d")]
struct NoAge;

impl FromStr for Age {
    type Err = NoAge;

    fn from_str(text: &str) -> Result<Self, NoAge> {
        let unit = text.chars().last().ok_or(NoAge)?;
        let hours = match unit {
            'h' => 1,
            'd' => 24,
            'w' => 7 * 24,
            _ => return Err(NoAge),
        };
        let count: u32 = text[..text.len() - 1].parse().map_err(|_| NoAge)?;
        Ok(Self(Duration::from_secs(
            u64::from(count) * hours * 60 * 60,
        )))
    }
}

/// Runs the command.
///
/// # Errors
///
/// When the store can't be read or something can't be removed.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let mut contents = ctx.store.contents()?;
    let folders: Vec<String> = contents
        .builds
        .iter()
        .map(BuildId::folder)
        .chain(contents.companions.iter().map(CompanionId::folder))
        .collect();
    let space = Space::of(ctx, folders);
    // Everything is older than the end of time.
    let before = args
        .older_than
        .and_then(|Age(age)| SystemTime::now().checked_sub(age));
    let Downloads {
        mut items,
        busy,
        locks,
    } = downloads(ctx, before, args.dry_run)?;
    items.extend(leftovers(ctx));
    if args.unused {
        let wanted = wanted_builds(ctx, &contents)?;
        let (kept, unused): (Vec<BuildId>, Vec<BuildId>) = contents
            .builds
            .into_iter()
            .partition(|build| wanted.contains(build) || !installed_before(ctx, build, before));
        contents.builds = kept;
        items.extend(
            unused.iter().map(|build| {
                folder_item(&space, "unused build", build.to_string(), build.folder())
            }),
        );
    }
    for companion in &contents.companions {
        if !needed(&contents, companion) {
            items.push(folder_item(
                &space,
                "unneeded companion",
                companion.to_string(),
                companion.folder(),
            ));
        }
    }
    if !args.dry_run {
        ctx.store.sweep();
        for item in &items {
            match &item.target {
                // Another process that removed it first did what we wanted.
                Target::Folder(folder) => match ctx.store.remove(folder) {
                    Ok(()) | Err(store::Error::NotInstalled { .. }) => {}
                    Err(error) => return Err(error.into()),
                },
                Target::File(path) => {
                    fs::remove_file(path).or_else(|error| match error.kind() {
                        std::io::ErrorKind::NotFound => Ok(()),
                        _ => Err(IoError::at("remove", path)(error)),
                    })?;
                }
                Target::Leftover => {}
            }
        }
    }
    drop(locks);
    let gone = items.iter().filter_map(|item| match &item.target {
        Target::Folder(folder) => Some(folder.as_str()),
        Target::File(_) | Target::Leftover => None,
    });
    let files = items
        .iter()
        .filter(|item| !matches!(item.target, Target::Folder(_)))
        .map(|item| item.bytes);
    let bytes = files.sum::<u64>() + space.freed(gone);
    for name in &busy {
        ctx.output
            .note(format!("{name} stays: another cudnnm is working on it"));
    }
    if args.json {
        ctx.output.json(&Report {
            schema: 1,
            dry_run: args.dry_run,
            bytes,
            items,
            busy,
        });
        return Ok(Exit::Done);
    }
    let verb = if args.dry_run {
        "would remove"
    } else {
        "removed"
    };
    for item in &items {
        ctx.output.line(format!(
            "{verb} {} {} ({})",
            item.what,
            item.name,
            size(item.bytes)
        ));
    }
    ctx.output.note(match (items.is_empty(), args.dry_run) {
        (true, _) => "nothing to remove".to_owned(),
        (false, true) => format!("{} would be given back", size(bytes)),
        (false, false) => format!("{} given back", size(bytes)),
    });
    Ok(Exit::Done)
}

#[derive(Default)]
struct Downloads {
    /// What nobody works on.
    items: Vec<Item>,
    /// The names of what somebody does.
    busy: Vec<String>,
    /// Keep others off the items, by the name of the whole file.
    locks: BTreeMap<String, Lock>,
}

fn downloads(ctx: &Context, before: Option<SystemTime>, dry_run: bool) -> Result<Downloads, Error> {
    let mut found = Downloads::default();
    let entries = fs::read_dir(ctx.store.downloads()).into_iter().flatten();
    for entry in entries.flatten() {
        let Some(metadata) = entry.metadata().ok().filter(fs::Metadata::is_file) else {
            continue;
        };
        let young = |before| metadata.modified().is_ok_and(|modified| modified > before);
        if before.is_some_and(young) {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        // `x.whl.part` and `x.whl.part.journal` belong to `x.whl`, whose lock a download holds.
        let whole = name.split(".part").next().unwrap_or_default();
        let free = if dry_run {
            !ctx.store.is_busy(whole)
        } else if found.locks.contains_key(whole) {
            true
        } else {
            match ctx.store.lock(whole, Duration::ZERO, || ()) {
                Ok(lock) => found.locks.insert(whole.to_owned(), lock).is_none(),
                Err(store::Error::Busy { .. }) => false,
                Err(error) => return Err(error.into()),
            }
        };
        if !free {
            found.busy.push(name);
            continue;
        }
        let what = if whole.len() < name.len() {
            "partial download"
        } else {
            "kept archive"
        };
        found.items.push(Item {
            what,
            name,
            bytes: metadata.len(),
            target: Target::File(entry.path()),
        });
    }
    found.items.sort_by(|a, b| a.name.cmp(&b.name));
    found.busy.sort();
    Ok(found)
}

fn leftovers(ctx: &Context) -> Vec<Item> {
    let leftovers = ctx.store.leftovers();
    leftovers
        .iter()
        .map(|path| Item {
            what: "leftover",
            name: path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            bytes: tree_size(path),
            target: Target::Leftover,
        })
        .collect()
}

fn tree_size(path: &Path) -> u64 {
    let Ok(metadata) = path.symlink_metadata() else {
        return 0;
    };
    if !metadata.is_dir() {
        return metadata.len();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| tree_size(&entry.path())).sum()
}

fn folder_item(space: &Space, what: &'static str, name: String, folder: String) -> Item {
    Item {
        what,
        name,
        bytes: space.bytes(&folder),
        target: Target::Folder(folder),
    }
}

/// Whether a build was installed before that moment; one whose receipt can't be read is old enough.
fn installed_before(ctx: &Context, build: &BuildId, before: Option<SystemTime>) -> bool {
    let Some(before) = before.map(store::utc) else {
        return true;
    };
    ctx.store
        .receipt(&build.folder())
        .map_or(true, |receipt| receipt.installed < before)
}

/// Of each remembered project and the default: the builds that could be selected for it.
///
/// All variants of the newest matching version count: which one is taken can change with the machine's CUDA.
fn wanted_builds(ctx: &Context, contents: &Contents) -> Result<Vec<BuildId>, Error> {
    let mut specs: Vec<VersionSpec> = ctx.settings()?.default.into_iter().collect();
    for folder in ctx.store.remembered_projects() {
        // A project file that can't be read must not cost its build: stop rather than guess.
        if let Some(file) = project::find(&folder)? {
            specs.push(file.spec);
        }
    }
    let mut wanted = Vec::new();
    for spec in &specs {
        wanted.extend(newest_matching(spec, &contents.builds).into_iter().copied());
    }
    Ok(wanted)
}

fn needed(contents: &Contents, companion: &CompanionId) -> bool {
    let newest = contents
        .companions
        .iter()
        .filter(|other| {
            (other.kind, other.cuda_major, other.platform)
                == (companion.kind, companion.cuda_major, companion.platform)
        })
        .max();
    let used = contents.builds.iter().any(|build| {
        build.platform == companion.platform
            && build
                .variant
                .is_some_and(|variant| variant.major == companion.cuda_major)
    });
    used && newest == Some(companion)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_numbers_with_a_unit() {
        let hours = |hours: u64| Some(Duration::from_secs(hours * 3600));
        for (text, expected) in [
            ("12h", hours(12)),
            ("30d", hours(720)),
            ("2w", hours(336)),
            ("0d", hours(0)),
            ("30", None),
            ("d", None),
            ("", None),
            ("-1d", None),
            ("3 日", None),
        ] {
            assert_eq!(
                text.parse::<Age>().ok().map(|age| age.0),
                expected,
                "{text}"
            );
        }
    }
}
