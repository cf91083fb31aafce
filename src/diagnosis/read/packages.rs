//! `pip freeze`, `pip list`, requirement files and `conda list`.

use crate::diagnosis::facts::{Package, PackageSource};

/// Reads lines of `name==version`, `name @ …`, or columns `name version`. Requirements without a version are left out.
pub fn pip(text: &str, by: PackageSource) -> Vec<Package> {
    text.lines()
        .filter_map(|line| {
            let line = line.split('#').next().unwrap_or_default().trim();
            let line = line.split(';').next().unwrap_or_default().trim();
            let (name, version) = if let Some((name, version)) = line.split_once("==") {
                (name, version)
            } else if let Some((name, version)) = wheel_reference(line) {
                (name, version)
            } else {
                let mut words = line.split_whitespace();
                let pair = (words.next()?, words.next()?);
                // `pip list` has two or three columns; sentences have more words.
                if words.count() > 1 {
                    return None;
                }
                pair
            };
            package(name, version, by)
        })
        .collect()
}

/// `torch @ https://…/torch-2.1.0%2Bcu118-cp310-…whl`.
fn wheel_reference(line: &str) -> Option<(&str, &str)> {
    let (name, address) = line.split_once(" @ ")?;
    let file = address.rsplit('/').next()?;
    let version = file.split('-').nth(1)?;
    Some((name, version))
}

/// Reads `conda list`: name, version, build, channel; pip's packages in it have the channel `pypi`.
pub fn conda(text: &str) -> Vec<Package> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.len() < 2 {
                return None;
            }
            let by = if words.last() == Some(&"pypi") {
                PackageSource::Pip
            } else {
                PackageSource::Conda
            };
            package(words[0], words[1], by)
        })
        .collect()
}

fn package(name: &str, version: &str, by: PackageSource) -> Option<Package> {
    // Extras are no part of the name: `tensorflow[and-cuda]`.
    let name = name.split('[').next().unwrap_or_default().trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || !name.chars().all(plain) {
        return None;
    }
    let version = version
        .trim()
        .split([',', ' '])
        .next()
        .unwrap_or_default()
        .replace("%2B", "+");
    if !version.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (version, local) = match version.split_once('+') {
        Some((version, local)) => (version.to_owned(), Some(local.to_owned())),
        None => (version, None),
    };
    Some(Package {
        name: name.to_ascii_lowercase().replace(['_', '.'], "-"),
        version,
        local,
        by,
        need: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(packages: &[Package]) -> Vec<String> {
        packages
            .iter()
            .map(|package| {
                let local = package.local.as_deref().unwrap_or("");
                format!("{} {} {local}", package.name, package.version)
                    .trim_end()
                    .to_owned()
            })
            .collect()
    }

    #[test]
    fn pip_in_every_form() {
        let text = "\
torch==2.1.0+cu118
nvidia_cudnn_cu11==8.7.0.84 ; platform_system == \"Linux\"
torchvision @ https://x.test/whl/cu118/torchvision-0.16.0%2Bcu118-cp310-cp310-linux_x86_64.whl
tensorflow[and-cuda]==2.15.0  # pinned
Package                      Version
---------------------------- ----------
ctranslate2                  4.4.0
-e git+https://x.test/a.git@0123#egg=a
numpy>=1.20
This is a sentence about 2 things.
";
        assert_eq!(
            names(&pip(text, PackageSource::Pip)),
            [
                "torch 2.1.0 cu118",
                "nvidia-cudnn-cu11 8.7.0.84",
                "torchvision 0.16.0 cu118",
                "tensorflow 2.15.0",
                "ctranslate2 4.4.0"
            ]
        );
    }

    #[test]
    fn conda_tells_which_packages_are_pips() {
        let text = "# packages in environment at /x:\n#\n# Name  Version  Build  Channel\ncudnn  8.9.2.26  cuda11_0\nnvidia-cudnn-cu12  9.1.0.70  pypi_0  pypi\n";
        let got = conda(text);
        assert_eq!(got[0].by, PackageSource::Conda);
        assert_eq!(got[1].by, PackageSource::Pip);
        assert_eq!(
            names(&got),
            ["cudnn 8.9.2.26", "nvidia-cudnn-cu12 9.1.0.70"]
        );
    }
}
