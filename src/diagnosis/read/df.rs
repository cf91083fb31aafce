//! Free space: `df`, `df -h`, PowerShell's `Get-PSDrive`, `dir`'s last line.

use crate::diagnosis::facts::Disk;

/// File systems with their free bytes. Unit-less sizes are the 1024-byte blocks of plain `df`.
pub fn disks(text: &str) -> Vec<Disk> {
    let mut header = None;
    let mut found = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        // `df` names its columns in the user's language, but the one with the share in use always holds `%`.
        if header.is_none() && words.len() >= 4 && !words.iter().any(|word| is_share(word)) {
            header = Some(line.to_owned());
            continue;
        }
        let Some(share) = words.iter().position(|word| is_share(word)) else {
            continue;
        };
        if share < 3 {
            continue;
        }
        let inodes = header.as_deref().is_some_and(|line| {
            line.contains("IUse") || line.contains("Inodes") || line.contains("IFree")
        });
        let unit = if inodes { 1 } else { block(header.as_deref()) };
        let available = amount(words[share - 1], unit);
        let size = amount(words[share - 3], unit);
        let at = words.get(share + 1..).unwrap_or_default().join(" ");
        if let Some(available) = available {
            // With few inodes left nothing can be created either; they are counted, not measured.
            let available = if inodes && available > 1000 {
                continue;
            } else {
                available
            };
            found.push(Disk {
                at: if at.is_empty() {
                    words[0].to_owned()
                } else {
                    at
                },
                available,
                size: size.filter(|_| !inodes),
            });
        }
    }
    found.extend(text.lines().filter_map(drive_row));
    found
}

fn is_share(word: &str) -> bool {
    word.strip_suffix('%')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

fn block(header: Option<&str>) -> u64 {
    match header {
        Some(header) if header.contains("1M-") => 1024 * 1024,
        Some(header) if header.contains("512-") => 512,
        Some(header) if header.contains("1B-") => 1,
        _ => 1024,
    }
}

/// `12G`, `3,4G`, `512M`, `0`, `1234567`, `12Gi`.
fn amount(text: &str, unit: u64) -> Option<u64> {
    let text = text.replace(',', ".");
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let factor = match text[end..].trim_end_matches(['i', 'B']) {
        "" => unit,
        "K" | "k" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return None,
    };
    let bytes = number * factor as f64;
    (bytes < 1e18).then_some(bytes as u64)
}

/// `C   118.23   0.41 FileSystem  C:\` of `Get-PSDrive` (gigabytes), `… 1,234,567 bytes free` of `dir`, and
/// `DeviceID FreeSpace Size` rows of `wmic logicaldisk`.
fn drive_row(line: &str) -> Option<Disk> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if let Some(place) = words.iter().position(|word| *word == "FileSystem")
        && place >= 3
    {
        let number = |text: &str| text.replace(',', ".").parse::<f64>().ok();
        let (used, free) = (number(words[place - 2])?, number(words[place - 1])?);
        let giga = |value: f64| (value * 1024.0 * 1024.0 * 1024.0) as u64;
        return Some(Disk {
            at: format!("{}:\\", words[0].trim_end_matches(':')),
            available: giga(free),
            size: Some(giga(used + free)),
        });
    }
    if line.trim_end().ends_with("bytes free") {
        let number: String = line
            .rsplit(')')
            .next()?
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        return Some(Disk {
            at: "this drive".to_owned(),
            available: number.parse().ok()?,
            size: None,
        });
    }
    match words.as_slice() {
        [drive, free, size]
            if drive.len() == 2
                && drive.ends_with(':')
                && drive.starts_with(|c: char| c.is_ascii_alphabetic()) =>
        {
            Some(Disk {
                at: format!("{drive}\\"),
                available: free.parse().ok()?,
                size: size.parse().ok(),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_in_every_form() {
        let cases = [
            (
                "Filesystem      Size  Used Avail Use% Mounted on\n/dev/sda1        50G   49G  512M  99% /\ntmpfs  2.0G  1.9G 102M  95% /tmp\n",
                vec![("/", 512 << 20), ("/tmp", 102 << 20)],
            ),
            (
                "Dateisystem    1K-Blöcke   Benutzt Verfügbar Verw% Eingehängt auf\n/dev/nvme0n1p2 100000 99000 1000 99% /home dir\n",
                vec![("/home dir", 1000 << 10)],
            ),
            (
                "C    118.23    0.50 FileSystem    C:\\\n",
                vec![("C:\\", 512 << 20)],
            ),
            (
                "              12 Dir(s)   1,048,576 bytes free\n",
                vec![("this drive", 1 << 20)],
            ),
            (
                "DeviceID  FreeSpace  Size\nD:  4096  8192\n",
                vec![("D:\\", 4096)],
            ),
            ("no table here\n", vec![]),
        ];
        for (text, wanted) in cases {
            let got: Vec<(String, u64)> = disks(text)
                .into_iter()
                .map(|disk| (disk.at, disk.available))
                .collect();
            let wanted: Vec<(String, u64)> = wanted
                .into_iter()
                .map(|(at, available)| (at.to_owned(), available))
                .collect();
            assert_eq!(got, wanted, "{text}");
        }
    }
}
