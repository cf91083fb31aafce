//! ZLIB: zlibwapi.dll, or what a message only takes for it.

use crate::diagnosis::facts::Facts;
use crate::diagnosis::finding::{Certainty, Code, Finding};
use crate::diagnosis::knowledge;
use crate::diagnosis::library::{LibraryName, base_name, folder};
use crate::diagnosis::signs::Meaning;

/// `zlibwapi.dll`, or what the message only takes for it.
pub fn zlib(facts: &Facts) -> Vec<Finding> {
    let version = knowledge::cudnn_here(facts).or_else(|| version_by_folder(facts));
    if let Some(version) = version
        && !knowledge::wants_zlib(version)
    {
        return vec![
            Finding::fail(
                Code::PyDll,
                format!("cuDNN {version} does not use zlibwapi.dll; something else that one of its DLLs needs is not found"),
            )
            .why("the message is a guess of cuDNN's: it names zlibwapi.dll whenever a DLL is there and one of its dependencies is not: a sister DLL that is not on PATH, or cublasLt of the CUDA major")
            .fix("cudnnm exec PROGRAM    # puts cuDNN's and CUDA's folders on PATH together")
            .fix("cudnnm test    # names what can't be resolved")
            .certainty(Certainty::Likely),
        ];
    }
    vec![zlib_finding(version, Certainty::Certain)]
}

/// The version that the folder of a DLL tells, where nothing better is known.
fn version_by_folder(facts: &Facts) -> Option<crate::version::CudnnVersion> {
    facts
        .libraries
        .all()
        .iter()
        .filter(|library| library.name.is_cudnn)
        .find_map(|library| {
            let version = crate::diagnosis::read::version::in_path(folder(&library.path))?;
            (Some(version.major) == library.name.major).then_some(version)
        })
}

pub fn zlib_finding(
    version: Option<crate::version::CudnnVersion>,
    certainty: Certainty,
) -> Finding {
    let named = version.map_or_else(|| "8.3 to 9.1".to_owned(), |version| version.to_string());
    Finding::fail(
        Code::Zlib,
        format!("zlibwapi.dll (64-bit) is missing; cuDNN {named} for Windows loads it at its first convolution"),
    )
    .why("cuDNN 8.3 to 9.1 for Windows need it, and neither the CUDA toolkit nor NVIDIA's cuDNN archive contains it")
    .fix("cudnnm install --source pypi 8.9.7    # its DLLs from the Python index do not need zlibwapi.dll")
    .fix("cudnnm use 8.9.7")
    .fix("or, with conda: conda install -c conda-forge libzlib-wapi    # the 64-bit file")
    .certainty(certainty)
}

pub fn has_zlib(facts: &Facts) -> bool {
    facts
        .files
        .iter()
        .map(String::as_str)
        .chain(facts.binaries.iter().map(|binary| binary.path.as_str()))
        .any(|path| base_name(path).eq_ignore_ascii_case("zlibwapi.dll"))
}

/// Whether a listing shows the folder of a cuDNN for Windows.
pub fn folder_is_listed(facts: &Facts) -> bool {
    facts
        .entries
        .iter()
        .filter(|entry| LibraryName::of(&entry.path).is_cudnn)
        .count()
        > 2
}

/// Without a message: a version that needs zlib, its folder listed, and no zlib in sight.
pub fn zlib_absent(facts: &Facts, findings: &mut Vec<Finding>) {
    let has_sign = facts
        .signs
        .iter()
        .any(|sign| sign.meaning.is_some() && !sign.means(Meaning::Tells));
    let is_windows = facts
        .libraries
        .all()
        .iter()
        .any(|library| library.name.base.ends_with(".dll") && library.name.major == Some(8));
    if has_sign || !is_windows || has_zlib(facts) || !folder_is_listed(facts) {
        return;
    }
    let told: Vec<bool> = facts
        .libraries
        .all()
        .iter()
        .filter_map(|library| library.imports_zlib)
        .collect();
    let version = knowledge::cudnn_here(facts);
    let wants = if told.is_empty() {
        version.is_some_and(knowledge::wants_zlib)
    } else {
        told.contains(&true)
    };
    if wants {
        findings.push(zlib_finding(version, Certainty::Certain));
    }
}
