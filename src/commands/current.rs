//! `cudnnm current`: which build is in force here, and why.

use serde::Serialize;

use super::selected;
use crate::context::Context;
use crate::error::{Error, Exit};
use crate::selection::Reason;
use crate::version::BuildId;

/// Show the cuDNN in force in this folder, and why
#[derive(Debug, clap::Args)]
pub struct Args {
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    spec: String,
    reason: &'a Reason,
    because: String,
    build: String,
    #[serde(flatten)]
    id: BuildId,
    path: std::path::PathBuf,
    variant_reason: Option<&'a str>,
}

/// Runs the command.
///
/// # Errors
///
/// When nothing is selected, or what is selected is not installed.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let selected = selected::build(ctx, None)?;
    let path = ctx.store.build_folder(&selected.build);
    if args.json {
        ctx.output.json(&Report {
            schema: 1,
            spec: selected.wish.spec.to_string(),
            reason: &selected.wish.reason,
            because: selected.wish.reason.to_string(),
            build: selected.build.to_string(),
            id: selected.build,
            path,
            variant_reason: selected.variant_reason.as_deref(),
        });
        return Ok(Exit::Done);
    }
    ctx.output.line(selected.build);
    ctx.output.note(format!(
        "because of {}, which says {}",
        selected.wish.reason, selected.wish.spec
    ));
    if let Some(why) = selected.variant_reason {
        ctx.output.note(format!("this variant because {why}"));
    }
    Ok(Exit::Done)
}
