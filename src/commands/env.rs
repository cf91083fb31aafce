//! `cudnnm env`: the active build's environment, as commands for a shell.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use serde::Serialize;

use super::{active, selected};
use crate::context::Context;
use crate::error::{Error, Exit};
use crate::shell::Shell;
use crate::version::VersionSpec;

/// Print the selected cuDNN's environment as commands for your shell
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Use it like this:\n  bash, zsh    eval \"$(cudnnm env)\"\n  fish         cudnnm env --shell fish | source\n  \
    PowerShell   cudnnm env --shell powershell | Out-String | Invoke-Expression\n  \
    cmd          for /f \"delims=\" %i in ('cudnnm env --shell cmd') do @%i"
)]
pub struct Args {
    /// Use this version instead of the project's
    #[arg(long, value_name = "SPEC")]
    cudnn: Option<VersionSpec>,
    /// For which shell; found from SHELL otherwise
    #[arg(long, value_enum)]
    shell: Option<Shell>,
    /// One JSON document
    #[arg(long, conflicts_with = "shell")]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    schema: u32,
    build: String,
    variables: BTreeMap<&'static str, String>,
}

/// Runs the command.
///
/// # Errors
///
/// When no build is selected or installed.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let selected = selected::build(ctx, args.cudnn.as_ref())?;
    let changes = active::changes(ctx, &selected)?;
    let shell = match args.shell {
        Some(Shell::Json) => None,
        Some(shell) => Some(shell),
        None if args.json => None,
        None => Some(Shell::guess(ctx.env.var("SHELL"))),
    };
    let mut variables = BTreeMap::new();
    for change in &changes {
        let value = active::value(change)?;
        match shell {
            Some(shell) => ctx
                .output
                .line(shell.assignment(change.name, &text(&value))),
            None => drop(variables.insert(change.name, text(&value))),
        }
    }
    if shell.is_none() {
        ctx.output.json(&Report {
            schema: 1,
            build: selected.build.to_string(),
            variables,
        });
    }
    Ok(Exit::Done)
}

/// A path that is no Unicode can't be printed for a shell to read back; `exec` hands it over unharmed.
fn text(value: &OsStr) -> String {
    value.to_string_lossy().into_owned()
}
