//! Programs that are built or configured against cuDNN.

use crate::diagnosis::facts::Facts;
use crate::diagnosis::finding::{Certainty, Code, Finding};
use crate::diagnosis::library::{LibraryName, base_name};
use crate::diagnosis::signs::Meaning;
use crate::diagnosis::signs_with;

pub fn rule(facts: &Facts, findings: &mut Vec<Finding>) {
    cmake(facts, findings);
    in_program(facts, findings);
    link_name(facts, findings);
}

fn cmake(facts: &Facts, findings: &mut Vec<Finding>) {
    let variables: Vec<usize> = facts
        .signs
        .iter()
        .enumerate()
        .filter(|(_, sign)| sign.name == "cmake-notfound-variables")
        .map(|(position, _)| position)
        .collect();
    for (position, sign) in signs_with(facts, Meaning::CmakeCudnn) {
        let unread = sign
            .get("version")
            .is_some_and(|version| version.chars().all(|c| c == '.' || c == ' '));
        let finding = if unread {
            Finding::fail(Code::Build, "CMake found the library but could not read cuDNN's version (\"..\" is three empty numbers)")
                .why("the header with the version macros was not read: from cuDNN 8 on they stand in cudnn_version.h, not in cudnn.h, and a path given by hand skips the search; CMakeCache.txt keeps the empty value")
        } else if let Some(version) = sign.get("version") {
            Finding::fail(
                Code::Build,
                format!("CMake found cuDNN {version}, which is too old for the project"),
            )
            .why("the folder it found first holds that version")
        } else {
            let missing = sign
                .get("missing")
                .unwrap_or("CUDNN_INCLUDE_DIR CUDNN_LIBRARY");
            Finding::fail(Code::Build, format!("CMake did not find cuDNN ({missing})"))
                .why("no hint points at a folder with both the headers and the library; CMakeCache.txt keeps what was not found")
        };
        findings.push(
            finding
                .fix("delete CMakeCache.txt (or use a fresh build folder)")
                .fix("cudnnm exec cmake -B build    # hands over CUDNN_ROOT, CUDNN_INCLUDE_DIR and CUDNN_LIBRARY of one version")
                .explains([position])
                .explains(variables.clone()),
        );
    }
}

/// An extension module asks for a function that the loaded cuDNN does not have.
fn in_program(facts: &Facts, findings: &mut Vec<Finding>) {
    for (position, sign) in signs_with(facts, Meaning::UndefinedInProgram) {
        let path = sign.get("path").unwrap_or("the program");
        if LibraryName::of(path).is_cudnn {
            continue;
        }
        let symbol = sign.get("symbol").unwrap_or("a function");
        findings.push(
            Finding::fail(
                Code::Build,
                format!("`{}` was built for another cuDNN: it asks for {symbol}", base_name(path)),
            )
            .why("the cuDNN that it finds at run time lacks this function, or it was linked without cuDNN")
            .fix("build it again with the headers and library of the version it will run with: cudnnm exec pip install --no-binary :all: PACKAGE")
            .fix("cudnnm doctor    # lists every cuDNN in search order")
            .explains([position])
            .certainty(Certainty::Likely),
        );
    }
}

fn link_name(facts: &Facts, findings: &mut Vec<Finding>) {
    for (position, sign) in signs_with(facts, Meaning::LinkName) {
        let name = sign.get("name").unwrap_or("cudnn");
        let numbered: Vec<&str> = facts
            .libraries
            .all()
            .iter()
            .filter(|library| library.name.is_main() && library.name.major.is_some())
            .map(|library| library.path.as_str())
            .collect();
        let finding = if numbered.is_empty() {
            Finding::fail(Code::Build, format!("the linker does not find lib{name}.so"))
                .why("its folder is not on LIBRARY_PATH, or the package holds only libraries with a number in their name (wheels do)")
        } else {
            Finding::fail(
                Code::SymLink,
                format!("lib{name}.so, the name without a number, is missing beside {}", super::quoted(&numbered)),
            )
            .why("programs are linked by the short name, which is a link that runtime packages and wheels leave out")
        };
        findings.push(
            finding
                .fix("cudnnm install 9    # makes the links; choose the version the program needs")
                .fix("cudnnm exec make    # LIBRARY_PATH and CPATH are set for it")
                .explains([position]),
        );
    }
}
