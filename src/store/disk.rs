//! File operations that must be whole or must be patient.
//!
//! Patience is for Windows, where a file that another program has open can't be renamed or deleted. Who that program is
//! decides how long we wait. An antivirus or indexer opens what has just been written and lets go by itself: when a fresh
//! build is published we wait a minute and say so. A program that has loaded a DLL holds it as long as it runs: when a
//! build is moved away we give up at once, so that the person can close the program.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::unique;
use crate::error::IoError;

/// For fresh files: antivirus programs hold a DLL for some seconds after it was closed (rustup and uv saw over ten).
const LONG: Duration = Duration::from_secs(60);

/// For everything else: enough for an indexer's glance.
const SHORT: Duration = Duration::from_secs(1);

/// A wait that lasts longer than this is explained.
const SILENT: Duration = Duration::from_secs(2);

/// Renames a file of ours, over another if there is one.
///
/// # Errors
///
/// What the system says, at once or after a second of "in use".
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    patiently(SHORT, in_use, || (), || fs::rename(from, to))
}

/// Makes a folder that has just been filled appear under its final name. `waiting` is called once, when that takes long.
///
/// # Errors
///
/// What the system says, at once or after a minute of "in use"; at once when the name is taken.
pub fn publish(from: &Path, to: &Path, waiting: impl FnOnce()) -> io::Result<()> {
    // ERROR_ACCESS_DENIED says both "a file in it is open" and "the name is taken".
    let held = |error: &io::Error| in_use(error) && !to.exists();
    patiently(LONG, held, waiting, || fs::rename(from, to))
}

/// Replaces a small file whole: readers see the old or the new content, never a part.
///
/// # Errors
///
/// When its folder can't be written; nothing is left behind then.
pub fn replace_file(path: &Path, content: &[u8]) -> Result<(), IoError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if let Some(folder) = path.parent() {
        clear_orphans(folder, Some(&name));
    }
    let mut tries = 0;
    loop {
        let temporary = path.with_file_name(unique(&format!(".{name}")));
        let written = write_locked(&temporary, content).and_then(|()| rename(&temporary, path));
        let Err(error) = written else { return Ok(()) };
        tries += 1;
        // Somebody who clears orphans took it for one in the moment in which nobody held its lock.
        let snatched = error.kind() == io::ErrorKind::NotFound
            && path.parent().is_some_and(Path::is_dir)
            && tries < 16;
        let _ = fs::remove_file(&temporary);
        if !snatched {
            return Err(IoError::at("write", path)(error));
        }
    }
}

/// The lock says that the file's owner lives: see [`clear_orphans`].
fn write_locked(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    // A file system without locks has no orphans cleared either.
    let _ = file.try_lock();
    file.write_all(content)?;
    // A rename may reach the disk before the content does: after a power cut the file would be empty.
    file.sync_data()
}

/// Removes what killed processes left of [`replace_file`] in a folder: of one file, or of all.
pub fn clear_orphans(folder: &Path, of: Option<&str>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(stem) = name.to_str().and_then(temporary_for) else {
            continue;
        };
        if of.is_some_and(|of| of != stem) {
            continue;
        }
        let orphan = File::options().write(true).open(entry.path());
        if orphan.is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The file that a name of ours like `.settings.toml.4711.0123456789abcdef` stands in for.
fn temporary_for(name: &str) -> Option<&str> {
    let (rest, random) = name.strip_prefix('.')?.rsplit_once('.')?;
    let (stem, process) = rest.rsplit_once('.')?;
    let ours = random.len() == 16
        && random.bytes().all(|byte| byte.is_ascii_hexdigit())
        && !process.is_empty()
        && process.bytes().all(|byte| byte.is_ascii_digit());
    ours.then_some(stem)
}

/// Removes a folder with all that is in it, or a file; one that another process removes meanwhile is no error.
///
/// # Errors
///
/// What the system says; what could be removed is then gone.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let remove = || {
        if metadata.is_dir() {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        }
    };
    let removed = patiently(SHORT, in_use, || (), remove);
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// A second name for a file, or a copy where the volume has no hard links.
///
/// # Errors
///
/// When neither can be made.
pub fn link_or_copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop))
}

/// Whether another program has a file open right now: ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION,
/// ERROR_DIR_NOT_EMPTY (a deleted file that is still open), ERROR_USER_MAPPED_FILE, and ERROR_ACCESS_DENIED, which is
/// the answer for a folder with an open file somewhere below it.
pub fn in_use(error: &io::Error) -> bool {
    cfg!(windows) && matches!(error.raw_os_error(), Some(5 | 32 | 33 | 145 | 1224))
}

fn patiently<T>(
    patience: Duration,
    held: impl Fn(&io::Error) -> bool,
    waiting: impl FnOnce(),
    mut operation: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let started = Instant::now();
    let mut pause = Duration::from_millis(10);
    let mut waiting = Some(waiting);
    loop {
        match operation() {
            Err(error) if held(&error) && started.elapsed() < patience => {
                if started.elapsed() >= SILENT.min(patience)
                    && let Some(waiting) = waiting.take()
                {
                    waiting();
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(500));
            }
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempts(patience: Duration, failures: u32, held: bool) -> (io::Result<()>, u32) {
        let mut made = 0;
        let result = patiently(
            patience,
            |_| held,
            || (),
            || {
                made += 1;
                if made > failures {
                    Ok(())
                } else {
                    Err(io::Error::from_raw_os_error(5))
                }
            },
        );
        (result, made)
    }

    #[test]
    fn what_is_held_is_tried_again_until_patience_ends() {
        let (result, made) = attempts(LONG, 2, true);
        assert!(result.is_ok() && made == 3);
        let (result, made) = attempts(LONG, 2, false);
        assert!(
            result.is_err() && made == 1,
            "another error ends it at once"
        );
        let (result, made) = attempts(Duration::from_millis(50), u32::MAX, true);
        assert!(result.is_err() && made > 1);
    }

    #[test]
    fn orphans_of_the_dead_are_cleared_and_the_living_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let living = File::create(path(".a.toml.1.00000000000000aa")).unwrap();
        living.lock().unwrap();
        for name in [
            ".a.toml.2.00000000000000bb",
            ".b.toml.2.00000000000000bb",
            ".a.toml.x.00000000000000bb",
            "a.toml.2.00000000000000bb",
        ] {
            fs::write(path(name), "").unwrap();
        }
        replace_file(&path("a.toml"), b"1").unwrap();
        assert_eq!(fs::read(path("a.toml")).unwrap(), b"1");
        assert!(path(".a.toml.1.00000000000000aa").exists());
        assert!(!path(".a.toml.2.00000000000000bb").exists());
        assert!(path(".b.toml.2.00000000000000bb").exists());
        assert_eq!(names(), 5);
        clear_orphans(folder.path(), None);
        assert_eq!(names(), 4);
    }

    #[test]
    fn publishing_over_a_taken_name_does_not_wait() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for path in [&from, &to] {
            fs::create_dir(path).unwrap();
            fs::write(path.join("file"), "").unwrap();
        }
        let started = Instant::now();
        assert!(publish(&from, &to, || ()).is_err());
        assert!(started.elapsed() < SHORT);
    }

    /// Real Windows only: Wine lets an open file's folder be renamed.
    #[test]
    #[cfg(windows)]
    fn a_folder_with_an_open_file_is_published_once_it_is_closed() {
        use std::os::windows::fs::OpenOptionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir(&from).unwrap();
        fs::write(from.join("file"), "").unwrap();
        let scanner = File::options()
            .read(true)
            .share_mode(1)
            .open(from.join("file"))
            .unwrap();
        let closing = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            drop(scanner);
        });
        publish(&from, &to, || ()).unwrap();
        closing.join().unwrap();
        assert!(to.join("file").exists());
    }
}
