//! `cudnnm shim`: launchers that stand in for programs.

use clap::Subcommand;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Error, Exit, IoError};
use crate::{process, shim};

/// Manage launchers that run a program with its folder's cuDNN, without typing `cudnnm exec`
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make launchers, e.g. for python
    Add {
        /// Names of programs
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// Take launchers away
    Remove {
        /// Names of programs
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// Show the launchers
    List {
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Serialize)]
struct Report {
    schema: u32,
    folder: std::path::PathBuf,
    shims: Vec<String>,
}

/// Runs the command.
///
/// # Errors
///
/// When a shim can't be made or removed.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    match &args.action {
        Action::Add { names } => {
            let exe = process::current_exe().map_err(IoError::at("find", "cudnnm".as_ref()))?;
            for name in names {
                let path = shim::add(&ctx.store, name, &exe)?;
                ctx.output.note(format!("made {}", path.display()));
            }
            let folder = ctx.store.shims();
            if !process::split_list(ctx.env.var("PATH")).contains(&folder) {
                ctx.output.note(format!(
                    "put {} first on your PATH for it to work",
                    folder.display()
                ));
            }
        }
        Action::Remove { names } => {
            for name in names {
                shim::remove(&ctx.store, name)?;
                ctx.output.note(format!("removed the shim {name}"));
            }
        }
        Action::List { json } => {
            let shims = shim::names(&ctx.store);
            if *json {
                ctx.output.json(&Report {
                    schema: 1,
                    folder: ctx.store.shims(),
                    shims,
                });
            } else {
                shims.iter().for_each(|name| ctx.output.line(name));
            }
        }
    }
    Ok(Exit::Done)
}
