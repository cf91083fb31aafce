//! What a file is, by its content. Names lie: download sites rename, browsers save login pages as `.zip`.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::IoError;

/// Far enough for a tar header and a web page's title.
const HEAD: usize = 8192;
/// Self-extracting programs are at most this long before the archive begins.
const SFX_PROGRAM: u64 = 4 << 20;

const SEVEN_ZIP: &[u8] = b"7z\xbc\xaf\x27\x1c";
const RAR: &[u8] = b"Rar!\x1a\x07";

/// A kind of archive that can be unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Zip, and all that is a zip inside: wheels, `.conda`, `.jar`.
    Zip,
    /// Tar, with or without compression around it.
    Tar(Compression),
    /// 7z, beginning at an offset for self-extracting programs.
    SevenZip(u64),
    /// RAR 1.5 to 7; the reader finds the offset itself.
    Rar,
}

/// What is around a tar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    Xz,
    Bzip2,
    Zstd,
}

/// The kind of the file, or in words what it is instead.
///
/// # Errors
///
/// When it can't be read.
pub fn detect(path: &Path) -> Result<Result<Kind, String>, IoError> {
    let at = IoError::at("read", path);
    let look = || {
        let mut file = File::open(path)?;
        let mut head = Vec::with_capacity(HEAD);
        file.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
        if head.starts_with(b"MZ") {
            return self_extracting(&mut file);
        }
        Ok(of_head(&head))
    };
    look().map_err(at)
}

fn of_head(head: &[u8]) -> Result<Kind, String> {
    if [&b"PK\x03\x04"[..], b"PK\x05\x06", b"PK\x07\x08"]
        .iter()
        .any(|magic| head.starts_with(magic))
    {
        Ok(Kind::Zip)
    } else if head.starts_with(SEVEN_ZIP) {
        Ok(Kind::SevenZip(0))
    } else if head.starts_with(RAR) {
        Ok(Kind::Rar)
    } else if head.starts_with(b"\x1f\x8b") {
        Ok(Kind::Tar(Compression::Gzip))
    } else if head.starts_with(b"\xfd7zXZ\0") {
        Ok(Kind::Tar(Compression::Xz))
    } else if head.starts_with(b"BZh") {
        Ok(Kind::Tar(Compression::Bzip2))
    } else if head.starts_with(b"\x28\xb5\x2f\xfd") {
        Ok(Kind::Tar(Compression::Zstd))
    } else if is_tar(head) {
        Ok(Kind::Tar(Compression::None))
    } else {
        Err(describe(head))
    }
}

/// Whether a tar archive begins with these bytes: old tars have no magic, but all have a checksum.
pub fn is_tar(head: &[u8]) -> bool {
    let Some(header) = head.get(..512) else {
        return false;
    };
    let sum: u64 = header
        .iter()
        .enumerate()
        .map(|(at, byte)| {
            if (148..156).contains(&at) {
                32
            } else {
                u64::from(*byte)
            }
        })
        .sum();
    let stored = String::from_utf8_lossy(&header[148..156]);
    let stored = stored.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    header[0] != 0 && u64::from_str_radix(stored, 8) == Ok(sum)
}

/// NVIDIA's Windows installers are programs with a 7z behind them; re-packers use RAR and zip likewise.
fn self_extracting(file: &mut File) -> std::io::Result<Result<Kind, String>> {
    file.seek(SeekFrom::Start(0))?;
    let mut program = Vec::new();
    file.by_ref().take(SFX_PROGRAM).read_to_end(&mut program)?;
    // The signatures also stand in the program's own code; the last one that is followed by a plausible version counts.
    let seven = memchr::memmem::rfind_iter(&program, SEVEN_ZIP).find(|at| {
        program
            .get(at + 6..at + 8)
            .is_some_and(|version| version[0] == 0 && version[1] <= 4)
    });
    if let Some(at) = seven {
        return Ok(Ok(Kind::SevenZip(at as u64)));
    }
    if memchr::memmem::find(&program, RAR).is_some() {
        return Ok(Ok(Kind::Rar));
    }
    // A zip is found from its end.
    let len = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(len.saturating_sub(66_000)))?;
    let mut tail = Vec::new();
    file.take(66_000).read_to_end(&mut tail)?;
    if memchr::memmem::rfind(&tail, b"PK\x05\x06").is_some() {
        return Ok(Ok(Kind::Zip));
    }
    Ok(Err("a Windows program or DLL".to_owned()))
}

/// In words, what a file that is no archive is.
fn describe(head: &[u8]) -> String {
    if head.is_empty() {
        return "an empty file".to_owned();
    }
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let lower = text.to_ascii_lowercase();
    if lower.starts_with("<!doctype html") || lower.contains("<html") || lower.contains("<head") {
        return match title(text, &lower) {
            Some(title) => format!("a web page, titled `{title}`"),
            None => "a web page".to_owned(),
        };
    }
    for (magic, words) in [
        (&b"\x7fELF"[..], "a Linux library or program"),
        (b"\xd0\xcf\x11\xe0", "a Windows installer package (.msi)"),
        (
            b"!<arch>\ndebian",
            "a Debian package; unpack it with `dpkg-deb -x` and give the folder",
        ),
        (
            b"\xed\xab\xee\xdb",
            "an RPM package; unpack it with `rpm2cpio` and give the folder",
        ),
        (b"!<arch>\n", "a static library"),
        (b"%PDF", "a PDF document"),
        (b"\x89PNG", "a picture"),
        (
            b"version https://git-lfs",
            "a Git LFS pointer; the file itself was never fetched",
        ),
        (b"<?xml", "an XML document"),
        (b"d8:announce", "a torrent"),
    ] {
        if head.starts_with(magic) {
            return words.to_owned();
        }
    }
    if lower.starts_with('{') || lower.starts_with('[') {
        "a JSON answer".to_owned()
    } else if head.iter().all(|byte| *byte == 0) {
        "nothing but zeros".to_owned()
    } else if text.chars().all(|c| !c.is_control() || c.is_whitespace())
        && !text.contains('\u{fffd}')
    {
        "a text".to_owned()
    } else {
        "of no kind that is known here".to_owned()
    }
}

fn title(text: &str, lower: &str) -> Option<String> {
    // Both have equal byte offsets: lower-casing was ASCII only.
    let start = lower.find("<title")?;
    let start = start + lower[start..].find('>')? + 1;
    let end = start + lower[start..].find("</title")?;
    let title: String = text[start..end]
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let title: String = title.chars().filter(|c| !c.is_control()).take(80).collect();
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_decides() {
        let mut tar = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        header.set_mode(0o644);
        tar.append_data(&mut header, "cudnn.h", &b""[..]).unwrap();
        let tar = tar.into_inner().unwrap();
        for (head, expected) in [
            (&b"PK\x03\x04rest"[..], Ok(Kind::Zip)),
            (b"Rar!\x1a\x07\x00", Ok(Kind::Rar)),
            (b"Rar!\x1a\x07\x01\x00", Ok(Kind::Rar)),
            (b"7z\xbc\xaf\x27\x1c\0\x04", Ok(Kind::SevenZip(0))),
            (&tar, Ok(Kind::Tar(Compression::None))),
            (b"", Err("an empty file")),
            (
                b"\xef\xbb\xbf\n<!DOCTYPE html><html><head><TITLE>\n NVIDIA  Login </title>",
                Err("a web page, titled `NVIDIA Login`"),
            ),
            (b"<html><body>", Err("a web page")),
            (
                b"version https://git-lfs.github.com/spec/v1\noid",
                Err("a Git LFS pointer; the file itself was never fetched"),
            ),
            (b"{\"error\":1}", Err("a JSON answer")),
            (b"hello", Err("a text")),
            (b"\x7fELF\x02", Err("a Linux library or program")),
            (b"\0\0\0\0", Err("nothing but zeros")),
            (b"\x01\x02\xff", Err("of no kind that is known here")),
        ] {
            assert_eq!(of_head(head), expected.map_err(str::to_owned));
        }
    }
}
