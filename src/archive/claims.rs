//! What names say: the archive's own file name, a wheel's `METADATA`, a conda package's `index.json`.
//!
//! Names are the only place where cuDNN's fourth number stands on Linux, and the only one that tells the minor CUDA version
//! of the builds before 8.5. They are believed where the content does not contradict them.

use super::record::metadata_field;
use crate::version::{CudaVersion, CudnnVersion, Flavour, Platform};

/// What a name claims; each part may be missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Claims {
    pub version: Option<CudnnVersion>,
    pub variant: Option<CudaVersion>,
    pub flavour: Option<Flavour>,
    pub platform: Option<Platform>,
}

impl Claims {
    /// From an archive's file name, of any generation of NVIDIA's names, of a wheel or of a conda package.
    pub fn of_file_name(name: &str) -> Self {
        let name = name.to_lowercase();
        if !name.contains("cudnn") {
            return Self::default();
        }
        Self {
            version: version(&name),
            variant: variant(&name),
            flavour: Some(if name.contains("jit") {
                Flavour::Jit
            } else {
                Flavour::Full
            })
            .filter(|_| {
                name.contains("jit") || name.contains("-archive") || name.ends_with(".whl")
            }),
            platform: platform(&name),
        }
    }

    /// From a wheel's `METADATA`.
    pub fn of_metadata(text: &str) -> Self {
        let field = |name: &str| metadata_field(text.as_bytes(), name);
        let project = field("Name")
            .unwrap_or_default()
            .to_lowercase()
            .replace('_', "-");
        let Some(rest) = project.strip_prefix("nvidia-cudnn") else {
            return Self::default();
        };
        Self {
            version: field("Version").and_then(|version| version.parse().ok()),
            variant: rest
                .rsplit_once("-cu")
                .and_then(|(_, major)| major.parse().ok())
                .map(CudaVersion::major),
            flavour: Some(if rest.contains("-jit") {
                Flavour::Jit
            } else {
                Flavour::Full
            }),
            platform: None,
        }
    }

    /// From a conda package's `info/index.json`.
    pub fn of_conda_index(text: &str) -> Self {
        let Ok(index) = serde_json::from_str::<serde_json::Value>(text) else {
            return Self::default();
        };
        let field = |name: &str| index.get(name).and_then(serde_json::Value::as_str);
        if !field("name").is_some_and(|name| name.contains("cudnn")) {
            return Self::default();
        }
        let depends = index.get("depends").and_then(serde_json::Value::as_array);
        let depends = depends
            .into_iter()
            .flatten()
            .filter_map(serde_json::Value::as_str);
        Self {
            version: field("version").and_then(|version| version.parse().ok()),
            variant: field("build")
                .and_then(variant)
                .or_else(|| depends.into_iter().find_map(conda_cuda)),
            flavour: None,
            platform: match field("subdir") {
                Some("win-64") => Some(Platform::WindowsX64),
                Some("linux-64") => Some(Platform::LinuxX64),
                Some("linux-aarch64") => Some(Platform::LinuxSbsa),
                Some("linux-ppc64le") => Some(Platform::LinuxPpc64le),
                _ => None,
            },
        }
    }

    /// The first claim wins, part by part.
    pub fn or(self, other: Self) -> Self {
        Self {
            version: self.version.or(other.version),
            variant: self.variant.or(other.variant),
            flavour: self.flavour.or(other.flavour),
            platform: self.platform.or(other.platform),
        }
    }
}

/// `cuda-version >=12,<13`, `cudatoolkit 11.3.*`.
fn conda_cuda(dependency: &str) -> Option<CudaVersion> {
    let rest = dependency
        .strip_prefix("cuda-version ")
        .or_else(|| dependency.strip_prefix("cudatoolkit "))?;
    let digits: String = rest
        .trim_start_matches(['>', '=', ' ', '<'])
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    let version: CudaVersion = digits.trim_end_matches('.').parse().ok()?;
    // `>=12.0,<13` means any 12.
    Some(if rest.starts_with('>') {
        CudaVersion::major(version.major)
    } else {
        version
    })
}

/// The longest dotted number of three or four parts that could be cuDNN's.
fn version(name: &str) -> Option<CudnnVersion> {
    numbers(name)
        .filter_map(|(_, text)| text.parse::<CudnnVersion>().ok())
        .filter(|version| (5..40).contains(&version.major))
        .max_by_key(|version| version.build.is_some())
}

/// `_cuda12`, `cu12-`, or the number before the system in `cudnn-11.3-windows-…`.
fn variant(name: &str) -> Option<CudaVersion> {
    for (at, text) in numbers(name) {
        let before = &name[..at];
        let plausible = |cuda: &CudaVersion| (6..40).contains(&cuda.major);
        let tagged = before.ends_with("cuda") || (before.ends_with("cu") && !text.contains('.'));
        if tagged && let Some(cuda) = text.parse().ok().filter(plausible) {
            return Some(cuda);
        }
        let after = &name[at + text.len()..];
        let old = before.ends_with("cudnn-")
            && ["-windows", "-linux", "-osx"]
                .iter()
                .any(|system| after.starts_with(system));
        if old && let Some(cuda) = text.parse().ok().filter(plausible) {
            return Some(cuda);
        }
    }
    None
}

fn platform(name: &str) -> Option<Platform> {
    let has = |text: &str| name.contains(text);
    Some(if has("windows-arm64") || has("win_arm64") {
        Platform::WindowsArm64
    } else if has("windows") || has("win_amd64") || has("win-64") {
        Platform::WindowsX64
    } else if has("linux-sbsa") || has("aarch64sbsa") {
        Platform::LinuxSbsa
    } else if has("linux-aarch64") {
        Platform::LinuxJetson
    } else if has("aarch64") {
        Platform::LinuxSbsa
    } else if has("ppc64le") {
        Platform::LinuxPpc64le
    } else if has("osx") {
        Platform::MacX64
    } else if has("linux") {
        Platform::LinuxX64
    } else {
        return None;
    })
}

/// Runs of digits and dots with where they begin.
fn numbers(name: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + name[at..].find(|c: char| c.is_ascii_digit())?;
        let rest = &name[start..];
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        at = start + end;
        Some((start, rest[..end].trim_end_matches('.')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_of_every_generation_are_understood() {
        for (name, expected) in [
            (
                "cudnn-11.3-windows-x64-v8.2.1.32.zip",
                "8.2.1.32 11.3 - windows-x86_64",
            ),
            ("cudnn-10.0-windows10-x64-v7.zip", "- 10.0 - windows-x86_64"),
            (
                "cudnn-10.2-linux-ppc64le-v8.0.5.39.tgz",
                "8.0.5.39 10.2 - linux-ppc64le",
            ),
            (
                "cudnn-11.1-linux-aarch64sbsa-v8.0.5.39.tgz",
                "8.0.5.39 11.1 - linux-sbsa",
            ),
            (
                "cudnn-windows-x86_64-8.4.1.50_cuda11.6-archive.zip",
                "8.4.1.50 11.6 full windows-x86_64",
            ),
            (
                "cudnn-windows-x86_64-8.9.7.29_cuda12-archive.zip",
                "8.9.7.29 12 full windows-x86_64",
            ),
            (
                "cudnn-linux-x86_64-9.20.0.48_cuda13-archive.tar.xz",
                "9.20.0.48 13 full linux-x86_64",
            ),
            (
                "cudnn_jit-linux-x86_64-9.20.0.48_cuda13-archive.tar.xz",
                "9.20.0.48 13 jit linux-x86_64",
            ),
            (
                "nvidia_cudnn_cu12-8.9.7.29-py3-none-win_amd64.whl",
                "8.9.7.29 12 full windows-x86_64",
            ),
            (
                "nvidia_cudnn_jit_cu13-9.19.0.56-py3-none-manylinux_2_27_x86_64.whl",
                "9.19.0.56 13 jit linux-x86_64",
            ),
            ("cudnn-8.2.1.32-h86fa8c9_0.tar.bz2", "8.2.1.32 - - -"),
            ("CUDNN 8.2.1 for CUDA.rar", "8.2.1 - - -"),
            ("download.zip", "- - - -"),
            ("tensorrt-8.2.1.8.zip", "- - - -"),
        ] {
            assert_eq!(shown(Claims::of_file_name(name)), expected, "{name}");
        }
    }

    #[test]
    fn metadata_of_wheels_and_conda_packages_is_understood() {
        let wheel =
            "Metadata-Version: 2.4\nName: nvidia-cudnn-jit-cu13\nVersion: 9.19.0.56\n\nName: x\n";
        assert_eq!(shown(Claims::of_metadata(wheel)), "9.19.0.56 13 jit -");
        assert_eq!(
            shown(Claims::of_metadata("Name: torch\nVersion: 2.8.0\n")),
            "- - - -"
        );
        let conda = r#"{"name":"cudnn","version":"8.9.7.29","build":"hbc23b4c_3","subdir":"win-64","depends":["cuda-version >=12.0,<13"]}"#;
        assert_eq!(
            shown(Claims::of_conda_index(conda)),
            "8.9.7.29 12 - windows-x86_64"
        );
        let conda = r#"{"name":"cudnn","version":"8.2.1.32","build":"cuda11.3_0","depends":["cudatoolkit 11.*"]}"#;
        assert_eq!(shown(Claims::of_conda_index(conda)), "8.2.1.32 11.3 - -");
        assert_eq!(shown(Claims::of_conda_index("[")), "- - - -");
    }

    fn shown(claims: Claims) -> String {
        fn or_dash<T: ToString>(value: Option<T>) -> String {
            value.map_or("-".to_owned(), |value| value.to_string())
        }
        format!(
            "{} {} {} {}",
            or_dash(claims.version),
            or_dash(claims.variant),
            or_dash(claims.flavour),
            or_dash(claims.platform)
        )
    }
}
