//! `install --from PATH`: the person's own archive or folder. What it is shows its content, never its name alone.

use std::path::Path;

use super::acquire::{Installed, Origin};
use super::{PATIENCE, Session};
use crate::archive;
use crate::commands::Error as CommandError;
use crate::download;
use crate::error::Error;
use crate::host;
use crate::sources::local;
use crate::store::{Package, Published, RECEIPT_SCHEMA, Receipt, Trust, now_utc};
use crate::version::{BuildId, CudaVersion, Platform, VersionSpec};

/// What a person says about the archive; it must agree with what is inside.
#[derive(Debug, Clone, Default)]
pub struct Claim {
    /// `install SPEC --from PATH`.
    pub spec: Option<VersionSpec>,
    /// `--cuda`: fills in what nothing inside tells.
    pub cuda: Option<CudaVersion>,
    /// `--platform`: another one than this machine's is meant.
    pub platform: Option<Platform>,
}

/// What would be installed from a path, and what was.
#[derive(Debug)]
pub struct FromPath {
    /// The build.
    pub installed: Installed,
    /// The archive's file name; `None` for a folder.
    pub file: Option<String>,
    /// It was only looked at.
    pub dry_run: bool,
}

impl Session<'_> {
    /// Installs the cuDNN in an archive or folder; with `dry_run` only says what it is.
    ///
    /// # Errors
    ///
    /// When there is none, or it is not what the person says, or it is for another platform and nobody said so.
    pub fn install_from(
        &self,
        path: &Path,
        claim: &Claim,
        dry_run: bool,
    ) -> Result<FromPath, Error> {
        let store = &self.ctx.store;
        let length = local::size(path);
        if let Some(present) = self.present(path, claim, dry_run)? {
            return Ok(present);
        }
        self.check_space(path, length)?;
        let staging = store.stage("from")?;
        let shown = path.display().to_string();
        let name = path
            .file_name()
            .map_or(shown.clone(), |name| name.to_string_lossy().into_owned());
        let mut progress = self.bars.begin(format!("unpacking {name}"), length);
        let taken = local::take(path, staging.path(), &mut |done| progress.set(done, length))?;
        for remark in &taken.unpacked.remarks {
            progress.warning(format!("`{name}`: {remark}"));
        }
        drop(progress);
        let known = taken
            .sha256
            .as_deref()
            .and_then(|sha256| self.known_by_digest(sha256));
        let (build, trust) = match known {
            // The very file that NVIDIA publishes: the list knows the fourth number and the CUDA it is for.
            Some(build) => (build, Trust::Manifest),
            None => (taken.unpacked.identity.build(), Trust::Local),
        };
        let build = settle(&name, build, claim)?;
        if build.variant.is_none() {
            self.bars.note(format!(
                "nothing in `{name}` tells the CUDA it was built for; name it with --cuda, and --force if it is installed already"
            ));
        }
        let origin = Origin {
            source: "local".to_owned(),
            address: shown.clone(),
            sha256: taken.sha256.clone().unwrap_or_default(),
            size: length.unwrap_or_else(|| taken.unpacked.files.iter().map(|file| file.size).sum()),
        };
        let needs = taken.unpacked.needs.clone();
        let outcome = |already, origin| FromPath {
            installed: Installed {
                build,
                already,
                origin,
                needs,
            },
            file: taken.file.clone(),
            dry_run,
        };
        if dry_run {
            return Ok(outcome(store.has(&build.folder()), Some(origin)));
        }
        let receipt = Receipt {
            schema: RECEIPT_SCHEMA,
            package: Package::Cudnn(build),
            source: "local".to_owned(),
            origin: shown,
            file: taken.file.clone(),
            sha256: taken.sha256.clone(),
            trust,
            installed: now_utc(),
            linked: None,
            needs: taken.unpacked.needs.clone(),
            signatures: None,
            links: taken.unpacked.links.clone(),
            files: taken.unpacked.files.clone(),
        };
        let _lock = store.lock(&build.folder(), PATIENCE, || {
            self.bars.note(format!(
                "waiting for another cudnnm that is installing {build}"
            ));
        })?;
        let published = self.publish(staging, &build.folder(), &receipt, self.options.force)?;
        let already = published == Published::AlreadyThere;
        Ok(outcome(already, (!already).then_some(origin)))
    }

    /// The build that this very archive became earlier. Only an archive of a name that was installed before is read for
    /// that: any other one would be read twice.
    fn present(
        &self,
        path: &Path,
        claim: &Claim,
        dry_run: bool,
    ) -> Result<Option<FromPath>, Error> {
        let store = &self.ctx.store;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if self.options.force || !path.is_file() {
            return Ok(None);
        }
        let same_name: Vec<(BuildId, Receipt)> = store
            .contents()?
            .builds
            .into_iter()
            .filter_map(|build| Some((build, store.receipt(&build.folder()).ok()?)))
            .filter(|(_, receipt)| receipt.file.as_deref() == Some(&*name))
            .collect();
        if same_name.is_empty() {
            return Ok(None);
        }
        let (_, sha256) = archive::digest(path)?;
        let found = same_name
            .into_iter()
            .find(|(_, receipt)| receipt.sha256.as_deref() == Some(&*sha256));
        let Some((build, receipt)) = found else {
            return Ok(None);
        };
        // Another wish than the first time's is looked at anew.
        if settle(&name, build, claim)? != build {
            return Ok(None);
        }
        Ok(Some(FromPath {
            installed: Installed {
                build,
                already: true,
                origin: None,
                needs: receipt.needs,
            },
            file: receipt.file,
            dry_run,
        }))
    }

    fn known_by_digest(&self, sha256: &str) -> Option<BuildId> {
        let releases = self.known.all().iter();
        let mut with_digest =
            releases.filter(|release| release.digests.iter().any(|digest| digest.sha256 == sha256));
        with_digest.next().map(crate::manifest::Release::build)
    }

    fn check_space(&self, path: &Path, length: Option<u64>) -> Result<(), Error> {
        let folder = self.ctx.store.root();
        if let (Some(length), Some(free)) = (length, host::disk::available(folder)) {
            let needed = length * super::acquire::UNPACKED_FACTOR;
            if needed > free {
                let file = path.display().to_string();
                let folder = folder.to_owned();
                return Err(download::Error::NoSpace {
                    file,
                    needed,
                    free,
                    folder,
                }
                .into());
            }
        }
        Ok(())
    }
}

/// The build with what the person says laid over it, where both agree.
fn settle(name: &str, found: BuildId, claim: &Claim) -> Result<BuildId, CommandError> {
    let mut build = found;
    let cuda = claim.cuda.or_else(|| claim.spec.as_ref()?.variant);
    if let Some(cuda) = cuda {
        match build.variant {
            // `11` inside and `11.3` said: the person knows it more exactly.
            Some(variant) if variant.agrees_with(cuda) => {
                build.variant = Some(if variant.minor.is_some() {
                    variant
                } else {
                    cuda
                });
            }
            Some(_) => {
                return Err(CommandError::NotAsPromised {
                    file: name.to_owned(),
                    found: found.to_string(),
                    promised: format!("a build for CUDA {cuda}"),
                });
            }
            None => build.variant = Some(cuda),
        }
    }
    let meant = claim.platform.or_else(|| claim.spec.as_ref()?.platform);
    match meant {
        Some(meant) if meant != build.platform => {
            return Err(CommandError::NotAsPromised {
                file: name.to_owned(),
                found: found.to_string(),
                promised: format!("a build for {meant}"),
            });
        }
        None if build.platform != Platform::host() => {
            return Err(CommandError::ForeignArchive {
                file: name.to_owned(),
                build: build.to_string(),
                platform: build.platform,
            });
        }
        _ => {}
    }
    if let Some(spec) = &claim.spec {
        let spec = VersionSpec {
            platform: Some(build.platform),
            ..spec.clone()
        };
        if !spec.matches(&build) {
            return Err(CommandError::NotAsPromised {
                file: name.to_owned(),
                found: build.to_string(),
                promised: claim
                    .spec
                    .as_ref()
                    .map_or_else(String::new, VersionSpec::to_string),
            });
        }
    }
    Ok(build)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_says_refines_and_never_overrules() {
        let build = |folder: &str| BuildId::from_folder(folder).unwrap();
        let other = if cfg!(windows) {
            "linux-x86_64"
        } else {
            "windows-x86_64"
        };
        let foreign = format!("cudnn-8.2.1.32-cuda11.3-{other}");
        let cases = [
            (
                "cudnn-8.2.1.32-cuda11",
                "",
                Some("11.3"),
                false,
                Some("8.2.1.32+cuda11.3"),
            ),
            (
                "cudnn-8.2.1.32-cuda11.3",
                "",
                Some("11"),
                false,
                Some("8.2.1.32+cuda11.3"),
            ),
            ("cudnn-8.2.1.32-cuda11.3", "", Some("12"), false, None),
            (
                "cudnn-8.2.1",
                "",
                Some("11.3"),
                false,
                Some("8.2.1+cuda11.3"),
            ),
            (
                "cudnn-8.2.1",
                "8.2.1+cuda11.3",
                None,
                false,
                Some("8.2.1+cuda11.3"),
            ),
            (
                "cudnn-8.2.1.32-cuda11.3",
                "8.2",
                None,
                false,
                Some("8.2.1.32+cuda11.3"),
            ),
            ("cudnn-8.2.1.32-cuda11.3", "8.9", None, false, None),
            ("cudnn-9.19.0.56-cuda13-jit", "9+full", None, false, None),
            (&foreign, "", None, false, None),
            (&foreign, "", None, true, Some("8.2.1.32+cuda11.3+OTHER")),
            ("cudnn-8.2.1.32-cuda11.3", "", None, true, None),
        ];
        for (found, spec, cuda, platform, expected) in cases {
            let claim = Claim {
                spec: (!spec.is_empty()).then(|| spec.parse().unwrap()),
                cuda: cuda.map(|cuda| cuda.parse().unwrap()),
                platform: platform.then(|| other.parse().unwrap()),
            };
            let settled = settle("x.zip", build(found), &claim).ok();
            assert_eq!(
                settled
                    .map(|build| build.to_string().replace(other, "OTHER"))
                    .as_deref(),
                expected,
                "{found} {spec:?} {cuda:?} {platform}"
            );
        }
    }
}
