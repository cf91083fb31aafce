//! `cudnnm list`: what is installed.

use std::path::PathBuf;

use serde::Serialize;

use super::selected;
use super::space::Space;
use crate::companion::CompanionId;
use crate::context::Context;
use crate::error::{Error, Exit};
use crate::output::{size, table};
use crate::store::Receipt;
use crate::version::{BuildId, VersionSpec};

/// List the installed cuDNN builds, newest first; an arrow marks the selected one
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only builds that match
    spec: Option<VersionSpec>,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    schema: u32,
    root: PathBuf,
    /// All of them on the disk: a file that several share counts once.
    bytes: u64,
    builds: Vec<Row>,
    companions: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    build: Option<BuildId>,
    path: PathBuf,
    selected: bool,
    bytes: u64,
    /// Of these, in files that other builds have as well.
    shared_bytes: u64,
    source: Option<String>,
    installed: Option<String>,
    linked: Option<String>,
    /// Why the receipt could not be read, if so.
    problem: Option<String>,
}

/// Runs the command.
///
/// # Errors
///
/// When the store can't be read.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let contents = ctx.store.contents()?;
    // A listing must also work where nothing, or nothing valid, is selected.
    let active = selected::build(ctx, None)
        .ok()
        .map(|selected| selected.build);
    // A spec without a platform means this one's when choosing; a listing shows them all.
    let shown = |build: &&BuildId| match &args.spec {
        None => true,
        Some(spec) => VersionSpec {
            platform: spec.platform.or(Some(build.platform)),
            ..spec.clone()
        }
        .matches(build),
    };
    let folders: Vec<String> = contents
        .builds
        .iter()
        .map(BuildId::folder)
        .chain(contents.companions.iter().map(CompanionId::folder))
        .collect();
    let space = Space::of(ctx, folders);
    let builds: Vec<Row> = contents
        .builds
        .iter()
        .filter(shown)
        .map(|build| Row {
            build: Some(*build),
            selected: active == Some(*build),
            ..row(ctx, &space, build.to_string(), &build.folder())
        })
        .collect();
    let companions: Vec<Row> = match args.spec {
        None => contents
            .companions
            .iter()
            .map(|id| row(ctx, &space, id.to_string(), &id.folder()))
            .collect(),
        Some(_) => Vec::new(),
    };
    if args.json {
        ctx.output.json(&Report {
            schema: 1,
            root: ctx.store.root().to_owned(),
            bytes: space.total(),
            builds,
            companions,
        });
        return Ok(Exit::Done);
    }
    if builds.is_empty() {
        ctx.output.note(match &args.spec {
            None => format!("no cuDNN is installed in {}\nhint: cudnnm list-remote, then cudnnm install VERSION", ctx.store.root().display()),
            Some(spec) => format!("no installed cuDNN matches {spec}"),
        });
    }
    let rows: Vec<Vec<String>> = builds.iter().chain(&companions).map(cells).collect();
    for line in table(&rows) {
        ctx.output.line(line);
    }
    Ok(Exit::Done)
}

fn row(ctx: &Context, space: &Space, name: String, folder: &str) -> Row {
    let path = ctx.store.root().join(folder);
    let base = Row {
        name,
        build: None,
        path,
        selected: false,
        bytes: space.bytes(folder),
        shared_bytes: space.shared(folder),
        source: None,
        installed: None,
        linked: None,
        problem: None,
    };
    match ctx.store.receipt(folder) {
        Ok(receipt) => {
            let Receipt {
                source,
                installed,
                linked,
                ..
            } = receipt;
            Row {
                source: Some(source),
                installed: Some(installed),
                linked,
                ..base
            }
        }
        Err(error) => Row {
            problem: Some(error.to_string()),
            ..base
        },
    }
}

fn cells(row: &Row) -> Vec<String> {
    let mark = if row.selected { "->" } else { "" };
    let origin = match (&row.linked, &row.source, &row.problem) {
        (_, _, Some(problem)) => format!("damaged: {problem}"),
        (Some(place), _, _) => format!("linked to {place}"),
        (None, Some(source), _) => format!("from {source}"),
        (None, None, None) => String::new(),
    };
    let bytes = match (&row.problem, row.shared_bytes) {
        (Some(_), _) => String::new(),
        (None, 0) => size(row.bytes),
        (None, shared) => format!("{} ({} shared)", size(row.bytes), size(shared)),
    };
    vec![mark.to_owned(), row.name.clone(), bytes, origin]
}
