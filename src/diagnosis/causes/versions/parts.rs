//! Headers, packages and the project's wish against the libraries that are here.

use super::compared::copies;
use super::{install, serves};
use crate::diagnosis::facts::Facts;
use crate::diagnosis::finding::{Code, Finding};
use crate::diagnosis::library::LibraryName;
use crate::diagnosis::signs::Meaning;
use crate::diagnosis::{knowledge, order, signs_with};
use crate::version::CudnnVersion;

/// A header of one version beside a library of another.
pub fn headers(facts: &Facts, findings: &mut Vec<Finding>) {
    let known: Vec<(&str, CudnnVersion)> = facts
        .headers
        .iter()
        .filter_map(|header| Some((header.path.as_str(), *header.version.known()?)))
        .collect();
    if let [(a, first), .., (b, last)] = known.as_slice()
        && !first.same_release(*last)
    {
        findings.push(
            Finding::warn(Code::Header, format!("the headers disagree: `{a}` says {first}, `{b}` says {last}"))
                .why("from cuDNN 8 on the version stands in cudnn_version.h; an old cudnn.h that was left misleads builds")
                .fix("delete the older headers, or build with one complete set: cudnnm exec cmake -B build"),
        );
        return;
    }
    let Some((path, header)) = known.first() else {
        return;
    };
    // Copies of Python packages have headers of their own and are not what builds link.
    let of_packages = ["pip", "torch", "conda", "cudnnm"];
    let libraries: Vec<CudnnVersion> = facts
        .libraries
        .all()
        .iter()
        .filter(|library| library.name.is_main())
        .filter(|library| {
            !of_packages
                .iter()
                .any(|owner| library.owner.starts_with(owner))
        })
        .filter_map(order::version_of)
        .collect();
    let Some(library) = libraries.first() else {
        return;
    };
    if libraries
        .iter()
        .any(|version| version.same_release(*header))
    {
        return;
    }
    let what = format!("the header `{path}` says {header}, the library is {library}");
    // A program that is built with an older header runs with a newer library of the same major, not the other way round.
    let finding = if serves(*library, *header) {
        Finding::warn(Code::Header, what)
    } else {
        Finding::fail(Code::Header, what)
    };
    findings.push(
        finding
            .why("a program built with this header expects what the header promises; one of the two was updated and the other was not")
            .fix(format!("cudnnm install {}.{}    # headers and libraries of one version, in a folder of their own", library.major, library.minor))
            .fix("cudnnm exec cmake -B build"),
    );
}

/// What CMake found: the header's version, and a library whose name tells another major.
pub fn cmake_found(facts: &Facts, findings: &mut Vec<Finding>) {
    for (position, sign) in signs_with(facts, Meaning::CmakeFound) {
        let library = sign.get("library").unwrap_or_default();
        let include = sign.get("include").unwrap_or_default();
        let name = LibraryName::of(library);
        let library_major = name.major;
        let Some(header) = sign.version("version") else {
            findings.push(
                Finding::fail(Code::Build, format!("CMake found `{library}` but could not read the version of the header in `{include}`"))
                    .why("from cuDNN 8 on the version stands in cudnn_version.h; an old finder reads cudnn.h only")
                    .fix("cudnnm exec cmake -B build    # hands over one complete set, in a fresh build folder")
                    .explains([position]),
            );
            continue;
        };
        let differs = library_major.is_some_and(|major| major != header.major)
            || name.full.is_some_and(|full| !full.same_release(header));
        if differs {
            findings.push(
                Finding::fail(Code::Header, format!("CMake took the header of cuDNN {header} from `{include}` and the library `{library}`, which is another version"))
                    .why("headers and library must be of one version; two cuDNNs are installed, and the folders are searched one by one")
                    .fix("cudnnm exec cmake -B build    # hands over one complete set, in a fresh build folder")
                    .explains([position]),
            );
        }
    }
}

/// Packages that need a newer minor, or another major, than the packages here provide.
pub fn package_needs(facts: &Facts, findings: &mut Vec<Finding>) {
    let provided: Vec<CudnnVersion> = copies(facts).into_iter().map(|copy| copy.version).collect();
    if provided.is_empty() || !facts.expects_gpu() {
        return;
    }
    for package in facts.packages.all() {
        let Some(need) = knowledge::need_of(package).filter(|need| !need.carries_own) else {
            continue;
        };
        let Some(built) = need.built else { continue };
        let best = provided
            .iter()
            .filter(|version| version.major == need.major)
            .max();
        let Some(best) = best.filter(|best| !serves(**best, built)) else {
            continue;
        };
        findings.push(install(
            Finding::fail(
                Code::VersionLow,
                format!(
                    "{} {} was built with cuDNN {}.{}, the newest {} here is {best}",
                    package.name, package.version, built.major, built.minor, need.major
                ),
            )
            .why(
                "the loaded cuDNN must have the same major version and at least that minor version",
            ),
            built,
        ));
    }
}

/// What the project selects is not in the store.
pub fn not_installed(facts: &Facts, findings: &mut Vec<Finding>) {
    let Some(selection) = facts.selection.known() else {
        return;
    };
    if !selection.installed {
        let spec = crate::selection::shell_word(&selection.spec);
        findings.push(
            Finding::fail(
                Code::NotFound,
                format!(
                    "cuDNN {} is selected here and not installed",
                    selection.spec
                ),
            )
            .why(format!("{} says so", selection.because))
            .fix(format!("cudnnm install {spec}")),
        );
    }
}
