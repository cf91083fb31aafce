//! The Python index's projects that carry cuDNN, and what the name of one of their files says.

use super::{Digest, Origin, Release, is_sha256};
use crate::version::{CudaVersion, CudnnVersion, Flavour, Platform};

/// The projects, with the CUDA major and the flavour of each.
pub const PROJECTS: [(&str, u32, Flavour); 5] = [
    ("nvidia-cudnn-cu11", 11, Flavour::Full),
    ("nvidia-cudnn-cu12", 12, Flavour::Full),
    ("nvidia-cudnn-cu13", 13, Flavour::Full),
    ("nvidia-cudnn-jit-cu12", 12, Flavour::Jit),
    ("nvidia-cudnn-jit-cu13", 13, Flavour::Jit),
];

/// The key under which [`Release::fact`] names this source.
pub const FACT: &str = "pypi";

/// One file of an index's listing of a project.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'a> {
    /// `nvidia_cudnn_cu12-9.10.2.21-py3-none-win_amd64.whl`
    pub file: &'a str,
    /// In hexadecimal, where the index gives it.
    pub sha256: Option<&'a str>,
    /// In bytes, where the index gives it.
    pub size: Option<u64>,
    /// `2025-06-06T21:53:54Z`, where the index gives it.
    pub uploaded: Option<&'a str>,
}

/// The files of a project's listing that hold builds: no placeholders, no development versions, no withdrawn twins.
pub fn releases(project: &str, listing: &[Listed]) -> Vec<Release> {
    let Some((_, major, flavour)) = PROJECTS.iter().find(|(name, _, _)| *name == project) else {
        return Vec::new();
    };
    let mut wheels: Vec<(Wheel, &Listed)> = listing
        .iter()
        .filter_map(|listed| Some((wheel(listed.file)?, listed)))
        // Placeholders are a few kilobytes; the smallest real one is 15 MB.
        .filter(|(_, listed)| listed.size.is_none_or(|size| size > 1_000_000))
        .collect();
    // A wheel's build tag (`-2-py3`) marks a corrected upload.
    wheels.sort_by_key(|(wheel, _)| (wheel.version, wheel.platform, std::cmp::Reverse(wheel.tag)));
    wheels.dedup_by_key(|(wheel, _)| (wheel.version, wheel.platform));
    wheels
        .into_iter()
        .map(|(wheel, listed)| Release {
            version: wheel.version,
            variant: CudaVersion::major(*major),
            flavour: *flavour,
            platform: wheel.platform,
            origin: Origin::Pypi {
                project: project.to_owned(),
            },
            file: listed.file.to_owned(),
            digests: listed
                .sha256
                .map(str::to_ascii_lowercase)
                .filter(|digest| is_sha256(digest))
                .map(|sha256| Digest {
                    sha256,
                    date: listed
                        .uploaded
                        .and_then(|time| time.get(..10))
                        .map(str::to_owned),
                })
                .into_iter()
                .collect(),
            size: listed.size,
            cuda_range: None,
            fact: Some(FACT.to_owned()),
        })
        .collect()
}

struct Wheel {
    version: CudnnVersion,
    /// The build tag; 0 for none.
    tag: u32,
    platform: Platform,
}

/// `NAME-VERSION[-TAG]-py3-none-PLATFORM.whl`
fn wheel(file: &str) -> Option<Wheel> {
    let parts: Vec<&str> = file.strip_suffix(".whl")?.split('-').collect();
    let (version, tag, platform) = match parts.as_slice() {
        [_, version, _, _, platform] => (version, 0, platform),
        [_, version, tag, _, _, platform] => {
            let digits: String = tag.chars().take_while(char::is_ascii_digit).collect();
            (version, digits.parse().ok()?, platform)
        }
        _ => return None,
    };
    let version: CudnnVersion = version.parse().ok()?;
    version.build?;
    let platform = match *platform {
        "win_amd64" => Platform::WindowsX64,
        "win_arm64" => Platform::WindowsArm64,
        linux if linux.starts_with("manylinux") && linux.ends_with("x86_64") => Platform::LinuxX64,
        linux if linux.starts_with("manylinux") && linux.ends_with("aarch64") => {
            Platform::LinuxSbsa
        }
        _ => return None,
    };
    Some(Wheel {
        version,
        tag,
        platform,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_real_wheels_count_and_the_corrected_one_wins() {
        let digest = "0A".repeat(32);
        let listed = |file, size| Listed {
            file,
            sha256: Some(&digest),
            size: Some(size),
            uploaded: Some("2022-09-21T21:55:09.8Z"),
        };
        let listing = [
            listed(
                "nvidia_cudnn_cu11-8.5.0.96-py3-none-manylinux1_x86_64.whl",
                557_140_881,
            ),
            listed(
                "nvidia_cudnn_cu11-8.5.0.96-2-py3-none-manylinux1_x86_64.whl",
                557_141_533,
            ),
            listed(
                "nvidia_cudnn_cu11-9.10.2.21-py3-none-win_amd64.whl",
                600_000_000,
            ),
            listed(
                "nvidia_cudnn_cu11-9.10.2.21-py3-none-manylinux_2_27_aarch64.whl",
                600_000_000,
            ),
            listed(
                "nvidia_cudnn_cu11-9.11.0.dev1-py3-none-win_amd64.whl",
                600_000_000,
            ),
            listed("nvidia_cudnn_cu11-2022.4.4-py3-none-any.whl", 600_000_000),
            listed("nvidia_cudnn_cu11-9.0.0.1-py3-none-win_amd64.whl", 11_000),
            listed("nvidia-cudnn-cu11-0.0.1.dev5.tar.gz", 11_000),
        ];
        let found = releases("nvidia-cudnn-cu11", &listing);
        let files: Vec<String> = found
            .iter()
            .map(|release| format!("{} {} {}", release.version, release.platform, release.file))
            .collect();
        assert_eq!(
            files,
            [
                "8.5.0.96 linux-x86_64 nvidia_cudnn_cu11-8.5.0.96-2-py3-none-manylinux1_x86_64.whl",
                "9.10.2.21 windows-x86_64 nvidia_cudnn_cu11-9.10.2.21-py3-none-win_amd64.whl",
                "9.10.2.21 linux-sbsa nvidia_cudnn_cu11-9.10.2.21-py3-none-manylinux_2_27_aarch64.whl",
            ]
            .map(|line| line.to_owned())
        );
        assert_eq!(found[0].digests[0].sha256, "0a".repeat(32));
        assert_eq!(found[0].digests[0].date.as_deref(), Some("2022-09-21"));
        assert!(releases("torch", &listing).is_empty());
    }
}
