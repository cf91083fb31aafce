//! Disks.

use std::path::{Path, PathBuf};

/// `D:\ai-libs` where D: is a fixed disk, as the store's default; `None` elsewhere.
pub fn data_drive_root() -> Option<PathBuf> {
    imp::data_drive_root()
}

/// Free bytes for this user on the volume of `path` (its nearest existing parent); `None` when the system won't say.
pub fn available(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|folder| folder.exists())?;
    imp::available(existing)
}

/// What makes two names one file: volume and number on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId {
    volume: u64,
    number: u64,
}

/// Which file a path names, and its size; `None` for links, folders and what can't be asked.
pub fn identity(path: &Path) -> Option<(FileId, u64)> {
    imp::identity(path)
}

#[cfg(unix)]
mod imp {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};

    use super::FileId;

    pub fn data_drive_root() -> Option<PathBuf> {
        None
    }

    pub fn identity(path: &Path) -> Option<(FileId, u64)> {
        let metadata = path.symlink_metadata().ok().filter(|it| it.is_file())?;
        let id = FileId {
            volume: metadata.dev(),
            number: metadata.ino(),
        };
        Some((id, metadata.len()))
    }

    pub fn available(path: &Path) -> Option<u64> {
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        // SAFETY: `statvfs` is plain numbers, for which all zeros is a value.
        let mut stat: libc::statvfs = unsafe { std::mem::zeroed() };
        // SAFETY: `path` is a string that ends in NUL, and `stat` is ours to write.
        let done = unsafe { libc::statvfs(path.as_ptr(), &raw mut stat) };
        (done == 0).then(|| stat.f_bavail as u64 * stat.f_frsize as u64)
    }
}

#[cfg(windows)]
mod imp {
    use std::os::windows::ffi::OsStrExt;
    use std::os::windows::io::AsRawHandle;
    use std::path::{Path, PathBuf};

    use windows_sys::Win32::Storage::FileSystem::{
        BY_HANDLE_FILE_INFORMATION, GetDiskFreeSpaceExW, GetDriveTypeW, GetFileInformationByHandle,
    };

    use super::FileId;

    /// `DRIVE_FIXED` of winbase.h.
    const DRIVE_FIXED: u32 = 3;

    pub fn data_drive_root() -> Option<PathBuf> {
        let drive = wide(Path::new(r"D:\"));
        // SAFETY: `drive` is a string that ends in NUL.
        let kind = unsafe { GetDriveTypeW(drive.as_ptr()) };
        // A locked or unformatted disk has the letter too, and nothing can be written there.
        let usable = kind == DRIVE_FIXED && available(Path::new(r"D:\")).is_some();
        usable.then(|| PathBuf::from(r"D:\ai-libs"))
    }

    pub fn available(path: &Path) -> Option<u64> {
        let path = wide(path);
        let mut free = 0;
        // SAFETY: `path` ends in NUL, `free` is ours to write, and the two other results may be null.
        let done = unsafe {
            GetDiskFreeSpaceExW(
                path.as_ptr(),
                &raw mut free,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        (done != 0).then_some(free)
    }

    pub fn identity(path: &Path) -> Option<(FileId, u64)> {
        let length = path
            .symlink_metadata()
            .ok()
            .filter(|it| it.is_file())?
            .len();
        let file = std::fs::File::open(path).ok()?;
        // SAFETY: the structure is plain numbers, for which all zeros is a value.
        let mut told: BY_HANDLE_FILE_INFORMATION = unsafe { std::mem::zeroed() };
        // SAFETY: the handle is open, and `told` is ours to write.
        let done = unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut told) };
        let id = FileId {
            volume: told.dwVolumeSerialNumber.into(),
            number: u64::from(told.nFileIndexHigh) << 32 | u64::from(told.nFileIndexLow),
        };
        (done != 0).then_some((id, length))
    }

    fn wide(path: &Path) -> Vec<u16> {
        path.as_os_str().encode_wide().chain([0]).collect()
    }
}
