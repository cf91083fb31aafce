//! The real program in a sandbox: a store, a home and a project folder of its own, cleaned variables, no network.

mod choosing;
mod downloads;
#[cfg(target_os = "linux")]
mod fake;
#[cfg(target_os = "linux")]
mod faults;
mod importing;
#[cfg(target_os = "linux")]
mod installing;
mod libraries;
mod packages;
#[cfg(target_os = "linux")]
mod published;
#[cfg(target_os = "linux")]
mod running;
mod sandbox;
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "only the tests of downloads run elsewhere")
)]
mod server;
#[cfg(target_os = "linux")]
mod shims;
#[cfg(target_os = "linux")]
mod storm;
mod verifying;
