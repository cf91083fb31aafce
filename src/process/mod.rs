//! The process we are and the processes we start: the only room that reads the environment or replaces us.
//!
//! [`Env`] is a snapshot taken once in `main`. As in rustup an empty variable counts as unset, and on Windows names are
//! found whatever their case (`Path` and `PATH` are one). Nobody changes our own environment: a child gets a changed copy.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::{Exit, Failure};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::run_in_place;
#[cfg(windows)]
pub use windows::run_in_place;

#[cfg(unix)]
use unix::exit_number;
#[cfg(windows)]
use windows::exit_number;

/// A snapshot of environment variables.
#[derive(Debug, Clone, Default)]
pub struct Env {
    variables: BTreeMap<OsString, OsString>,
}

impl Env {
    /// This process's own.
    pub fn current() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
        }
    }

    /// From pairs; for tests and for replaying a saved environment.
    pub fn from_pairs<K: Into<OsString>, V: Into<OsString>>(
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        Self {
            variables: pairs
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        }
    }

    /// The value, if set and not empty.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.raw(name).filter(|value| !value.is_empty())
    }

    /// The value as text, if set, not empty and valid Unicode.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.var(name)?.to_str()
    }

    /// The value as a path, if set and not empty.
    pub fn path(&self, name: &str) -> Option<&Path> {
        self.var(name).map(Path::new)
    }

    /// Whether a switch like `CUDNNM_ACCEPT_LICENSE=1` is on.
    pub fn switch(&self, name: &str) -> bool {
        self.text(name)
            .is_some_and(|value| !matches!(value, "0" | "false" | "no" | "off"))
    }

    /// A copy in which these variables have these values.
    pub fn with(mut self, changes: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        for (name, value) in changes {
            if cfg!(windows) {
                self.variables
                    .retain(|other, _| !other.eq_ignore_ascii_case(&name));
            }
            self.variables.insert(name, value);
        }
        self
    }

    /// All variables.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    fn raw(&self, name: &str) -> Option<&OsStr> {
        if let Some(value) = self.variables.get(OsStr::new(name)) {
            return Some(value);
        }
        if cfg!(windows) {
            let same = |other: &OsStr| {
                other
                    .to_str()
                    .is_some_and(|other| other.eq_ignore_ascii_case(name))
            };
            return self
                .variables
                .iter()
                .find(|(other, _)| same(other))
                .map(|(_, value)| value.as_os_str());
        }
        None
    }
}

/// This program's own file, with links resolved.
///
/// # Errors
///
/// When the system does not tell.
pub fn current_exe() -> std::io::Result<PathBuf> {
    std::env::current_exe().map(|exe| dunce::canonicalize(&exe).unwrap_or(exe))
}

/// A program to start, complete: nothing is looked up after this.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The executable file.
    pub program: PathBuf,
    /// What the child sees as its own name.
    pub arg0: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables that differ from ours.
    pub set: Vec<(OsString, OsString)>,
}

/// Runs a program beside us to its end and returns its exit code; for a Unix signal 128 and its number, as shells do.
///
/// `stdout_is_ours`: what it says goes to stderr.
///
/// # Errors
///
/// [`Error::CannotStart`].
pub fn run_and_wait(invocation: Invocation, stdout_is_ours: bool) -> Result<i32, Error> {
    let Invocation {
        program, args, set, ..
    } = invocation;
    let mut command = std::process::Command::new(&program);
    command.args(args).envs(set);
    if stdout_is_ours {
        command.stdout(std::io::stderr());
    }
    match command.status() {
        Ok(status) => Ok(exit_number(status)),
        Err(source) => Err(Error::CannotStart { program, source }),
    }
}

/// A program that could not be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such program on the search path, or no such file.
    #[error("there is no program `{}`", name.display())]
    NotFound {
        /// As typed.
        name: OsString,
    },
    /// It is there but can't be started.
    #[error("could not start `{}`", program.display())]
    CannotStart {
        /// The file.
        program: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is there, but it is not something that can be started.
    #[error("`{}` {why}", program.display())]
    NotRunnable {
        /// The file.
        program: PathBuf,
        /// `is a folder`, `is not executable`.
        why: &'static str,
    },
    /// A path that can't stand in a list variable.
    #[error("`{}` can't be put into {name}: it contains `{separator}`", path.display())]
    Unlistable {
        /// The variable.
        name: String,
        /// The path.
        path: PathBuf,
        /// What separates elements there.
        separator: char,
    },
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::NotFound { .. } => Exit::ProgramNotFound,
            Self::CannotStart { .. } | Self::NotRunnable { .. } => Exit::CannotStart,
            Self::Unlistable { .. } => Exit::Failed,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Unlistable { separator, .. } => {
                vec![format!(
                    "set CUDNNM_ROOT to a folder whose path has no `{separator}`"
                )]
            }
            Self::NotFound { .. } | Self::CannotStart { .. } | Self::NotRunnable { .. } => {
                Vec::new()
            }
        }
    }
}

/// Finds the file that `name` means: a path as it is, a bare name on `search_path` (the child's `PATH`).
///
/// # Errors
///
/// [`Error::NotFound`], or [`Error::NotRunnable`] for a path that exists but is a folder or not executable.
pub fn find_program(
    name: &OsStr,
    search_path: Option<&OsStr>,
    cwd: &Path,
) -> Result<PathBuf, Error> {
    let typed = Path::new(name);
    let has_separator = name
        .as_encoded_bytes()
        .iter()
        .any(|byte| std::path::is_separator(char::from(*byte)));
    if has_separator {
        let full = cwd.join(typed);
        return match which_in(full.as_os_str(), search_path, cwd) {
            Some(found) => Ok(found),
            None if full.is_dir() => Err(Error::NotRunnable {
                program: full,
                why: "is a folder",
            }),
            None if full.exists() => Err(Error::NotRunnable {
                program: full,
                why: "is not executable",
            }),
            None => Err(Error::NotFound {
                name: name.to_owned(),
            }),
        };
    }
    which_in(name, search_path, cwd).ok_or_else(|| Error::NotFound {
        name: name.to_owned(),
    })
}

/// On Windows `which` takes the extensions from `PATHEXT`; where a service or build tool has dropped that variable, the
/// ones count that every Windows starts.
fn which_in(name: &OsStr, search_path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
    let extensions: &[&str] = if cfg!(windows) {
        &["", ".exe", ".cmd", ".bat", ".com"]
    } else {
        &[""]
    };
    extensions.iter().find_map(|extension| {
        let mut name = name.to_owned();
        name.push(extension);
        which::which_in(name, search_path, cwd).ok()
    })
}

/// The elements of a list variable such as `PATH`, empty ones included; quotes around an element are removed on Windows.
pub fn split_list(value: Option<&OsStr>) -> Vec<PathBuf> {
    value.map_or(Vec::new(), |value| std::env::split_paths(value).collect())
}

/// Joins paths to the value of a list variable.
///
/// # Errors
///
/// [`Error::Unlistable`] when an element contains the separator itself (`:` on Linux, `"` on Windows).
pub fn join_list(name: &str, elements: &[PathBuf]) -> Result<OsString, Error> {
    std::env::join_paths(elements).map_err(|_| {
        let separator = if cfg!(windows) { '"' } else { ':' };
        let path = elements
            .iter()
            .find(|path| {
                path.as_os_str()
                    .as_encoded_bytes()
                    .contains(&(separator as u8))
            })
            .cloned()
            .unwrap_or_default();
        Error::Unlistable {
            name: name.to_owned(),
            path,
            separator,
        }
    })
}
