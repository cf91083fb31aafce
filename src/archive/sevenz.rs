//! 7z, also behind a program (NVIDIA's Windows installers).

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use sevenz_rust2::{ArchiveReader, Password};

use super::Error;
use super::intake::{CHUNK, Intake, Wanted};
use crate::error::IoError;

/// Dictionaries up to this size (in KiB): `7z -mx=9` uses 64 MiB, hand-set ones go higher and are still unpacked.
const MEMORY_KIB: usize = 512 << 10;
/// In 7-Zip's attributes: the upper half is a Unix mode.
const UNIX_EXTENSION: u32 = 0x8000;

pub fn unpack(
    intake: &Intake,
    path: &Path,
    offset: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Error> {
    let file = File::open(path).map_err(IoError::at("open", path))?;
    let mut source = Tail {
        inner: BufReader::with_capacity(1 << 20, file),
        start: offset,
    };
    source
        .seek(SeekFrom::Start(0))
        .map_err(IoError::at("read", path))?;
    let size = path.metadata().map_err(IoError::at("read", path))?.len();
    let mut archive = ArchiveReader::new_with_memory_limit(source, Password::empty(), MEMORY_KIB)
        .map_err(|error| seven_error(intake, None, error))?;
    let declared = archive
        .archive()
        .files
        .iter()
        .fold(0u64, |sum, entry| sum.saturating_add(entry.size()));
    if !intake.budget().allows(declared) {
        return Err(intake.too_large());
    }
    // The decoder does not tell how far it has read; the share of bytes that came out stands for it.
    let (mut out, mut failed) = (0u64, None);
    let done = archive.for_each_entries(|entry, content| {
        let name = entry.name().to_owned();
        let taken = take(intake, entry, &name, content);
        out = out.saturating_add(entry.size());
        progress((u128::from(size) * u128::from(out) / u128::from(declared.max(1))) as u64);
        match taken {
            Ok(()) => Ok(true),
            Err(error) => {
                failed = Some(error);
                Err(io::Error::other("stopped").into())
            }
        }
    });
    match (failed, done) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(seven_error(intake, None, error)),
        (None, Ok(())) => Ok(()),
    }
}

fn take(
    intake: &Intake,
    entry: &sevenz_rust2::ArchiveEntry,
    name: &str,
    content: &mut dyn Read,
) -> Result<(), Error> {
    if entry.is_directory() {
        return intake.offer_folder(name);
    }
    let attributes = entry.windows_attributes();
    if attributes & UNIX_EXTENSION != 0 && attributes >> 28 == 0o12 {
        let target = intake.read_link(name, content)?;
        return intake.offer_link(name, &target, false);
    }
    match intake.offer(name)? {
        Wanted::Inner(_) if intake.has_libraries() => Ok(()),
        wanted => intake.take(wanted, name, &mut BufReader::with_capacity(CHUNK, content)),
    }
}

fn seven_error(intake: &Intake, member: Option<&str>, error: sevenz_rust2::Error) -> Error {
    use sevenz_rust2::Error as Seven;
    let path = intake.archive().to_owned();
    match error {
        Seven::Io(error, _) | Seven::FileOpen(error, _) => intake.read_error(member, error),
        Seven::PasswordRequired | Seven::MaybeBadPassword(_) => Error::Encrypted { path },
        Seven::UnsupportedCompressionMethod(method) if method.to_uppercase().contains("AES") => {
            Error::Encrypted { path }
        }
        Seven::UnsupportedCompressionMethod(method) => Error::Unsupported {
            path,
            what: format!("it uses the compression method {method}"),
        },
        Seven::MaxMemLimited { actaul_kb, .. } => Error::Unsupported {
            path,
            what: format!("unpacking it takes {} MB of memory", actaul_kb >> 10),
        },
        other => intake.damaged(member, other),
    }
}

/// A file from an offset on.
struct Tail<R> {
    inner: R,
    start: u64,
}

impl<R: Read> Read for Tail<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer)
    }
}

impl<R: Seek> Seek for Tail<R> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        let position = match position {
            SeekFrom::Start(at) => SeekFrom::Start(at.saturating_add(self.start)),
            other => other,
        };
        let at = self.inner.seek(position)?;
        at.checked_sub(self.start)
            .ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}
