//! The frame: collect, run, print the error, exit. No other place ends the process.

use std::path::Path;

use clap::Parser;
use cudnnm::cli::Cli;
use cudnnm::context::Context;
use cudnnm::error::{Failure, IoError};
use cudnnm::output::Output;
use cudnnm::process::Env;

fn main() {
    let cli = Cli::parse();
    let env = Env::current();
    let output = Output::new(cli.quiet, !cli.no_progress);
    let done = std::env::current_dir()
        .map_err(|error| IoError::at("read", Path::new("the current folder"))(error).into())
        .and_then(|cwd| Context::new(env, cwd, output, cli.offline))
        .and_then(|ctx| cli.command.run(&ctx));
    let code = done.unwrap_or_else(|error| {
        output.error(&error);
        error.exit().code()
    });
    // Not `ExitCode`: that keeps 8 bits, and a child's 0xC0000135 ("DLL not found") would arrive as 53.
    std::process::exit(code)
}
