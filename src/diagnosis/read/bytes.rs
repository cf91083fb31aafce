//! What a file is, from its bytes.

use crate::diagnosis::facts::{Content, Machine};

/// Looks at a whole file or its beginning; `size` is the whole file's. Endings are judged only when all is given.
pub fn content(bytes: &[u8], size: u64) -> Content {
    let whole = bytes.len() as u64 == size;
    if size == 0 {
        return Content::Empty;
    }
    if bytes.starts_with(b"MZ") {
        return match pe_machine(bytes) {
            Some(machine) => Content::Pe(machine),
            None if whole => Content::CutShort(Machine::Other),
            None => Content::Other,
        };
    }
    if bytes.starts_with(b"\x7fELF") {
        return match elf(bytes) {
            Some((machine, needed)) if needed > size => Content::CutShort(machine),
            Some((machine, _)) => Content::Elf(machine),
            None => Content::CutShort(Machine::Other),
        };
    }
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        let tail = &bytes[bytes.len().saturating_sub(66_000)..];
        let complete = tail.windows(4).any(|window| window == b"PK\x05\x06");
        return if complete || !whole {
            Content::Zip
        } else {
            Content::ZipCutShort
        };
    }
    for (magic, name) in [
        (&b"\x1f\x8b"[..], "gzip"),
        (b"\xfd7zXZ\0", "xz"),
        (b"BZh", "bzip2"),
        (b"7z\xbc\xaf\x27\x1c", "7z"),
        (b"Rar!\x1a\x07", "rar"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
    ] {
        if bytes.starts_with(magic) {
            return Content::Compressed(name);
        }
    }
    if bytes.starts_with(b"version https://git-lfs") {
        return Content::LfsPointer;
    }
    let start: Vec<u8> = bytes
        .iter()
        .copied()
        .skip_while(|byte| byte.is_ascii_whitespace() || [0xef, 0xbb, 0xbf].contains(byte))
        .take(15)
        .map(|byte| byte.to_ascii_lowercase())
        .collect();
    if [&b"<!doctype"[..], b"<html", b"<head", b"<?xml", b"<script"]
        .iter()
        .any(|mark| start.starts_with(mark))
    {
        return Content::WebPage;
    }
    if whole
        && size < 256
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        let target = text.trim();
        let is_name = !target.is_empty()
            && !target.contains(char::is_whitespace)
            && (target.contains(".so") || target.to_ascii_lowercase().ends_with(".dll"));
        if is_name {
            return Content::FlattenedLink(target.to_owned());
        }
    }
    Content::Other
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn pe_machine(bytes: &[u8]) -> Option<Machine> {
    let header = u32::from_le_bytes(number(bytes, 0x3c)?) as usize;
    if number::<4>(bytes, header)? != *b"PE\0\0" {
        return None;
    }
    Some(match u16::from_le_bytes(number(bytes, header + 4)?) {
        0x8664 => Machine::X64,
        0x014c => Machine::X86,
        0xaa64 => Machine::Arm64,
        _ => Machine::Other,
    })
}

/// The machine, and how long the file must be at least to hold its section table.
fn elf(bytes: &[u8]) -> Option<(Machine, u64)> {
    let is_64 = *bytes.get(4)? == 2;
    let machine = match u16::from_le_bytes(number(bytes, 18)?) {
        0x3e => Machine::X64,
        0x03 => Machine::X86,
        0xb7 => Machine::Arm64,
        0x15 => Machine::Ppc64le,
        _ => Machine::Other,
    };
    let (table, each, count) = if is_64 {
        (
            u64::from_le_bytes(number(bytes, 40)?),
            u16::from_le_bytes(number(bytes, 58)?),
            u16::from_le_bytes(number(bytes, 60)?),
        )
    } else {
        (
            u64::from(u32::from_le_bytes(number(bytes, 32)?)),
            u16::from_le_bytes(number(bytes, 46)?),
            u16::from_le_bytes(number(bytes, 48)?),
        )
    };
    Some((
        machine,
        table.saturating_add(u64::from(each) * u64::from(count)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pe(machine: u16) -> Vec<u8> {
        let mut bytes = vec![0; 256];
        bytes[..2].copy_from_slice(b"MZ");
        bytes[0x3c] = 0x80;
        bytes[0x80..0x84].copy_from_slice(b"PE\0\0");
        bytes[0x84..0x86].copy_from_slice(&machine.to_le_bytes());
        bytes
    }

    fn elf64(machine: u16, sections_at: u64) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..5].copy_from_slice(b"\x7fELF\x02");
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[40..48].copy_from_slice(&sections_at.to_le_bytes());
        bytes
    }

    #[test]
    fn bytes_tell_what_a_name_only_claims() {
        let cases: Vec<(Vec<u8>, Content)> = vec![
            (pe(0x8664), Content::Pe(Machine::X64)),
            (pe(0x14c), Content::Pe(Machine::X86)),
            (pe(0xaa64), Content::Pe(Machine::Arm64)),
            (b"MZ".to_vec(), Content::CutShort(Machine::Other)),
            (elf64(0x3e, 0), Content::Elf(Machine::X64)),
            (elf64(0xb7, 0), Content::Elf(Machine::Arm64)),
            (elf64(0x3e, 1 << 40), Content::CutShort(Machine::X64)),
            (b"\x7fELF".to_vec(), Content::CutShort(Machine::Other)),
            (Vec::new(), Content::Empty),
            (
                b"libcudnn.so.8.9.7\n".to_vec(),
                Content::FlattenedLink("libcudnn.so.8.9.7".into()),
            ),
            (
                b"version https://git-lfs.github.com/spec/v1\n".to_vec(),
                Content::LfsPointer,
            ),
            (
                b"\n<!DOCTYPE HTML><title>x</title>".to_vec(),
                Content::WebPage,
            ),
            (b"PK\x03\x04 cut".to_vec(), Content::ZipCutShort),
            (b"PK\x03\x04...PK\x05\x06".to_vec(), Content::Zip),
            (b"\x1f\x8b\x08".to_vec(), Content::Compressed("gzip")),
            (b"hello".to_vec(), Content::Other),
        ];
        for (bytes, wanted) in cases {
            assert_eq!(content(&bytes, bytes.len() as u64), wanted);
        }
    }
}
