//! `cudnnm import`: adopts a cuDNN that is on the machine already, as a copy or by reference.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Error as CommandError;
use crate::archive::{Unpacked, tree};
use crate::context::Context;
use crate::error::{Error, Exit, IoError};
use crate::host::{cudnns, disk};
use crate::output::{size, table};
use crate::process;
use crate::progress::Progress;
use crate::sources::local;
use crate::store::{Package, Published, RECEIPT, RECEIPT_SCHEMA, Receipt, Staging, Trust, now_utc};
use crate::version::{BuildId, Flavour};

/// Adopt a cuDNN that is already on this machine; without a path, list those that are found
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cudnnm import                      # what lies around\n  cudnnm import /usr/local/cuda      # copy the cuDNN in it into the store\n  cudnnm import --link /usr/lib/x86_64-linux-gnu"
)]
pub struct Args {
    /// A folder with a cuDNN in it, at any depth: a CUDA toolkit, a conda environment, site-packages; or an archive
    path: Option<PathBuf>,
    /// Refer to the files where they are instead of copying them
    #[arg(long, requires = "path")]
    link: bool,
    /// Only list what is found, in PATH or on this machine
    #[arg(long)]
    list: bool,
    /// Adopt it again although it is there
    #[arg(long, requires = "path")]
    force: bool,
    /// Also look beside this Python
    #[arg(long, value_name = "PROGRAM", conflicts_with = "path")]
    python: Option<PathBuf>,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listing {
    schema: u32,
    found: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    build: String,
    #[serde(flatten)]
    id: BuildId,
    path: PathBuf,
    place: String,
    bytes: u64,
    /// Whether the store has this build.
    installed: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    status: &'static str,
    build: String,
    #[serde(flatten)]
    id: BuildId,
    path: PathBuf,
    origin: &'a Path,
    linked: bool,
    remarks: &'a [String],
}

/// Runs the command.
///
/// # Errors
///
/// When there is no cuDNN, or there are several, or it can't be taken over.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    match &args.path {
        None => list(ctx, args, None),
        Some(path) if args.list => list(ctx, args, Some(&ctx.absolute(path))),
        Some(path) => adopt(ctx, args, &ctx.absolute(path)),
    }
}

fn list(ctx: &Context, args: &Args, path: Option<&Path>) -> Result<Exit, Error> {
    let found = match path {
        Some(path) => tree::find(path)?
            .into_iter()
            .map(|found| (String::new(), found))
            .collect(),
        None => on_this_machine(ctx, args)?,
    };
    let installed = ctx.store.contents()?.builds;
    let rows: Vec<Row> = found
        .into_iter()
        .map(|(place, found)| {
            let id = found.identity.build();
            Row {
                build: id.to_string(),
                installed: installed.contains(&id),
                id,
                bytes: found.size(),
                path: found.folder,
                place,
            }
        })
        .collect();
    if args.json {
        ctx.output.json(&Listing {
            schema: 1,
            found: rows,
        });
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        ctx.output.note(match path {
            Some(path) => format!("no cuDNN was found in {}", path.display()),
            None => "no cuDNN was found on this machine".to_owned(),
        });
    }
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.build.clone(),
                size(row.bytes),
                row.path.display().to_string(),
                row.place.clone(),
            ]
        })
        .collect();
    for line in table(&cells) {
        ctx.output.line(line);
    }
    if let Some(row) = rows.iter().find(|row| !row.installed) {
        let path = row.path.display().to_string();
        let path = crate::selection::shell_word(&path);
        ctx.output
            .hint(format!("copy one into the store: cudnnm import {path}"));
        ctx.output.hint(format!(
            "or use it where it is: cudnnm import --link {path}"
        ));
    }
    Ok(Exit::Done)
}

/// All that is found, each once; what the store itself holds is left out.
fn on_this_machine(ctx: &Context, args: &Args) -> Result<Vec<(String, tree::Found)>, Error> {
    let python = match &args.python {
        None => None,
        Some(python) => Some(process::find_program(
            python.as_os_str(),
            ctx.env.var("PATH"),
            &ctx.cwd,
        )?),
    };
    let store = real(ctx.store.root());
    let mut all: Vec<(String, tree::Found)> = Vec::new();
    for place in cudnns::places(&ctx.env, python.as_deref()) {
        for found in tree::find_in(&place.top, &place.folders) {
            let folder = real(&found.folder);
            let known = all.iter().any(|(_, other)| {
                real(&other.folder) == folder && other.identity == found.identity
            });
            if !known && !folder.starts_with(&store) {
                all.push((place.what.clone(), found));
            }
        }
    }
    Ok(all)
}

fn adopt(ctx: &Context, args: &Args, path: &Path) -> Result<Exit, Error> {
    path.metadata().map_err(IoError::at("find", path))?;
    if path.is_file() {
        if args.link {
            return Err(CommandError::Usage {
                message: format!("`{}` is an archive; --link needs a folder", path.display()),
                hint: Some(format!("leave out --link: cudnnm import {}", quoted(path))),
            }
            .into());
        }
        let staging = ctx.store.stage("import")?;
        let total = local::size(path);
        let mut progress =
            Progress::new(ctx.output, format!("unpacking {}", path.display()), total);
        let taken = local::take(path, staging.path(), &mut |done| progress.set(done, total))?;
        drop(progress);
        let origin = Origin {
            path,
            file: taken.file,
            sha256: taken.sha256,
            linked: None,
        };
        return publish(ctx, args, staging, taken.unpacked, &origin);
    }
    let found = one(ctx, args, path)?;
    let build = found.identity.build();
    if !args.force && ctx.store.has(&build.folder()) {
        return report(ctx, args, "present", build, path, &found.remarks);
    }
    let staging = ctx.store.stage(&build.folder())?;
    let total = found.size();
    if !args.link {
        let free = disk::available(staging.path());
        if free.is_some_and(|free| free < total) {
            let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Err(IoError::at("copy into", staging.path())(full).into());
        }
    }
    let verb = if args.link { "linking" } else { "copying" };
    let mut progress = Progress::new(ctx.output, format!("{verb} {build}"), Some(total));
    let mut tell = |done| progress.set(done, Some(total));
    let unpacked = if args.link {
        found
            .link(staging.path(), &mut tell)
            .map_err(|error| CommandError::CannotLink {
                build: build.to_string(),
                folder: found.folder.clone(),
                source: Box::new(error),
            })?
    } else {
        found.copy(staging.path(), &mut tell)?
    };
    drop(progress);
    let linked = args.link.then(|| found.folder.display().to_string());
    let origin = Origin {
        path: &found.folder,
        file: None,
        sha256: None,
        linked,
    };
    publish(ctx, args, staging, unpacked, &origin)
}

/// The cuDNN that is meant by a folder: one of the machine's known places, whose headers may lie elsewhere, or the one
/// below it.
fn one(ctx: &Context, args: &Args, path: &Path) -> Result<tree::Found, Error> {
    let meant = real(path);
    let mut known: Vec<tree::Found> = on_this_machine(ctx, args)?
        .into_iter()
        .map(|(_, found)| found)
        .filter(|found| real(&found.folder) == meant)
        .collect();
    if known.len() == 1 {
        return Ok(known.remove(0));
    }
    Ok(tree::only(path)?)
}

struct Origin<'a> {
    path: &'a Path,
    file: Option<String>,
    sha256: Option<String>,
    linked: Option<String>,
}

fn publish(
    ctx: &Context,
    args: &Args,
    staging: Staging,
    unpacked: Unpacked,
    origin: &Origin,
) -> Result<Exit, Error> {
    let build = unpacked.identity.build();
    if origin.linked.is_none() {
        ctx.store.share_equal_files(&staging, &unpacked.files);
    }
    let receipt = Receipt {
        schema: RECEIPT_SCHEMA,
        package: Package::Cudnn(build),
        source: "import".to_owned(),
        origin: origin.path.display().to_string(),
        file: origin.file.clone(),
        sha256: origin.sha256.clone(),
        trust: Trust::Local,
        installed: now_utc(),
        linked: origin.linked.clone(),
        needs: unpacked.needs,
        signatures: None,
        links: unpacked.links,
        files: unpacked.files,
    };
    let path = staging.path().join(RECEIPT);
    fs::write(&path, receipt.to_toml()).map_err(IoError::at("write", &path))?;
    let held = || ctx.output.note(crate::store::HELD);
    let status = match ctx
        .store
        .publish(staging, &build.folder(), args.force, held)?
    {
        Published::New => "imported",
        Published::AlreadyThere => "present",
    };
    report(ctx, args, status, build, origin.path, &unpacked.remarks)
}

fn report(
    ctx: &Context,
    args: &Args,
    status: &'static str,
    build: BuildId,
    origin: &Path,
    remarks: &[String],
) -> Result<Exit, Error> {
    let path = ctx.store.build_folder(&build);
    for remark in remarks {
        ctx.output.warning(remark);
    }
    if args.json {
        ctx.output.json(&Report {
            schema: 1,
            status,
            build: build.to_string(),
            id: build,
            path,
            origin,
            linked: args.link,
            remarks,
        });
        return Ok(Exit::Done);
    }
    let from = origin.display();
    ctx.output.note(match (status, args.link) {
        ("present", _) => format!("{build} is in the store already: {}", path.display()),
        (_, true) => format!("linked {build} from {from}: {}", path.display()),
        (_, false) => format!("imported {build} from {from}: {}", path.display()),
    });
    if build.variant.is_none() && build.flavour == Flavour::Full {
        ctx.output
            .note("nothing in it tells for which CUDA it was built");
    }
    Ok(Exit::Done)
}

fn real(path: &Path) -> PathBuf {
    dunce::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn quoted(path: &Path) -> String {
    crate::selection::shell_word(&path.display().to_string())
}
