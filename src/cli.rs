//! What can be typed. Doc comments here and in `commands/` are the help texts.

use clap::{Parser, Subcommand};

use crate::commands;
use crate::context::Context;
use crate::error::{Error, Exit};

/// Install cuDNN versions side by side and give each program exactly the one its project names
#[derive(Debug, Parser)]
#[command(
    name = "cudnnm",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub struct Cli {
    /// Say only what was asked for, and errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Never use the network
    #[arg(long, global = true)]
    pub offline: bool,
    /// No progress bars
    #[arg(long, global = true)]
    pub no_progress: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// See [`commands::current`].
    Current(commands::current::Args),
    /// See [`commands::probe`].
    #[command(name = "__probe", hide = true)]
    Probe(commands::probe::Args),
}

impl Command {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// Whatever ends the command.
    pub fn run(self, ctx: &Context) -> Result<Exit, Error> {
        match self {
            Self::Current(args) => commands::current::run(ctx, &args),
            Self::Probe(args) => commands::probe::run(ctx, &args),
        }
    }
}
