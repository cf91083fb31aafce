//! A fresh look at what the sources publish, remembered in the store's `manifests` folder.

use super::installing::told;
use super::published;
use crate::context::Context;
use crate::error::{Error, IoError};
use crate::manifest::{RELEASES, Releases, update};
use crate::sources::Server;
use crate::store;
use crate::version::{CudnnVersion, Platform};

/// How much is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Releases that are new, that something is missing of, and the newest few.
    News,
    /// Every release, to see whether a known file has changed.
    Everything,
}

/// What came of it.
#[derive(Debug)]
pub struct Refreshed {
    /// Everything known now.
    pub releases: Releases,
    /// New files.
    pub added: Vec<String>,
    /// Known files of which something new was learnt: a digest, a size.
    pub changed: Vec<String>,
    /// Files whose digest is another one than before.
    pub warnings: Vec<String>,
    /// Sources that did not answer, in words.
    pub failures: Vec<String>,
}

/// How many of the newest releases are looked at again even if they seem complete: they are the ones that still change.
const NEWEST: usize = 3;

/// Asks the sources (or only one), and writes what is new into the store.
///
/// # Errors
///
/// When no source answers, or the store's manifest can't be read or written.
pub fn refresh(ctx: &Context, only: Option<Server>, depth: Depth) -> Result<Refreshed, Error> {
    let settings = ctx.settings()?;
    let servers = published::servers(only, &settings)?;
    let sources = published::sources(ctx, &settings)?;
    let known = published::releases(ctx)?;
    let mut fetched = Vec::new();
    let mut failures = Vec::new();
    let mut last_error = None;
    let mut answered = 0;
    for server in &servers {
        let wanted = |label: CudnnVersion, place_from_newest: usize| {
            depth == Depth::Everything || place_from_newest < NEWEST || is_incomplete(&known, label)
        };
        match sources.everything(*server, &wanted) {
            Ok((found, troubles)) => {
                answered += 1;
                fetched.extend(found);
                failures.extend(troubles.iter().map(|error| told(error)));
            }
            Err(error) => {
                failures.push(told(&error));
                last_error = Some(error);
            }
        }
    }
    if let Some(error) = last_error.filter(|_| answered == 0) {
        return Err(error.into());
    }
    let today = store::now_utc();
    let today = today.get(..10).unwrap_or(&today);
    let found = update::compare(&known, fetched, today);
    let (mut added, mut changed) = (Vec::new(), Vec::new());
    for release in &found.news {
        let is_known = known
            .all()
            .iter()
            .any(|other| other.address() == release.address());
        let list = if is_known { &mut changed } else { &mut added };
        list.push(format!(
            "{} ({})",
            release.build().exact_spec(),
            release.file
        ));
    }
    if !found.news.is_empty() {
        remember(ctx, found.news)?;
    }
    Ok(Refreshed {
        releases: published::releases(ctx)?,
        added,
        changed,
        warnings: found.warnings,
        failures,
    })
}

fn remember(ctx: &Context, news: Vec<crate::manifest::Release>) -> Result<(), Error> {
    let folder = ctx.store.manifests();
    let path = folder.join(RELEASES);
    let stored = match published::text(&path)? {
        Some(text) => Releases::parse(RELEASES, &text)?,
        None => Releases::default(),
    };
    let merged = update::merge(stored, news);
    std::fs::create_dir_all(&folder).map_err(IoError::at("create", &folder))?;
    store::replace_file(&path, merged.render().as_bytes())?;
    Ok(())
}

/// Whether NVIDIA's own JSON may tell more of a release than is known: nothing is, or not for both great platforms.
fn is_incomplete(known: &Releases, label: CudnnVersion) -> bool {
    [Platform::WindowsX64, Platform::LinuxX64]
        .iter()
        .any(|platform| {
            let mut files = known
                .all()
                .iter()
                .filter(|release| {
                    release.version.same_release(label)
                        && release.platform == *platform
                        && Server::of(&release.origin) == Server::Nvidia
                })
                .peekable();
            files.peek().is_none() || files.any(|release| release.digests.is_empty())
        })
}
