//! The one gate between any archive and the disk.
//!
//! Readers of the formats offer members by name; the gate checks the name, decides by the layout whether the member is
//! wanted, and hands out a writer to exactly the place it may go. Nothing here or in a reader ever makes a path of an
//! archive's own: files go to `bin`, `include`, `lib` and the root under a checked base name, links are only noted. Each
//! file is hashed while it is written.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use sha2::{Digest, Sha256};

use super::Error;
use super::budget::{Budget, is_exceeded};
use crate::companion::CompanionKind;
use crate::error::IoError;
use crate::layout::{self, Place};
use crate::store::FileRecord;

/// One read or write; large enough to make system calls rare, small enough for many threads.
pub const CHUNK: usize = 256 << 10;
/// The most of a package's own description (`METADATA`, `RECORD`, `index.json`) that is read.
const MAX_NOTE: u64 = 8 << 20;
/// The longest link target that is believed.
const MAX_LINK: u64 = 4096;

/// What is taken from an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// A cuDNN.
    Cudnn,
    /// A library beside it.
    Companion(CompanionKind),
}

impl Rule {
    fn place(self, path: &[String]) -> Option<Place> {
        match self {
            Self::Cudnn => layout::place(path),
            Self::Companion(kind) => layout::place_companion(kind, path),
        }
    }
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Where it is.
    pub place: Place,
    /// The member's full name.
    pub member: String,
    /// Its size and digest; `None` while it is being written.
    pub digest: Option<(u64, String)>,
}

/// A link in the archive whose own name is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where it goes.
    pub place: Place,
    /// The member it points to, as a path in the archive.
    pub target: Vec<String>,
}

#[derive(Debug, Default)]
struct State {
    /// By the name that a file has on a system without case.
    taken: BTreeMap<String, Taken>,
    links: Vec<Link>,
    /// Lower-case member path → where it went.
    members: BTreeMap<String, Place>,
    /// Names of members that were not wanted, some of them: to say what the archive is instead.
    others: Vec<String>,
    notes: BTreeMap<String, Vec<u8>>,
    inner: Vec<PathBuf>,
}

/// See the module.
#[derive(Debug)]
pub struct Intake<'a> {
    archive: &'a Path,
    target: &'a Path,
    rule: Rule,
    budget: Arc<Budget>,
    /// Whether an archive inside the archive may be opened.
    nested: bool,
    state: Mutex<State>,
}

/// What to do with a member.
#[derive(Debug)]
pub enum Wanted {
    /// Nothing.
    No,
    /// Write it there.
    File(Slot),
    /// Read it to know the package; small.
    Note(String),
    /// Keep it aside: it may be the real archive.
    Inner(PathBuf),
}

/// A claimed place.
#[derive(Debug)]
pub struct Slot {
    key: String,
    member: String,
    /// `None` when the place is taken: the content is only compared.
    path: Option<PathBuf>,
}

/// All that was taken.
#[derive(Debug, Default)]
pub struct Haul {
    /// Files by their place's key.
    pub taken: BTreeMap<String, Taken>,
    /// Links.
    pub links: Vec<Link>,
    /// Where each member went, by lower-case member path.
    pub members: BTreeMap<String, Place>,
    /// Some names of members that were left.
    pub others: Vec<String>,
    /// Descriptions by member name.
    pub notes: BTreeMap<String, Vec<u8>>,
}

impl Slot {
    /// Whether the place was taken before: the content is compared, not written.
    pub fn is_copy(&self) -> bool {
        self.path.is_none()
    }
}

impl<'a> Intake<'a> {
    pub fn new(archive: &'a Path, target: &'a Path, rule: Rule, budget: Budget) -> Self {
        Self {
            archive,
            target,
            rule,
            budget: Arc::new(budget),
            nested: true,
            state: Mutex::default(),
        }
    }

    pub fn archive(&self) -> &Path {
        self.archive
    }

    pub fn target(&self) -> &Path {
        self.target
    }

    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Decides about a regular file and claims its place.
    ///
    /// # Errors
    ///
    /// For a name that is not safe, or too many members.
    pub fn offer(&self, name: &str) -> Result<Wanted, Error> {
        let path = self.check(name)?;
        if let Some(note) = note_name(&path) {
            return Ok(Wanted::Note(note));
        }
        let mut state = self.state();
        let Some(place) = self.rule.place(&path) else {
            if state.others.len() < 4096 {
                state.others.push(name.to_owned());
            }
            if self.nested && layout::is_inner_archive(&path) {
                let aside = self.target.join(format!(".inner-{}", state.inner.len()));
                state.inner.push(aside.clone());
                return Ok(Wanted::Inner(aside));
            }
            return Ok(Wanted::No);
        };
        state
            .members
            .insert(path.join("/").to_lowercase(), place.clone());
        drop(state);
        Ok(Wanted::File(self.claim(place, name)))
    }

    /// Claims a place for a file whose place is known.
    pub fn claim(&self, place: Place, name: &str) -> Slot {
        let mut state = self.state();
        let key = place.key();
        let path = match state.taken.get(&key) {
            Some(_) => None,
            None => {
                let path = self.target.join(place.path());
                let taken = Taken {
                    place,
                    member: name.to_owned(),
                    digest: None,
                };
                state.taken.insert(key.clone(), taken);
                Some(path)
            }
        };
        Slot {
            key,
            member: name.to_owned(),
            path,
        }
    }

    /// Notes a symbolic link, or a hard link with a path relative to the archive's top if `from_top`.
    ///
    /// # Errors
    ///
    /// For a name or target that is not safe, whether or not it is wanted.
    pub fn offer_link(&self, name: &str, target: &str, from_top: bool) -> Result<(), Error> {
        let path = self.check(name)?;
        let from: &[String] = if from_top { &[] } else { &path };
        let target =
            layout::link_target(from, target).map_err(|why| self.unsafe_member(name, why))?;
        if let Some(place) = self.rule.place(&path) {
            self.state().links.push(Link { place, target });
        }
        Ok(())
    }

    /// Checks a folder's name; folders are never made.
    ///
    /// # Errors
    ///
    /// For a name that is not safe.
    pub fn offer_folder(&self, name: &str) -> Result<(), Error> {
        match layout::member_path(name) {
            // `./` in tar files.
            Err(layout::Unsafe::Empty) => Ok(()),
            _ => self.check(name).map(drop),
        }
    }

    /// Opens the place of a member for writing.
    ///
    /// # Errors
    ///
    /// When the file can't be made.
    pub fn open(&self, slot: &Slot) -> Result<FileWriter, Error> {
        let file = match &slot.path {
            None => None,
            Some(path) => {
                let parent = path.parent().expect("a place is below the target");
                fs::create_dir_all(parent).map_err(IoError::at("create", parent))?;
                Some(File::create_new(path).map_err(IoError::at("create", path))?)
            }
        };
        Ok(FileWriter {
            file,
            hasher: Sha256::new(),
            size: 0,
            budget: Arc::clone(&self.budget),
            disk_error: None,
        })
    }

    /// Closes a place: records the file, or compares it with the one that was there first.
    ///
    /// # Errors
    ///
    /// When two different files want one name.
    pub fn close(&self, slot: Slot, writer: FileWriter) -> Result<(), Error> {
        let digest = writer.finish();
        let mut state = self.state();
        let taken = state
            .taken
            .get_mut(&slot.key)
            .expect("a slot is a claimed place");
        match (&slot.path, &taken.digest) {
            (Some(_), _) => taken.digest = Some(digest),
            // Licences of packages in a package differ; one is enough.
            (None, _) if taken.place.folder == layout::Folder::Root => {}
            (None, Some(first)) if *first == digest => {}
            (None, Some(_)) => return Err(self.conflict(taken, &slot.member)),
            // The first is still being written by another thread.
            (None, None) => return Err(self.conflict(taken, &slot.member)),
        }
        Ok(())
    }

    fn conflict(&self, first: &Taken, second: &str) -> Error {
        Error::Conflict {
            path: self.archive.to_owned(),
            name: first.place.path(),
            first: first.member.clone(),
            second: second.to_owned(),
        }
    }

    /// Takes one member whole from a reader that yields its content.
    ///
    /// # Errors
    ///
    /// When reading or writing fails, or the content conflicts with another member.
    pub fn take(&self, wanted: Wanted, name: &str, content: &mut dyn BufRead) -> Result<(), Error> {
        match wanted {
            Wanted::No => Ok(()),
            Wanted::Note(note) => {
                let bytes = self.read_small(name, content, MAX_NOTE)?;
                self.note(note, bytes);
                Ok(())
            }
            Wanted::Inner(path) => {
                let mut file = File::create_new(&path).map_err(IoError::at("create", &path))?;
                self.copy(name, content, |bytes| {
                    self.budget
                        .take(bytes.len() as u64)
                        .map_err(|_| self.too_large())?;
                    Ok(file.write_all(bytes).map_err(IoError::at("write", &path))?)
                })
            }
            Wanted::File(slot) => {
                let mut writer = self.open(&slot)?;
                self.copy(name, content, |bytes| {
                    writer
                        .write_all(bytes)
                        .map_err(|error| self.write_error(&mut writer, &slot, error))
                })?;
                self.close(slot, writer)
            }
        }
    }

    /// Keeps a description of the package.
    pub fn note(&self, name: String, bytes: Vec<u8>) {
        self.state().notes.insert(name, bytes);
    }

    /// A link target or description, whole.
    ///
    /// # Errors
    ///
    /// When reading fails or it is longer than it can be.
    pub fn read_small(
        &self,
        name: &str,
        content: &mut dyn Read,
        most: u64,
    ) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        content
            .take(most + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| self.read_error(Some(name), error))?;
        if bytes.len() as u64 > most {
            return Err(self.damaged(Some(name), "its description is too long"));
        }
        Ok(bytes)
    }

    /// The target text of a link whose content it is.
    ///
    /// # Errors
    ///
    /// As [`Intake::read_small`].
    pub fn read_link(&self, name: &str, content: &mut dyn Read) -> Result<String, Error> {
        let bytes = self.read_small(name, content, MAX_LINK)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The error of writing to a place: the disk's, or too much.
    pub fn write_error(&self, writer: &mut FileWriter, slot: &Slot, error: io::Error) -> Error {
        match (writer.disk_error.take(), &slot.path) {
            (Some(error), Some(path)) => IoError::at("write", path)(error).into(),
            _ => self.read_error(Some(&slot.member), error),
        }
    }

    /// The error of reading the archive: damage, or more than is believed.
    pub fn read_error(&self, member: Option<&str>, error: io::Error) -> Error {
        if is_exceeded(&error) {
            return self.too_large();
        }
        match error.kind() {
            // What decoders say about bad data; the rest is the disk's.
            io::ErrorKind::InvalidData
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::Other
            | io::ErrorKind::Unsupported => self.damaged(member, error),
            _ => IoError::at("read", self.archive)(error).into(),
        }
    }

    pub fn damaged(
        &self,
        member: Option<&str>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        Error::Damaged {
            path: self.archive.to_owned(),
            member: member.map(str::to_owned),
            source: source.into(),
        }
    }

    pub fn too_large(&self) -> Error {
        Error::TooLarge {
            path: self.archive.to_owned(),
            limit: self.budget.limit(),
        }
    }

    /// The archives that were put aside, and an intake that opens no further ones.
    pub fn inner(self) -> (Vec<PathBuf>, Self) {
        let inner = std::mem::take(&mut self.state().inner);
        (
            inner,
            Self {
                nested: false,
                ..self
            },
        )
    }

    /// Whether anything but a licence was taken.
    pub fn has_libraries(&self) -> bool {
        self.state()
            .taken
            .values()
            .any(|taken| taken.place.is_library())
    }

    pub fn finish(self) -> Haul {
        let state = self
            .state
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        Haul {
            taken: state.taken,
            links: state.links,
            members: state.members,
            others: state.others,
            notes: state.notes,
        }
    }

    fn check(&self, name: &str) -> Result<Vec<String>, Error> {
        if !self.budget.member() {
            return Err(Error::TooManyMembers {
                path: self.archive.to_owned(),
                limit: self.budget.member_limit(),
            });
        }
        layout::member_path(name).map_err(|why| self.unsafe_member(name, why))
    }

    fn unsafe_member(&self, name: &str, why: layout::Unsafe) -> Error {
        Error::Unsafe {
            path: self.archive.to_owned(),
            member: name.chars().take(200).collect(),
            why,
        }
    }

    fn copy(
        &self,
        name: &str,
        content: &mut dyn BufRead,
        mut write: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        loop {
            let count = match content.fill_buf() {
                Ok([]) => return Ok(()),
                Ok(bytes) => {
                    write(bytes)?;
                    bytes.len()
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.read_error(Some(name), error)),
            };
            content.consume(count);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panicking worker is passed on by its scope; until then the state is only read.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Writes one file and hashes what it writes.
#[derive(Debug)]
pub struct FileWriter {
    file: Option<File>,
    hasher: Sha256,
    size: u64,
    budget: Arc<Budget>,
    disk_error: Option<io::Error>,
}

impl FileWriter {
    fn finish(self) -> (u64, String) {
        (self.size, hex(&self.hasher.finalize()))
    }
}

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.budget.take(bytes.len() as u64)?;
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_all(bytes)
        {
            let kind = error.kind();
            self.disk_error = Some(error);
            return Err(kind.into());
        }
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Taken {
    /// What the receipt says of it.
    pub fn record(&self) -> Option<FileRecord> {
        let (size, sha256) = self.digest.clone()?;
        Some(FileRecord {
            path: self.place.path(),
            size,
            sha256,
        })
    }
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// A package's description of itself, by a short name.
fn note_name(path: &[String]) -> Option<String> {
    let [.., folder, name] = path else {
        return None;
    };
    let wheel = folder.ends_with(".dist-info") && matches!(&**name, "METADATA" | "RECORD");
    let conda = path.len() == 2 && folder == "info" && name == "index.json";
    (wheel || conda).then(|| name.clone())
}
