//! The closed set of things that end a command, with the exit status and the hints of each.
//!
//! Every room has its own error type; here they meet. `Display` names the operation and the thing, never its cause: the
//! chain of [`std::error::Error::source`] holds that, and [`crate::output`] walks it. A hint is a line a person can
//! paste, and only what we have tried is offered.

use std::path::{Path, PathBuf};

/// Exit statuses, part of the public interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Failed; or findings at level fail; or the test failed.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// No such version is published.
    NotPublished = 3,
    /// Not installed, or nothing selected.
    NotInstalled = 4,
    /// Incompatible; `--force` overrules.
    Incompatible = 5,
    /// The network failed.
    Network = 6,
    /// A digest, archive or signature is bad.
    BadArchive = 7,
    /// The store is busy or a file is in use.
    Busy = 8,
    /// No usable GPU or driver.
    NoGpu = 9,
    /// `exec`: the program can't start.
    CannotStart = 126,
    /// `exec`: there is no such program.
    ProgramNotFound = 127,
}

impl Exit {
    /// The number, as the system takes it.
    pub const fn code(self) -> i32 {
        self as i32
    }
}

/// What each room's error type tells beside its message.
pub trait Failure: std::error::Error {
    /// The exit status it leads to.
    fn exit(&self) -> Exit;

    /// Commands and facts that lead out, one a line.
    fn hints(&self) -> Vec<String> {
        Vec::new()
    }
}

/// An input or output operation that failed: which, on what, why.
#[derive(Debug, thiserror::Error)]
#[error("could not {operation} `{}`", path.display())]
pub struct IoError {
    operation: &'static str,
    path: PathBuf,
    source: std::io::Error,
}

impl IoError {
    /// For `map_err`: `fs::read(&path).map_err(IoError::at("read", &path))`.
    pub fn at(operation: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self {
            operation,
            path,
            source,
        }
    }

    /// What the system said.
    pub fn kind(&self) -> std::io::ErrorKind {
        self.source.kind()
    }

    /// On what.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Failure for IoError {
    fn exit(&self) -> Exit {
        match self.kind() {
            std::io::ErrorKind::ResourceBusy
            | std::io::ErrorKind::ExecutableFileBusy
            | std::io::ErrorKind::WouldBlock => Exit::Busy,
            _ => Exit::Failed,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => vec![
                "free some space: `cudnnm prune --dry-run` shows what the store can give back"
                    .to_owned(),
                "or put the store elsewhere: set CUDNNM_ROOT to a folder on a larger disk"
                    .to_owned(),
            ],
            std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied => {
                vec![format!(
                    "`{}` can't be written by this user; set CUDNNM_ROOT to a folder that can",
                    self.path.display()
                )]
            }
            _ => Vec::new(),
        }
    }
}

macro_rules! rooms {
    ($($(#[$doc:meta])* $variant:ident($inner:ty),)+) => {
        /// Everything that ends a command with a message.
        #[derive(Debug, thiserror::Error)]
        pub enum Error {
            $($(#[$doc])* #[error(transparent)] $variant(#[from] $inner),)+
        }

        impl Error {
            fn failure(&self) -> &dyn Failure {
                match self { $(Self::$variant(inner) => inner,)+ }
            }
        }
    };
}

rooms! {
    /// A file or folder of ours could not be used.
    Io(IoError),
    /// A `.cudnn-version` file.
    Project(crate::project::Error),
    /// `settings.toml` or a setting.
    Settings(crate::settings::Error),
    /// The store.
    Store(crate::store::Error),
    /// Nothing, or nothing that fits, is selected.
    Selection(crate::selection::Error),
    /// A program could not be run.
    Process(crate::process::Error),
    /// A manifest.
    Manifest(crate::manifest::Error),
    /// What fits what.
    Compat(crate::compat::Error),
    /// Where builds come from.
    Source(crate::sources::Error),
    /// The network.
    Download(crate::download::Error),
    /// An archive.
    Archive(crate::archive::Error),
    /// A shim.
    Shim(crate::shim::Error),
    /// A command's own.
    Command(crate::commands::Error),
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        self.failure().exit()
    }

    fn hints(&self) -> Vec<String> {
        self.failure().hints()
    }
}
