//! Which libraries are in this process, and from which folders: the only proof of what was loaded.

use std::path::{Path, PathBuf};

/// Every loaded file whose name has to do with cuDNN or with what it opens, sorted.
///
/// # Errors
///
/// When the system does not tell.
pub fn loaded() -> std::io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = system::files()?
        .into_iter()
        .filter(|file| is_cudnn(file) || is_companion(file))
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// Whether a file is a part of some cuDNN: `libcudnn_graph.so.9`, `cudnn64_8.dll`, and what packagers make of the names
/// (`libcudnn-e1f1ed4a.so.9.1.0`).
pub fn is_cudnn(file: &Path) -> bool {
    let Some(name) = lower_name(file) else {
        return false;
    };
    let stem = name.strip_prefix("lib").unwrap_or(&name);
    let rest = match stem.strip_prefix("cudnn") {
        Some(rest) => rest,
        None => return false,
    };
    // `cudnn_frontend` bindings and Python's own `cudnn.cpython-…` modules are no part of it.
    is_library(&name)
        && !rest.starts_with("_frontend")
        && (rest.starts_with(['_', '-', '.']) || rest.starts_with("64"))
        && !rest.contains("cpython")
}

/// Whether a file is one of the libraries that cuDNN opens beside its own.
pub fn is_companion(file: &Path) -> bool {
    lower_name(file).is_some_and(|name| {
        let stem = name.strip_prefix("lib").unwrap_or(&name);
        is_library(&name)
            && ["cublas", "nvrtc", "zlibwapi"]
                .iter()
                .any(|start| stem.starts_with(start))
    })
}

fn is_library(name: &str) -> bool {
    name.ends_with(".dll") || name.ends_with(".so") || name.contains(".so.")
}

fn lower_name(file: &Path) -> Option<String> {
    Some(file.file_name()?.to_string_lossy().to_ascii_lowercase())
}

/// The file that a loader's message is about, when it begins with a path: `/lib/libcudnn_graph.so.9: undefined symbol: …`.
pub fn path_in(words: &str) -> Option<PathBuf> {
    let start = words.find('/')?;
    let end = words[start..].find(": ")? + start;
    Some(PathBuf::from(&words[start..end])).filter(|path| is_cudnn(path))
}

/// The paths in the text of `/proc/PID/maps`; each file is mapped several times.
pub fn mapped(maps: &[u8]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = maps
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            // The path is the sixth column and may hold blanks; only it can hold a slash.
            let start = line.iter().position(|byte| *byte == b'/')?;
            let path = line[start..].strip_suffix(b" (deleted)");
            path_of(path.unwrap_or(&line[start..]))
        })
        .collect();
    files.sort();
    files.dedup();
    files
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    // The kernel writes a line end in a path as `\012`, and nothing else is changed.
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

#[cfg(windows)]
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(unix)]
mod system {
    use std::path::PathBuf;

    pub(super) fn files() -> std::io::Result<Vec<PathBuf>> {
        Ok(super::mapped(&std::fs::read("/proc/self/maps")?))
    }
}

#[cfg(windows)]
mod system {
    use std::ffi::OsString;
    use std::io;
    use std::os::windows::ffi::OsStringExt;
    use std::path::PathBuf;

    use windows_sys::Win32::Foundation::HMODULE;
    use windows_sys::Win32::System::LibraryLoader::GetModuleFileNameW;
    use windows_sys::Win32::System::ProcessStatus::K32EnumProcessModules;
    use windows_sys::Win32::System::Threading::GetCurrentProcess;

    pub(super) fn files() -> io::Result<Vec<PathBuf>> {
        let mut modules: Vec<HMODULE> = vec![std::ptr::null_mut(); 1024];
        loop {
            let size = u32::try_from(size_of_val(modules.as_slice())).unwrap_or(u32::MAX);
            let mut needed = 0;
            // SAFETY: the pseudo handle is always valid, the list has `size` bytes and `needed` is ours to write.
            let done = unsafe {
                K32EnumProcessModules(
                    GetCurrentProcess(),
                    modules.as_mut_ptr(),
                    size,
                    &raw mut needed,
                )
            };
            if done == 0 {
                return Err(io::Error::last_os_error());
            }
            let count = needed as usize / size_of::<HMODULE>();
            if count <= modules.len() {
                modules.truncate(count);
                break;
            }
            modules.resize(count, std::ptr::null_mut());
        }
        Ok(modules.into_iter().filter_map(path).collect())
    }

    fn path(module: HMODULE) -> Option<PathBuf> {
        let mut text = vec![0_u16; 32_768];
        // SAFETY: the buffer has the length we say; a module that is gone meanwhile answers 0.
        let length = unsafe { GetModuleFileNameW(module, text.as_mut_ptr(), text.len() as u32) };
        (length > 0).then(|| PathBuf::from(OsString::from_wide(&text[..length as usize])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_cudnn_are_told_from_neighbours() {
        for (name, part) in [
            ("libcudnn.so.9", true),
            ("libcudnn_graph.so.9.19.0", true),
            ("libcudnn-e1f1ed4a.so.9.1.0", true),
            ("cudnn64_8.dll", true),
            ("CUDNN_ops_infer64_8.DLL", true),
            ("cudnn.cpython-312-x86_64-linux-gnu.so", false),
            ("cudnn_version.h", false),
            ("libcudnn_frontend.so", false),
            ("libcublasLt.so.12", false),
            ("libtorch_cuda.so", false),
        ] {
            assert_eq!(is_cudnn(Path::new(name)), part, "{name}");
        }
        assert!(is_companion(Path::new("/x/libcublasLt.so.12")));
        assert!(is_companion(Path::new("nvrtc64_120_0.dll")));
    }

    #[test]
    fn maps_are_read_with_blanks_and_deleted_files() {
        let maps = b"7f00-7f01 r-xp 00000000 fd:00 1 /opt/my libs/libcudnn.so.9\n\
7f01-7f02 rw-p 00000000 fd:00 1 /opt/my libs/libcudnn.so.9\n\
7f03-7f04 r-xp 00000000 fd:00 2 /old/libcudnn_graph.so.9 (deleted)\n\
7f05-7f06 rw-p 00000000 00:00 0 [heap]\n";
        assert_eq!(
            mapped(maps),
            [
                PathBuf::from("/old/libcudnn_graph.so.9"),
                PathBuf::from("/opt/my libs/libcudnn.so.9"),
            ]
        );
    }

    #[test]
    fn this_process_has_libraries() {
        assert!(!system::files().unwrap().is_empty());
    }
}
