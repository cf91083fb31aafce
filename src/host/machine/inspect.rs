//! What one library file says of itself.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::binary;
use crate::diagnosis::facts::{Content, Fact, Machine, System};
use crate::diagnosis::library::LibraryName;
use crate::diagnosis::read;
use crate::version::CudnnVersion;

/// What reading a library's head brought.
pub enum Head {
    /// Machine, version resource, whether it imports zlibwapi.dll.
    Good(Machine, Option<[u16; 4]>, bool),
    /// Not a library.
    Bad(Content),
    /// It can't be read, for this reason.
    Unreadable(String),
}

/// Reads the head of a file that is called a library.
pub fn content(path: &Path, size: u64) -> Head {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return Head::Unreadable(error.to_string()),
    };
    match binary::read(&mut file) {
        Ok(Some(binary)) => {
            let machine = match binary.machine {
                binary::Machine::X64 => Machine::X64,
                binary::Machine::X86 => Machine::X86,
                binary::Machine::Arm64 => Machine::Arm64,
                binary::Machine::Ppc64le => Machine::Ppc64le,
                binary::Machine::Other(_) => Machine::Other,
            };
            let zlib = binary
                .imports
                .iter()
                .any(|import| import.eq_ignore_ascii_case("zlibwapi.dll"));
            Head::Good(machine, binary.file_version, zlib)
        }
        Ok(None) => Head::Bad(head(path, size)),
        Err(_) => match head(path, size) {
            Content::Pe(machine) | Content::Elf(machine) => Head::Bad(Content::CutShort(machine)),
            other => Head::Bad(other),
        },
    }
}

fn head(path: &Path, size: u64) -> Content {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut bytes));
    match read {
        Ok(_) => read::bytes::content(&bytes, size),
        Err(_) => Content::Other,
    }
}

/// The version of the file itself: its resource, the full number of the file behind the link, the wheel it belongs to,
/// or the names under which the main library opens its parts.
pub fn version(name: &LibraryName, path: &Path, resource: Option<[u16; 4]>) -> Fact<CudnnVersion> {
    if let Some([major, minor, patch, build]) = resource {
        let version = CudnnVersion::new(major.into(), minor.into(), patch.into());
        // Some builds carry the driver's scheme (6.14.11.…) in their resource.
        if (5..100).contains(&major) && !(major == 6 && minor == 14) {
            return Fact::Known(if build == 0 {
                version
            } else {
                version.with_build(build.into())
            });
        }
    }
    let real = dunce::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(full) = LibraryName::of(&real.to_string_lossy()).full {
        return Fact::Known(full);
    }
    if let Some(version) = wheel_version(&real, name) {
        return Fact::Known(version);
    }
    if name.is_main()
        && let Some(version) = opened_version(&real, name)
    {
        return Fact::Known(version);
    }
    if let Some(version) = sibling_version(&real, name) {
        return Fact::Known(version);
    }
    Fact::Unknown("the file does not tell it".to_owned())
}

/// `site-packages/nvidia/cudnn/lib/libcudnn.so.9` belongs to `site-packages/nvidia_cudnn_cu12-9.1.0.70.dist-info`.
fn wheel_version(path: &Path, name: &LibraryName) -> Option<CudnnVersion> {
    let site = path.ancestors().nth(4)?;
    if path.parent()?.parent()?.file_name()? != "cudnn" {
        return None;
    }
    let mut versions: Vec<CudnnVersion> = fs::read_dir(site)
        .ok()?
        .flatten()
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            let rest = file.strip_prefix("nvidia_cudnn_cu")?;
            let (_, version) = rest.strip_suffix(".dist-info")?.split_once('-')?;
            read::version::cudnn(version)
        })
        .collect();
    // Two wheels in one folder: nobody can tell whose file it is.
    let version = match versions.len() {
        1 => versions.pop(),
        _ => None,
    }?;
    (Some(version.major) == name.major).then_some(version)
}

/// cuDNN 9's main library asks for its parts by their exact number first: `libcudnn_graph.so.9.20.0`.
fn opened_version(path: &Path, name: &LibraryName) -> Option<CudnnVersion> {
    const MOST: u64 = 4 << 20;
    if name.system != Some(System::Linux) || fs::metadata(path).ok()?.len() > MOST {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path)
        .ok()?
        .take(MOST)
        .read_to_end(&mut bytes)
        .ok()?;
    let needle = b"libcudnn_graph.so.";
    let at = memchr::memmem::find(&bytes, needle)?;
    let tail = &bytes[at + needle.len()..];
    let end = tail
        .iter()
        .position(|byte| !byte.is_ascii_digit() && *byte != b'.')
        .unwrap_or(tail.len());
    let text = std::str::from_utf8(&tail[..end]).ok()?;
    let version: CudnnVersion = text.trim_end_matches('.').parse().ok()?;
    (Some(version.major) == name.major).then_some(version)
}

/// A file of the same set beside it whose name carries the whole number.
fn sibling_version(path: &Path, name: &LibraryName) -> Option<CudnnVersion> {
    let mut versions: Vec<CudnnVersion> = fs::read_dir(path.parent()?)
        .ok()?
        .flatten()
        .filter_map(|entry| LibraryName::of(&entry.file_name().to_string_lossy()).full)
        .filter(|version| Some(version.major) == name.major)
        .collect();
    versions.sort();
    versions.dedup();
    match versions.len() {
        1 => versions.pop(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_main_library_tells_its_version_by_the_parts_it_opens() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("libcudnn.so.9");
        fs::write(
            &path,
            b"\x7fELF....libcudnn_graph.so.9.20.0\0libcudnn_graph.so.9\0",
        )
        .unwrap();
        let name = LibraryName::of("libcudnn.so.9");
        assert_eq!(
            opened_version(&path, &name),
            Some(CudnnVersion::new(9, 20, 0))
        );
    }
}
