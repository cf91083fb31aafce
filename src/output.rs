//! Where words go: data to stdout, talk to stderr.
//!
//! Nothing else in the program prints. A closed pipe (`cudnnm list | head -1`) ends output quietly, as it does for `ls`.

#![expect(clippy::print_stderr, reason = "this is the one room that prints")]

use std::error::Error as _;
use std::io::{IsTerminal, Write};

use serde::Serialize;

use crate::error::{Error, Failure};

/// How much is said, and how.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// Only data and errors.
    pub quiet: bool,
    /// Progress bars may be drawn: stderr is a terminal, and nobody asked for less.
    pub bars: bool,
}

impl Output {
    /// Looks at the terminal once.
    pub fn new(quiet: bool, progress: bool) -> Self {
        Self {
            quiet,
            bars: progress && !quiet && std::io::stderr().is_terminal(),
        }
    }

    /// One line of data.
    pub fn line(&self, text: impl std::fmt::Display) {
        let _ = writeln!(std::io::stdout().lock(), "{text}");
    }

    /// Data as it is, without a line end.
    pub fn raw(&self, bytes: &[u8]) {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(bytes).and_then(|()| out.flush());
    }

    /// One JSON document.
    pub fn json(&self, document: &impl Serialize) {
        match serde_json::to_string_pretty(document) {
            Ok(text) => self.line(text),
            Err(error) => {
                unreachable!("our own documents have string keys and finite numbers: {error}")
            }
        }
    }

    /// Talk about what is going on; silent under `--quiet`.
    pub fn note(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }

    /// Something the person should know even under `--quiet`.
    pub fn warning(&self, text: impl std::fmt::Display) {
        anstream::eprintln!("{YELLOW}warning{RESET}: {text}");
    }

    /// A command that leads on, beside a report on stdout.
    pub fn hint(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            anstream::eprintln!("{CYAN}hint{RESET}: {text}");
        }
    }

    /// The command's end: the message, each cause, each hint.
    pub fn error(&self, error: &Error) {
        anstream::eprintln!("{RED}error{RESET}: {error}");
        let mut cause = error.source();
        while let Some(inner) = cause {
            anstream::eprintln!("  caused by: {inner}");
            cause = inner.source();
        }
        for hint in error.hints() {
            anstream::eprintln!("{CYAN}hint{RESET}: {hint}");
        }
    }
}

/// Sizes as people read them: `17.3 MB`, powers of 1000 as disk makers and download pages count.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = UNITS[0];
    for next in &UNITS[1..] {
        if value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    let decimals = if value < 10.0 {
        2
    } else {
        usize::from(value < 100.0)
    };
    format!("{value:.decimals$} {unit}")
}

/// Columns padded to their widest cell, two blanks between; for listings on stdout.
pub fn table(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    rows.iter()
        .map(|row| {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            cells.join("  ").trim_end().to_owned()
        })
        .collect()
}

// Anstream drops these where the terminal, NO_COLOR or a pipe asks for plain text; the words say the same.
const RED: &str = "\u{1b}[1;31m";
const YELLOW: &str = "\u{1b}[1;33m";
const CYAN: &str = "\u{1b}[1;36m";
const RESET: &str = "\u{1b}[0m";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_like_a_download_page() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (17_300_000, "17.3 MB"),
            (999_999_999, "1.00 GB"),
            (692_992_268, "693 MB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn table_columns_line_up() {
        let rows = [
            vec!["a".to_owned(), "b".to_owned()],
            vec!["long".to_owned(), "c".to_owned()],
        ];
        assert_eq!(table(&rows), ["a     b", "long  c"]);
    }
}
