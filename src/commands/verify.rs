//! `cudnnm verify`: whether what is installed is still what was installed.

use serde::Serialize;

use crate::archive;
use crate::companion::CompanionId;
use crate::context::Context;
use crate::error::{Error, Exit};
use crate::output::size;
use crate::progress::Progress;
use crate::project;
use crate::selection::{self, Reason, Wish, shell_word};
use crate::store::{self, Damage, Receipt};
use crate::version::{BuildId, VersionSpec};

use super::{Error as CommandError, selected};

/// Compare installed builds with their receipts: missing, changed and added files, broken links
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Builds to check, or a companion by its folder's name; without any, everything that is installed
    #[arg(value_name = "SPEC")]
    specs: Vec<String>,
    /// Check what this project names: the build it pins is here, from the very archive it was pinned to, and whole
    #[arg(long, conflicts_with = "specs")]
    project: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    schema: u32,
    ok: bool,
    items: Vec<Item>,
}

#[derive(Serialize)]
struct Item {
    name: String,
    folder: String,
    ok: bool,
    files: usize,
    bytes: u64,
    /// Where the files of a linked build really are.
    #[serde(skip_serializing_if = "Option::is_none")]
    linked: Option<String>,
    /// Why the receipt itself could not be read, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    damage: Vec<Damage>,
    /// The command that puts it right.
    #[serde(skip_serializing_if = "Option::is_none")]
    repair: Option<String>,
}

/// Runs the command.
///
/// # Errors
///
/// When a spec means nothing that is installed, or the store can't be read.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let meant = if args.project {
        vec![of_project(ctx)?]
    } else {
        meant(ctx, &args.specs)?
    };
    let mut items = Vec::new();
    let mut readable = Vec::new();
    for (name, folder) in meant {
        let receipt = ctx.store.receipt(&folder);
        if receipt.is_err() && !ctx.store.root().join(&folder).exists() {
            // Uninstalled by another process since the listing.
            continue;
        }
        let problem = receipt.as_ref().err().map(chain);
        if let Ok(receipt) = receipt {
            readable.push((folder.clone(), receipt));
        }
        items.push(Item {
            name,
            folder,
            ok: false,
            files: 0,
            bytes: 0,
            linked: None,
            problem,
            damage: Vec::new(),
            repair: None,
        });
    }
    let total = readable.iter().map(|(_, receipt)| receipt.size()).sum();
    let progress = std::sync::Mutex::new(Progress::new(ctx.output, "verifying", Some(total)));
    let report = |done| {
        // Hashing goes on whatever happened to the bar.
        if let Ok(mut progress) = progress.lock() {
            progress.set(done, Some(total));
        }
    };
    let found = ctx.store.verify(&readable, &archive::digest, &report);
    drop(progress);
    for ((folder, receipt), mut damage) in readable.into_iter().zip(found) {
        if !damage.is_empty() {
            // What another process uninstalled or replaced while we looked is no damage.
            match ctx.store.receipt(&folder) {
                Err(store::Error::NotInstalled { .. })
                    if !ctx.store.root().join(&folder).exists() =>
                {
                    items.retain(|item| item.folder != folder);
                    continue;
                }
                Ok(newer) if newer != receipt => {
                    let again = [(folder.clone(), newer)];
                    damage = ctx
                        .store
                        .verify(&again, &archive::digest, &|_| ())
                        .remove(0);
                }
                _ => {}
            }
        }
        let item = items.iter_mut().find(|item| item.folder == folder);
        let item = item.expect("every readable folder has its item");
        item.ok = damage.is_empty();
        item.files = receipt.files.len();
        item.bytes = receipt.size();
        item.damage = damage;
        item.repair = (!item.ok).then(|| repair(&item.folder, Some(&receipt)));
        item.linked = receipt.linked;
    }
    for item in items.iter_mut().filter(|item| item.problem.is_some()) {
        item.repair = Some(repair(&item.folder, None));
    }
    let ok = items.iter().all(|item| item.ok);
    if args.json {
        ctx.output.json(&Report {
            schema: 1,
            ok,
            items,
        });
    } else {
        print(ctx, &items);
    }
    Ok(if ok { Exit::Done } else { Exit::Failed })
}

/// The build that the project file pins, if this machine has it from the same archive.
fn of_project(ctx: &Context) -> Result<(String, String), Error> {
    let Some(file) = project::find(&ctx.cwd)? else {
        return Err(selection::Error::NothingSelected.into());
    };
    let reason = Reason::Project {
        path: file.path.clone(),
        line: file.line,
    };
    let selected = selected::match_installed(
        ctx,
        Wish {
            spec: file.spec,
            reason,
        },
    )?;
    let (name, folder) = (selected.build.to_string(), selected.build.folder());
    let Some(pinned) = file.sha256 else {
        let message = format!("`{}` pins no exact build", file.path.display());
        let hint = Some(format!("pin the one in force: cudnnm use --exact {name}"));
        return Err(CommandError::Usage { message, hint }.into());
    };
    let installed = ctx.store.receipt(&folder)?.sha256;
    if installed.as_deref() != Some(pinned.as_str()) {
        return Err(CommandError::OtherArchive {
            build: name,
            pinned,
            installed,
        }
        .into());
    }
    Ok((name, folder))
}

fn meant(ctx: &Context, specs: &[String]) -> Result<Vec<(String, String)>, Error> {
    let contents = ctx.store.contents()?;
    let builds = contents
        .builds
        .iter()
        .map(|build| (build.to_string(), build.folder()));
    let companions = contents
        .companions
        .iter()
        .map(|id| (id.to_string(), id.folder()));
    if specs.is_empty() {
        return Ok(builds.chain(companions).collect());
    }
    let mut meant: Vec<(String, String)> = Vec::new();
    for text in specs {
        let found: Vec<(String, String)> = if CompanionId::from_folder(text).is_some() {
            companions
                .clone()
                .filter(|(_, folder)| folder == text)
                .collect()
        } else {
            let spec = match BuildId::from_folder(text) {
                Some(build) => build.exact_spec(),
                None => text.parse::<VersionSpec>().map_err(CommandError::BadSpec)?,
            };
            // As in a listing, a spec without a platform means every platform.
            let matches = |build: &&BuildId| {
                let platform = spec.platform.or(Some(build.platform));
                VersionSpec {
                    platform,
                    ..spec.clone()
                }
                .matches(build)
            };
            contents
                .builds
                .iter()
                .filter(matches)
                .map(|build| (build.to_string(), build.folder()))
                .collect()
        };
        if found.is_empty() {
            return Err(store::Error::NotInstalled {
                build: text.clone(),
            }
            .into());
        }
        for item in found {
            if !meant.contains(&item) {
                meant.push(item);
            }
        }
    }
    Ok(meant)
}

fn print(ctx: &Context, items: &[Item]) {
    if items.is_empty() {
        ctx.output.note(format!(
            "nothing is installed in {}",
            ctx.store.root().display()
        ));
    }
    for item in items {
        if item.ok {
            let files = item.files;
            ctx.output.line(format!(
                "{}: ok ({files} files, {})",
                item.name,
                size(item.bytes)
            ));
            continue;
        }
        ctx.output.line(format!("{}: damaged", item.name));
        for damage in &item.damage {
            ctx.output.line(format!("  {damage}"));
        }
        if let Some(problem) = &item.problem {
            ctx.output.line(format!("  {problem}"));
        }
        if let Some(place) = &item.linked {
            ctx.output
                .line(format!("  its files are linked from {place}"));
        }
    }
    for repair in items.iter().filter_map(|item| item.repair.as_ref()) {
        ctx.output.hint(format!("put it right with: {repair}"));
    }
}

/// The command that makes a damaged folder whole: the one that made it, again.
fn repair(folder: &str, receipt: Option<&Receipt>) -> String {
    let Some(build) = BuildId::from_folder(folder) else {
        return format!(
            "cudnnm uninstall --force {folder}, then cudnnm install --with-companions again"
        );
    };
    match receipt {
        Some(Receipt {
            linked: Some(place),
            ..
        }) => {
            format!("cudnnm import --force --link {}", shell_word(place))
        }
        Some(receipt) if receipt.source == "import" => {
            format!("cudnnm import --force {}", shell_word(&receipt.origin))
        }
        Some(receipt) if receipt.source == "local" => {
            format!(
                "cudnnm install --force --from {}",
                shell_word(&receipt.origin)
            )
        }
        _ => format!("cudnnm install --force {build}"),
    }
}

fn chain(error: &store::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(": ");
        // TOML errors draw the line; the first line says where.
        text.push_str(inner.to_string().lines().next().unwrap_or_default());
        cause = inner.source();
    }
    text
}
