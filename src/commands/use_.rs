//! `cudnnm use`: makes a version the one of this project, or of all.

use super::{fitness, installing, selected};
use crate::context::Context;
use crate::error::{Error, Exit};
use crate::project;
use crate::selection::{Reason, Wish};
use crate::version::VersionSpec;

/// Choose the cuDNN of this project: writes .cudnn-version into the current folder
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cudnnm use 8.2.1\n  cudnnm use --global 9\n  cudnnm use --install '>=8.5,<9'"
)]
pub struct Args {
    /// A version, a range or latest, with tags if needed: 8.2.1+cuda11.3
    #[arg(required_unless_present = "framework")]
    spec: Option<VersionSpec>,
    /// What this release of a framework wants
    #[arg(long = "for", value_name = "NAME==VERSION", conflicts_with = "spec")]
    framework: Option<String>,
    /// Choose it even though this machine can't run it
    #[arg(long)]
    force: bool,
    /// Choose it for every project that names none
    #[arg(long)]
    global: bool,
    /// Install it first if it is not there
    #[arg(long)]
    install: bool,
    /// Write the exact build and its digest, not the words typed
    #[arg(long, conflicts_with = "global")]
    exact: bool,
}

/// Runs the command.
///
/// # Errors
///
/// When no installed build matches; nothing is written then.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let asked = match (&args.framework, &args.spec) {
        (Some(framework), _) => fitness::wanted_by(ctx, framework, None)?,
        (None, Some(spec)) => spec.clone(),
        (None, None) => unreachable!("clap asks for one of the two"),
    };
    let wish = Wish {
        spec: asked.clone(),
        reason: Reason::Flag,
    };
    let selected = if args.install {
        installing::match_or_install(ctx, wish)?
    } else {
        selected::match_installed(ctx, wish)?
    };
    let build = selected.build;
    fitness::check(ctx, &build, args.force)?;
    if args.global {
        let path = ctx.store.settings_file();
        ctx.settings()?
            .with("default", Some(&asked.to_string()))?
            .save(&path)?;
        ctx.output.note(format!(
            "every project that names no cuDNN now uses {asked} (now {build})"
        ));
    } else {
        let (spec, digest) = if args.exact {
            (
                build.exact_spec(),
                ctx.store.receipt(&build.folder())?.sha256,
            )
        } else {
            (asked, None)
        };
        let path = project::write(&ctx.cwd, &spec, digest.as_deref())?;
        ctx.store.remember_project(&ctx.cwd);
        ctx.output
            .note(format!("wrote {} ({spec}, now {build})", path.display()));
    }
    if let Some(why) = &selected.variant_reason {
        ctx.output.note(format!("this variant because {why}"));
    }
    warn_of_stronger_wish(ctx, args)?;
    Ok(Exit::Done)
}

/// What was written may not be what is in force: a variable or a nearer file can overrule it.
fn warn_of_stronger_wish(ctx: &Context, args: &Args) -> Result<(), Error> {
    let wish = selected::wish(ctx, None)?;
    let in_force = match (&wish.reason, args.global) {
        (Reason::Project { path, .. }, false) => path.parent() == Some(&*ctx.cwd),
        (Reason::Default, true) => true,
        _ => false,
    };
    if !in_force {
        ctx.output
            .warning(format!("here {} still decides: {}", wish.reason, wish.spec));
    }
    Ok(())
}
