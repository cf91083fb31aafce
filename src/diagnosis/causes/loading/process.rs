//! Messages of a cuDNN that was loaded: missing functions, status codes.

use super::majors::{major, majors_here};
use crate::diagnosis::facts::Facts;
use crate::diagnosis::finding::{Certainty, Code, Finding};
use crate::diagnosis::library::{base_name, folder};
use crate::diagnosis::signs::Sign;

/// A function that one part has and another lacks.
pub fn undefined(sign: &Sign) -> Vec<Finding> {
    let symbol = sign
        .get("symbol")
        .or(sign.get("version"))
        .unwrap_or("a function");
    let Some(path) = sign.get("path") else {
        let library = sign.get("library").unwrap_or("one of cuDNN's DLLs");
        return vec![
            Finding::fail(
                Code::Mixed,
                format!("cuDNN's main DLL asks {library} for {symbol}, which it does not have: they are of different versions"),
            )
            .why("a newer main DLL found an older part first (error 127)")
            .fix("cudnnm doctor    # lists every copy in search order with its version")
            .fix("cudnnm exec PROGRAM    # gives it one complete set")
            .certainty(Certainty::Likely),
        ];
    };
    let asked = sign.get("library").map(base_name);
    let is_same = asked.is_some_and(|asked| asked == base_name(path));
    let place = folder(path);
    let fix = |finding: Finding| {
        finding
            .fix(format!(
                "take `{}` out of LD_LIBRARY_PATH for this program",
                place.trim_end_matches('/')
            ))
            .fix("cudnnm exec PROGRAM    # gives it one complete set, first in the search")
            .certainty(Certainty::Likely)
    };
    if is_same {
        return vec![fix(
            Finding::fail(
                Code::Shadow,
                format!("`{path}` is found before the copy that belongs to the rest of the program's cuDNN"),
            )
            .why(format!(
                "it asks {} for a function that the loaded one does not have: the two are of different versions",
                sign.get("version").unwrap_or("another part")
            )),
        )];
    }
    vec![fix(
        Finding::fail(
            Code::Mixed,
            format!("`{path}` is of another version than the cuDNN that loads it: {symbol} is missing"),
        )
        .why("the main library (or a sister) comes from one cuDNN and this file from another, usually a newer one in the environment and an older one in a system folder"),
    )]
}

pub fn requires(facts: &Facts, sign: &Sign) -> Vec<Finding> {
    let Some(wanted) = sign.number("major") else {
        return Vec::new();
    };
    let here = majors_here(facts);
    let certainty = if !here.is_empty() && !here.contains(&wanted) {
        Certainty::Certain
    } else {
        Certainty::Likely
    };
    let asked = if facts.is_linux() {
        format!("libcudnn.so.{wanted}")
    } else {
        format!("cudnn64_{wanted}.dll")
    };
    vec![major(facts, &asked, wanted, certainty)]
}

pub fn status(sign: &Sign) -> Vec<Finding> {
    let status = sign.get("status").unwrap_or_default().to_ascii_uppercase();
    let bare = status.strip_prefix("CUDNN_STATUS_").unwrap_or(&status);
    let finding = match bare {
        "SUBLIBRARY_VERSION_MISMATCH" | "VERSION_MISMATCH" | "SUBLIBRARY_LOADING_FAILED" => Finding::fail(
            Code::Mixed,
            "parts of two cuDNN versions are in one process",
        )
        .why("the main library checks that all parts have its version; a second cuDNN on the search path, or files copied over each other, supply a foreign one")
        .fix("cudnnm doctor    # lists every copy in search order with its version")
        .fix("cudnnm exec PROGRAM    # gives it one complete set")
        .certainty(Certainty::Likely),
        "ARCH_MISMATCH" | "NOT_SUPPORTED_ARCH_MISMATCH" => Finding::fail(
            Code::GpuArch,
            "this cuDNN has no code for the GPU's generation",
        )
        .why("8.8 dropped GPUs below compute capability 5.0, 9.11 those below 7.5; and a GPU newer than the release is unknown to it")
        .fix("nvidia-smi --query-gpu=name,compute_cap --format=csv")
        .fix("cudnnm compat --gpu CAPABILITY    # the newest cuDNN for it")
        .certainty(Certainty::Likely),
        "SUCCESS" => return Vec::new(),
        "ALLOC_FAILED" | "INTERNAL_ERROR_HOST_ALLOCATION_FAILED" | "INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED" => Finding::fail(
            Code::Unknown,
            format!("{status}: memory ran out, most likely on the GPU"),
        )
        .why("another process holds it, or the batch is too large")
        .fix("nvidia-smi    # who holds the memory")
        .certainty(Certainty::Possible),
        _ => Finding::fail(Code::Unknown, format!("{status} alone does not tell its cause"))
            .why("in this order: GPU memory held by another process; a driver older than the CUDA in use; cuBLAS or NVRTC of that CUDA not found; parts of two cuDNN versions. The checks tell them apart")
            .fix("nvidia-smi    # memory, and the driver's newest CUDA")
            .fix("cudnnm test    # loads and computes with the selected cuDNN")
            .fix("cudnnm doctor    # driver, search order, versions")
            .certainty(Certainty::Possible),
    };
    vec![finding]
}
