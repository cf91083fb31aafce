//! `PATH` and `LD_LIBRARY_PATH`, as pasted from a console, a registry editor or a script.

use crate::diagnosis::facts::{SearchKind, SearchList, View};

/// Reads a search list. `kind` is taken from the text where it does not say.
pub fn parse(text: &str, from: &str, view: View) -> SearchList {
    let value = value(text);
    let kind = kind_of(&value);
    list(kind, &value, from, view)
}

/// A variable's value as a search list.
pub fn list(kind: SearchKind, value: &str, from: &str, view: View) -> SearchList {
    let separator = match kind {
        SearchKind::Path => ';',
        SearchKind::LdLibraryPath => ':',
    };
    let elements: Vec<String> = if value.is_empty() {
        Vec::new()
    } else {
        value.split(separator).map(str::to_owned).collect()
    };
    // One separator at the very end of a Windows PATH is how installers leave it.
    let trailing = kind == SearchKind::Path
        && elements.len() > 1
        && elements.last().is_some_and(String::is_empty);
    let empty = elements
        .iter()
        .filter(|element| element.trim().is_empty())
        .count()
        - usize::from(trailing);
    let mut seen = Vec::new();
    let mut duplicates = 0;
    for element in &elements {
        let key = normal(element, kind);
        if key.is_empty() {
            continue;
        }
        if seen.contains(&key) {
            duplicates += 1;
        } else {
            seen.push(key);
        }
    }
    SearchList {
        kind,
        view,
        from: from.to_owned(),
        length: value.chars().count(),
        elements,
        empty,
        duplicates,
    }
}

/// A folder as the loader compares it: without a closing separator, and on Windows whatever the case and the slash.
pub fn normal(folder: &str, kind: SearchKind) -> String {
    match kind {
        SearchKind::Path => {
            let folder = folder.trim().trim_matches('"').replace('/', "\\");
            collapse(&folder, '\\').to_lowercase()
        }
        SearchKind::LdLibraryPath => collapse(folder, '/'),
    }
}

/// Repeated separators made one and the closing one dropped.
fn collapse(folder: &str, separator: char) -> String {
    let mut out = String::with_capacity(folder.len());
    for (position, character) in folder.chars().enumerate() {
        // `\\server\share` begins with two on purpose.
        if character == separator && position > 1 && out.ends_with(separator) {
            continue;
        }
        out.push(character);
    }
    if out.len() > 1 && out.ends_with(separator) {
        out.pop();
    }
    out
}

/// The list itself out of what consoles print around it: `PATH=…`, `Path    REG_EXPAND_SZ    …`, one entry a line.
fn value(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.trim_end_matches('\r'))
        .filter(|line| !line.trim().is_empty())
        .collect();
    let Some(first) = lines.first() else {
        return String::new();
    };
    // A registry editor's or `reg query`'s output: the value stands behind the type.
    for line in &lines {
        for kind in ["REG_EXPAND_SZ", "REG_SZ"] {
            if let Some((_, value)) = line.split_once(kind) {
                return value.trim_start().to_owned();
            }
        }
    }
    if lines.len() == 1 {
        return strip_name(first).to_owned();
    }
    let single = lines
        .iter()
        .find(|line| line.matches(';').count() > 1 || strip_name(line).len() < line.len());
    if let Some(line) = single {
        return strip_name(line).to_owned();
    }
    let separator = if lines.iter().any(|line| is_windows_path(line)) {
        ";"
    } else {
        ":"
    };
    lines.join(separator)
}

/// Without `PATH=`, `Path : `, `set PATH=`, `export LD_LIBRARY_PATH=`.
fn strip_name(line: &str) -> &str {
    let trimmed = line.trim_start();
    let rest = ["set ", "SET ", "export "]
        .iter()
        .find_map(|word| trimmed.strip_prefix(word))
        .unwrap_or(trimmed);
    for name in ["LD_LIBRARY_PATH", "PATH"] {
        if let Some(head) = rest.get(..name.len())
            && head.eq_ignore_ascii_case(name)
        {
            let after = rest[name.len()..].trim_start();
            if let Some(value) = after.strip_prefix(['=', ':']) {
                return value.trim_start();
            }
        }
    }
    line
}

fn kind_of(value: &str) -> SearchKind {
    if value.contains(';') || value.split(':').any(is_windows_path) || is_windows_path(value) {
        SearchKind::Path
    } else {
        SearchKind::LdLibraryPath
    }
}

/// `C:\…`, `C:/…`, `\\server`, `%VARIABLE%…`.
pub fn is_windows_path(text: &str) -> bool {
    let text = text.trim_start_matches('"');
    let bytes = text.as_bytes();
    text.starts_with(r"\\")
        || text.starts_with('%')
        || (bytes.len() > 2
            && bytes[0].is_ascii_alphabetic()
            && bytes[1] == b':'
            && matches!(bytes[2], b'\\' | b'/'))
        || (text.contains('\\') && !text.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(text: &str) -> Vec<String> {
        parse(text, "path.txt", View::Plain).elements
    }

    #[test]
    fn consoles_wrap_the_list_in_many_ways() {
        let wanted = [r"C:\a\bin", r"C:\b"];
        for text in [
            r"C:\a\bin;C:\b",
            "PATH=C:\\a\\bin;C:\\b\r\n",
            "Path : C:\\a\\bin;C:\\b\n",
            "set PATH=C:\\a\\bin;C:\\b\n",
            "C:\\a\\bin\r\nC:\\b\r\n",
            "\r\nHKEY_CURRENT_USER\\Environment\r\n    Path    REG_EXPAND_SZ    C:\\a\\bin;C:\\b\r\n",
        ] {
            assert_eq!(elements(text), wanted, "{text:?}");
        }
        assert_eq!(elements("/opt/a:/opt/b\n"), ["/opt/a", "/opt/b"]);
        assert_eq!(elements("/opt/a\n/opt/b\n"), ["/opt/a", "/opt/b"]);
        assert_eq!(elements(""), Vec::<String>::new());
    }

    #[test]
    fn quotes_blanks_and_empty_elements_stay_as_they_are() {
        assert_eq!(
            elements(r#""D:\odd;name\bin";C:\x "#),
            [r#""D:\odd"#, r#"name\bin""#, r"C:\x "]
        );
        let list = list(
            SearchKind::LdLibraryPath,
            ":/a/::/b:/a",
            "env.txt",
            View::Plain,
        );
        assert_eq!((list.empty, list.duplicates), (2, 1));
        let list = super::list(SearchKind::Path, r"C:\a;;c:\A\;", "path.txt", View::Plain);
        assert_eq!((list.empty, list.duplicates), (1, 1));
        assert_eq!(parse(";;;", "p", View::Plain).elements.len(), 4);
    }
}
