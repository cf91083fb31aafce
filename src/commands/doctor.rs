//! `cudnnm doctor`: what is wrong with cuDNN on this machine, or in the outputs of another one.

use std::path::PathBuf;

use super::{published, report, selected};
use crate::context::Context;
use crate::diagnosis::facts::{Fact, Facts};
use crate::diagnosis::{self, Reference, saved};
use crate::error::{Error, Exit, IoError};
use crate::host::{self, machine::Look};

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
    /// Look at the system in this folder instead of the running one: a container's files, a mounted disk
    #[arg(long, value_name = "DIR", conflicts_with = "from")]
    root: Option<PathBuf>,
    /// Also look at the copies that Python frameworks bring
    #[arg(long)]
    frameworks: bool,
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
        None => live(ctx, args, &reference)?,
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

fn live(ctx: &Context, args: &Args, reference: &Reference) -> Result<Facts, Error> {
    let root = args
        .root
        .as_ref()
        .map_or_else(|| PathBuf::from("/"), |folder| ctx.absolute(folder));
    if !root.is_dir() {
        std::fs::read_dir(&root).map_err(IoError::at("read", &root))?;
    }
    let mut facts = host::machine::facts(
        &Look {
            env: &ctx.env,
            cwd: &ctx.cwd,
            root: &root,
            store: ctx.store.root(),
            frameworks: args.frameworks,
        },
        reference,
    );
    facts.active = match selected::build(ctx, None) {
        Ok(selected) => Fact::Known(selected.build.version),
        Err(error) => Fact::Unknown(error.to_string()),
    };
    Ok(facts)
}
