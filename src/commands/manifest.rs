//! `cudnnm manifest`: look after what is known about published builds.

use std::path::PathBuf;

use clap::Subcommand;
use serde::Serialize;

use super::{published, refreshing};
use crate::context::Context;
use crate::error::{Error, Exit, IoError};
use crate::manifest::generate::{INPUT_FILES, Input, generate};
use crate::manifest::{FILES, RELEASES, Summary, check_facts, check_releases};
use crate::sources::Server;
use crate::store;

/// Check, refresh or rebuild what cudnnm knows about published builds
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// See whether the built-in manifests and the store's make sense, and count what is in them
    Check {
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Look for versions newer than the built-in list at NVIDIA's server and on the Python index
    Update {
        /// Only here: nvidia or pypi
        #[arg(long, value_name = "SOURCE")]
        source: Option<Server>,
        /// Look at every release again, to see whether a known file has changed
        #[arg(long)]
        all: bool,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Write the manifests anew from raw facts (for cudnnm's own developers)
    Generate {
        /// Folder with catalogue.jsonl, cuda_toolkits.jsonl, cudnn_support.jsonl, gpu_archs.jsonl, frameworks.jsonl
        input: PathBuf,
        /// Folder to write releases.toml, cuda.toml, gpus.toml and frameworks.toml into
        output: PathBuf,
    },
}

#[derive(Serialize)]
struct Report {
    schema: u32,
    /// Files of the store that are laid over the built-in ones.
    store: Vec<&'static str>,
    #[serde(flatten)]
    summary: Summary,
    toolkits: usize,
    architectures: usize,
    frameworks: usize,
}

/// Runs the command.
///
/// # Errors
///
/// When a manifest is not valid, a raw fact can't be understood, or a file can't be read or written.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    match &args.command {
        Command::Check { json } => check(ctx, *json),
        Command::Update { source, all, json } => update(ctx, *source, *all, *json),
        Command::Generate { input, output } => write(ctx, input, output),
    }
}

#[derive(Serialize)]
struct UpdateReport {
    schema: u32,
    added: Vec<String>,
    changed: Vec<String>,
    warnings: Vec<String>,
    failures: Vec<String>,
    path: PathBuf,
}

fn update(ctx: &Context, source: Option<Server>, all: bool, json: bool) -> Result<Exit, Error> {
    let depth = if all {
        refreshing::Depth::Everything
    } else {
        refreshing::Depth::News
    };
    let refreshed = refreshing::refresh(ctx, source, depth)?;
    for warning in &refreshed.warnings {
        ctx.output.warning(warning);
    }
    for failure in &refreshed.failures {
        ctx.output.note(failure);
    }
    let path = ctx.store.manifests().join(RELEASES);
    if json {
        ctx.output.json(&UpdateReport {
            schema: 1,
            added: refreshed.added,
            changed: refreshed.changed,
            warnings: refreshed.warnings,
            failures: refreshed.failures,
            path,
        });
        return Ok(Exit::Done);
    }
    for added in &refreshed.added {
        ctx.output.line(format!("new: {added}"));
    }
    for changed in &refreshed.changed {
        ctx.output.line(format!("more is known of {changed}"));
    }
    if refreshed.added.is_empty() && refreshed.changed.is_empty() {
        ctx.output.note("nothing is new");
    } else {
        ctx.output
            .note(format!("remembered in `{}`", path.display()));
    }
    Ok(Exit::Done)
}

fn check(ctx: &Context, json: bool) -> Result<Exit, Error> {
    let releases = published::releases(ctx)?;
    let facts = published::facts(ctx)?;
    check_releases(&releases, true)?;
    check_facts(&facts)?;
    let folder = ctx.store.manifests();
    let report = Report {
        schema: 1,
        store: FILES
            .into_iter()
            .filter(|name| folder.join(name).is_file())
            .collect(),
        summary: Summary::of(&releases),
        toolkits: facts.toolkits.len(),
        architectures: facts.architectures.len(),
        frameworks: facts.frameworks.len(),
    };
    if json {
        ctx.output.json(&report);
        return Ok(Exit::Done);
    }
    for line in counts(&report.summary) {
        ctx.output.line(line);
    }
    ctx.output.line(format!(
        "{} CUDA toolkits, {} GPU architectures, {} entries on frameworks",
        report.toolkits, report.architectures, report.frameworks
    ));
    if report.store.is_empty() {
        ctx.output.note("the store has no newer manifests");
    } else {
        ctx.output.note(format!(
            "with the store's own {} from `{}`",
            report.store.join(", "),
            folder.display()
        ));
    }
    Ok(Exit::Done)
}

fn counts(summary: &Summary) -> Vec<String> {
    let list = |counts: Vec<(String, usize)>| {
        let words: Vec<String> = counts
            .iter()
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        words.join(", ")
    };
    let platforms = summary
        .platforms
        .iter()
        .map(|(platform, count)| (platform.to_string(), *count))
        .collect();
    let sources = summary
        .sources
        .iter()
        .map(|(source, count)| ((*source).to_owned(), *count))
        .collect();
    vec![
        format!(
            "{} releases of cuDNN, {} builds, {} files",
            summary.releases, summary.builds, summary.files
        ),
        format!("by platform: {}", list(platforms)),
        format!("by source: {}", list(sources)),
        format!("without a known digest: {}", summary.without_digest),
    ]
}

fn write(ctx: &Context, input: &std::path::Path, output: &std::path::Path) -> Result<Exit, Error> {
    let input = ctx.absolute(input);
    let mut texts = Vec::new();
    for name in INPUT_FILES {
        let path = input.join(name);
        texts.push(std::fs::read_to_string(&path).map_err(IoError::at("read", &path))?);
    }
    let [
        catalogue,
        cuda_toolkits,
        cudnn_support,
        gpu_archs,
        frameworks,
    ] = texts.as_slice()
    else {
        unreachable!("as many texts as names");
    };
    let generated = generate(&Input {
        catalogue,
        cuda_toolkits,
        cudnn_support,
        gpu_archs,
        frameworks,
    })?;
    check_releases(&generated.releases, true)?;
    check_facts(&generated.facts)?;
    let output = ctx.absolute(output);
    std::fs::create_dir_all(&output).map_err(IoError::at("create", &output))?;
    for (name, text) in generated.files() {
        let path = output.join(name);
        store::replace_file(&path, text.as_bytes())?;
        ctx.output.note(format!("wrote `{}`", path.display()));
    }
    for line in counts(&Summary::of(&generated.releases)) {
        ctx.output.line(line);
    }
    for (reason, count) in &generated.left_out {
        ctx.output.line(format!("left out: {count} ({reason})"));
    }
    Ok(Exit::Done)
}
