//! One file a subcommand: gather facts, ask the core, act, print.

use crate::error::{Exit, Failure};
use crate::selection::shell_word;
use std::path::PathBuf;

use crate::version::{ParseError, Platform};

mod active;
pub mod bench;
pub mod bisect;
pub mod compat;
pub mod completions;
pub mod config;
pub mod current;
pub mod doctor;
pub mod env;
pub mod exec;
pub mod explain;
mod fitness;
pub mod import;
pub mod install;
mod installing;
pub mod list;
pub mod list_remote;
pub mod manifest;
pub mod prelude;
pub mod probe;
pub mod prune;
mod published;
mod refreshing;
mod report;
mod selected;
pub mod shim;
mod space;
pub mod test;
mod testing;
pub mod uninstall;
pub mod use_;
pub mod venv;
pub mod verify;
pub mod which;

/// Failures that belong to commands rather than to a room below.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Arguments that can't go together or make no sense.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What to type instead.
        hint: Option<String>,
    },
    /// A build that this machine can't run.
    #[error("{build} is for {platform}; this machine is {}", Platform::host())]
    ForeignPlatform {
        /// Which.
        build: String,
        /// For what.
        platform: Platform,
    },
    /// An archive for another platform, and nobody said that this is meant.
    #[error(
        "`{file}` holds {build}, which is for {platform}; this machine is {}",
        Platform::host()
    )]
    ForeignArchive {
        /// The archive.
        file: String,
        /// What is inside.
        build: String,
        /// For what.
        platform: Platform,
    },
    /// An archive that holds something else than its source promised.
    #[error("`{file}` holds {found}, not {promised}")]
    NotAsPromised {
        /// The archive.
        file: String,
        /// What is inside.
        found: String,
        /// What should be.
        promised: String,
    },
    /// Not a spec.
    #[error("this names no cuDNN version")]
    BadSpec(#[source] ParseError),
    /// One build was meant to be named, and several match.
    #[error("`{spec}` means several installed builds: {}", builds.join(", "))]
    Ambiguous {
        /// As typed.
        spec: String,
        /// Those that match.
        builds: Vec<String>,
    },
    /// A build that this machine's driver or GPU can't run.
    #[error("{build} can't run here: {reason}")]
    Unfit {
        /// Which.
        build: String,
        /// Why not.
        reason: String,
        /// Where that fact comes from. (Not `source`: that name is for a causing error.)
        fact: String,
    },
    /// The project pins another archive of the same build than the one it was installed from.
    #[error(
        "{build} is here from another archive than the project's: sha256 {} instead of {pinned}",
        installed.as_deref().unwrap_or("unknown")
    )]
    OtherArchive {
        /// Which.
        build: String,
        /// The digest in the project file.
        pinned: String,
        /// The digest in the receipt.
        installed: Option<String>,
    },
    /// A companion without which a build would not work.
    #[error("`{companion}` is needed by {build}")]
    CompanionInUse {
        /// Its folder.
        companion: String,
        /// One of the builds.
        build: String,
    },
    /// `--link` between two drives of a Windows machine.
    #[error("{build} can't be linked from `{}`", folder.display())]
    CannotLink {
        /// Which.
        build: String,
        /// Where its files are.
        folder: PathBuf,
        /// What the system said.
        source: Box<crate::archive::Error>,
    },
    /// The build has no file of that name.
    #[error("{build} has no file `{name}`")]
    NoSuchFile {
        /// As typed.
        name: String,
        /// Which build.
        build: String,
        /// Its folder.
        folder: PathBuf,
    },
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::Usage { .. } | Self::BadSpec(_) | Self::Ambiguous { .. } => Exit::Usage,
            Self::ForeignPlatform { .. } | Self::ForeignArchive { .. } | Self::Unfit { .. } => {
                Exit::Incompatible
            }
            Self::NotAsPromised { .. } => Exit::BadArchive,
            Self::CompanionInUse { .. } => Exit::Busy,
            Self::OtherArchive { .. } => Exit::BadArchive,
            Self::NoSuchFile { .. } | Self::CannotLink { .. } => Exit::Failed,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Usage { hint, .. } => hint.iter().cloned().collect(),
            Self::ForeignPlatform { .. } | Self::BadSpec(_) | Self::NotAsPromised { .. } => {
                Vec::new()
            }
            Self::ForeignArchive { platform, .. } => {
                vec![format!("if that is meant, add: --platform {platform}")]
            }
            Self::Ambiguous { spec, builds } => vec![
                format!("name one: cudnnm uninstall {}", builds[0]),
                format!(
                    "or remove them all: cudnnm uninstall --all {}",
                    shell_word(spec)
                ),
            ],
            Self::Unfit { fact, .. } => vec![
                format!("the fact is from: {fact}"),
                "what fits: cudnnm compat --driver VERSION".to_owned(),
                "to do it all the same, add --force".to_owned(),
            ],
            Self::OtherArchive { build, .. } => vec![
                format!("to fetch the other one: cudnnm install --force {build}"),
                format!("to pin this one: cudnnm use --exact {build}"),
            ],
            Self::CompanionInUse { build, .. } => {
                vec![format!(
                    "remove the build first: cudnnm uninstall {build}, then cudnnm prune"
                )]
            }
            Self::CannotLink { folder, .. } => vec![format!(
                "copy it instead: cudnnm import {}",
                shell_word(&folder.display().to_string())
            )],
            Self::NoSuchFile { folder, .. } => {
                vec![format!("its files are in {}", folder.display())]
            }
        }
    }
}
