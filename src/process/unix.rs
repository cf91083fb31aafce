//! Unix: the program replaces us.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

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

/// The exit code, or 128 and the signal's number.
pub fn exit_number(status: ExitStatus) -> i32 {
    status
        .code()
        .or_else(|| Some(128 + status.signal()?))
        .unwrap_or(1)
}
