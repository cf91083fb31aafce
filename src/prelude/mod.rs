//! The Python prelude: what makes the active build win inside a Python process.
//!
//! One `sitecustomize.py` serves all builds: it reads which one is active from the environment, so `exec` has nothing to
//! write. Its text is in the file beside this one, where an editor and Python's own tools can read it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::environment;
use crate::error::IoError;
use crate::store::{self, Store};

/// The prelude as it is written into the store.
pub const TEXT: &str = include_str!("sitecustomize.py");

const FILE_NAME: &str = "sitecustomize.py";

/// The prelude's folder inside `preludes`. Named by content, so that a newer cudnnm never rewrites a file that a running
/// Python of an older one may be about to read.
fn folder(store: &Store) -> PathBuf {
    store
        .preludes()
        .join(format!("{:016x}", fnv1a(TEXT.as_bytes())))
}

/// The folder for `PYTHONPATH`; the file is written if it is not there yet.
///
/// # Errors
///
/// When it is not there and can't be written.
pub fn ensure(store: &Store) -> Result<PathBuf, IoError> {
    let folder = folder(store);
    let file = folder.join(FILE_NAME);
    if !file.is_file() {
        std::fs::create_dir_all(&folder).map_err(IoError::at("create", &folder))?;
        store::replace_file(&file, TEXT.as_bytes())?;
    }
    Ok(folder)
}

/// What a prelude that `exec` did not start must be told.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The build's folder.
    pub folder: &'a Path,
    /// The build, as people name it.
    pub name: &'a str,
    /// Its library folder and its companions'.
    pub libraries: &'a [PathBuf],
}

impl Target<'_> {
    fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            (
                environment::ACTIVE_PATH,
                python_literal(self.folder.as_os_str()),
            ),
            (environment::ACTIVE, python_literal(OsStr::new(self.name))),
        ];
        if cfg!(windows) {
            let folders: Vec<String> = self
                .libraries
                .iter()
                .map(|folder| python_literal(folder.as_os_str()))
                .collect();
            let list = format!("\";\".join(({},))", folders.join(", "));
            variables.push((environment::ACTIVE_DLLS, list));
        }
        variables
    }

    /// The prelude for pasting into a program or notebook, with the build's folder written into it.
    pub fn pasted(&self) -> String {
        let mut setting = "import os\n".to_owned();
        for (name, value) in self.variables() {
            setting.push_str(&format!("os.environ[\"{name}\"] = {value}\n"));
        }
        // The comment at the top tells of a file in the store; a pasted copy is not that.
        let body = TEXT
            .split_once("import os\n")
            .map_or(TEXT, |(_, body)| body);
        setting + body
    }

    /// The line of a `.pth` file that does the same at every start of one environment's Python. What `exec` has set
    /// wins, and a store that has gone is no reason to disturb Python.
    pub fn pth_line(&self, prelude_folder: &Path) -> String {
        let file = prelude_folder.join(FILE_NAME);
        let settings: String = self
            .variables()
            .iter()
            .map(|(name, value)| format!("s(\"{name}\", {value}), "))
            .collect();
        format!(
            "import os, io; p = {}; s = os.environ.setdefault; os.path.isfile(p) and ({settings}exec(compile(io.open(p, \
             encoding=\"utf-8\").read(), p, \"exec\"), {{\"__name__\": \"cudnnm_prelude\"}}))\n",
            python_literal(file.as_os_str()),
        )
    }
}

/// Why a Python passes the prelude by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skipped {
    /// By `-I`, `-E` or `-S`, also in a bundle (`-Ic`).
    ByOption(char),
    /// By a `python311._pth` beside it, as the embeddable packages of Windows have: it makes Python ignore `PYTHONPATH`.
    ByPathFile(PathBuf),
}

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ByOption(option) => write!(f, "Python's -{option} skips the cudnnm prelude")?,
            Self::ByPathFile(file) => {
                write!(
                    f,
                    "`{}` makes this Python skip the cudnnm prelude",
                    file.display()
                )?;
            }
        }
        f.write_str(if cfg!(windows) {
            ": Python will not find the selected cuDNN (paste the output of `cudnnm prelude` into the program)"
        } else {
            ": a framework with a cuDNN of its own will load that one"
        })
    }
}

/// Whether `program` is a Python that will pass the prelude by, and why.
pub fn skipped_by(program: &Path, args: &[OsString]) -> Option<Skipped> {
    if !is_python(program) {
        return None;
    }
    skipping_option(args)
        .map(Skipped::ByOption)
        .or_else(|| path_file(program).map(Skipped::ByPathFile))
}

fn is_python(program: &Path) -> bool {
    let name = program.file_stem().and_then(OsStr::to_str);
    let Some(name) = name.map(str::to_ascii_lowercase) else {
        return false;
    };
    let rest = name
        .strip_prefix("python")
        .or_else(|| name.strip_prefix("pypy"));
    rest.is_some_and(|rest| {
        rest.trim_end_matches('w')
            .chars()
            .all(|c| c.is_ascii_digit() || c == '.' || c == 't' || c == 'd')
    })
}

fn skipping_option(args: &[OsString]) -> Option<char> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let options = arg.to_str()?.strip_prefix('-')?;
        if options.is_empty() || options.starts_with('-') {
            return None;
        }
        for (position, option) in options.char_indices() {
            match option {
                'I' | 'E' | 'S' => return Some(option),
                // The program follows: what stands behind it is its own.
                'c' | 'm' => return None,
                'W' | 'X' => {
                    // These take a value: the rest of this word, or the next word.
                    if position + 1 == options.len() {
                        args.next();
                    }
                    break;
                }
                _ => {}
            }
        }
    }
    None
}

fn path_file(program: &Path) -> Option<PathBuf> {
    if !cfg!(windows) {
        return None;
    }
    let mut entries = std::fs::read_dir(program.parent()?).ok()?.flatten();
    entries.find_map(|entry| {
        let name = entry.file_name().to_str()?.to_ascii_lowercase();
        (name.starts_with("python") && name.ends_with("._pth")).then(|| entry.path())
    })
}

/// A Python string literal for any text; a path that is no Unicode is given lossily, which only `cudnnm prelude` does.
fn python_literal(text: &OsStr) -> String {
    let mut literal = String::from("u\"");
    for c in text.to_string_lossy().chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            '\u{20}'..='\u{7e}' => literal.push(c),
            _ if u32::from(c) > 0xffff => literal.push_str(&format!("\\U{:08x}", u32::from(c))),
            _ => literal.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    literal.push('"');
    literal
}

/// FNV-1a, 64 bits: names a version of a text we wrote ourselves, protects nothing.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_options_that_skip_the_prelude_are_seen() {
        let cases: [(&str, &[&str], Option<char>); 12] = [
            ("python3", &["-I", "x.py"], Some('I')),
            ("/usr/bin/python3.11", &["-Ic", "pass"], Some('I')),
            ("python", &["-B", "-S", "x.py"], Some('S')),
            ("pypy3", &["-uE", "x.py"], Some('E')),
            ("pythonw", &["-E"], Some('E')),
            ("python3.13t", &["-E"], Some('E')),
            ("python", &["-c", "pass", "-I"], None),
            ("python", &["-m", "torch", "-E"], None),
            ("python", &["-W", "-E", "x.py"], None),
            ("python", &["x.py", "-S"], None),
            ("python-config", &["-I"], None),
            ("bash", &["-E"], None),
        ];
        for (program, args, expected) in cases {
            let args: Vec<OsString> = args.iter().map(OsString::from).collect();
            assert_eq!(
                skipped_by(Path::new(program), &args),
                expected.map(Skipped::ByOption),
                "{program} {args:?}"
            );
        }
    }

    #[test]
    fn any_path_becomes_a_python_literal() {
        assert_eq!(
            python_literal(OsStr::new("D:\\a \"b\"\\库")),
            r#"u"D:\\a \"b\"\\\u5e93""#
        );
        assert_eq!(python_literal(OsStr::new("🧪")), r#"u"\U0001f9ea""#);
    }
}
