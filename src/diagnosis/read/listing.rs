//! File listings: bare names, full paths, `where`, `dir` (also `/s`), `ls -l` (also `-R`), `find`.

/// One file of a listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// Full path where the listing tells the folder, else the name.
    pub path: String,
    /// In bytes.
    pub size: Option<u64>,
    /// Where a link points.
    pub link: Option<String>,
    /// `-rw-r--r--`.
    pub mode: Option<String>,
    /// A folder.
    pub is_folder: bool,
}

/// Reads a listing in any of these forms.
pub fn entries(text: &str) -> Vec<Entry> {
    let mut folder = String::new();
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim_end_matches('\r');
        let trimmed = line.trim();
        if trimmed.is_empty() {
            continue;
        }
        if let Some(named) = dir_header(trimmed).or_else(|| ls_header(trimmed)) {
            folder = named.to_owned();
            continue;
        }
        if trimmed.ends_with(" .") || trimmed.ends_with(" ..") {
            continue;
        }
        let entry = ls_row(trimmed)
            .or_else(|| dir_row(trimmed))
            .or_else(|| plain(trimmed));
        if let Some(mut entry) = entry {
            if !folder.is_empty() && !entry.path.contains(['/', '\\']) {
                let separator = if folder.contains('\\') { '\\' } else { '/' };
                entry.path = format!(
                    "{}{separator}{}",
                    folder.trim_end_matches(separator),
                    entry.path
                );
            }
            found.push(entry);
        }
    }
    found
}

/// ` Directory of C:\x`, in any language: a line that ends in a drive path and begins with words.
fn dir_header(line: &str) -> Option<&str> {
    let at = line.find(":\\")?;
    let start = at.checked_sub(1)?;
    let path = line.get(start..)?;
    let before = line.get(..start)?;
    // Chinese and Japanese put the words behind: `C:\x 的目录`.
    if before.trim().is_empty()
        && let Some((folder, words)) = path.rsplit_once(' ')
        && !words.is_ascii()
        && !words.contains(['.', '\\'])
    {
        return Some(folder);
    }
    let head_is_words = before.ends_with(' ') && !before.trim().is_empty();
    let looks_like_file = path.rsplit('\\').next().is_some_and(|name| {
        let lower = name.to_ascii_lowercase();
        [".dll", ".lib", ".h", ".exe", ".so"]
            .iter()
            .any(|end| lower.ends_with(end))
    });
    (head_is_words && !looks_like_file && !before.contains("<")).then_some(path)
}

/// `/usr/lib/x86_64-linux-gnu:` before a block of `ls -R`.
fn ls_header(line: &str) -> Option<&str> {
    let path = line.strip_suffix(':')?;
    ((path.starts_with('/') || path.starts_with("./") || path == ".") && !path.contains("->"))
        .then_some(path)
}

/// `-rw-r--r-- 1 root root 129000 Mar  1 2023 libcudnn.so.8.9.7`, with or without a leading inode.
fn ls_row(line: &str) -> Option<Entry> {
    let mut words = line.split_whitespace().peekable();
    if words
        .peek()
        .is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit()))
    {
        words.next();
    }
    let mode = words.next()?;
    let kind = mode.chars().next()?;
    let is_mode = mode.len() >= 10
        && "-dlpscb".contains(kind)
        && mode.chars().skip(1).take(9).all(|c| "rwxsStT-".contains(c));
    if !is_mode {
        return None;
    }
    let rest: Vec<&str> = words.collect();
    // Links, owner, group, size, then the date in two or three words, then the name.
    let size = rest.get(3)?.replace(',', "").parse().ok();
    let date_words = if rest
        .get(4)
        .is_some_and(|word| word.len() == 10 && word.contains('-'))
    {
        // `ls --full-time` adds seconds and a zone.
        if rest
            .get(6)
            .is_some_and(|word| word.starts_with(['+', '-']) && word.len() == 5)
        {
            3
        } else {
            2
        }
    } else {
        3
    };
    let name = rest.get(4 + date_words..)?.join(" ");
    if name.is_empty() {
        return None;
    }
    let (path, link) = match name.split_once(" -> ") {
        Some((name, target)) => (name.to_owned(), Some(target.trim().to_owned())),
        None => (name, None),
    };
    Some(Entry {
        path: path.trim_end_matches('*').to_owned(),
        size,
        link,
        mode: Some(mode.to_owned()),
        is_folder: kind == 'd',
    })
}

/// `01/02/2024  10:11 AM       123,456 cudnn64_8.dll`, `2024-01-02  10:11    <DIR>  bin`, PowerShell's
/// `-a----  1/2/2024  10:11 AM  123456 cudnn64_8.dll`.
fn dir_row(line: &str) -> Option<Entry> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let powershell = words.first().is_some_and(|word| {
        (5..=6).contains(&word.len()) && word.chars().all(|c| "darhsl-".contains(c))
    });
    let is_folder = if powershell {
        words.remove(0).starts_with('d')
    } else {
        line.contains("<DIR>") || line.contains("<JUNCTION>")
    };
    let date = words.first()?;
    let separators = date.matches(['/', '.', '-']).count();
    if separators != 2 || !date.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let time = words.get(1)?;
    if !time.contains(':') {
        return None;
    }
    let mut next = 2;
    if words
        .get(next)
        .is_some_and(|word| word.eq_ignore_ascii_case("am") || word.eq_ignore_ascii_case("pm"))
    {
        next += 1;
    }
    let mut size = None;
    let word = *words.get(next)?;
    if word.starts_with('<') {
        next += 1;
    } else {
        // Thousands are grouped with commas, points or (no-break) blanks.
        let digits: String = word.chars().filter(char::is_ascii_digit).collect();
        let rest: String = word.chars().filter(|c| !c.is_ascii_digit()).collect();
        if !digits.is_empty() && rest.chars().all(|c| ",.'\u{a0}\u{202f}".contains(c)) {
            size = digits.parse().ok();
            next += 1;
        } else if !is_folder {
            return None;
        }
    }
    let name = words.get(next..)?.join(" ");
    (!name.is_empty() && name != "." && name != "..").then_some(Entry {
        path: name,
        size,
        is_folder,
        ..Entry::default()
    })
}

/// A line that is nothing but a path or a file name.
fn plain(line: &str) -> Option<Entry> {
    let line = line.trim_matches('"');
    // `ls -F` and `tree` marks.
    let line = line.trim_start_matches(['│', '├', '└', '─', ' ', '\u{a0}', '|', '`', '+']);
    let line = line.strip_prefix("-- ").unwrap_or(line);
    let (path, link) = match line.split_once(" -> ") {
        Some((path, link)) => (path, Some(link.trim().to_owned())),
        None => (line, None),
    };
    let has_folder = path.contains(['/', '\\']);
    let is_sentence = path.contains(' ') && !has_folder;
    let is_option = path.starts_with(['-', '#', '$', '>']);
    if path.is_empty() || is_sentence || is_option || path.ends_with([':', ',', ';']) {
        return None;
    }
    let is_folder = path.ends_with(['/', '\\']);
    if !is_folder && !path.rsplit(['/', '\\']).next()?.contains('.') && !has_folder {
        return None;
    }
    Some(Entry {
        path: path.to_owned(),
        link,
        is_folder,
        ..Entry::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        entries(text).into_iter().map(|entry| entry.path).collect()
    }

    #[test]
    fn listings_of_every_kind_give_paths() {
        let cases = [
            (
                "cudnn64_8.dll\ncudnn_ops_infer64_8.dll\n",
                vec!["cudnn64_8.dll", "cudnn_ops_infer64_8.dll"],
            ),
            (
                "C:\\Program Files\\x\\cudnn64_8.dll\r\n",
                vec![r"C:\Program Files\x\cudnn64_8.dll"],
            ),
            (
                " Volume in drive C is System\r\n\r\n Directory of C:\\tools\\cuda\\bin\r\n\r\n01/02/2024  10:11 AM    <DIR>          .\r\n01/02/2024  10:11 AM       123,456 cudnn64_8.dll\r\n               1 File(s)        123,456 bytes\r\n",
                vec![r"C:\tools\cuda\bin\cudnn64_8.dll"],
            ),
            (
                " C:\\工具\\bin 的目录\r\n\r\n2024/01/02  10:11           123,456 cudnn64_8.dll\r\n",
                vec!["C:\\工具\\bin\\cudnn64_8.dll"],
            ),
            (
                "/usr/lib/x:\ntotal 12\nlrwxrwxrwx 1 root root 17 Mar  1  2023 libcudnn.so.8 -> libcudnn.so.8.9.7\n-rw-r--r-- 1 root root 129000 2023-03-01 10:11 libcudnn.so.8.9.7\n",
                vec!["/usr/lib/x/libcudnn.so.8", "/usr/lib/x/libcudnn.so.8.9.7"],
            ),
            (
                "-a----         1/2/2024  10:11 AM         123456 cudnn64_8.dll\n",
                vec!["cudnn64_8.dll"],
            ),
            (
                "INFO: Could not find files for the given pattern(s).\n",
                vec![],
            ),
        ];
        for (text, wanted) in cases {
            assert_eq!(paths(text), wanted, "{text}");
        }
        let links =
            entries("lrwxrwxrwx 1 root root 17 Mar  1  2023 libcudnn.so.8 -> libcudnn.so.8.9.7\n");
        assert_eq!(links[0].link.as_deref(), Some("libcudnn.so.8.9.7"));
        let sizes = entries("-rw------- 1 root root 129000 Mar  1  2023 libcudnn.so.8.9.7\n");
        assert_eq!(
            (sizes[0].size, sizes[0].mode.as_deref()),
            (Some(129_000), Some("-rw-------"))
        );
    }
}
