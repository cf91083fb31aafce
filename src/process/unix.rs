//! Unix: the program replaces us.

use std::os::unix::process::CommandExt;
use std::process::Command;

use super::{Error, Invocation};

/// Becomes the program: same process id, terminal, signals. Returns only if it can't start.
///
/// # Errors
///
/// [`Error::CannotStart`].
pub fn run_in_place(invocation: Invocation) -> Result<i32, Error> {
    let Invocation {
        program,
        arg0,
        args,
        set,
    } = invocation;
    let source = Command::new(&program)
        .arg0(arg0)
        .args(args)
        .envs(set)
        .exec();
    Err(Error::CannotStart { program, source })
}
