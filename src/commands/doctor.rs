//! `cudnnm doctor`: what is wrong with cuDNN on this machine, or in the outputs of another one.

use std::path::PathBuf;

use super::{published, report};
use crate::context::Context;
use crate::diagnosis::{self, Reference, saved};
use crate::error::{Error, Exit};
use crate::host;

/// Find out why cuDNN is not found, not the right one, or does not work
///
/// Looks at the driver, the GPUs, CUDA toolkits and every cuDNN in the order in which programs would find them. Exits
/// with 1 when something is broken.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Diagnose the outputs saved in this folder instead of this machine
    ///
    /// Any of path.txt, where.txt, listing.txt, nvidia-smi.txt, nvcc.txt, pip-freeze.txt, conda-list.txt, env.txt,
    /// error.txt, cudnn_version.h, ldconfig-p.txt and others, in any encoding; none is required.
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
///
/// When the folder can't be read.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let reference = Reference::new(published::facts(ctx)?);
    let facts = match &args.from {
        Some(folder) => saved::facts(&host::saved::read(&ctx.absolute(folder))?, &reference),
        None => crate::diagnosis::facts::Facts::default(),
    };
    let findings = diagnosis::diagnose(&facts);
    Ok(report::tell(
        ctx,
        &facts,
        &findings,
        args.json,
        "nothing wrong",
    ))
}
