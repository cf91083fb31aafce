//! `cudnnm exec`: runs a program so that it finds exactly the active build.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::active;
use super::installing;
use super::selected::{self, Selected};
use crate::context::Context;
use crate::environment;
use crate::error::Error;
use crate::prelude;
use crate::process::{self, Invocation};
use crate::selection;
use crate::version::{BuildId, VersionSpec};

/// Run a program with the selected cuDNN, for it and its children only
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cudnnm exec python train.py\n  cudnnm exec --cudnn 8.9 -- ./app --flag"
)]
pub struct Args {
    /// Use this version instead of the project's
    #[arg(long, value_name = "SPEC")]
    pub cudnn: Option<VersionSpec>,
    /// Install the version first if it is not there
    #[arg(long)]
    pub install: bool,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub program: Vec<OsString>,
}

/// Runs the command; the number is the program's own exit code. On Unix this returns only when it can't start.
///
/// # Errors
///
/// When no build is selected or installed, or the program can't start.
pub fn run(ctx: &Context, args: &Args) -> Result<i32, Error> {
    let wish = selected::wish(ctx, args.cudnn.as_ref())?;
    let selected = if args.install {
        installing::match_or_install(ctx, wish)?
    } else {
        selected::match_installed(ctx, wish)?
    };
    let (name, rest) = args
        .program
        .split_first()
        .expect("clap asks for at least one word");
    launch(ctx, &selected, name, rest.to_vec())
}

/// Runs the program that a shim stands for with the build selected here. Where none is selected, it runs untouched: a
/// shim must not take `python` away from folders that have nothing to do with cuDNN.
///
/// # Errors
///
/// When what is selected is not installed, or the program can't start.
pub fn launch_shimmed(ctx: &Context, name: &OsStr, args: Vec<OsString>) -> Result<i32, Error> {
    match selected::build(ctx, None) {
        Ok(selected) => launch(ctx, &selected, name, args),
        Err(Error::Selection(selection::Error::NothingSelected)) => {
            let program = process::find_program(name, ctx.env.var("PATH"), &ctx.cwd)?;
            Ok(process::run_in_place(Invocation {
                program,
                arg0: name.to_owned(),
                args,
                set: Vec::new(),
            })?)
        }
        Err(error) => Err(error),
    }
}

fn launch(
    ctx: &Context,
    selected: &Selected,
    name: &OsStr,
    args: Vec<OsString>,
) -> Result<i32, Error> {
    let set = active::variables(ctx, selected)?;
    let search_path = set
        .iter()
        .find(|(name, _)| name == "PATH")
        .map(|(_, value)| value.as_os_str());
    let program =
        process::find_program(name, search_path.or_else(|| ctx.env.var("PATH")), &ctx.cwd)?;
    if let Some(skipped) = prelude::skipped_by(&program, &args) {
        ctx.output.warning(skipped);
    }
    if let Some(file) = stronger_copy(ctx, &selected.build, &program) {
        ctx.output.warning(format!(
            "`{}` lies where Windows looks first: programs may load it instead of the selected cuDNN",
            file.display()
        ));
    }
    Ok(process::run_in_place(Invocation {
        program,
        arg0: name.to_owned(),
        args,
        set,
    })?)
}

/// A copy of the main library in the two places that Windows searches before `PATH`: the program's own folder, and
/// System32, where old guides told people to put it.
fn stronger_copy(ctx: &Context, build: &BuildId, program: &Path) -> Option<PathBuf> {
    if !cfg!(windows) {
        return None;
    }
    let name = environment::main_library(build);
    let system = ctx.env.path("SystemRoot").map(|root| root.join("System32"));
    [program.parent().map(Path::to_owned), system]
        .into_iter()
        .flatten()
        .map(|folder| folder.join(&name))
        .find(|file| file.is_file())
}
