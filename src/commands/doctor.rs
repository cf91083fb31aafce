//! `cudnnm doctor`: what is wrong with cuDNN on this machine, or in the outputs of another one.

use std::path::{Path, PathBuf};

use super::{published, report, selected};
use crate::context::Context;
use crate::diagnosis::facts::{Fact, Facts, Selection};
use crate::diagnosis::save::{self, Names};
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
    /// Write what was found as a folder of small files, to attach to a report; personal names are replaced
    ///
    /// `doctor --from` of that folder gives the same findings.
    #[arg(long, value_name = "DIR", conflicts_with = "from")]
    save: Option<PathBuf>,
    /// Look at the system in this folder instead of the running one: a container's files, a mounted disk
    #[arg(long, value_name = "DIR", conflicts_with = "from")]
    root: Option<PathBuf>,
    /// Also look at the copies that Python frameworks bring
    #[arg(long)]
    frameworks: bool,
    /// Also print driver, GPUs and every cuDNN in search order
    #[arg(long)]
    facts: bool,
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
    if let Some(folder) = &args.save {
        save(ctx, &ctx.absolute(folder), &facts)?;
    }
    let findings = diagnosis::diagnose(&facts);
    if args.facts && !args.json {
        report::facts(ctx, &facts);
    }
    Ok(report::tell(
        ctx,
        &facts,
        &findings,
        args.json,
        "nothing wrong",
    ))
}

fn save(ctx: &Context, folder: &Path, facts: &Facts) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(IoError::at("create", folder))?;
    let names = Names {
        home: directories::BaseDirs::new().map(|base| base.home_dir().display().to_string()),
        user: ["USER", "USERNAME", "LOGNAME"]
            .iter()
            .find_map(|name| ctx.env.text(name))
            .map(str::to_owned),
        host: ctx
            .env
            .text("COMPUTERNAME")
            .map(str::to_owned)
            .or_else(host::machine::host_name),
    };
    for (name, text) in save::files(facts, &names) {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(IoError::at("write", &path))?;
    }
    ctx.output.note(format!("saved to `{}`", folder.display()));
    Ok(())
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
    select(ctx, &mut facts);
    Ok(facts)
}

/// What is selected here; a version file that can't be read is a fact too, and says so when the command needs it.
fn select(ctx: &Context, facts: &mut Facts) {
    let wish = match selected::wish(ctx, None) {
        Ok(wish) => wish,
        Err(error) => {
            facts.active = Fact::Unknown(error.to_string());
            facts.selection = Fact::Unknown(error.to_string());
            return;
        }
    };
    let (spec, because) = (wish.spec.to_string(), wish.reason.to_string());
    let installed = match selected::match_installed(ctx, wish) {
        Ok(selected) => {
            facts.active = Fact::Known(selected.build.version);
            true
        }
        Err(error) => {
            facts.active = Fact::Unknown(error.to_string());
            false
        }
    };
    facts.selection = Fact::Known(Selection {
        spec,
        because,
        installed,
    });
}
