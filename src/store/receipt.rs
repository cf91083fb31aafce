//! The receipt: what was installed, from where, and what each file must hash to.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::Error;
use crate::companion::CompanionId;
use crate::version::BuildId;

/// The schema this program writes.
pub const SCHEMA: u32 = 1;

/// What one installed folder is and where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Receipt {
    /// Format of the file.
    pub schema: u32,
    /// What it is.
    pub package: Package,
    /// `nvidia`, `pypi`, `local`, `import`.
    pub source: String,
    /// Address (without credentials) or path it came from.
    pub origin: String,
    /// The archive's file name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The archive's SHA-256, lower-case hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Who vouched for that digest.
    pub trust: Trust,
    /// When, UTC, RFC 3339.
    pub installed: String,
    /// The folder that an `import --link` points to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linked: Option<String>,
    /// Libraries that cuDNN opens by name and that are not its own, e.g. `libcublasLt.so.12`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Windows signatures, when they could be checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signatures: Option<Signatures>,
    /// Links inside the folder: name → what it points to, both relative with `/`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, String>,
    /// Each regular file.
    #[serde(default)]
    pub files: Vec<FileRecord>,
}

/// What a folder of the store holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Package {
    /// A cuDNN.
    Cudnn(BuildId),
    /// A library beside it.
    Companion(CompanionId),
}

/// Who vouched for an archive's digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// It stood in the manifest.
    Manifest,
    /// The index or NVIDIA's own JSON named it.
    Index,
    /// Nobody: the person confirmed with `--trust-on-first-use`.
    FirstUse,
    /// The archive or folder was the person's own.
    Local,
}

/// What checking Authenticode signatures showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signatures {
    /// Whether every DLL had a valid signature.
    pub valid: bool,
    /// The signers' names.
    pub signers: Vec<String>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Below the folder, with `/`.
    pub path: String,
    /// In bytes.
    pub size: u64,
    /// Lower-case hexadecimal.
    pub sha256: String,
}

impl Receipt {
    /// Reads a receipt; `path` is for messages.
    ///
    /// # Errors
    ///
    /// When it is not one, or of a newer schema.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        let bad = |source| Error::BadReceipt {
            path: path.to_owned(),
            source: Box::new(source),
        };
        let receipt: Self = match toml::from_str(text) {
            Ok(receipt) => receipt,
            Err(source) => {
                let table = text.parse::<toml::Table>().unwrap_or_default();
                return Err(
                    match table.get("schema").and_then(toml::Value::as_integer) {
                        Some(found) if found > i64::from(SCHEMA) => Error::NewerReceipt {
                            path: path.to_owned(),
                            found,
                        },
                        _ => bad(source),
                    },
                );
            }
        };
        if receipt.schema > SCHEMA {
            return Err(Error::NewerReceipt {
                path: path.to_owned(),
                found: receipt.schema.into(),
            });
        }
        Ok(receipt)
    }

    /// The text of the file.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a receipt is plain strings, numbers and lists")
    }

    /// Sum of the files' sizes, in bytes.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// The present moment as RFC 3339 in UTC, to the second.
pub fn now_utc() -> String {
    utc(SystemTime::now())
}

/// A moment as RFC 3339 in UTC, to the second; such texts sort by time.
pub fn utc(time: SystemTime) -> String {
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// Days since 1970-01-01 to year, month, day (Howard Hinnant's `civil_from_days`, for days after the epoch).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (20_788, (2026, 12, 1)),
        ] {
            assert_eq!(civil(days), date);
        }
    }

    /// A receipt as the first release wrote it: later ones must go on reading it.
    #[test]
    fn a_receipt_of_schema_1_is_read() {
        let text = r#"
schema = 1
source = "pypi"
origin = "https://index.example/nvidia_cudnn_jit_cu13-9.19.0.56.whl"
file = "nvidia_cudnn_jit_cu13-9.19.0.56.whl"
sha256 = "00"
trust = "manifest"
installed = "2026-12-01T00:00:00Z"
needs = ["libcublasLt.so.13"]

[package.cudnn]
version = "9.19.0.56"
variant = "13"
flavour = "jit"
platform = "linux-x86_64"

[links]
"lib/libcudnn.so" = "libcudnn.so.9"

[[files]]
path = "lib/libcudnn.so.9"
size = 3
sha256 = "11"
"#;
        let receipt = Receipt::parse(Path::new("receipt.toml"), text).unwrap();
        assert_eq!(receipt.size(), 3);
        let Package::Cudnn(build) = &receipt.package else {
            panic!("a cuDNN")
        };
        assert_eq!(build.version.to_string(), "9.19.0.56");
        assert_eq!(
            Receipt::parse(Path::new("receipt.toml"), &receipt.to_toml()).unwrap(),
            receipt
        );
    }

    #[test]
    fn a_newer_receipt_is_told_from_a_broken_one() {
        let path = Path::new("receipt.toml");
        assert!(matches!(
            Receipt::parse(path, "schema = 2"),
            Err(Error::NewerReceipt { found: 2, .. })
        ));
        assert!(matches!(
            Receipt::parse(path, "schema = 1"),
            Err(Error::BadReceipt { .. })
        ));
        assert!(matches!(
            Receipt::parse(path, "\u{0}"),
            Err(Error::BadReceipt { .. })
        ));
    }
}
