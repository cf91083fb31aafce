//! How each shell writes down a variable.

use std::ffi::OsStr;
use std::path::Path;

/// The shells we write for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Shell {
    /// Bash, and any other POSIX shell
    #[value(alias = "sh")]
    Bash,
    /// Zsh
    Zsh,
    /// Fish
    Fish,
    /// PowerShell
    #[value(alias = "pwsh")]
    Powershell,
    /// The Windows command prompt
    Cmd,
    /// No shell: one JSON document
    Json,
}

impl Shell {
    /// From the value of `SHELL`; PowerShell on a Windows without one.
    pub fn guess(shell: Option<&OsStr>) -> Self {
        match shell
            .map(Path::new)
            .and_then(Path::file_stem)
            .and_then(OsStr::to_str)
        {
            Some("fish") => Self::Fish,
            Some("zsh") => Self::Zsh,
            Some("pwsh" | "powershell") => Self::Powershell,
            None if cfg!(windows) => Self::Powershell,
            _ => Self::Bash,
        }
    }

    /// The line that sets and exports one variable, whatever its value holds.
    pub fn assignment(self, name: &str, value: &str) -> String {
        match self {
            Self::Bash | Self::Zsh => format!("export {name}='{}'", value.replace('\'', r"'\''")),
            // In fish, PATH-like variables are lists; given as one quoted word it splits them by itself.
            Self::Fish => {
                let quoted = value.replace('\\', r"\\").replace('\'', r"\'");
                format!("set -gx {name} '{quoted}'")
            }
            // Typographic quotes end a PowerShell string too; doubling escapes each.
            Self::Powershell => {
                let mut quoted = String::new();
                for c in value.chars() {
                    if matches!(c, '\'' | '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}') {
                        quoted.push(c);
                    }
                    quoted.push(c);
                }
                format!("$env:{name} = '{quoted}'")
            }
            // Quotes round the whole assignment keep `&`, `|` and blanks literal. A `%` would start a variable in a
            // batch file and can't be told from one at the prompt; paths with it are rare enough to leave alone.
            Self::Cmd => format!("set \"{name}={value}\""),
            Self::Json => format!("{{\"{name}\": {}}}", serde_json::Value::from(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_as_each_shell_needs() {
        let value = r#"/a b/[x]/$HOME/it's/"q"/库\"#;
        let cases = [
            (Shell::Bash, r#"export V='/a b/[x]/$HOME/it'\''s/"q"/库\'"#),
            (Shell::Fish, r#"set -gx V '/a b/[x]/$HOME/it\'s/"q"/库\\'"#),
            (
                Shell::Powershell,
                r#"$env:V = '/a b/[x]/$HOME/it''s/"q"/库\'"#,
            ),
            (Shell::Cmd, r#"set "V=/a b/[x]/$HOME/it's/"q"/库\""#),
        ];
        for (shell, expected) in cases {
            assert_eq!(shell.assignment("V", value), expected);
        }
    }

    #[test]
    fn the_shell_is_guessed_from_its_path() {
        assert_eq!(Shell::guess(Some(OsStr::new("/usr/bin/fish"))), Shell::Fish);
        assert_eq!(Shell::guess(Some(OsStr::new("/bin/dash"))), Shell::Bash);
    }
}
