//! Archives of every kind that cuDNN comes in, and folders that hold one, put into the store's own layout.
//!
//! - The kind is decided by content ([`kind`]), never by name.
//! - Everything an archive holds passes one gate ([`intake`]), which writes only to `bin`, `include`, `lib` and the root.
//! - Each file is hashed while it is written; checksums of the format and a wheel's own list are compared.
//! - What it is is found from what was written ([`identity`]).
//!
//! On an error the target holds a part; it is a staging folder, which its owner drops.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::companion::{CompanionId, CompanionKind, Dotted};
use crate::error::IoError;
use crate::layout;
use crate::store::FileRecord;
use crate::version::{BuildId, CudaVersion, CudnnVersion, Flavour, Platform};

mod budget;
mod claims;
mod error;
mod identity;
mod inflate;
mod intake;
mod kind;
mod links;
mod rar;
mod record;
mod sevenz;
mod stream;
pub mod tree;
mod zip;

use budget::Budget;
use claims::Claims;
pub use error::Error;
use identity::Evidence;
pub use identity::header_version;
use intake::{CHUNK, Haul, Intake, Rule, Taken, hex};
use kind::Kind;

/// What an archive or tree turned out to hold, found from its content (headers, SONAMEs, version resources).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The fourth part is known only where a version resource or the archive's name tells it.
    pub version: CudnnVersion,
    /// `None` where nothing inside tells it.
    pub variant: Option<CudaVersion>,
    /// Full or jit.
    pub flavour: Flavour,
    /// Where it runs.
    pub platform: Platform,
}

impl Identity {
    /// The build that it is.
    pub fn build(&self) -> BuildId {
        let Self {
            version,
            variant,
            flavour,
            platform,
        } = *self;
        BuildId {
            version,
            variant,
            flavour,
            platform,
        }
    }
}

/// What was put into a staging folder.
#[derive(Debug, Clone)]
pub struct Unpacked {
    /// What it is.
    pub identity: Identity,
    /// Every regular file, hashed while it was written.
    pub files: Vec<FileRecord>,
    /// Links: name → target, both relative with `/`.
    pub links: BTreeMap<String, String>,
    /// Libraries that its libraries open and that are not in it, e.g. `libcublasLt.so.12`.
    pub needs: Vec<String>,
    /// Things a person should know: a name that contradicts the content, a foreign signature.
    pub remarks: Vec<String>,
}

/// A companion that was put into a staging folder.
#[derive(Debug, Clone)]
pub struct UnpackedCompanion {
    /// What it is.
    pub id: CompanionId,
    /// Every regular file, hashed while it was written.
    pub files: Vec<FileRecord>,
    /// Links: name → target, both relative with `/`.
    pub links: BTreeMap<String, String>,
}

/// Unpacks `archive` into the empty folder `target` as `bin`, `include`, `lib` and the licence.
///
/// `progress` hears how many bytes of the archive have been read, as a running total.
///
/// # Errors
///
/// When it is no archive, is damaged, holds no cuDNN, or tries to write outside `target`.
pub fn unpack(
    archive: &Path,
    target: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<Unpacked, Error> {
    let haul = read(archive, target, Rule::Cudnn, progress)?;
    let name = archive
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    finish(archive, target, haul, Claims::of_file_name(&name))
}

/// Unpacks a package of cuBLAS or NVRTC into the empty folder `target`: its libraries, headers and licence.
///
/// # Errors
///
/// As [`unpack`], and when the package holds another library or does not tell its version.
pub fn unpack_companion(
    archive: &Path,
    target: &Path,
    kind: CompanionKind,
    progress: &mut dyn FnMut(u64),
) -> Result<UnpackedCompanion, Error> {
    let haul = read(archive, target, Rule::Companion(kind), progress)?;
    let libraries = read_libraries(archive, target, &haul)?;
    let telling = |platform: Platform| {
        libraries.iter().find_map(|library| {
            let major =
                (6..40).find(|major| kind.libraries(*major, platform).contains(&library.name))?;
            (library.platform == Some(platform)).then_some(major)
        })
    };
    let found = Platform::ALL
        .into_iter()
        .find_map(|platform| Some((platform, telling(platform)?)));
    let Some((platform, cuda_major)) = found else {
        return Err(Error::NoCompanion {
            path: archive.to_owned(),
            wanted: kind.to_string(),
            seems: layout::seems(&haul.others).map(str::to_owned),
        });
    };
    let version = haul
        .notes
        .get("METADATA")
        .and_then(|text| record::metadata_field(text, "Version"))
        .and_then(|text| Dotted::parse(&text))
        .ok_or_else(|| Error::NoCompanion {
            path: archive.to_owned(),
            wanted: format!("{kind} whose version it tells"),
            seems: None,
        })?;
    let made = links::make(archive, target, &haul, &identity::sonames(&libraries))?;
    let mut files: Vec<FileRecord> = haul.taken.values().filter_map(Taken::record).collect();
    files.extend(made.files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let id = CompanionId {
        kind,
        version,
        cuda_major,
        platform,
    };
    Ok(UnpackedCompanion {
        id,
        files,
        links: made.links,
    })
}

/// Size and SHA-256 of a file, read once.
///
/// # Errors
///
/// When it can't be read.
pub fn digest(path: &Path) -> Result<(u64, String), IoError> {
    let mut hasher = Sha256::new();
    let mut size = 0;
    let mut buffer = vec![0; CHUNK];
    let mut file = File::open(path).map_err(IoError::at("read", path))?;
    loop {
        let read = file.read(&mut buffer).map_err(IoError::at("read", path))?;
        if read == 0 {
            return Ok((size, hex(&hasher.finalize())));
        }
        hasher.update(&buffer[..read]);
        size += read as u64;
    }
}

/// Reads an archive, and archives inside it one level deep, into `target`.
fn read(
    archive: &Path,
    target: &Path,
    rule: Rule,
    progress: &mut dyn FnMut(u64),
) -> Result<Haul, Error> {
    let size = archive
        .metadata()
        .map_err(IoError::at("read", archive))?
        .len();
    let intake = Intake::new(archive, target, rule, Budget::for_archive(size));
    read_one(&intake, archive, progress)?;
    let has_libraries = intake.has_libraries();
    let (inner, intake) = intake.inner();
    for path in inner {
        if !path.exists() {
            continue;
        }
        if !has_libraries {
            match read_one(&intake, &path, &mut |_| {}) {
                // A name like an archive's proves nothing; only the package counts.
                Ok(()) | Err(Error::NotAnArchive { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        fs::remove_file(&path).map_err(IoError::at("remove", &path))?;
    }
    let haul = intake.finish();
    record::check(archive, &haul)?;
    Ok(haul)
}

fn read_one(intake: &Intake, path: &Path, progress: &mut dyn FnMut(u64)) -> Result<(), Error> {
    match kind::detect(path)? {
        Ok(Kind::Zip) => zip::unpack(intake, path, progress),
        Ok(Kind::Tar(compression)) => stream::unpack(intake, path, compression, progress),
        Ok(Kind::SevenZip(offset)) => sevenz::unpack(intake, path, offset, progress),
        Ok(Kind::Rar) => rar::unpack(intake, path, progress),
        Err(seems) => Err(Error::NotAnArchive {
            path: path.to_owned(),
            seems,
        }),
    }
}

/// Identifies what was taken and completes it with links.
fn finish(archive: &Path, target: &Path, haul: Haul, name: Claims) -> Result<Unpacked, Error> {
    let note = |name: &str| {
        haul.notes
            .get(name)
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .unwrap_or_default()
    };
    let package =
        Claims::of_metadata(&note("METADATA")).or(Claims::of_conda_index(&note("index.json")));
    let evidence = Evidence {
        headers: identity::header_version(&target.join("include"))?,
        libraries: read_libraries(archive, target, &haul)?,
        package,
        name,
    };
    let conclusion =
        identity::conclude(&evidence).map_err(|problem| match problem.into_error(archive) {
            Error::NoCudnn { path, seems: None } => {
                let seems = layout::seems(&haul.others).map(str::to_owned);
                Error::NoCudnn { path, seems }
            }
            other => other,
        })?;
    let made = links::make(
        archive,
        target,
        &haul,
        &identity::sonames(&evidence.libraries),
    )?;
    let mut files: Vec<FileRecord> = haul.taken.values().filter_map(Taken::record).collect();
    files.extend(made.files);
    files.extend(links::import_libraries(target, &files)?);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Unpacked {
        identity: conclusion.identity,
        files,
        links: made.links,
        needs: conclusion.needs,
        remarks: conclusion.remarks,
    })
}

fn read_libraries(
    archive: &Path,
    target: &Path,
    haul: &Haul,
) -> Result<Vec<identity::Library>, Error> {
    haul.taken
        .values()
        .filter(|taken| taken.place.is_library())
        .map(|taken| identity::library(&target.join(taken.place.path()), archive))
        .collect()
}

#[cfg(test)]
mod tests;
