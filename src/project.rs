//! `.cudnn-version`: which build a project wants.
//!
//! The file is data only. Its first line that is neither empty nor a `#` comment is a spec; blanks around it, CR LF, a
//! byte order mark and UTF-16 (which PowerShell's `>` writes) are all accepted. A file that can't be read that way is an
//! error that names file and line: skipping it would run a program with a cuDNN nobody asked for.

use std::path::{Path, PathBuf};

use crate::error::{Exit, Failure, IoError};
use crate::version::{ParseError, VersionSpec};

/// The file's name.
pub const FILE_NAME: &str = ".cudnn-version";

/// A project's wish and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// The file.
    pub path: PathBuf,
    /// The line with the spec, counted from 1.
    pub line: usize,
    /// What it says.
    pub spec: VersionSpec,
    /// The archive digest it is pinned to (`use --exact` writes `# sha256:…` behind the spec).
    pub sha256: Option<String>,
}

/// A `.cudnn-version` that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is there but can't be read.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Bytes that are no text.
    #[error("`{}`, line {line}: not UTF-8 or UTF-16 text", path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// Not a spec.
    #[error("`{}`, line {line} does not name a cuDNN version", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        source: ParseError,
    },
    /// Nothing but comments and empty lines.
    #[error("`{}` names no cuDNN version: it has only empty lines and comments", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::Io(error) => error.exit(),
            Self::Encoding { .. } | Self::Malformed { .. } | Self::Empty { .. } => Exit::Failed,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Io(error) => error.hints(),
            Self::Encoding { .. } | Self::Malformed { .. } | Self::Empty { .. } => {
                vec!["write it anew with a version of your choice: cudnnm use 9".to_owned()]
            }
        }
    }
}

/// The file in `folder` or the nearest parent that has one.
///
/// # Errors
///
/// When the nearest one can't be read or does not hold a spec.
pub fn find(folder: &Path) -> Result<Option<ProjectFile>, Error> {
    for folder in folder.ancestors() {
        let path = folder.join(FILE_NAME);
        match std::fs::read(&path) {
            Ok(bytes) => return parse(path, &bytes).map(Some),
            // A folder of that name is not a version file (Windows calls reading it "access denied"), and a parent that
            // is a file has none either.
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) || path.is_dir() => {}
            Err(error) => return Err(IoError::at("read", &path)(error).into()),
        }
    }
    Ok(None)
}

/// Reads the content of a `.cudnn-version` that lies at `path`.
///
/// # Errors
///
/// When it is no text, or its first line that counts is not a spec.
pub fn parse(path: PathBuf, bytes: &[u8]) -> Result<ProjectFile, Error> {
    let text = match decode(bytes) {
        Ok(text) => text,
        Err(line) => return Err(Error::Encoding { path, line }),
    };
    for (index, line) in text.lines().enumerate() {
        let (content, comment) = line.split_once('#').unwrap_or((line, ""));
        let content = content.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if content.is_empty() {
            continue;
        }
        let line = index + 1;
        let sha256 = comment
            .trim()
            .strip_prefix("sha256:")
            .map(|digest| digest.trim().to_owned());
        return match content.parse() {
            Ok(spec) => Ok(ProjectFile {
                path,
                line,
                spec,
                sha256,
            }),
            Err(source) => Err(Error::Malformed { path, line, source }),
        };
    }
    Err(Error::Empty { path })
}

/// Writes the spec into `folder`'s file. Comments and everything else that stands in an existing file are kept.
///
/// The file is replaced by one rename, so a reader sees the old or the new one, never half.
///
/// # Errors
///
/// When an existing file is no text, or the new one can't be written.
pub fn write(folder: &Path, spec: &VersionSpec, sha256: Option<&str>) -> Result<PathBuf, Error> {
    let path = folder.join(FILE_NAME);
    let old = match std::fs::read(&path) {
        Ok(bytes) => decode(&bytes).map_err(|line| Error::Encoding {
            path: path.clone(),
            line,
        })?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(IoError::at("read", &path)(error).into()),
    };
    let wish = match sha256 {
        Some(digest) => format!("{spec} # sha256:{digest}"),
        None => spec.to_string(),
    };
    let mut lines: Vec<&str> = old.lines().collect();
    let counts = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    match lines.iter().position(counts) {
        Some(position) => lines[position] = &wish,
        None => lines.push(&wish),
    }
    let text = lines.join("\n") + "\n";
    crate::store::replace_file(&path, text.as_bytes())?;
    Ok(path)
}

/// Text of UTF-8 or UTF-16 bytes; the line that is neither, counted from 1, otherwise.
fn decode(bytes: &[u8]) -> Result<String, usize> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes
            .chunks(2)
            .map(|pair| unit([pair[0], *pair.get(1).unwrap_or(&0)]))
            .collect();
        String::from_utf16(&units).map_err(|_| 1)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        // UTF-16 without a mark: a spec begins with an ASCII character, so its other byte is zero.
        [first, 0, ..] if *first != 0 => wide(bytes, u16::from_le_bytes),
        [0, second, ..] if *second != 0 => wide(bytes, u16::from_be_bytes),
        _ => {
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            std::str::from_utf8(bytes)
                .map(str::to_owned)
                .map_err(|error| {
                    1 + bytes[..error.valid_up_to()]
                        .iter()
                        .filter(|byte| **byte == b'\n')
                        .count()
                })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<(usize, String), String> {
        match parse(PathBuf::from(FILE_NAME), bytes) {
            Ok(file) => Ok((file.line, file.spec.to_string())),
            Err(error) => Err(error.to_string()),
        }
    }

    fn utf16(text: &str, mark: bool, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let mark = mark.then_some(0xfeff);
        mark.into_iter()
            .chain(text.encode_utf16())
            .flat_map(unit)
            .collect()
    }

    #[test]
    fn every_way_an_editor_or_shell_writes_it_is_read() {
        let cases: [(&[u8], usize, &str); 7] = [
            (b"8.2.1\n", 1, "8.2.1"),
            (b"8.2.1", 1, "8.2.1"),
            (b"\xef\xbb\xbf8.2.1\r\n", 1, "8.2.1"),
            (
                b"# why\r\n\r\n \t8.2.1+cuda11.3 \t\r\n9\r\n",
                3,
                "8.2.1+cuda11.3",
            ),
            (b"9.19 # newest that works\n", 1, "9.19"),
            (b">=8.5,<9", 1, ">=8.5,<9"),
            (b"latest\n", 1, "latest"),
        ];
        for (bytes, line, spec) in cases {
            assert_eq!(
                read(bytes),
                Ok((line, spec.to_owned())),
                "{:?}",
                String::from_utf8_lossy(bytes)
            );
        }
        for mark in [true, false] {
            assert_eq!(
                read(&utf16("8.2.1\r\n", mark, u16::to_le_bytes)),
                Ok((1, "8.2.1".to_owned()))
            );
            assert_eq!(
                read(&utf16("8.2.1\r\n", mark, u16::to_be_bytes)),
                Ok((1, "8.2.1".to_owned()))
            );
        }
    }

    #[test]
    fn what_is_not_a_spec_is_an_error_with_its_line() {
        assert!(read(b"# c\n\nnewest\n").unwrap_err().contains("line 3"));
        assert!(read(b"8.2.1\xff\n").unwrap_err().contains("line 1"));
        assert!(read(b"# ok\n\xff\n").unwrap_err().contains("line 2"));
        assert!(
            read(b"\n# only a comment\n")
                .unwrap_err()
                .contains("only empty lines")
        );
        assert!(read(b"").is_err());
        assert!(read(&[0, 0, 0, 0]).is_err());
    }

    #[test]
    fn writing_keeps_comments_and_replaces_the_wish() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join(FILE_NAME),
            "# team rule\r\n8.1 # old\r\n# end\r\n",
        )
        .unwrap();
        write(folder.path(), &"8.2.1".parse().unwrap(), None).unwrap();
        let text = std::fs::read_to_string(folder.path().join(FILE_NAME)).unwrap();
        assert_eq!(text, "# team rule\n8.2.1\n# end\n");
    }

    #[test]
    fn the_nearest_parent_wins() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a").join("b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(folder.path().join(FILE_NAME), "8").unwrap();
        std::fs::create_dir(deep.join(FILE_NAME)).unwrap();
        assert_eq!(find(&deep).unwrap().unwrap().spec.to_string(), "8");
        std::fs::write(folder.path().join("a").join(FILE_NAME), "9").unwrap();
        assert_eq!(find(&deep).unwrap().unwrap().spec.to_string(), "9");
    }
}
