//! cudnnm keeps every cuDNN in a folder of its own, lets each project name the one it wants, starts programs with
//! exactly that one, and proves which one was loaded.
//!
//! The map of the rooms is in `ARCHITECTURE.md`. Arrows go from [`commands`] to the edges to the core; the core
//! ([`version`], [`companion`], [`manifest`], [`selection`], …) does no input or output.

pub mod archive;
pub mod binary;
pub mod cli;
pub mod commands;
pub mod companion;
pub mod compat;
pub mod context;
pub mod diagnosis;
pub mod download;
pub mod environment;
pub mod error;
pub mod host;
pub mod layout;
pub mod manifest;
pub mod output;
pub mod prelude;
pub mod probe;
pub mod process;
pub mod progress;
pub mod project;
pub mod selection;
pub mod settings;
pub mod shell;
pub mod shim;
pub mod sources;
pub mod status;
pub mod store;
pub mod version;
