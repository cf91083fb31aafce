//! The real program in a sandbox: a store, a home and a project folder of its own, cleaned variables, no network.

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a skipped part of a test must be seen"
)]

mod choosing;
mod diagnosing;
mod downloads;
mod fake;
#[cfg(target_os = "linux")]
mod faults;
mod fuzzing;
#[cfg(target_os = "linux")]
mod gpu;
mod importing;
#[cfg(target_os = "linux")]
mod installing;
mod libraries;
mod manifests;
mod packages;
#[cfg(windows)]
mod pe;
#[cfg(target_os = "linux")]
mod published;
#[cfg(target_os = "linux")]
mod running;
mod sandbox;
mod server;
mod shims;
#[cfg(target_os = "linux")]
mod space;
#[cfg(target_os = "linux")]
mod storm;
#[cfg(target_os = "linux")]
mod testing;
mod verifying;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
mod windows_python;
