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
