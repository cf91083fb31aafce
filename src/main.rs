//! The frame: collect, run, print the error, exit. No other place ends the process.

use std::process::ExitCode;

use clap::Parser;
use cudnnm::cli::Cli;
use cudnnm::context::Context;
use cudnnm::error::Failure;
use cudnnm::output::Output;
use cudnnm::process::Env;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let env = Env::current();
    let output = Output::new(cli.quiet, !cli.no_progress);
    let done = std::env::current_dir()
        .map_err(|error| {
            cudnnm::error::IoError::at("read", std::path::Path::new("the current folder"))(error)
                .into()
        })
        .and_then(|cwd| Context::new(env, cwd, output, cli.offline))
        .and_then(|ctx| cli.command.run(&ctx));
    let exit = done.unwrap_or_else(|error| {
        output.error(&error);
        error.exit()
    });
    ExitCode::from(exit as u8)
}
