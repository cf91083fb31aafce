//! Asks the installed pip what its default index is. That takes a Python start, so the answer is remembered.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::process::{self, Env};

/// A Python on a cold network drive is slow; one that hangs must not hang us.
const PATIENCE: Duration = Duration::from_secs(30);

/// A Python without pip often has one bundled for making virtual environments (`ensurepip`).
const QUESTION: &str = "\
import glob, os, sys
try:
    import pip
except ImportError:
    import ensurepip
    folders = [os.path.join(os.path.dirname(ensurepip.__file__), '_bundled'), '/usr/share/python-wheels']
    sys.path[:0] = [p for f in folders for p in sorted(glob.glob(os.path.join(f, 'pip-*.whl')))]
from pip._internal.models.index import PyPI
print(PyPI.simple_url)
";

#[derive(Debug, Serialize, Deserialize)]
struct Remembered {
    schema: u32,
    python: PathBuf,
    modified: u64,
    index: String,
}

/// The default index of the first Python that has a pip; `None` when there is none.
pub(super) fn default_index(env: &Env, cache: &Path) -> Option<String> {
    let pythons = pythons(env);
    if let Some(remembered) = recall(cache)
        && pythons.contains(&remembered.python)
        && modified(&remembered.python) == Some(remembered.modified)
    {
        return Some(remembered.index);
    }
    let (python, index) = pythons.into_iter().find_map(|python| {
        let index = ask(&python)?;
        Some((python, index))
    })?;
    let modified = modified(&python).unwrap_or(0);
    let remembered = Remembered {
        schema: 1,
        python,
        modified,
        index,
    };
    // A store that can't be written is asked again next time; that is all.
    if let (Some(folder), Ok(text)) = (cache.parent(), toml::to_string(&remembered))
        && std::fs::create_dir_all(folder).is_ok()
    {
        let _ = crate::store::replace_file(cache, text.as_bytes());
    }
    Some(remembered.index)
}

/// The Python of the active environment, then those on the path.
fn pythons(env: &Env) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for prefix in ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .into_iter()
        .filter_map(|name| env.path(name))
    {
        let python = match (cfg!(windows), prefix.join("Scripts").is_dir()) {
            (true, true) => prefix.join("Scripts").join("python.exe"),
            (true, false) => prefix.join("python.exe"),
            (false, _) => prefix.join("bin").join("python"),
        };
        if python.is_file() {
            found.push(python);
        }
    }
    let names: &[&str] = if cfg!(windows) {
        &["python", "python3", "py"]
    } else {
        &["python3", "python"]
    };
    for name in names {
        let on_path = process::find_program(&OsString::from(name), env.var("PATH"), Path::new("/"));
        found.extend(on_path.ok().filter(|path| !found.contains(path)));
    }
    found
}

fn ask(python: &Path) -> Option<String> {
    // Python puts its current folder first on the search path: a `pip.py` of a project must not answer for pip.
    let folder = python.parent()?;
    let mut child = Command::new(python)
        .args(["-c", QUESTION])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let started = Instant::now();
    let ended = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status.success(),
            Ok(None) if started.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(10))
            }
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                break false;
            }
        }
    };
    if !ended {
        return None;
    }
    let mut answer = String::new();
    child
        .stdout
        .take()?
        .take(4096)
        .read_to_string(&mut answer)
        .ok()?;
    let index = answer.trim();
    (index.contains("://") && !index.contains(char::is_whitespace)).then(|| index.to_owned())
}

fn recall(cache: &Path) -> Option<Remembered> {
    let remembered: Remembered = toml::from_str(&std::fs::read_to_string(cache).ok()?).ok()?;
    (remembered.schema == 1).then_some(remembered)
}

fn modified(path: &Path) -> Option<u64> {
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    Some(modified.duration_since(UNIX_EPOCH).ok()?.as_secs())
}
