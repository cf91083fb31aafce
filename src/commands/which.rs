//! `cudnnm which`: where a file of the active build is.

use std::path::PathBuf;

use serde::Serialize;

use super::{Error as CommandError, selected};
use crate::context::Context;
use crate::environment;
use crate::error::{Error, Exit};
use crate::version::VersionSpec;

/// Show the path of a file of the selected cuDNN; of its main library when no file is named
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file name, like cudnn.h or libcudnn_ops.so.9
    file: Option<String>,
    /// Use this version instead of the project's
    #[arg(long, value_name = "SPEC")]
    cudnn: Option<VersionSpec>,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    schema: u32,
    build: String,
    path: PathBuf,
}

/// Runs the command.
///
/// # Errors
///
/// When no build is selected or installed, or it has no such file.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let selected = selected::build(ctx, args.cudnn.as_ref())?;
    let folder = ctx.store.build_folder(&selected.build);
    let name = args
        .file
        .clone()
        .unwrap_or_else(|| environment::main_library(&selected.build));
    let places = ["", "bin", "lib", "include", "lib/x64"];
    // Only a plain name: `which ../../etc/passwd` has no business here.
    let plain = !name.is_empty() && !name.contains(['/', '\\']) && name != "." && name != "..";
    let found = places
        .iter()
        .map(|place| folder.join(place).join(&name))
        .find(|path| plain && path.is_file());
    let Some(path) = found else {
        return Err(CommandError::NoSuchFile {
            name,
            build: selected.build.to_string(),
            folder,
        }
        .into());
    };
    if args.json {
        ctx.output.json(&Report {
            schema: 1,
            build: selected.build.to_string(),
            path,
        });
    } else {
        ctx.output.line(path.display());
    }
    Ok(Exit::Done)
}
