//! Downloads that failed or brought something else, and wheels that do not exist.

use crate::diagnosis::facts::{Content, Facts, Package, PackageSource};
use crate::diagnosis::finding::{Certainty, Code, Finding};
use crate::diagnosis::library::base_name;
use crate::diagnosis::signs::Meaning;
use crate::diagnosis::signs_with;

pub fn rule(facts: &Facts, findings: &mut Vec<Finding>) {
    archives(facts, findings);
    digests(facts, findings);
    http(facts, findings);
    wheels(facts, findings);
}

/// Packages that have no wheel for Windows in that version.
fn is_linux_only(package: &Package) -> bool {
    let at_least = |numbers: &[u64]| super::frameworks::at_least(package, numbers);
    match package.name.as_str() {
        "triton" => true,
        // The Windows series begin there.
        "nvidia-cudnn-cu11" | "nvidia-cudnn-cu12" => !at_least(&[8, 9, 4]),
        name => name.starts_with("nvidia-nccl-cu"),
    }
}

fn archive_kind(name: &str) -> Option<&'static str> {
    let lower = base_name(name).to_ascii_lowercase();
    [
        (".zip", "zip"),
        (".whl", "zip"),
        (".conda", "zip"),
        (".tgz", "gzip"),
        (".tar.gz", "gzip"),
        (".tar.xz", "xz"),
        (".tar.bz2", "bzip2"),
        (".7z", "7z"),
        (".rar", "rar"),
    ]
    .iter()
    .find(|(end, _)| lower.ends_with(end))
    .map(|(_, kind)| *kind)
}

fn archives(facts: &Facts, findings: &mut Vec<Finding>) {
    let about: Vec<usize> = facts
        .signs
        .iter()
        .enumerate()
        .filter(|(_, sign)| matches!(sign.name.as_str(), "not-a-zip" | "cut-download"))
        .map(|(position, _)| position)
        .collect();
    for binary in &facts.binaries {
        let Some(kind) = archive_kind(&binary.path) else {
            continue;
        };
        let path = &binary.path;
        let (code, what, why) = match &binary.content {
            Content::WebPage => (
                Code::Download,
                format!("`{path}` is a web page, not a {kind} archive"),
                "the server sent a web page (a login or error page), and it was saved under the archive's name",
            ),
            Content::Empty => (
                Code::Download,
                format!("`{path}` is empty, not a {kind} archive"),
                "the download did not begin, or was broken off at once",
            ),
            Content::LfsPointer => (
                Code::Download,
                format!("`{path}` is a Git LFS pointer, not a {kind} archive"),
                "the repository holds only a reference; Git LFS fetches the content",
            ),
            Content::ZipCutShort => (
                Code::Corrupt,
                format!("`{path}` is cut short: the end of the zip archive is missing"),
                "the download was broken off",
            ),
            Content::Zip if kind == "zip" => continue,
            Content::Compressed(found) if *found == kind => continue,
            Content::Zip => (
                Code::Download,
                format!("`{path}` is a zip archive under another name"),
                "its first bytes say so",
            ),
            Content::Compressed(found) => {
                findings.push(
                    Finding::warn(
                        Code::Download,
                        format!("`{path}` is a {found} archive, not a {kind} archive"),
                    )
                    .why("its first bytes say so; tools that go by the name fail on it")
                    .fix("cudnnm install --from FILE    # goes by the content")
                    .explains(about.clone()),
                );
                continue;
            }
            _ => (
                Code::Download,
                format!("`{path}` is not a {kind} archive"),
                "its first bytes are those of something else",
            ),
        };
        findings.push(
            Finding::fail(code, what)
                .why(why)
                .fix("cudnnm install 8    # checks size and digest before anything is unpacked; choose the version you need")
                .explains(about.clone()),
        );
    }
}

fn digests(facts: &Facts, findings: &mut Vec<Finding>) {
    let wrong: Vec<_> = facts
        .digests
        .iter()
        .filter(|pair| !pair.expected.eq_ignore_ascii_case(&pair.got))
        .collect();
    for pair in &wrong {
        findings.push(
            Finding::fail(
                Code::Checksum,
                format!("`{}` has the SHA-256 {}, expected was {}", pair.file, pair.got, pair.expected),
            )
            .why("NVIDIA has re-released archives under the same name with other content; else the download is damaged or not NVIDIA's")
            .fix("cudnnm install 8    # knows the digests of re-released archives with their dates, and refuses unknown ones")
            .explains(
                facts
                    .signs
                    .iter()
                    .enumerate()
                    .filter(|(_, sign)| sign.name == "checksum")
                    .map(|(position, _)| position),
            ),
        );
    }
}

fn http(facts: &Facts, findings: &mut Vec<Finding>) {
    for (position, sign) in signs_with(facts, Meaning::HttpStatus) {
        let Some(status) = sign.number("status") else {
            continue;
        };
        let (what, why) = match status {
            404 | 410 => (
                format!("the server answered {status}: the file was withdrawn or moved"),
                "NVIDIA has removed and moved old archives more than once; the address in the script is out of date, your connection is fine",
            ),
            401 | 403 => (
                format!("the server answered {status}: it does not give this file without a login"),
                "the addresses below developer.nvidia.com need a login; the same archives lie on NVIDIA's open download server",
            ),
            407 => (
                format!("a proxy answered {status}: it wants a login"),
                "the request did not reach the server",
            ),
            429 | 500..=599 => (
                format!("the server answered {status}: it is overloaded or broken at the moment"),
                "the address is right, the server can't serve it now",
            ),
            _ => continue,
        };
        findings.push(
            Finding::fail(Code::Download, what)
                .why(why)
                .fix("cudnnm install 8    # knows where each archive lies now; choose the version you need")
                .fix("cudnnm install --from FILE    # for an archive you have")
                .explains([position]),
        );
    }
}

fn wheels(facts: &Facts, findings: &mut Vec<Finding>) {
    if facts.is_windows() && signs_with(facts, Meaning::NoWheel).next().is_none() {
        let linux_only: Vec<String> = facts
            .packages
            .all()
            .iter()
            .filter(|package| package.by == PackageSource::Requirement)
            .filter(|package| is_linux_only(package))
            .map(|package| format!("{}=={}", package.name, package.version))
            .collect();
        if !linux_only.is_empty() {
            findings.push(
                Finding::fail(
                    Code::NoWheel,
                    format!("the requirements ask for packages that are Linux only: {}", super::quoted(&linux_only)),
                )
                .why("they were frozen on Linux, where torch depends on these packages; on Windows torch carries its cuDNN itself")
                .fix("delete the lines that begin with nvidia- (and triton) from the requirements file")
                .fix("cudnnm compat --requirements requirements.txt"),
            );
        }
    }
    for (position, sign) in signs_with(facts, Meaning::NoWheel) {
        let project = sign
            .get("project")
            .map(|name| name.to_ascii_lowercase().replace('_', "-"));
        let version = sign.get("version").unwrap_or("");
        let name = project.as_deref().unwrap_or("nvidia-cudnn-cu11");
        let finding = if name.starts_with("nvidia-") || name == "triton" {
            let pin = if version.is_empty() {
                name.to_owned()
            } else {
                format!("{name}=={version}")
            };
            // The Linux series of cu11 has these, the Windows one does not.
            let linux = facts.is_linux()
                || sign.get("versions").is_some_and(|versions| {
                    versions.contains("8.5.0.96") || versions.contains("8.6.0.163")
                });
            if linux && name.starts_with("nvidia-cudnn") {
                let finding = Finding::fail(Code::NoWheel, format!("{pin} does not exist as a wheel"))
                    .why("the wheels of nvidia-cudnn-cu11 begin at 8.5.0.96, those of cu12 at 8.8 and of cu13 at 9.12; older versions exist as archives only")
                    .fix(format!("cudnnm install {version}    # from NVIDIA's archives"));
                findings.push(finding.explains([position]));
                continue;
            }
            Finding::fail(
                Code::NoWheel,
                format!("{pin} has no wheel for Windows: it is Linux only"),
            )
            .why("the requirements were frozen on Linux, where torch depends on these packages; for Windows nvidia-cudnn-cu11 begins at 8.9.4 and torch carries its cuDNN itself. Neither a newer pip nor another Python changes that")
            .fix("delete the lines that begin with nvidia- (and triton) from the requirements file")
            .fix("cudnnm compat --requirements requirements.txt")
        } else if name == "torch" || name.starts_with("tensorflow") {
            Finding::fail(Code::NoWheel, format!("there is no {name} {version} for this Python and system"))
                .why("each release has wheels for a few Python versions only, and CUDA builds of torch (+cuXXX) lie on PyTorch's own index")
                .fix("python --version    # compare with the versions that the release supports")
        } else {
            continue;
        };
        findings.push(finding.explains([position]).certainty(Certainty::Certain));
    }
}
