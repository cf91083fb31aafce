//! Shims: copies of the small launcher under the names of programs, in a folder that goes onto the person's own `PATH`.
//!
//! A shim knows its name and its place, nothing else. Its place is `<store>/shims`, so it finds the store without any
//! setting; the program it stands for is the next one of its name on the path behind its own folder.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Exit, Failure, IoError};
use crate::process::Env;
use crate::store::{self, Store};

/// A shim that can't be made or removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Not a plain program name.
    #[error("`{name}` is not the name of a program")]
    BadName {
        /// As typed.
        name: String,
    },
    /// The launcher is not beside cudnnm.
    #[error("the launcher `{}` is missing", path.display())]
    NoLauncher {
        /// Where it should be.
        path: PathBuf,
    },
    /// No such shim.
    #[error("there is no shim `{name}`")]
    NoSuchShim {
        /// As typed.
        name: String,
    },
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::Io(error) => error.exit(),
            Self::BadName { .. } => Exit::Usage,
            Self::NoLauncher { .. } | Self::NoSuchShim { .. } => Exit::Failed,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Io(error) => error.hints(),
            Self::BadName { .. } => vec!["give a plain name: cudnnm shim add python".to_owned()],
            Self::NoLauncher { .. } => {
                vec!["install cudnnm anew; its two programs belong together".to_owned()]
            }
            Self::NoSuchShim { .. } => vec!["those that are there: cudnnm shim list".to_owned()],
        }
    }
}

/// Makes or renews the shim for a program and returns its path. `cudnnm` is the running program's own file.
///
/// # Errors
///
/// For a name that is none, or when the launcher is missing or can't be copied.
pub fn add(store: &Store, name: &str, cudnnm: &Path) -> Result<PathBuf, Error> {
    let path = path_of(store, name)?;
    let launcher = cudnnm.with_file_name(format!("cudnnm-shim{}", std::env::consts::EXE_SUFFIX));
    if !launcher.is_file() {
        return Err(Error::NoLauncher { path: launcher });
    }
    let folder = store.shims();
    fs::create_dir_all(&folder).map_err(IoError::at("create", &folder))?;
    // A running shim can't be overwritten, only renamed away; a copy under a new name, then one rename, does for both.
    let fresh = folder.join(format!(".{name}.{}", std::process::id()));
    let made = fs::copy(&launcher, &fresh)
        .map_err(IoError::at("write", &fresh))
        .and_then(|_| {
            if cfg!(windows) && path.exists() {
                let old = folder.join(format!(".{name}.old.{}", std::process::id()));
                fs::rename(&path, &old).map_err(IoError::at("replace", &path))?;
                let _ = fs::remove_file(old);
            }
            store::rename(&fresh, &path).map_err(IoError::at("create", &path))
        });
    if let Err(error) = made {
        let _ = fs::remove_file(fresh);
        return Err(error.into());
    }
    Ok(path)
}

/// Takes a shim away.
///
/// # Errors
///
/// When there is none of that name, or it can't be removed.
pub fn remove(store: &Store, name: &str) -> Result<(), Error> {
    let path = path_of(store, name)?;
    match fs::remove_file(&path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Error::NoSuchShim {
            name: name.to_owned(),
        }),
        Err(error) => Err(IoError::at("remove", &path)(error).into()),
    }
}

/// The names of the shims, sorted.
pub fn names(store: &Store) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(store.shims())
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let shown = name.strip_suffix(std::env::consts::EXE_SUFFIX)?;
            (!shown.starts_with('.')).then(|| shown.to_owned())
        })
        .collect();
    names.sort();
    names
}

/// The program a shim stands for, from its own file's name.
pub fn program_name(exe: &Path) -> OsString {
    let stem = if cfg!(windows) {
        exe.file_stem()
    } else {
        exe.file_name()
    };
    stem.unwrap_or(OsStr::new("")).to_owned()
}

/// The environment as the program behind the shim shall see it: without the shims' folder on `PATH`, so that the shim
/// can't find itself and a child's lookup costs no second hop; and with the store that the shim lies in.
pub fn environment(env: Env, exe: &Path) -> Env {
    let Some(folder) = exe.parent() else {
        return env;
    };
    let mut elements: Vec<PathBuf> = crate::process::split_list(env.var("PATH"))
        .into_iter()
        .filter(|element| !same_text(element, folder))
        .collect();
    drop_other_names(&mut elements, exe);
    let mut changes: Vec<(OsString, OsString)> = Vec::new();
    if let Ok(path) = crate::process::join_list("PATH", &elements) {
        changes.push(("PATH".into(), path));
    }
    if let Some(root) = folder
        .parent()
        .filter(|_| folder.file_name() == Some(OsStr::new("shims")))
    {
        changes.push(("CUDNNM_ROOT".into(), root.into()));
    }
    env.with(changes)
}

fn same_text(a: &Path, b: &Path) -> bool {
    a == b || (cfg!(windows) && a.as_os_str().eq_ignore_ascii_case(b))
}

/// Drops the elements that are the shims' folder under another name (a link, a mapped drive), as far as the search for the
/// program would get: a shim that finds itself never ends.
fn drop_other_names(elements: &mut Vec<PathBuf>, exe: &Path) {
    let (Some(name), Ok(own)) = (exe.file_name(), dunce::canonicalize(exe)) else {
        return;
    };
    while let Some(at) = elements
        .iter()
        .position(|element| element.join(name).is_file())
    {
        if dunce::canonicalize(elements[at].join(name)).is_ok_and(|found| found == own) {
            elements.remove(at);
        } else {
            return;
        }
    }
}

/// Names that Windows keeps for devices, whatever extension they have.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul"];

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let numbered = |kind: &str| {
        stem.strip_prefix(kind)
            .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|digit| digit.is_ascii_digit()))
    };
    DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

fn path_of(store: &Store, name: &str) -> Result<PathBuf, Error> {
    // `python.exe` is what Windows users see in their folders.
    let name = name
        .strip_suffix(std::env::consts::EXE_SUFFIX)
        .unwrap_or(name);
    let plain = !name.is_empty()
        && !name.starts_with('.')
        && !(cfg!(windows) && (is_device(name) || name.ends_with(['.', ' '])))
        && !name.contains(|c: char| c.is_control() || r#"/\:*?"<>|"#.contains(c));
    if !plain {
        return Err(Error::BadName {
            name: name.to_owned(),
        });
    }
    Ok(store
        .shims()
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_are_known() {
        for (name, expected) in [
            ("con", true),
            ("NUL", true),
            ("com1", true),
            ("lpt9.tool", true),
            ("com10", false),
            ("console", false),
            ("python", false),
        ] {
            assert_eq!(is_device(name), expected, "{name}");
        }
    }
}
