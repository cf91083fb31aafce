//! Windows: no `execve` there, so we wait for the child and return its full 32-bit exit code.

use std::process::Command;

use super::{Error, Invocation};

/// Runs the program as our stand-in and returns its exit code, all 32 bits (0xC0000135 must arrive as such).
///
/// # Errors
///
/// [`Error::CannotStart`].
pub fn run_in_place(invocation: Invocation) -> Result<i32, Error> {
    let Invocation {
        program, args, set, ..
    } = invocation;
    let status = Command::new(&program).args(args).envs(set).status();
    match status {
        Ok(status) => Ok(status.code().unwrap_or(1)),
        Err(source) => Err(Error::CannotStart { program, source }),
    }
}
