//! A wheel's own list of its files, `RECORD`, compared with what was written.

use std::collections::BTreeMap;
use std::path::Path;

use super::Error;
use super::intake::{Haul, hex};

/// Compares each file with its line, where the package has such a list.
///
/// # Errors
///
/// [`Error::WrongDigest`].
pub fn check(archive: &Path, haul: &Haul) -> Result<(), Error> {
    let Some(list) = haul.notes.get("RECORD") else {
        return Ok(());
    };
    let list = parse(&String::from_utf8_lossy(list));
    for taken in haul.taken.values() {
        let Some((size, sha256)) = &taken.digest else {
            continue;
        };
        let Some(listed) = list.get(&taken.member) else {
            continue;
        };
        if listed != &(*size, sha256.clone()) {
            return Err(Error::WrongDigest {
                path: archive.to_owned(),
                member: taken.member.clone(),
            });
        }
    }
    Ok(())
}

/// Path → size and SHA-256; lines of other shapes (the list itself has no digest) are left out.
fn parse(text: &str) -> BTreeMap<String, (u64, String)> {
    text.lines()
        .filter_map(|line| {
            // A path with a comma is quoted; none of cuDNN's is.
            let (rest, size) = line.trim().rsplit_once(',')?;
            let (path, digest) = rest.rsplit_once(',')?;
            let digest = base64(digest.strip_prefix("sha256=")?)?;
            Some((
                path.trim_matches('"').to_owned(),
                (size.parse().ok()?, hex(&digest)),
            ))
        })
        .collect()
}

/// URL-safe base64 without padding.
fn base64(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0u32);
    for byte in text.trim_end_matches('=').bytes() {
        let value = ALPHABET.iter().position(|other| *other == byte)?;
        held = held << 6 | value as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    Some(bytes)
}

/// A field of a wheel's `METADATA`.
pub fn metadata_field(text: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    text.lines()
        .take_while(|line| !line.trim().is_empty())
        .find_map(|line| {
            line.strip_prefix(name)?
                .strip_prefix(':')
                .map(|value| value.trim().to_owned())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read() {
        // The digest of nothing.
        let list = parse(
            "nvidia/cudnn/__init__.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\nx.dist-info/RECORD,,\njunk\n",
        );
        assert_eq!(list.len(), 1);
        assert_eq!(
            list["nvidia/cudnn/__init__.py"],
            (
                0,
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".to_owned()
            )
        );
    }

    #[test]
    fn metadata_ends_at_the_first_empty_line() {
        let text = b"Name: nvidia-cublas-cu12\nVersion: 12.1.3.1\n\nLicense: x\n";
        assert_eq!(metadata_field(text, "Version").as_deref(), Some("12.1.3.1"));
        assert_eq!(metadata_field(text, "License"), None);
    }
}
