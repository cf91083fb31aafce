//! A launcher that stands in for one program: `python` in the store's `shims` folder runs the next `python` on the path
//! with the cuDNN of the current folder. One hop, and nothing of the network or archive code in it.
//!
//! On Linux with glibc we are the C `main` ourselves. What Rust's own would do first (read `/proc/self/maps` for a guard
//! page, set up a signal stack, ask about descriptors) serves programs that live longer than a launcher, and costs a
//! sixth of a millisecond, a quarter of the launch. Arguments are known all the same: glibc hands them to std beforehand.

#![cfg_attr(all(target_os = "linux", target_env = "gnu"), no_main)]

use std::ffi::OsString;
use std::path::Path;

use cudnnm::commands::exec;
use cudnnm::context::Context;
use cudnnm::error::{Failure, IoError};
use cudnnm::output::Output;
use cudnnm::process::Env;
use cudnnm::shim;

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn main() {
    std::process::exit(run())
}

// SAFETY: the signature is that of C's `main`, and with `no_main` nothing else defines the symbol.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[unsafe(no_mangle)]
extern "C" fn main(_count: i32, _words: *const *const u8) -> i32 {
    run()
}

fn run() -> i32 {
    let output = Output::new(false, false);
    let mut args = std::env::args_os();
    let name = args.next().unwrap_or_default();
    let args: Vec<OsString> = args.collect();
    let done = std::env::current_exe()
        .map_err(|error| IoError::at("find", Path::new(&name))(error).into())
        .and_then(|exe| {
            let cwd = std::env::current_dir()
                .map_err(|error| IoError::at("read", Path::new("the current folder"))(error))?;
            let env = shim::environment(Env::current(), &exe);
            let ctx = Context::new(env, cwd, output, false)?;
            exec::launch_shimmed(&ctx, &shim::program_name(&exe), args)
        });
    done.unwrap_or_else(|error| {
        // The person called `python`: they must see who is talking.
        output.warning("this is the cudnnm shim; `cudnnm shim remove` takes it away");
        output.error(&error);
        error.exit().code()
    })
}
