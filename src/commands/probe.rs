//! `cudnnm __probe`: the child process that `test` and `bench` start. Not for people.

use crate::context::Context;
use crate::error::{Error, Exit};
use crate::probe;

/// Load a cuDNN and compute with it (started by `test` and `bench`)
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do, as JSON
    request: String,
}

/// Runs the command.
///
/// # Errors
///
/// When the request is not one. Everything else is told on stdout.
pub fn run(_ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let request = serde_json::from_str(&args.request).map_err(|error| super::Error::Usage {
        message: format!("the request is not valid: {error}"),
        hint: None,
    })?;
    probe::child(&request, &mut std::io::stdout());
    Ok(Exit::Done)
}
