//! What Linux' loader says: `ldconfig -p`, `LD_DEBUG=libs`, `/proc/PID/maps`, `ldd`.

use crate::diagnosis::facts::Machine;

/// One line of the loader's cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    /// The name that is looked for.
    pub soname: String,
    /// The file.
    pub path: String,
    /// What it is for, from `(libc6,x86-64)`.
    pub machine: Option<Machine>,
}

/// `\tlibcudnn.so.8 (libc6,x86-64) => /usr/lib/…`, whatever language the first line is in.
pub fn ldconfig(text: &str) -> Vec<CacheEntry> {
    text.lines()
        .filter_map(|line| {
            let (head, path) = line.split_once(" => ")?;
            let (soname, kind) = head.trim().split_once(" (")?;
            let path = path.trim();
            if !path.starts_with('/') || soname.contains(' ') {
                return None;
            }
            let kind = kind.trim_end_matches(')');
            let machine = if kind.contains("x86-64") {
                Some(Machine::X64)
            } else if kind.contains("AArch64") {
                Some(Machine::Arm64)
            } else if kind == "libc6" || kind.starts_with("libc6, hwcap") || kind.contains("ELF") {
                Some(Machine::X86)
            } else {
                None
            };
            Some(CacheEntry {
                soname: soname.to_owned(),
                path: path.to_owned(),
                machine,
            })
        })
        .collect()
}

/// The entries of `/etc/ld.so.cache` itself, the new format of glibc 2.2 and up (also where an old one stands before it).
pub fn cache(bytes: &[u8]) -> Vec<CacheEntry> {
    const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
    const HEADER: usize = 48;
    const ENTRY: usize = 24;
    let Some(start) = bytes
        .windows(MAGIC.len())
        .position(|window| window == MAGIC)
    else {
        return Vec::new();
    };
    let table = &bytes[start..];
    let number = |at: usize| -> Option<usize> {
        let bytes: [u8; 4] = table.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes) as usize)
    };
    let text = |at: usize| -> Option<String> {
        let tail = table.get(at..)?;
        let end = tail.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&tail[..end]).into_owned())
    };
    let count = number(MAGIC.len()).unwrap_or(0);
    let most = table.len().saturating_sub(HEADER) / ENTRY;
    (0..count.min(most))
        .filter_map(|index| {
            let at = HEADER + index * ENTRY;
            let machine = match number(at)? & 0xffff {
                0x0303 => Some(Machine::X64),
                0x0a03 => Some(Machine::Arm64),
                0x0003 => Some(Machine::X86),
                _ => None,
            };
            Some(CacheEntry {
                soname: text(number(at + 4)?)?,
                path: text(number(at + 8)?)?,
                machine,
            })
        })
        .collect()
}

/// The cuDNN files that a process mapped, in the order in which it did: from `LD_DEBUG` output (`calling init:` is said
/// of what was really loaded, `trying file=` only of attempts), from a maps file, or from `ldd`.
pub fn loaded(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in text.lines() {
        let path = if let Some((_, path)) = line.split_once("calling init: ") {
            path.trim()
        } else if let Some((_, path)) = line.split_once(" => ") {
            path.split(" (").next().unwrap_or(path).trim()
        } else if line.contains("trying file=") || line.contains("calling fini: ") {
            continue;
        } else {
            // A maps line: address, rights, offset, device, inode, path.
            let Some(at) = line.find(" /").or_else(|| line.find("\t/")) else {
                continue;
            };
            line[at..].trim().trim_end_matches(" (deleted)")
        };
        let name = crate::diagnosis::library::LibraryName::of(path);
        if name.is_cudnn && path.contains('/') && !found.iter().any(|other| other == path) {
            found.push(path.to_owned());
        }
    }
    found
}

/// Names for which `ldd` says "not found".
pub fn missing(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once(" => ")?;
            rest.trim()
                .starts_with("not found")
                .then(|| name.trim().to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_read_in_any_language() {
        let text = "523 bibliothèques trouvées dans le cache « /etc/ld.so.cache »\n\tlibcudnn.so.8 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcudnn.so.8\n\tlibz.so.1 (libc6) => /lib/i386-linux-gnu/libz.so.1\n";
        let got = ldconfig(text);
        assert_eq!(got.len(), 2);
        assert_eq!(got[0].soname, "libcudnn.so.8");
        assert_eq!(got[0].machine, Some(Machine::X64));
        assert_eq!(got[1].machine, Some(Machine::X86));
    }

    #[test]
    fn the_cache_file_is_read_in_both_formats() {
        let strings = b"libcudnn.so.8\0/usr/lib/libcudnn.so.8\0";
        let mut new = Vec::from(b"glibc-ld.so.cache1.1");
        new.extend(1_u32.to_le_bytes());
        new.extend((strings.len() as u32).to_le_bytes());
        new.resize(48, 0);
        for number in [0x0303_u32, 72, 86, 0, 0, 0] {
            new.extend(number.to_le_bytes());
        }
        new.extend(strings);
        let old = [b"ld.so-1.7.0\0\0\0\0\0".as_slice(), &new].concat();
        for bytes in [&new, &old] {
            let got = cache(bytes);
            assert_eq!(got.len(), 1);
            assert_eq!(got[0].soname, "libcudnn.so.8");
            assert_eq!(got[0].path, "/usr/lib/libcudnn.so.8");
            assert_eq!(got[0].machine, Some(Machine::X64));
        }
        for end in 0..new.len() {
            cache(&new[..end]);
        }
    }

    #[test]
    fn only_what_was_mapped_counts() {
        let text = "      12:\t  trying file=/a/libcudnn_graph.so.9\n      12:\tcalling init: /b/libcudnn_graph.so.9\n7f00-7f01 r-xp 00000000 08:01 42   /c/libcudnn.so.9\n7f01-7f02 r--p 00000000 08:01 42   /c/libcudnn.so.9\n\tlibcudnn.so.8 => /d/libcudnn.so.8 (0x00007f)\n\tlibcudnn_adv.so.8 => not found\n";
        assert_eq!(
            loaded(text),
            [
                "/b/libcudnn_graph.so.9",
                "/c/libcudnn.so.9",
                "/d/libcudnn.so.8"
            ]
        );
        assert_eq!(missing(text), ["libcudnn_adv.so.8"]);
    }
}
