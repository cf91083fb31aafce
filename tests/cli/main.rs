//! The real program in a sandbox: a store, a home and a project folder of its own, cleaned variables, no network.

mod choosing;
mod downloads;
#[cfg(target_os = "linux")]
mod fake;
#[cfg(target_os = "linux")]
mod running;
mod sandbox;
mod server;
#[cfg(target_os = "linux")]
mod shims;
