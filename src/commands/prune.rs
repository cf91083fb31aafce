//! `cudnnm prune`: gives back space that nothing needs.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::companion::CompanionId;
use crate::context::Context;
use crate::error::{Error, Exit};
use crate::output::size;
use crate::project;
use crate::selection::newest_matching;
use crate::store::{Contents, Receipt};
use crate::version::{BuildId, VersionSpec};

/// Give back space: partial downloads, kept archives, leftovers, companions that no build needs
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also remove builds that neither a project known from `cudnnm use` nor the default selects
    #[arg(long)]
    unused: bool,
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
    bytes: u64,
    items: Vec<Item>,
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
}

/// Runs the command.
///
/// # Errors
///
/// When the store can't be read or something can't be removed.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let mut contents = ctx.store.contents()?;
    let mut items = downloads(&ctx.store.downloads());
    if args.unused {
        let wanted = wanted_builds(ctx, &contents)?;
        let (kept, unused): (Vec<BuildId>, Vec<BuildId>) = contents
            .builds
            .into_iter()
            .partition(|build| wanted.contains(build));
        contents.builds = kept;
        items.extend(
            unused
                .iter()
                .map(|build| folder_item(ctx, "unused build", build.to_string(), build.folder())),
        );
    }
    for companion in &contents.companions {
        if !needed(&contents, companion) {
            items.push(folder_item(
                ctx,
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
                Target::Folder(folder) => ctx.store.remove(folder)?,
                Target::File(path) => {
                    fs::remove_file(path).or_else(|error| match error.kind() {
                        std::io::ErrorKind::NotFound => Ok(()),
                        _ => Err(crate::error::IoError::at("remove", path)(error)),
                    })?;
                }
            }
        }
    }
    let bytes = items.iter().map(|item| item.bytes).sum();
    if args.json {
        ctx.output.json(&Report {
            schema: 1,
            dry_run: args.dry_run,
            bytes,
            items,
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

fn downloads(folder: &Path) -> Vec<Item> {
    let mut items: Vec<Item> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let partial = name.contains(".part");
            let what = if partial {
                "partial download"
            } else {
                "kept archive"
            };
            Some(Item {
                what,
                name,
                bytes: metadata.len(),
                target: Target::File(entry.path()),
            })
        })
        .collect();
    items.sort_by(|a, b| a.name.cmp(&b.name));
    items
}

fn folder_item(ctx: &Context, what: &'static str, name: String, folder: String) -> Item {
    let bytes = ctx.store.receipt(&folder).as_ref().map_or(0, Receipt::size);
    Item {
        what,
        name,
        bytes,
        target: Target::Folder(folder),
    }
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
