//! `cudnnm prelude`: the Python prelude, for pasting where `exec` can't reach.

use super::{active, selected};
use crate::context::Context;
use crate::error::{Error, Exit};
use crate::prelude::Target;
use crate::version::VersionSpec;

/// Print Python code that makes the selected cuDNN win, to paste before the first import
#[derive(Debug, clap::Args)]
#[command(
    after_help = "`cudnnm exec` does this by itself. Paste it into a notebook or a program that something else starts."
)]
pub struct Args {
    /// Use this version instead of the project's
    #[arg(long, value_name = "SPEC")]
    cudnn: Option<VersionSpec>,
}

/// Runs the command.
///
/// # Errors
///
/// When no build is selected or installed.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let selected = selected::build(ctx, args.cudnn.as_ref())?;
    let folder = ctx.store.build_folder(&selected.build);
    let target = Target {
        folder: &folder,
        name: &selected.build.to_string(),
        libraries: &active::library_folders(ctx, &selected),
    };
    ctx.output.raw(target.pasted().as_bytes());
    Ok(Exit::Done)
}
