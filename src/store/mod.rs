//! The store: a folder in which each cuDNN has a folder of its own.
//!
//! What it promises:
//! - A build appears by one rename or not at all, with its receipt inside; afterwards nothing edits it.
//! - Removal renames into `trash` first, so a name is free at once and a half-deleted build is never seen.
//! - Every file that is read without a lock is replaced whole.
//! - Work in progress lives in `.cudnnm/staging`, each with a lock file that its process holds. Whoever can take that
//!   lock knows the owner is gone (also after `kill -9`) and clears it away: see [`Store::sweep`].
//! - A file in `downloads` is used and removed only under the lock of its name.
//! - Asking for a path never creates it; a store on a read-only share serves every reading command.
//!
//! The names of folders carry all that choosing needs, so [`Store::contents`] is one directory listing and no more.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::companion::CompanionId;
use crate::error::{Exit, Failure, IoError};
use crate::version::BuildId;

mod dedupe;
mod disk;
mod projects;
mod receipt;
mod verify;

pub use disk::{link_or_copy, remove_tree, rename, replace_file};
pub use receipt::{
    FileRecord, Package, Receipt, SCHEMA as RECEIPT_SCHEMA, Signatures, Trust, now_utc, utc,
};
pub use verify::{Damage, DamageKind};

/// The name of the receipt inside a build's folder.
pub const RECEIPT: &str = "receipt.toml";

/// What a person is told when [`Store::publish`] has to wait.
pub const HELD: &str =
    "waiting for another program, probably an antivirus, to let go of the new files";

/// What can go wrong in the store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A receipt that can't be understood.
    #[error("the receipt `{}` can't be read", path.display())]
    BadReceipt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<toml::de::Error>,
    },
    /// A receipt of a newer cudnnm.
    #[error("the receipt `{}` has schema {found}; this cudnnm knows {}", path.display(), receipt::SCHEMA)]
    NewerReceipt {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
    },
    /// No such build.
    #[error("{build} is not installed")]
    NotInstalled {
        /// Which.
        build: String,
    },
    /// A folder with a build's name and no receipt in it.
    #[error("{build} is damaged: `{}` has no receipt", path.display())]
    Incomplete {
        /// Which.
        build: String,
        /// Its folder.
        path: PathBuf,
    },
    /// Somebody else holds a lock for too long.
    #[error("another cudnnm has been working on {what} for {} seconds", waited.as_secs())]
    Busy {
        /// On what.
        what: String,
        /// How long we waited.
        waited: Duration,
    },
    /// A file system without locks.
    #[error("`{}` lies on a file system without file locks, where two installs could damage each other", path.display())]
    NoLocks {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file of the build is open in a running program.
    #[error("{what} is in use by a running program")]
    InUse {
        /// Which build.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A relative `CUDNNM_ROOT`.
    #[error("CUDNNM_ROOT is `{}`, which is not an absolute path", path.display())]
    RelativeRoot {
        /// As set.
        path: PathBuf,
    },
    /// No home folder to put the store in.
    #[error("there is no home folder to put the store in")]
    NoHome,
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::Io(error) => error.exit(),
            Self::NotInstalled { .. } | Self::Incomplete { .. } => Exit::NotInstalled,
            Self::Busy { .. } | Self::InUse { .. } => Exit::Busy,
            Self::RelativeRoot { .. } => Exit::Usage,
            Self::BadReceipt { .. }
            | Self::NewerReceipt { .. }
            | Self::NoLocks { .. }
            | Self::NoHome => Exit::Failed,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Io(error) => error.hints(),
            Self::BadReceipt { path, .. } => {
                let build = path
                    .parent()
                    .and_then(Path::file_name)
                    .and_then(|name| BuildId::from_folder(name.to_str()?));
                build
                    .map(|build| format!("put it right with: cudnnm install --force {build}"))
                    .into_iter()
                    .collect()
            }
            Self::NewerReceipt { .. } => {
                vec!["a newer cudnnm installed it; update this one".to_owned()]
            }
            Self::NotInstalled { build } => vec![
                format!("cudnnm install {build}"),
                "what is there: cudnnm list".to_owned(),
            ],
            Self::Incomplete { build, .. } => {
                vec![format!("put it right with: cudnnm install --force {build}")]
            }
            Self::Busy { .. } => vec!["wait for it to end, or end it, then try again".to_owned()],
            Self::NoLocks { .. } => vec!["set CUDNNM_ROOT to a folder on a local disk".to_owned()],
            Self::InUse { .. } => vec![
                "close the programs that use it (Python, a notebook kernel), then try again"
                    .to_owned(),
            ],
            Self::RelativeRoot { path } => vec![format!(
                "set it to a full path, like {}",
                example_root(path).display()
            )],
            Self::NoHome => {
                vec!["set CUDNNM_ROOT to the folder that shall hold the builds".to_owned()]
            }
        }
    }
}

fn example_root(relative: &Path) -> PathBuf {
    Path::new(if cfg!(windows) { r"D:\" } else { "/" }).join(relative)
}

/// What one listing of the root shows, newest version first.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    /// Installed builds of every platform.
    pub builds: Vec<BuildId>,
    /// Installed companions of every platform.
    pub companions: Vec<CompanionId>,
}

/// The store at one root.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// The store at `root`, which need not exist yet.
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// The folder that holds the builds.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A build's folder.
    pub fn build_folder(&self, build: &BuildId) -> PathBuf {
        self.root.join(build.folder())
    }

    /// A companion's folder.
    pub fn companion_folder(&self, companion: &CompanionId) -> PathBuf {
        self.root.join(companion.folder())
    }

    /// `settings.toml`.
    pub fn settings_file(&self) -> PathBuf {
        self.internal().join("settings.toml")
    }

    /// Manifests newer than the built-in ones.
    pub fn manifests(&self) -> PathBuf {
        self.root.join("manifests")
    }

    /// Launcher copies.
    pub fn shims(&self) -> PathBuf {
        self.root.join("shims")
    }

    /// Partial and kept archives.
    pub fn downloads(&self) -> PathBuf {
        self.internal().join("downloads")
    }

    /// Small answers worth remembering.
    pub fn cache(&self) -> PathBuf {
        self.internal().join("cache")
    }

    /// Python preludes.
    pub fn preludes(&self) -> PathBuf {
        self.internal().join("preludes")
    }

    /// Removed builds on their way out.
    pub fn trash(&self) -> PathBuf {
        self.internal().join("trash")
    }

    /// Builds that are being put together.
    pub fn staging(&self) -> PathBuf {
        self.internal().join("staging")
    }

    fn internal(&self) -> PathBuf {
        self.root.join(".cudnnm")
    }

    /// What is installed. One directory listing; names that are not ours are skipped.
    ///
    /// # Errors
    ///
    /// When the root is there but can't be read. A missing root is an empty store.
    pub fn contents(&self) -> Result<Contents, Error> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Contents::default());
            }
            Err(error) => return Err(IoError::at("read", &self.root)(error).into()),
        };
        let mut contents = Contents::default();
        for entry in entries {
            let name = entry.map_err(IoError::at("read", &self.root))?.file_name();
            let Some(name) = name.to_str() else { continue };
            if let Some(build) = BuildId::from_folder(name) {
                contents.builds.push(build);
            } else if let Some(companion) = CompanionId::from_folder(name) {
                contents.companions.push(companion);
            }
        }
        contents.builds.sort_by(|a, b| b.cmp(a));
        contents.companions.sort_by(|a, b| b.cmp(a));
        Ok(contents)
    }

    /// Whether a build or companion of this folder name is complete: its receipt comes with the rename that made it.
    pub fn has(&self, folder: &str) -> bool {
        self.root.join(folder).join(RECEIPT).is_file()
    }

    /// The receipt in a folder of the store.
    ///
    /// # Errors
    ///
    /// When there is none, or it can't be understood.
    pub fn receipt(&self, folder: &str) -> Result<Receipt, Error> {
        let path = self.root.join(folder).join(RECEIPT);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let build = BuildId::from_folder(folder)
                    .map_or_else(|| folder.to_owned(), |build| build.to_string());
                return Err(Error::NotInstalled { build });
            }
            Err(error) => return Err(IoError::at("read", &path)(error).into()),
        };
        Receipt::parse(&path, &text)
    }

    /// An empty folder on the store's own volume in which a build is put together.
    ///
    /// # Errors
    ///
    /// When it can't be made, or the file system knows no locks.
    pub fn stage(&self, folder: &str) -> Result<Staging, Error> {
        let base = self.staging();
        create_dir_all(&base)?;
        loop {
            let name = unique(folder);
            let lock_path = base.join(format!("{name}.lock"));
            let lock = open_lock(&lock_path)?;
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(source)) => {
                    let _ = fs::remove_file(&lock_path);
                    return Err(Error::NoLocks {
                        path: lock_path,
                        source,
                    });
                }
            }
            // A sweeper may have taken the file between its creation and our lock; then it has also removed it.
            if !lock_path.exists() {
                continue;
            }
            let path = base.join(&name);
            fs::create_dir(&path).map_err(IoError::at("create", &path))?;
            return Ok(Staging {
                path,
                lock_path,
                _lock: lock,
            });
        }
    }

    /// Makes a staged folder appear under its name, by one rename.
    ///
    /// With `replace`, a folder that has the name goes into the trash first. Without, an existing complete one wins and
    /// the staged one is dropped: somebody else was faster, and the result is what we wanted.
    ///
    /// `waiting` is called once when that takes longer than two seconds: on Windows an antivirus may still be reading the
    /// new files.
    ///
    /// # Errors
    ///
    /// When the rename fails; the store is then as before.
    pub fn publish(
        &self,
        staging: Staging,
        folder: &str,
        replace: bool,
        waiting: impl FnOnce(),
    ) -> Result<Published, Error> {
        let target = self.root.join(folder);
        let mut waiting = Some(waiting);
        for _ in 0..16 {
            if target.exists() {
                if !replace && self.has(folder) {
                    return Ok(Published::AlreadyThere);
                }
                // Without a receipt it is not a build: something that an interrupted copy by hand left, say.
                self.discard(folder)?;
            }
            let waiting = || {
                if let Some(waiting) = waiting.take() {
                    waiting();
                }
            };
            match disk::publish(&staging.path, &target, waiting) {
                Ok(()) => return Ok(Published::New),
                // Between the check and the rename another process published the same name.
                Err(_) if target.exists() => {}
                Err(error) => return Err(IoError::at("create", &target)(error).into()),
            }
        }
        Err(Error::Busy {
            what: folder.to_owned(),
            waited: Duration::ZERO,
        })
    }

    /// Takes a folder of the store away: into the trash by one rename, then deletes it.
    ///
    /// # Errors
    ///
    /// When there is no such folder, or a running program holds a file in it (it is then untouched).
    pub fn remove(&self, folder: &str) -> Result<(), Error> {
        let path = self.root.join(folder);
        if path.symlink_metadata().is_err() {
            let build = BuildId::from_folder(folder)
                .map_or_else(|| folder.to_owned(), |build| build.to_string());
            return Err(Error::NotInstalled { build });
        }
        self.discard(folder)?;
        self.empty_trash();
        Ok(())
    }

    /// Clears what processes that no longer run have left: stagings, trash, half-written small files. Never fails; what is busy stays.
    pub fn sweep(&self) {
        for (folder, lock) in self.dead_stagings() {
            let _ = disk::remove_tree(&folder);
            if let Some((path, _held)) = lock {
                let _ = fs::remove_file(path);
            }
        }
        let internal = self.internal();
        let preludes = fs::read_dir(self.preludes())
            .into_iter()
            .flatten()
            .flatten();
        [
            internal.clone(),
            internal.join("projects"),
            self.cache(),
            self.manifests(),
        ]
        .into_iter()
        .chain(preludes.map(|entry| entry.path()))
        .for_each(|folder| disk::clear_orphans(&folder, None));
        self.empty_trash();
    }

    /// What [`Store::sweep`] would clear.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let trash = fs::read_dir(self.trash()).into_iter().flatten().flatten();
        self.dead_stagings()
            .into_iter()
            .map(|(folder, _)| folder)
            .filter(|folder| folder.exists())
            .chain(trash.map(|entry| entry.path()))
            .collect()
    }

    /// Stagings without an owner, each with its lock file, which is held as long as the value lives.
    fn dead_stagings(&self) -> Vec<(PathBuf, Option<(PathBuf, File)>)> {
        let mut dead = Vec::new();
        let entries = fs::read_dir(self.staging()).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            if path.extension().is_none_or(|extension| extension != "lock") {
                // A folder whose lock file is gone has no owner: owners remove the folder first.
                if !path.with_file_name(lock_name(&path)).exists() {
                    dead.push((path, None));
                }
                continue;
            }
            let Ok(lock) = File::options().write(true).open(&path) else {
                continue;
            };
            if lock.try_lock().is_ok() {
                dead.push((path.with_extension(""), Some((path, lock))));
            }
        }
        dead
    }

    /// Whether somebody works on `what` right now; creates nothing.
    pub fn is_busy(&self, what: &str) -> bool {
        File::open(self.lock_file(what))
            .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Waits until nobody else works on `what` and keeps others off until the guard is dropped or the process ends.
    ///
    /// `waiting` is called once, when there is someone to wait for. Held while one file is downloaded or one name is
    /// published: only a process that wants the very same thing waits, readers and other builds never do.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] after `patience`.
    pub fn lock(
        &self,
        what: &str,
        patience: Duration,
        waiting: impl FnOnce(),
    ) -> Result<Lock, Error> {
        let path = self.lock_file(what);
        create_dir_all(path.parent().expect("it lies in a folder of ours"))?;
        let started = Instant::now();
        let mut waiting = Some(waiting);
        loop {
            let file = open_lock(&path)?;
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(TryLockError::Error(source)) => return Err(Error::NoLocks { path, source }),
                Err(TryLockError::WouldBlock) => {}
            }
            if let Some(waiting) = waiting.take() {
                waiting();
            }
            if started.elapsed() >= patience {
                return Err(Error::Busy {
                    what: what.to_owned(),
                    waited: started.elapsed(),
                });
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn lock_file(&self, what: &str) -> PathBuf {
        self.internal().join("locks").join(format!("{what}.lock"))
    }

    fn discard(&self, folder: &str) -> Result<(), Error> {
        let trash = self.trash();
        create_dir_all(&trash)?;
        let path = self.root.join(folder);
        match disk::rename(&path, &trash.join(unique(folder))) {
            Ok(()) => Ok(()),
            // Another process took it away first: that is what we wanted.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(source) if disk::in_use(&source) => Err(Error::InUse {
                what: folder.to_owned(),
                source,
            }),
            Err(error) => Err(IoError::at("move away", &path)(error).into()),
        }
    }

    fn empty_trash(&self) {
        let Ok(entries) = fs::read_dir(self.trash()) else {
            return;
        };
        for entry in entries.flatten() {
            let _ = disk::remove_tree(&entry.path());
        }
    }
}

/// Whether [`Store::publish`] made the folder or found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// It is ours.
    New,
    /// Another process had published the same build meanwhile.
    AlreadyThere,
}

/// A folder in the making. Dropped without [`Store::publish`], it vanishes.
#[derive(Debug)]
pub struct Staging {
    path: PathBuf,
    lock_path: PathBuf,
    _lock: File,
}

impl Staging {
    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // After a publish the folder is gone and only the lock file is left.
        let _ = disk::remove_tree(&self.path);
        let _ = fs::remove_file(&self.lock_path);
    }
}

/// Keeps others off one thing; ends with the value or the process.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

fn create_dir_all(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(IoError::at("create", path))?;
    Ok(())
}

fn open_lock(path: &Path) -> Result<File, Error> {
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    Ok(file.map_err(IoError::at("open", path))?)
}

fn lock_name(folder: &Path) -> std::ffi::OsString {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    name
}

/// A name that no other process uses: ours, with the process, a counter and a random part.
fn unique(stem: &str) -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let random = RandomState::new().build_hasher().finish();
    format!("{stem}.{}.{random:016x}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::{CudaVersion, CudnnVersion, Flavour, Platform};

    fn build() -> BuildId {
        BuildId {
            version: CudnnVersion::new(9, 19, 0).with_build(56),
            variant: Some(CudaVersion::major(13)),
            flavour: Flavour::Jit,
            platform: Platform::host(),
        }
    }

    fn stage(store: &Store, content: &str) -> Staging {
        let staging = store.stage(&build().folder()).unwrap();
        fs::write(staging.path().join(RECEIPT), content).unwrap();
        staging
    }

    fn entries(path: &Path) -> usize {
        fs::read_dir(path).map_or(0, Iterator::count)
    }

    #[test]
    fn a_build_appears_with_publish_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("库 [a] b"));
        assert!(store.contents().unwrap().builds.is_empty());
        let staging = stage(&store, "");
        assert!(store.contents().unwrap().builds.is_empty());
        assert_eq!(
            store
                .publish(staging, &build().folder(), false, || ())
                .unwrap(),
            Published::New
        );
        assert_eq!(store.contents().unwrap().builds, [build()]);
        assert_eq!(entries(&store.staging()), 0);
    }

    #[test]
    fn the_first_of_two_publishers_wins_unless_the_second_replaces() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().to_owned());
        let (first, second, third) = (stage(&store, "1"), stage(&store, "2"), stage(&store, "3"));
        let name = build().folder();
        let receipt = || fs::read_to_string(store.build_folder(&build()).join(RECEIPT)).unwrap();
        store.publish(first, &name, false, || ()).unwrap();
        assert_eq!(
            store.publish(second, &name, false, || ()).unwrap(),
            Published::AlreadyThere
        );
        assert_eq!(receipt(), "1");
        assert_eq!(
            store.publish(third, &name, true, || ()).unwrap(),
            Published::New
        );
        assert_eq!(receipt(), "3");
    }

    #[test]
    fn sweep_clears_the_dead_and_spares_the_living() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().to_owned());
        let living = stage(&store, "");
        // What `kill -9` leaves: a folder and a lock file that nobody holds.
        fs::create_dir_all(store.staging().join("dead")).unwrap();
        fs::write(store.staging().join("dead.lock"), "").unwrap();
        fs::create_dir_all(store.trash().join("half").join("lib")).unwrap();
        store.sweep();
        assert!(living.path().exists());
        assert_eq!(entries(&store.staging()), 2);
        assert_eq!(entries(&store.trash()), 0);
    }

    #[test]
    fn removal_frees_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().to_owned());
        let staging = stage(&store, "");
        store
            .publish(staging, &build().folder(), false, || ())
            .unwrap();
        store.remove(&build().folder()).unwrap();
        assert!(store.contents().unwrap().builds.is_empty());
        assert!(matches!(
            store.remove(&build().folder()),
            Err(Error::NotInstalled { .. })
        ));
    }

    #[test]
    fn a_lock_is_waited_for_and_given_up_on() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().to_owned());
        let held = store.lock("thing", Duration::ZERO, || ()).unwrap();
        let mut told = false;
        let refused = store.lock("thing", Duration::from_millis(1), || told = true);
        assert!(matches!(refused, Err(Error::Busy { .. })) && told);
        drop(held);
        assert!(store.lock("thing", Duration::ZERO, || ()).is_ok());
    }
}
