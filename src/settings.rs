//! `settings.toml` in the store: what a person has set once for all projects.
//!
//! Absent means defaults. Keys are dotted on the command line (`cudnnm config nvidia.base-url …`). A file of a newer
//! schema is refused rather than half understood, and never overwritten.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Exit, Failure, IoError};
use crate::version::VersionSpec;

/// The schema this program reads and writes.
pub const SCHEMA: u32 = 1;

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Settings {
    /// Format of the file.
    pub schema: u32,
    /// The spec used where no project file, variable or flag names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<VersionSpec>,
    /// The order in which sources are asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<String>>,
    /// Address under which NVIDIA's `compute/` tree is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nvidia_base_url: Option<String>,
    /// Python index to use instead of the one pip uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pypi_index_url: Option<String>,
    /// Keep archives after installing from them.
    pub keep_archives: bool,
    /// Seconds without a byte after which a transfer is given up and tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_timeout: Option<u64>,
    /// The most that all transfers together take, per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_rate: Option<Rate>,
    /// NVIDIA's licence has been accepted: no more lines about it.
    pub accept_license: bool,
}

/// Bytes per second, typed like `500kB`, `2MB` or `2M`: powers of 1000, as download pages count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Rate(pub u64);

impl std::str::FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no rate; write bytes per second like 500kB or 2MB");
        let text = text.trim();
        let bare = text.strip_suffix("/s").unwrap_or(text);
        let bare = bare.strip_suffix(['b', 'B']).unwrap_or(bare);
        let (number, factor) = match bare.chars().next_back() {
            Some('k' | 'K') => (&bare[..bare.len() - 1], 1e3),
            Some('m' | 'M') => (&bare[..bare.len() - 1], 1e6),
            Some('g' | 'G') => (&bare[..bare.len() - 1], 1e9),
            _ => (bare, 1.0),
        };
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        let rate = number * factor;
        // Below this a transfer would look dead to the server.
        if (1000.0..1e15).contains(&rate) {
            Ok(Self(rate as u64))
        } else {
            Err(wrong())
        }
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(rate) = self;
        match rate {
            rate if rate % 1_000_000 == 0 => write!(f, "{}MB", rate / 1_000_000),
            rate if rate % 1000 == 0 => write!(f, "{}kB", rate / 1000),
            rate => write!(f, "{rate}B"),
        }
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> Self {
        rate.to_string()
    }
}

impl TryFrom<String> for Rate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            schema: SCHEMA,
            default: None,
            sources: None,
            nvidia_base_url: None,
            pypi_index_url: None,
            keep_archives: false,
            network_timeout: None,
            limit_rate: None,
            accept_license: false,
        }
    }
}

/// Settings that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file can't be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Not the TOML it should be.
    #[error("`{}` is not a valid settings file", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// Written by a newer cudnnm.
    #[error("`{}` has schema {found}; this cudnnm knows {SCHEMA}", path.display())]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Its number.
        found: i64,
    },
    /// No such setting.
    #[error("there is no setting `{key}`")]
    UnknownKey {
        /// As typed.
        key: String,
    },
    /// A value of the wrong kind.
    #[error("`{value}` is not a valid value for `{key}`")]
    BadValue {
        /// The setting.
        key: String,
        /// As typed.
        value: String,
        /// What would be.
        source: Box<toml::de::Error>,
    },
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::Io(error) => error.exit(),
            Self::UnknownKey { .. } | Self::BadValue { .. } => Exit::Usage,
            Self::Malformed { .. } | Self::NewerSchema { .. } => Exit::Failed,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Io(error) => error.hints(),
            Self::UnknownKey { .. } | Self::BadValue { .. } => {
                vec!["all settings and their values: cudnnm config".to_owned()]
            }
            Self::Malformed { path, .. } => {
                vec![format!(
                    "correct the line, or move `{}` away to start from defaults",
                    path.display()
                )]
            }
            Self::NewerSchema { .. } => vec!["a newer cudnnm wrote it; update this one".to_owned()],
        }
    }
}

impl Settings {
    /// Reads the file, or gives the defaults when there is none.
    ///
    /// # Errors
    ///
    /// When it is there but can't be read, is no valid settings file, or is of a newer schema.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(IoError::at("read", path)(error).into()),
        };
        Self::parse(path, &text)
    }

    /// Reads the text of a settings file; `path` is for messages.
    ///
    /// # Errors
    ///
    /// As [`Settings::load`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        // The schema first: a newer file's unknown keys must say "newer", not "unknown key".
        let found = text
            .parse::<toml::Table>()
            .ok()
            .and_then(|table| table.get("schema").and_then(toml::Value::as_integer))
            .unwrap_or(i64::from(SCHEMA));
        if found > i64::from(SCHEMA) {
            return Err(Error::NewerSchema {
                path: path.to_owned(),
                found,
            });
        }
        toml::from_str(text).map_err(|source| Error::Malformed {
            path: path.to_owned(),
            source: Box::new(source),
        })
    }

    /// Writes the file whole, by one rename.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let text =
            toml::to_string_pretty(self).expect("settings are plain strings, numbers and lists");
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(IoError::at("create", parent))?;
        }
        crate::store::replace_file(path, text.as_bytes())?;
        Ok(())
    }

    /// The names that [`Settings::with`] takes.
    pub const KEYS: [&'static str; 8] = [
        "default",
        "sources",
        "nvidia-base-url",
        "pypi-index-url",
        "keep-archives",
        "network-timeout",
        "limit-rate",
        "accept-license",
    ];

    /// A copy with one value changed, or back at its default for `None`. The value is what a person typed.
    ///
    /// # Errors
    ///
    /// For an unknown key or a value of the wrong kind.
    pub fn with(&self, key: &str, value: Option<&str>) -> Result<Self, Error> {
        if !Self::KEYS.contains(&key) {
            return Err(Error::UnknownKey {
                key: key.to_owned(),
            });
        }
        let mut table = toml::Table::try_from(self).expect("settings are a table");
        match value {
            None => drop(table.remove(key)),
            Some(text) => drop(table.insert(key.to_owned(), typed(key, text))),
        }
        table.try_into().map_err(|source| Error::BadValue {
            key: key.to_owned(),
            value: value.unwrap_or_default().to_owned(),
            source: Box::new(source),
        })
    }

    /// One value as a person would type it; `None` when it is not set.
    pub fn value(&self, key: &str) -> Option<String> {
        let table = toml::Table::try_from(self).expect("settings are a table");
        Some(match table.get(key)? {
            toml::Value::String(text) => text.clone(),
            toml::Value::Array(items) => items
                .iter()
                .filter_map(toml::Value::as_str)
                .collect::<Vec<_>>()
                .join(","),
            other => other.to_string(),
        })
    }
}

fn typed(key: &str, text: &str) -> toml::Value {
    match key {
        "sources" => toml::Value::Array(
            text.split(',')
                .map(|name| toml::Value::String(name.trim().to_owned()))
                .collect(),
        ),
        "keep-archives" | "accept-license" => match text {
            "true" | "yes" | "on" | "1" => toml::Value::Boolean(true),
            "false" | "no" | "off" | "0" => toml::Value::Boolean(false),
            _ => toml::Value::String(text.to_owned()),
        },
        "network-timeout" => match text.parse() {
            Ok(number) => toml::Value::Integer(number),
            Err(_) => toml::Value::String(text.to_owned()),
        },
        _ => toml::Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Settings, String> {
        Settings::parse(Path::new("settings.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_file_means_defaults() {
        assert_eq!(parse("").unwrap(), Settings::default());
    }

    #[test]
    fn a_newer_schema_is_refused_even_with_unknown_keys() {
        assert!(
            parse("schema = 2\nwarp = true\n")
                .unwrap_err()
                .contains("schema 2")
        );
        assert!(
            parse("warp = true\n")
                .unwrap_err()
                .contains("not a valid settings file")
        );
    }

    #[test]
    fn values_are_set_shown_and_unset() {
        let settings = Settings::default()
            .with("default", Some("8.2.1+cuda11.3"))
            .and_then(|settings| settings.with("sources", Some("pypi, nvidia")))
            .and_then(|settings| settings.with("keep-archives", Some("yes")))
            .unwrap();
        assert_eq!(settings.value("default").as_deref(), Some("8.2.1+cuda11.3"));
        assert_eq!(settings.value("sources").as_deref(), Some("pypi,nvidia"));
        assert!(settings.keep_archives);
        assert_eq!(settings.with("default", None).unwrap().default, None);
        assert!(settings.with("default", Some("newest")).is_err());
        assert!(settings.with("keep-archives", Some("perhaps")).is_err());
        assert!(settings.with("colour", Some("red")).is_err());
    }

    #[test]
    fn rates_are_read_as_people_write_them() {
        for (text, rate) in [
            ("500kB", 500_000),
            ("2M", 2_000_000),
            ("1.5MB/s", 1_500_000),
            ("1 GB", 1_000_000_000),
            ("2500", 2500),
        ] {
            let read: Rate = text.parse().unwrap();
            assert_eq!(read, Rate(rate), "{text}");
            assert_eq!(read.to_string().parse(), Ok(read), "{text}");
        }
        for text in ["", "0", "-1M", "fast", "10", "1TB", "NaN", "MB"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }
}
