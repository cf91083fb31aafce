//! What a build needs beside itself: is it on this machine, and if not, where it comes from.

use super::{Installed, Options, PATIENCE, Session};
use crate::archive;
use crate::companion::{CompanionId, CompanionKind};
use crate::download::shown;
use crate::error::Error;
use crate::host::companions::{Found, Place, Surroundings};
use crate::manifest::Digest;
use crate::sources::{self, Offer, Server, pypi};
use crate::store::{Package, RECEIPT_SCHEMA, Receipt, Trust, now_utc};
use crate::version::{BuildId, Platform};

/// A companion that a build needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Which.
    pub kind: CompanionKind,
    /// Of which CUDA.
    pub cuda_major: u32,
    /// The library by which the build opens it.
    pub library: String,
    /// Where it is, if it is on this machine.
    pub found: Option<Found>,
}

/// A companion that is in the store now.
#[derive(Debug, Clone)]
pub struct InstalledCompanion {
    /// Which.
    pub id: CompanionId,
    /// It was there already.
    pub already: bool,
}

impl Session<'_> {
    /// The companions of a build, from the names that its libraries open.
    ///
    /// # Errors
    ///
    /// When the store can't be read.
    pub fn needs(&self, build: &BuildId, names: &[String]) -> Result<Vec<Need>, Error> {
        let Some(variant) = build.variant else {
            return Ok(Vec::new());
        };
        let installed = self.ctx.store.contents()?.companions;
        let surroundings = Surroundings {
            env: &self.ctx.env,
            store: &self.ctx.store,
            installed: &installed,
            platform: build.platform,
        };
        let needs = CompanionKind::ALL.into_iter().filter_map(|kind| {
            let libraries = kind.libraries(variant.major, build.platform);
            let library = libraries
                .into_iter()
                .find(|library| names.contains(library))?;
            let found = surroundings
                .find(kind, variant.major)
                // What lies on this machine serves no build for another.
                .filter(|found| build.platform == Platform::host() || found.place == Place::Store);
            Some(Need {
                kind,
                cuda_major: variant.major,
                library,
                found,
            })
        });
        Ok(needs.collect())
    }

    /// Names each companion that is not on this machine, and how to get it.
    ///
    /// # Errors
    ///
    /// When the store can't be read.
    pub fn tell_missing(&self, installed: &Installed) -> Result<(), Error> {
        let build = installed.build;
        let needs = self.needs(&build, &installed.needs)?;
        let missing: Vec<&str> = needs
            .iter()
            .filter(|need| need.found.is_none())
            .map(|need| need.library.as_str())
            .collect();
        if !missing.is_empty() {
            self.bars.note(format!(
                "{build} also needs {}, not found on this machine; to get what is missing: cudnnm install {build} --with-companions",
                missing.join(" and "),
            ));
        }
        Ok(())
    }

    /// Installs the newest companion that fits, from the Python index.
    ///
    /// # Errors
    ///
    /// When it can't be had.
    pub fn install_companion(
        &self,
        need: &Need,
        platform: Platform,
    ) -> Result<InstalledCompanion, Error> {
        let store = &self.ctx.store;
        let what = format!("{}-cuda{}-{platform}", need.kind, need.cuda_major);
        let _lock = store.lock(&what, PATIENCE, || {
            self.bars.note(format!(
                "waiting for another cudnnm that is installing {} for CUDA {}",
                need.kind, need.cuda_major
            ));
        })?;
        let fits = |id: &&CompanionId| {
            (id.kind, id.cuda_major, id.platform) == (need.kind, need.cuda_major, platform)
        };
        let installed = store.contents()?.companions;
        if let Some(id) = installed
            .iter()
            .find(fits)
            .filter(|id| store.has(&id.folder()))
        {
            return Ok(InstalledCompanion {
                id: id.clone(),
                already: true,
            });
        }
        let project = need.kind.pypi_project(need.cuda_major);
        let wheels = self.sources.wheels(self.sources.client(), &project)?;
        let Some((version, wheel)) = pypi::newest_companion(&wheels, need.cuda_major, platform)
        else {
            let file = format!("{project} for CUDA {} on {platform}", need.cuda_major);
            return Err(sources::Error::NoFile { file }.into());
        };
        let expected = CompanionId {
            kind: need.kind,
            version,
            cuda_major: need.cuda_major,
            platform,
        };
        let digests: Vec<Digest> = wheel
            .sha256
            .iter()
            .map(|sha256| Digest {
                sha256: sha256.clone(),
                date: None,
            })
            .collect();
        let Options {
            trust_on_first_use, ..
        } = self.options;
        if digests.is_empty() && !trust_on_first_use {
            return Err(sources::Error::NoDigest {
                file: wheel.file.clone(),
            }
            .into());
        }
        let offer = Offer {
            server: Server::Pypi,
            url: wheel.url.clone(),
            file: wheel.file.clone(),
            trust: if digests.is_empty() {
                Trust::FirstUse
            } else {
                Trust::Index
            },
            digests,
            size: wheel.size,
        };
        let client = self.sources.client();
        let (fetched, _download) = self.fetch_offer(client, &offer, &expected.to_string())?;
        let outcome = self.publish_companion(&fetched, &offer, &expected);
        self.clear_away(&fetched, outcome.as_ref().err());
        outcome.map(|()| InstalledCompanion {
            id: expected,
            already: false,
        })
    }

    fn publish_companion(
        &self,
        fetched: &crate::download::Fetched,
        offer: &Offer,
        expected: &CompanionId,
    ) -> Result<(), Error> {
        let store = &self.ctx.store;
        let staging = store.stage(&expected.folder())?;
        let length = fetched.size;
        let mut progress = self
            .bars
            .begin(format!("unpacking {expected}"), Some(length));
        let unpacked =
            archive::unpack_companion(&fetched.path, staging.path(), expected.kind, &mut |done| {
                progress.set(done, Some(length));
            })?;
        drop(progress);
        if unpacked.id != *expected {
            return Err(crate::commands::Error::NotAsPromised {
                file: offer.file.clone(),
                found: unpacked.id.to_string(),
                promised: expected.to_string(),
            }
            .into());
        }
        let receipt = Receipt {
            schema: RECEIPT_SCHEMA,
            package: Package::Companion(expected.clone()),
            source: offer.server.to_string(),
            origin: shown(&offer.url),
            file: Some(offer.file.clone()),
            sha256: Some(fetched.sha256.clone()),
            trust: offer.trust,
            installed: now_utc(),
            linked: None,
            needs: Vec::new(),
            signatures: None,
            links: unpacked.links,
            files: unpacked.files,
        };
        self.publish(staging, &expected.folder(), &receipt, false)?;
        Ok(())
    }
}
