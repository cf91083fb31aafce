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

/// The subcommands, in the order of the help.
#[expect(missing_docs, reason = "the help text of each stands with its `Args`")]
#[derive(Debug, Subcommand)]
pub enum Command {
    Install(commands::install::Args),
    #[command(name = "use")]
    Use(commands::use_::Args),
    Current(commands::current::Args),
    Exec(commands::exec::Args),
    Import(commands::import::Args),
    List(commands::list::Args),
    ListRemote(commands::list_remote::Args),
    Uninstall(commands::uninstall::Args),
    Which(commands::which::Args),
    Env(commands::env::Args),
    Prelude(commands::prelude::Args),
    Test(commands::test::Args),
    Bench(commands::bench::Args),
    Bisect(commands::bisect::Args),
    Prune(commands::prune::Args),
    Venv(commands::venv::Args),
    Verify(commands::verify::Args),
    Shim(commands::shim::Args),
    Doctor(commands::doctor::Args),
    Explain(commands::explain::Args),
    Compat(commands::compat::Args),
    Manifest(commands::manifest::Args),
    Config(commands::config::Args),
    Completions(commands::completions::Args),
    #[command(name = "__probe", hide = true)]
    Probe(commands::probe::Args),
}

impl Command {
    /// Runs it; the number is the exit status.
    ///
    /// # Errors
    ///
    /// Whatever ends the command.
    pub fn run(self, ctx: &Context) -> Result<i32, Error> {
        let exit = match self {
            Self::Install(args) => commands::install::run(ctx, &args),
            Self::Use(args) => commands::use_::run(ctx, &args),
            Self::Current(args) => commands::current::run(ctx, &args),
            Self::Exec(args) => return commands::exec::run(ctx, &args),
            Self::Import(args) => commands::import::run(ctx, &args),
            Self::List(args) => commands::list::run(ctx, &args),
            Self::ListRemote(args) => commands::list_remote::run(ctx, &args),
            Self::Uninstall(args) => commands::uninstall::run(ctx, &args),
            Self::Which(args) => commands::which::run(ctx, &args),
            Self::Env(args) => commands::env::run(ctx, &args),
            Self::Prelude(args) => commands::prelude::run(ctx, &args),
            Self::Bench(args) => commands::bench::run(ctx, &args),
            Self::Bisect(args) => commands::bisect::run(ctx, &args),
            Self::Test(args) => commands::test::run(ctx, &args),
            Self::Prune(args) => commands::prune::run(ctx, &args),
            Self::Venv(args) => commands::venv::run(ctx, &args),
            Self::Verify(args) => commands::verify::run(ctx, &args),
            Self::Shim(args) => commands::shim::run(ctx, &args),
            Self::Doctor(args) => commands::doctor::run(ctx, &args),
            Self::Explain(args) => commands::explain::run(ctx, &args),
            Self::Compat(args) => commands::compat::run(ctx, &args),
            Self::Manifest(args) => commands::manifest::run(ctx, &args),
            Self::Config(args) => commands::config::run(ctx, &args),
            Self::Probe(args) => commands::probe::run(ctx, &args),
            Self::Completions(args) => commands::completions::run(ctx, &args),
        };
        exit.map(Exit::code)
    }
}
