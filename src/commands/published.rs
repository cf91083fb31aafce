//! What is published and what fits what, for every command that asks: the built-in manifests, and the store's over them.

use std::path::Path;

use crate::context::Context;
use crate::error::{Error, IoError};
use crate::manifest::{CUDA, FRAMEWORKS, Facts, GPUS, RELEASES, Releases, Texts};

/// Every known file.
///
/// # Errors
///
/// When the store's `releases.toml` is there but can't be used.
pub fn releases(ctx: &Context) -> Result<Releases, Error> {
    let newer = text(&ctx.store.manifests().join(RELEASES))?;
    Ok(Releases::load(newer.as_deref())?)
}

/// Every known fact about toolkits, drivers, GPUs and frameworks.
///
/// # Errors
///
/// When one of the store's files is there but can't be used.
pub fn facts(ctx: &Context) -> Result<Facts, Error> {
    let folder = ctx.store.manifests();
    let (cuda, gpus, frameworks) = (
        text(&folder.join(CUDA))?,
        text(&folder.join(GPUS))?,
        text(&folder.join(FRAMEWORKS))?,
    );
    Ok(Facts::load(Texts {
        cuda: cuda.as_deref(),
        gpus: gpus.as_deref(),
        frameworks: frameworks.as_deref(),
    })?)
}

/// A file's text; `None` when there is no such file.
pub fn text(path: &Path) -> Result<Option<String>, IoError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(IoError::at("read", path)(error)),
    }
}
