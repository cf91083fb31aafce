//! `cudnnm venv`: ties a virtual environment to a build, for everything that starts its Python without `exec`.

use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::{Error as CommandError, active, selected};
use crate::context::Context;
use crate::error::{Error, Exit, IoError};
use crate::host::companions::site_packages;
use crate::prelude::{self, Target};
use crate::store;
use crate::version::VersionSpec;

/// Tie a virtual environment to a cuDNN, for IDE buttons and Jupyter kernels that `exec` can't reach
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write a .pth file into the environment: its Python then opens the selected cuDNN by itself
    Attach {
        /// The environment's folder; the active one otherwise
        venv: Option<PathBuf>,
        /// Use this version instead of the project's
        #[arg(long, value_name = "SPEC")]
        cudnn: Option<VersionSpec>,
    },
    /// Take that file away again
    Detach {
        /// The environment's folder; the active one otherwise
        venv: Option<PathBuf>,
    },
}

/// The file's name. Python reads .pth files in the order of their names, and all of them before any import of ours.
const FILE_NAME: &str = "cudnnm.pth";

/// Runs the command.
///
/// # Errors
///
/// When the folder is no virtual environment, no build is selected, or the file can't be written.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    match &args.action {
        Action::Attach { venv, cudnn } => {
            let files = pth_files(ctx, venv.as_deref())?;
            let selected = selected::build(ctx, cudnn.as_ref())?;
            let folder = ctx.store.build_folder(&selected.build);
            let name = selected.build.to_string();
            let target = Target {
                folder: &folder,
                name: &name,
                libraries: &active::library_folders(ctx, &selected),
            };
            let line = target.pth_line(&prelude::ensure(&ctx.store)?);
            for file in &files {
                store::replace_file(file, line.as_bytes())?;
                ctx.output.note(format!(
                    "wrote {}: its Python now uses {name}",
                    file.display()
                ));
            }
        }
        Action::Detach { venv } => {
            for file in pth_files(ctx, venv.as_deref())? {
                match std::fs::remove_file(&file) {
                    Ok(()) => ctx.output.note(format!("removed {}", file.display())),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                        ctx.output.note(format!("{} was not there", file.display()));
                    }
                    Err(error) => return Err(IoError::at("remove", &file)(error).into()),
                }
            }
        }
    }
    Ok(Exit::Done)
}

fn pth_files(ctx: &Context, venv: Option<&Path>) -> Result<Vec<PathBuf>, Error> {
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .into_iter()
        .find_map(|name| ctx.env.path(name));
    let Some(folder) = venv.or(active) else {
        return Err(CommandError::Usage {
            message: "no virtual environment is active".to_owned(),
            hint: Some("name its folder: cudnnm venv attach .venv".to_owned()),
        }
        .into());
    };
    let folder = ctx.absolute(folder);
    // A plain Python installation has site-packages too, and is not ours to write into.
    let is_environment = folder.join("pyvenv.cfg").is_file() || folder.join("conda-meta").is_dir();
    let sites: Vec<PathBuf> = site_packages(&folder, cfg!(windows))
        .into_iter()
        .filter(|site| site.is_dir())
        .collect();
    if !is_environment || sites.is_empty() {
        return Err(CommandError::Usage {
            message: format!("`{}` is not a virtual environment", folder.display()),
            hint: Some(format!(
                "make one: python -m venv {}",
                crate::selection::shell_word(&folder.to_string_lossy())
            )),
        }
        .into());
    }
    Ok(sites.into_iter().map(|site| site.join(FILE_NAME)).collect())
}
