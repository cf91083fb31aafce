//! RAR 1.5 to 7: what Chinese download sites serve.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

use rars::{ArchiveReadOptions, ErrorKind, ExtractedLink, Rar50Scratch};

use super::Error;
use super::intake::{FileWriter, Intake, Slot, Wanted};
use crate::error::IoError;

/// A member is decoded in memory up to here, beyond it through a file on disk.
const IN_MEMORY: u64 = 16 << 20;
/// WinRAR's own limit for a dictionary without asking is 4 GB; a cuDNN packed with more than this is refused.
const DICTIONARY: u64 = 512 << 20;

pub fn unpack(intake: &Intake, path: &Path, progress: &mut dyn FnMut(u64)) -> Result<(), Error> {
    let limit = intake.budget().limit();
    let scratch_folder = intake.target().join(".scratch");
    let scratch = Rar50Scratch::new(&scratch_folder, limit.saturating_mul(2))
        .with_filter_memory_limit(IN_MEMORY * 2);
    let options = ArchiveReadOptions::new()
        .with_max_header_count(400_000)
        .with_max_total_output_bytes(limit)
        .with_rar50_dictionary_size_limit(DICTIONARY)
        .with_rar50_buffered_decode_limit(IN_MEMORY)
        .with_rar50_scratch(&scratch);
    let archive = rars::ArchiveReader::read_path_with_options(path, options)
        .map_err(|error| rar_error(intake, error))?;
    let (mut packed, mut total) = (Vec::new(), 0);
    for member in archive.members() {
        if member.meta.is_split_before || member.meta.is_split_after {
            return Err(Error::Unsupported {
                path: intake.archive().to_owned(),
                what: "it is one part of several; unpack them together and give the folder"
                    .to_owned(),
            });
        }
        if member.meta.is_encrypted {
            return Err(Error::Encrypted {
                path: intake.archive().to_owned(),
            });
        }
        total += member.meta.packed_size;
        packed.push(total);
    }
    fs::create_dir_all(&scratch_folder).map_err(IoError::at("create", &scratch_folder))?;
    let open: RefCell<Vec<Open>> = RefCell::default();
    let failed: RefCell<Option<Error>> = RefCell::default();
    let mut count = 0;
    let done = archive.extract_with_links(
        options,
        |meta| {
            progress(packed.get(count).copied().unwrap_or(total));
            count += 1;
            stop_on_error(&failed, || {
                let name = meta.name_lossy();
                if meta.is_directory {
                    intake.offer_folder(&name)?;
                    return Ok(Box::new(io::sink()) as Box<dyn Write>);
                }
                Ok(match intake.offer(&name)? {
                    Wanted::No => Box::new(io::sink()),
                    Wanted::Inner(_) if intake.has_libraries() => Box::new(io::sink()),
                    Wanted::Inner(path) => {
                        Box::new(File::create_new(&path).map_err(IoError::at("create", &path))?)
                    }
                    Wanted::Note(note) => {
                        let bytes = Rc::new(RefCell::new(Some(Vec::new())));
                        open.borrow_mut().push(Open::Note(note, Rc::clone(&bytes)));
                        Box::new(Shared(bytes))
                    }
                    Wanted::File(slot) => {
                        let writer = Rc::new(RefCell::new(Some(intake.open(&slot)?)));
                        open.borrow_mut().push(Open::File(slot, Rc::clone(&writer)));
                        Box::new(Shared(writer))
                    }
                })
            })
        },
        |meta, link| {
            stop_on_error(&failed, || {
                let name = meta.name_lossy();
                let target = String::from_utf8_lossy(link.target()).into_owned();
                let from_top = matches!(
                    link,
                    ExtractedLink::HardLink { .. } | ExtractedLink::FileCopy { .. }
                );
                intake.offer_link(&name, &target, from_top)
            })
        },
    );
    if let Some(error) = failed.into_inner() {
        return Err(error);
    }
    let mut open = open.into_inner();
    if let Err(error) = done {
        // The last one open is where it stopped: the disk may have been the reason.
        return Err(match open.pop() {
            Some(Open::File(slot, writer)) if error.kind() == ErrorKind::Io => {
                let mut writer = writer.borrow_mut().take().expect("nothing is closed yet");
                intake.write_error(&mut writer, &slot, io::Error::other(error))
            }
            _ => rar_error(intake, error),
        });
    }
    close_all(intake, open)?;
    // Empty by now; left in place it would be part of the build.
    let _ = fs::remove_dir_all(&scratch_folder);
    progress(total);
    Ok(())
}

/// A member that is being written. RAR's reader owns one half, and does not say when it is through with it; the other
/// half stays here and is closed when all is read.
enum Open {
    File(Slot, Half<FileWriter>),
    Note(String, Half<Vec<u8>>),
}

type Half<W> = Rc<RefCell<Option<W>>>;

struct Shared<W>(Half<W>);

impl<W: Write> Write for Shared<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.0.borrow_mut() {
            Some(writer) => writer.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn close_all(intake: &Intake, open: Vec<Open>) -> Result<(), Error> {
    for opened in open {
        match opened {
            Open::Note(name, bytes) => intake.note(name, bytes.take().unwrap_or_default()),
            Open::File(slot, writer) => {
                let writer = writer.take().expect("each is closed once");
                intake.close(slot, writer)?;
            }
        }
    }
    Ok(())
}

/// Keeps our own error, since RAR's reader can carry only its own.
fn stop_on_error<T>(
    failed: &RefCell<Option<Error>>,
    operation: impl FnOnce() -> Result<T, Error>,
) -> rars::Result<T> {
    operation().map_err(|error| {
        *failed.borrow_mut() = Some(error);
        rars::Error::Cancelled
    })
}

fn rar_error(intake: &Intake, error: rars::Error) -> Error {
    let path = intake.archive().to_owned();
    match error.kind() {
        // We are built without its decryption.
        _ if matches!(error, rars::Error::FeatureDisabled { .. }) => Error::Encrypted { path },
        ErrorKind::PasswordRequired | ErrorKind::BadPassword => Error::Encrypted { path },
        ErrorKind::ResourceLimit => match error {
            rars::Error::Rar50DictionaryLimitExceeded { required, .. } => Error::Unsupported {
                path,
                what: format!("unpacking it takes {} MB of memory", required >> 20),
            },
            rars::Error::HeaderCountLimitExceeded { .. } => Error::TooManyMembers {
                path,
                limit: intake.budget().member_limit(),
            },
            _ => intake.too_large(),
        },
        ErrorKind::UnsupportedFeature | ErrorKind::UnsupportedFormat => Error::Unsupported {
            path,
            what: error.to_string(),
        },
        _ => intake.damaged(None, error),
    }
}
