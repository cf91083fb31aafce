//! One plan carried out: fetch, verify, unpack, check, publish.

use std::fs;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use super::{PATIENCE, Plan, Session};
use crate::archive::{self, Identity, Unpacked};
use crate::commands;
use crate::download::{self, Client, Event, Fetched, shown};
use crate::error::{Error, Exit, Failure, IoError};
use crate::host;
use crate::manifest::Release;
use crate::output::size;
use crate::progress;
use crate::sources::Offer;
use crate::store::{Lock, Package, Published, RECEIPT, Receipt, Staging, Trust, now_utc};
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

/// A plan half carried out.
enum Begun {
    /// Another process was faster.
    Present(BuildId, Vec<String>),
    /// The archive is here and verified.
    Fetched(Box<Arrived>),
}

struct Arrived {
    fetched: Fetched,
    offer: Offer,
    build: BuildId,
    /// Of the build and of the file: nobody else fetches it, `prune` does not remove it.
    _locks: [Lock; 2],
}

impl Session<'_> {
    /// Installs a plan's build.
    ///
    /// # Errors
    ///
    /// When it can't be fetched, verified or unpacked. The store is as before then, except that a part of an archive may
    /// be kept for the next time.
    pub fn carry_out(&self, plan: &Plan) -> Result<Installed, Error> {
        self.complete(self.begin(plan)?)
    }

    /// Installs the builds of several plans: while one is unpacked, the next is fetched. `done` hears of each, and how
    /// long it took.
    ///
    /// # Errors
    ///
    /// The first failure, of a build or of `done`; builds before it are installed, the rest is called off.
    pub fn carry_out_all(
        &self,
        plans: &[Plan],
        mut done: impl FnMut(&Plan, Installed, Duration) -> Result<(), Error>,
    ) -> Result<(), Error> {
        std::thread::scope(|scope| {
            // One build ahead, no more: archives are large.
            let (sender, arrivals) = sync_channel(0);
            scope.spawn(move || {
                for plan in plans {
                    let started = Instant::now();
                    self.tell(plan);
                    let begun = self.begin(plan);
                    let failed = begun.is_err();
                    if sender.send((started, begun)).is_err() || failed {
                        break;
                    }
                }
            });
            for (plan, (started, begun)) in plans.iter().zip(&arrivals) {
                let outcome = begun
                    .and_then(|begun| self.complete(begun))
                    .and_then(|installed| done(plan, installed, started.elapsed()));
                if outcome.is_err() {
                    self.sources.client().stop();
                    return outcome;
                }
            }
            Ok(())
        })
    }

    /// Fetches, with the build's lock in hand so that one process does it for all.
    fn begin(&self, plan: &Plan) -> Result<Begun, Error> {
        let store = &self.ctx.store;
        let lock = store.lock(&plan.build.folder(), PATIENCE, || {
            self.bars.note(format!(
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
            return Ok(Begun::Present(build, needs));
        }
        let (fetched, download, offer, build) = self.fetch_any(plan)?;
        Ok(Begun::Fetched(Box::new(Arrived {
            fetched,
            offer,
            build,
            _locks: [lock, download],
        })))
    }

    fn complete(&self, begun: Begun) -> Result<Installed, Error> {
        let arrived = match begun {
            Begun::Fetched(arrived) => arrived,
            Begun::Present(build, needs) => {
                return Ok(Installed {
                    build,
                    already: true,
                    origin: None,
                    needs,
                });
            }
        };
        let Arrived {
            fetched,
            offer,
            build,
            _locks,
        } = *arrived;
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
    }

    pub(super) fn fetch(
        &self,
        client: &Client,
        release: &Release,
        trust: Trust,
    ) -> Result<(Fetched, Lock, Offer), Error> {
        let first_use = self.options.trust_on_first_use;
        let offer = self.sources.offer(client, release, trust, first_use)?;
        let (fetched, lock) = self.fetch_offer(client, &offer, &release.build().to_string())?;
        Ok((fetched, lock, offer))
    }

    pub(super) fn fetch_offer(
        &self,
        client: &Client,
        offer: &Offer,
        what: &str,
    ) -> Result<(Fetched, Lock), Error> {
        let folder = self.ctx.store.downloads();
        fs::create_dir_all(&folder).map_err(IoError::at("create", &folder))?;
        // `prune` and an install of the same file under another name keep off it until it has been unpacked.
        let lock = self.ctx.store.lock(&offer.file, PATIENCE, || {
            self.bars.note(format!(
                "waiting for another cudnnm that uses {}",
                offer.file
            ));
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
        if !self.bars.are_drawn() {
            let host = offer
                .url
                .host_str()
                .map_or_else(|| shown(&offer.url), str::to_owned);
            self.bars
                .note(format!("downloading {what}{known} from {host}"));
        }
        let mut progress = self.bars.begin(format!("downloading {what}"), offer.size);
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
        Ok((fetched, lock))
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
        Ok(store.publish(staging, folder, replace, || {
            self.bars.note(crate::store::HELD);
        })?)
    }

    fn unpack(
        &self,
        archive: &Path,
        target: &Path,
        length: u64,
        what: &str,
    ) -> Result<Unpacked, Error> {
        let mut progress = self.bars.begin(format!("unpacking {what}"), Some(length));
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
