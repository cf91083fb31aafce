//! What is published and what fits what, for every command that asks: the built-in manifests, and the store's over them.

use std::path::Path;

use crate::context::Context;
use crate::error::{Error, IoError};
use crate::manifest::{CUDA, FRAMEWORKS, Facts, GPUS, RELEASES, Releases, Texts};
use crate::settings::Settings;
use crate::sources::{self, Server, Sources, Surroundings};

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

/// The servers to ask, in order: the one that was named, else those of the setting `sources`.
///
/// # Errors
///
/// When the setting names one that there is not.
pub fn servers(only: Option<Server>, settings: &Settings) -> Result<Vec<Server>, Error> {
    Ok(match (only, &settings.sources) {
        (Some(one), _) => vec![one],
        (None, Some(order)) => order
            .iter()
            // `local` has no place in an order of servers, but may stand in the setting.
            .filter(|name| *name != "local")
            .map(|name| name.parse())
            .collect::<Result<_, sources::Error>>()?,
        (None, None) => Server::ORDER.to_vec(),
    })
}

/// The servers, ready to be asked; nothing is yet.
///
/// # Errors
///
/// When NVIDIA's address is set to something that is none.
pub fn sources(ctx: &Context, settings: &Settings) -> Result<Sources, Error> {
    Ok(Sources::new(&Surroundings {
        env: &ctx.env,
        cwd: &ctx.cwd,
        nvidia_base_url: settings.nvidia_base_url.as_deref(),
        pypi_index_url: settings.pypi_index_url.as_deref(),
        network_timeout: settings.network_timeout,
        limit_rate: settings.limit_rate,
        cache: &ctx.store.cache(),
        offline: ctx.offline,
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
