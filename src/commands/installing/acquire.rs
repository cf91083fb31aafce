//! One plan carried out: fetch, verify, unpack, check, publish.

use std::fs;
use std::path::Path;

use super::{PATIENCE, Plan, Session};
use crate::archive::{self, Identity, Unpacked};
use crate::commands;
use crate::download::{self, Client, Event, Fetched, shown};
use crate::error::{Error, Exit, Failure, IoError};
use crate::host;
use crate::manifest::Release;
use crate::output::size;
use crate::progress::{self, Progress};
use crate::sources::Offer;
use crate::store::{Package, Published, RECEIPT, Receipt, Staging, Trust, now_utc};
use crate::version::BuildId;

/// Unpacked, the archives seen are 1.4 to 2.3 times their size.
pub(super) const UNPACKED_FACTOR: u64 = 2;

/// What came of a plan.
#[derive(Debug, Clone)]
pub struct Installed {
    /// The build that is in the store now.
    pub build: BuildId,
    /// Another process was faster, or it was there all along.
    pub already: bool,
    /// Where it came from; `None` when it was there.
    pub origin: Option<Origin>,
    /// What it opens beside its own libraries.
    pub needs: Vec<String>,
}

/// Where a build came from.
#[derive(Debug, Clone)]
pub struct Origin {
    /// `nvidia`, `pypi`, `local`.
    pub source: String,
    /// Without credentials.
    pub address: String,
    /// SHA-256 of the archive.
    pub sha256: String,
    /// Its size.
    pub size: u64,
}

impl Session<'_> {
    /// Installs a plan's build.
    ///
    /// # Errors
    ///
    /// When it can't be fetched, verified or unpacked. The store is as before then, except that a part of an archive may
    /// be kept for the next time.
    pub fn carry_out(&self, plan: &Plan) -> Result<Installed, Error> {
        let store = &self.ctx.store;
        let output = self.ctx.output;
        let _lock = store.lock(&plan.build.folder(), PATIENCE, || {
            output.note(format!(
                "waiting for another cudnnm that is installing {}",
                plan.build
            ));
        })?;
        let present = plan.files.iter().map(|(release, _)| release.build());
        if let Some(build) = present
            .filter(|_| !self.options.force)
            .find(|build| store.has(&build.folder()))
        {
            let needs = store.receipt(&build.folder())?.needs;
            return Ok(Installed {
                build,
                already: true,
                origin: None,
                needs,
            });
        }
        let (fetched, offer, build) = self.fetch_any(plan)?;
        let outcome = self.unpack_and_publish(&fetched, &offer, &build);
        self.clear_away(&fetched, outcome.as_ref().err());
        let (published, needs) = outcome?;
        Ok(Installed {
            build,
            already: published == Published::AlreadyThere,
            origin: Some(Origin {
                source: offer.server.to_string(),
                address: shown(&offer.url),
                sha256: fetched.sha256,
                size: fetched.size,
            }),
            needs,
        })
    }

    /// Removes an archive that has served. A full disk or a kill must not cost the download again, so after those it
    /// stays; a bad archive is of no use to anybody.
    pub(super) fn clear_away(&self, fetched: &Fetched, failure: Option<&Error>) {
        let keep = self.options.keep_archive || self.settings.keep_archives;
        let worth_keeping = failure.is_some_and(|error| error.exit() != Exit::BadArchive);
        if fetched.ours && !keep && !worth_keeping {
            let _ = fs::remove_file(&fetched.path);
        }
        self.in_hand.take();
    }

    pub(super) fn fetch(
        &self,
        client: &Client,
        release: &Release,
        trust: Trust,
    ) -> Result<(Fetched, Offer), Error> {
        let first_use = self.options.trust_on_first_use;
        let offer = self.sources.offer(client, release, trust, first_use)?;
        let fetched = self.fetch_offer(client, &offer, &release.build().to_string())?;
        Ok((fetched, offer))
    }

    pub(super) fn fetch_offer(
        &self,
        client: &Client,
        offer: &Offer,
        what: &str,
    ) -> Result<Fetched, Error> {
        let output = self.ctx.output;
        let folder = self.ctx.store.downloads();
        fs::create_dir_all(&folder).map_err(IoError::at("create", &folder))?;
        // `prune` and an install of the same file under another name keep off it until it has been unpacked.
        self.in_hand.take();
        let lock = self.ctx.store.lock(&offer.file, PATIENCE, || {
            output.note(format!("waiting for another cudnnm that uses {}", offer.file));
        })?;
        let free = host::disk::available(&folder);
        if let (Some(free), Some(size)) = (free, offer.size) {
            let there = fs::metadata(folder.join(format!("{}.part", offer.file)))
                .map_or(0, |part| part.len());
            let needed = size.saturating_sub(there) + size * UNPACKED_FACTOR;
            if needed > free {
                let file = offer.file.clone();
                return Err(download::Error::NoSpace {
                    file,
                    needed,
                    free,
                    folder,
                }
                .into());
            }
        }
        let request = download::Request {
            url: &offer.url,
            folder: &folder,
            file: &offer.file,
            digests: &offer.digests,
            size: offer.size,
            limit: free,
        };
        let known = offer
            .size
            .map_or_else(String::new, |bytes| format!(" ({})", size(bytes)));
        if !output.bars {
            let host = offer
                .url
                .host_str()
                .map_or_else(|| shown(&offer.url), str::to_owned);
            output.note(format!("downloading {what}{known} from {host}"));
        }
        let mut progress = Progress::new(output, format!("downloading {what}"), offer.size);
        let fetched = download::fetch(client, &request, &mut |event| match event {
            Event::Arrived { done, total } => progress.set(done, total.or(offer.size)),
            Event::Resumed(bytes) => {
                progress.resume(bytes);
                progress.note(format!("{} are there from before", size(bytes)));
            }
            Event::Trouble { error, wait } => {
                progress.note(format!(
                    "{error}; trying again in {}",
                    progress::duration(wait)
                ));
            }
            Event::StartedOver(why) => progress.note(format!("{why}: starting over")),
        })?;
        self.in_hand.replace(Some(lock));
        Ok(fetched)
    }

    fn unpack_and_publish(
        &self,
        fetched: &Fetched,
        offer: &Offer,
        build: &BuildId,
    ) -> Result<(Published, Vec<String>), Error> {
        let store = &self.ctx.store;
        let staging = store.stage(&build.folder())?;
        let unpacked = self.unpack(
            &fetched.path,
            staging.path(),
            fetched.size,
            &build.to_string(),
        )?;
        check(&offer.file, &unpacked.identity, build)?;
        let receipt = Receipt {
            schema: crate::store::RECEIPT_SCHEMA,
            package: Package::Cudnn(*build),
            source: offer.server.to_string(),
            origin: shown(&offer.url),
            file: Some(offer.file.clone()),
            sha256: Some(fetched.sha256.clone()),
            trust: offer.trust,
            installed: now_utc(),
            linked: None,
            needs: unpacked.needs.clone(),
            signatures: None,
            links: unpacked.links,
            files: unpacked.files,
        };
        let published = self.publish(staging, &build.folder(), &receipt, self.options.force)?;
        Ok((published, unpacked.needs))
    }

    /// Gives a staged folder its receipt and makes it appear.
    pub(super) fn publish(
        &self,
        staging: Staging,
        folder: &str,
        receipt: &Receipt,
        replace: bool,
    ) -> Result<Published, Error> {
        let store = &self.ctx.store;
        let path = staging.path().join(RECEIPT);
        fs::write(&path, receipt.to_toml()).map_err(IoError::at("write", &path))?;
        store.share_equal_files(&staging, &receipt.files);
        let output = self.ctx.output;
        Ok(store.publish(staging, folder, replace, || {
            output.note(crate::store::HELD);
        })?)
    }

    fn unpack(
        &self,
        archive: &Path,
        target: &Path,
        length: u64,
        what: &str,
    ) -> Result<Unpacked, Error> {
        let mut progress =
            Progress::new(self.ctx.output, format!("unpacking {what}"), Some(length));
        let unpacked = archive::unpack(archive, target, &mut |done| {
            progress.set(done, Some(length))
        })?;
        for remark in &unpacked.remarks {
            progress.warning(remark);
        }
        Ok(unpacked)
    }
}

/// What is inside must be what the source promised, as far as it tells.
fn check(file: &str, found: &Identity, promised: &BuildId) -> Result<(), commands::Error> {
    let as_promised = found.version.same_release(promised.version)
        && found.platform == promised.platform
        && found.flavour == promised.flavour
        && match (found.variant, promised.variant) {
            (Some(found), Some(promised)) => found.agrees_with(promised),
            _ => true,
        };
    if as_promised {
        return Ok(());
    }
    let found = BuildId {
        version: found.version,
        variant: found.variant,
        flavour: found.flavour,
        platform: found.platform,
    };
    Err(commands::Error::NotAsPromised {
        file: file.to_owned(),
        found: found.to_string(),
        promised: promised.to_string(),
    })
}
