//! What a command knows of its process, built once in `main`.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::output::Output;
use crate::process::Env;
use crate::settings::Settings;
use crate::store::{self, Store};

/// Process state, handed to every command.
#[derive(Debug)]
pub struct Context {
    /// The variables we were started with.
    pub env: Env,
    /// The folder we were started in.
    pub cwd: PathBuf,
    /// Where words go.
    pub output: Output,
    /// The store in force.
    pub store: Store,
    /// No network: `--offline` or `CUDNNM_OFFLINE`.
    pub offline: bool,
}

impl Context {
    /// Decides where the store is and wraps it all up; touches nothing.
    ///
    /// # Errors
    ///
    /// When `CUDNNM_ROOT` is relative, or there is no home folder to fall back to.
    pub fn new(env: Env, cwd: PathBuf, output: Output, offline: bool) -> Result<Self, Error> {
        let root = store_root(&env)?;
        let offline = offline || env.switch("CUDNNM_OFFLINE");
        Ok(Self {
            env,
            cwd,
            output,
            store: Store::new(root),
            offline,
        })
    }

    /// The person's settings. Read where needed, not up front: most launches need none.
    ///
    /// # Errors
    ///
    /// When the file is there but can't be used.
    pub fn settings(&self) -> Result<Settings, Error> {
        Ok(Settings::load(&self.store.settings_file())?)
    }

    /// A path as typed, made absolute.
    pub fn absolute(&self, typed: &Path) -> PathBuf {
        std::path::absolute(self.cwd.join(typed)).unwrap_or_else(|_| self.cwd.join(typed))
    }
}

fn store_root(env: &Env) -> Result<PathBuf, store::Error> {
    if let Some(root) = env.path("CUDNNM_ROOT") {
        return if root.is_absolute() {
            Ok(root.to_owned())
        } else {
            Err(store::Error::RelativeRoot {
                path: root.to_owned(),
            })
        };
    }
    if let Some(root) = crate::host::disk::data_drive_root() {
        return Ok(root);
    }
    let base = directories::BaseDirs::new().ok_or(store::Error::NoHome)?;
    Ok(base.data_local_dir().join("ai-libs"))
}
