//! Which of several cuDNNs is loaded, and whether it is one that fits.

use crate::diagnosis::facts::Facts;
use crate::diagnosis::finding::Finding;
use crate::diagnosis::library::LibraryName;
use crate::diagnosis::signs::{Meaning, Sign};
use crate::diagnosis::signs_with;
use crate::version::CudnnVersion;

mod compared;
mod copies;
mod parts;

pub fn rule(facts: &Facts, findings: &mut Vec<Finding>) {
    compared::renamed(facts, findings);
    for (position, sign) in signs_with(facts, Meaning::VersionLoaded) {
        findings.extend(compared::loaded(facts, sign).map(|finding| finding.explains([position])));
    }
    for (position, sign) in signs_with(facts, Meaning::VersionLinked) {
        findings.extend(compared::linked(facts, sign).map(|finding| finding.explains([position])));
    }
    for (position, sign) in signs_with(facts, Meaning::VersionReported) {
        findings.extend(compared::reported(sign).map(|finding| finding.explains([position])));
    }
    parts::not_installed(facts, findings);
    copies::mixed(facts, findings);
    copies::two_wheels(facts, findings);
    parts::cmake_found(facts, findings);
    let compared = [Meaning::VersionLoaded, Meaning::VersionLinked]
        .into_iter()
        .any(|meaning| signs_with(facts, meaning).next().is_some());
    if !compared {
        copies::system_folder(facts, findings);
        copies::several(facts, findings);
        parts::headers(facts, findings);
        parts::package_needs(facts, findings);
    }
}

/// The rule of cuDNN's own compatibility: same major, and not older than what a program was compiled with.
fn serves(version: CudnnVersion, compiled: CudnnVersion) -> bool {
    version.major == compiled.major && version.minor >= compiled.minor
}

/// `>=8.6,<9`: what serves a program compiled with 8.6.
fn range(compiled: CudnnVersion) -> String {
    format!(
        ">={}.{},<{}",
        compiled.major,
        compiled.minor,
        compiled.major + 1
    )
}

fn install(finding: Finding, compiled: CudnnVersion) -> Finding {
    finding.fix_by_version(&range(compiled), compiled.major)
}

/// Whether a sign names a file of cuDNN.
pub fn cudnn_name(sign: &Sign) -> Option<LibraryName> {
    let name = LibraryName::of(sign.get("library")?);
    name.is_cudnn.then_some(name)
}
