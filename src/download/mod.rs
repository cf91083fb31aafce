//! One file from one address, whole and verified: resumable, patient with bad lines, strict with digests.
//!
//! [`fetch`] keeps what has arrived in `NAME.part`, across failures and kills. Only a file of a known digest gets its
//! final name; a file of another digest is removed at once.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::error::IoError;
use crate::manifest::Digest;

mod client;
mod credentials;
mod error;
mod follower;
mod part;
mod transfer;

pub use client::{Client, Document, Options};
pub use credentials::shown;
pub use error::{Cause, Error};

use part::Part;
use transfer::{Mode, Stop, Whole};

/// What to fetch.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// From where: `https`, `http` or `file`.
    pub url: &'a Url,
    /// The folder for it; must exist.
    pub folder: &'a Path,
    /// Its name there.
    pub file: &'a str,
    /// Digests of which one must be its. With none, whatever comes is taken.
    pub digests: &'a [Digest],
    /// Its length, where known.
    pub size: Option<u64>,
    /// More than this is refused.
    pub limit: Option<u64>,
}

/// A verified file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Where it lies.
    pub path: PathBuf,
    /// Its SHA-256, lower-case hexadecimal.
    pub sha256: String,
    /// In bytes.
    pub size: u64,
    /// It lies in the folder that was given, so it is ours to remove.
    pub ours: bool,
}

/// What happens on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// So many bytes are there from an earlier attempt.
    Resumed(u64),
    /// So many bytes are there now.
    Arrived {
        /// Of these.
        done: u64,
        /// Of the whole, where known.
        total: Option<u64>,
    },
    /// Something failed and is tried again after a while.
    Trouble {
        /// What.
        error: String,
        /// How long it waits.
        wait: Duration,
    },
    /// What had arrived is of no use.
    StartedOver(&'static str),
}

/// Fetches a file and verifies it.
///
/// # Errors
///
/// When it can't be had whole. After a failure of the network what has arrived is kept for the next time; after a
/// failure of the content nothing is.
pub fn fetch(
    client: &Client,
    request: &Request<'_>,
    listener: &mut dyn FnMut(Event),
) -> Result<Fetched, Error> {
    // The name comes from a list or an index: it must name a file in the folder and nothing else.
    if Path::new(request.file).file_name() != Some(request.file.as_ref())
        || request.file.contains(['/', '\\', ':'])
    {
        return Err(Error::BadAddress {
            url: request.file.to_owned(),
            why: "it is no plain file name".to_owned(),
        });
    }
    let target = request.folder.join(request.file);
    if let Some(kept) = kept(request, &target)? {
        return Ok(kept);
    }
    if request.url.scheme() == "file" {
        return local(request);
    }
    let path = request.folder.join(format!("{}.part", request.file));
    let address = shown(request.url);
    let mut mode = Mode::Ranged;
    for _ in 0..3 {
        let part = Part::open(&path, &address)?;
        let resumed = part.done().len() > 0;
        match transfer::complete(client, request, &part, mode, listener) {
            Ok(whole) => {
                // Some servers call a `.tgz` "gzip-encoded"; then the bytes as they came are the file.
                let packed =
                    whole.gzip && (request.digests.is_empty() || !matches(request, &whole.sha256));
                let whole = if packed {
                    inflate(request, &part, &target)?
                } else {
                    whole
                };
                if matches(request, &whole.sha256) {
                    if packed {
                        part.remove();
                    } else {
                        part.finish(&target)?;
                    }
                    return Ok(Fetched {
                        path: target,
                        sha256: whole.sha256,
                        size: whole.size,
                        ours: true,
                    });
                }
                part.remove();
                let _ = fs::remove_file(&target);
                if resumed {
                    // The earlier part may be the culprit; a fresh file tells.
                    listener(Event::StartedOver(
                        "the part from an earlier attempt was damaged",
                    ));
                    continue;
                }
                return Err(Error::WrongDigest {
                    file: request.file.to_owned(),
                    found: whole.sha256,
                    expected: request.digests.to_vec(),
                });
            }
            Err(Stop::StartOver(next, why)) => {
                part.remove();
                listener(Event::StartedOver(why));
                mode = next;
            }
            Err(Stop::Failed(error)) => {
                // Not one byte, or bytes that are no use: leave nothing behind.
                if part.done().len() == 0 || !error.is_network() {
                    part.remove();
                }
                return Err(error);
            }
            Err(Stop::CalledOff) => {
                unreachable!("only a failed worker calls the others off, and its failure is told")
            }
        }
    }
    Err(Error::Changing { url: address })
}

/// SHA-256 and length of a file.
///
/// # Errors
///
/// When it can't be read.
pub fn digest_of(path: &Path) -> Result<(String, u64), IoError> {
    let mut file = File::open(path).map_err(IoError::at("read", path))?;
    digest_of_reader(&mut file).map_err(IoError::at("read", path))
}

fn digest_of_reader(reader: &mut impl Read) -> std::io::Result<(String, u64)> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut size = 0;
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok((hexadecimal(&hash.finalize()), size)),
            Ok(count) => {
                hash.update(&buffer[..count]);
                size += count as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Lower-case hexadecimal.
fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn matches(request: &Request<'_>, sha256: &str) -> bool {
    request.digests.is_empty()
        || request
            .digests
            .iter()
            .any(|digest| digest.sha256.eq_ignore_ascii_case(sha256))
}

/// A complete file that an earlier run kept. Without a known digest there is nothing to trust it by.
fn kept(request: &Request<'_>, target: &Path) -> Result<Option<Fetched>, Error> {
    if !target.is_file() {
        return Ok(None);
    }
    let (sha256, size) = digest_of(target)?;
    if !request.digests.is_empty() && matches(request, &sha256) {
        return Ok(Some(Fetched {
            path: target.to_owned(),
            sha256,
            size,
            ours: true,
        }));
    }
    fs::remove_file(target).map_err(IoError::at("remove", target))?;
    Ok(None)
}

/// A file on this machine, read where it lies.
fn local(request: &Request<'_>) -> Result<Fetched, Error> {
    let path = request.url.to_file_path().map_err(|()| Error::BadAddress {
        url: shown(request.url),
        why: "it names no path of this machine".to_owned(),
    })?;
    let (sha256, size) = digest_of(&path)?;
    if !matches(request, &sha256) {
        return Err(Error::WrongDigest {
            file: path.display().to_string(),
            found: sha256,
            expected: request.digests.to_vec(),
        });
    }
    Ok(Fetched {
        path,
        sha256,
        size,
        ours: false,
    })
}

/// Takes off the compression that a server put on although it was asked not to.
fn inflate(request: &Request<'_>, part: &Part, target: &Path) -> Result<Whole, Error> {
    let limit = request.size.or(request.limit).unwrap_or(u64::MAX);
    let packed = File::open(part.path()).map_err(IoError::at("read", part.path()))?;
    let mut reader =
        MultiGzDecoder::new(std::io::BufReader::new(packed)).take(limit.saturating_add(1));
    let mut file = File::create(target).map_err(IoError::at("create", target))?;
    let written = std::io::copy(&mut reader, &mut file);
    drop(file);
    let outcome = written
        .map_err(IoError::at("decompress", part.path()))
        .and_then(|_| digest_of(target));
    match outcome {
        Ok((sha256, size)) => Ok(Whole {
            sha256,
            size,
            gzip: true,
        }),
        Err(error) => {
            let _ = fs::remove_file(target);
            Err(error.into())
        }
    }
}
