//! Windows: there is no `execve`, so we wait for the child and pass its full 32-bit exit code on.
//!
//! Three things make us disappear as well as can be:
//! - Ctrl-C reaches every process of the console. Ours takes it and does nothing, so the child alone decides; the handler
//!   is a function and not "ignore", because "ignore" would be inherited by the child. Closing the window, logging off and
//!   shutting down end each process as soon as its handler returns: ours waits there, so that the child has its full five
//!   seconds to save its work before the job takes it down.
//! - The child sits in a job that ends with us: closing our window or killing us does not leave a training run behind.
//!   Its own children may leave the job (silent breakaway), as programs that start daemons expect.
//! - The exit code is kept whole: 0xC0000135 ("DLL not found") is often the diagnosis.

use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::process::{Child, Command, ExitStatus};

use windows_sys::Win32::System::Console::{
    CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT, SetConsoleCtrlHandler,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectExtendedLimitInformation, SetInformationJobObject,
};
use windows_sys::core::BOOL;

use super::{Error, Invocation};

/// Runs the program as our stand-in and returns its exit code, all 32 bits.
///
/// # Errors
///
/// [`Error::CannotStart`].
pub fn run_in_place(invocation: Invocation) -> Result<i32, Error> {
    let Invocation {
        program, args, set, ..
    } = invocation;
    leave_ctrl_c_to_the_child();
    let started = Command::new(&program).args(args).envs(set).spawn();
    let finished = started.and_then(|mut child| {
        // Not fatal when it fails: an outer job of an old Windows may forbid nesting, and the child runs all the same.
        let _job = job_around(&child);
        child.wait()
    });
    match finished {
        Ok(status) => Ok(status.code().unwrap_or(1)),
        Err(source) => Err(Error::CannotStart { program, source }),
    }
}

/// The exit code, all 32 bits.
pub fn exit_number(status: ExitStatus) -> i32 {
    status.code().unwrap_or(1)
}

fn leave_ctrl_c_to_the_child() {
    unsafe extern "system" fn taken(event: u32) -> BOOL {
        // This is a thread of its own: the main thread sees the child's end meanwhile and ends us with its code.
        if matches!(
            event,
            CTRL_CLOSE_EVENT | CTRL_LOGOFF_EVENT | CTRL_SHUTDOWN_EVENT
        ) {
            loop {
                std::thread::park();
            }
        }
        1
    }
    // SAFETY: `taken` has the required signature and lives as long as the program.
    unsafe { SetConsoleCtrlHandler(Some(taken), 1) };
}

/// A job that ends the child when the returned handle closes.
fn job_around(child: &Child) -> Option<OwnedHandle> {
    // SAFETY: null attributes and a null name ask for an anonymous job with defaults.
    let raw = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
    if raw.is_null() {
        return None;
    }
    // SAFETY: `raw` is a handle that we alone own.
    let job = unsafe { OwnedHandle::from_raw_handle(raw) };
    // SAFETY: the structure is plain numbers and a null pointer, for which all zeros is a value.
    let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = unsafe { std::mem::zeroed() };
    limits.BasicLimitInformation.LimitFlags =
        JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK;
    let size = u32::try_from(size_of_val(&limits)).expect("a small structure");
    // SAFETY: the pointer and size are of `limits`, which this information class takes; the handles are open.
    let done = unsafe {
        SetInformationJobObject(
            raw,
            JobObjectExtendedLimitInformation,
            (&raw const limits).cast(),
            size,
        ) != 0
            && AssignProcessToJobObject(raw, child.as_raw_handle()) != 0
    };
    done.then_some(job)
}
