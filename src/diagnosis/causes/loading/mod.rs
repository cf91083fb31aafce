//! Libraries that could not be loaded: which, why, and what else is here.

use crate::diagnosis::facts::Facts;
use crate::diagnosis::finding::{Certainty, Code, Finding};
use crate::diagnosis::signs::Meaning;

mod linux;
mod majors;
mod process;
mod windows;
mod zlib;

pub fn rule(facts: &Facts, findings: &mut Vec<Finding>) {
    for (position, sign) in facts.signs.iter().enumerate() {
        let Some(meaning) = sign.meaning else {
            continue;
        };
        let found = match meaning {
            Meaning::NotLocated => windows::not_located(facts, sign),
            Meaning::DependencyMissing => windows::dependency(facts, sign),
            Meaning::LoadError => windows::load_error(facts, sign),
            Meaning::LoadMissing => linux::missing_shared(facts, sign, sign.get("path").unwrap_or_default()),
            Meaning::CannotOpen => linux::missing_shared(facts, sign, sign.get("library").unwrap_or_default()),
            Meaning::NoneOf => linux::none_of(facts, sign),
            Meaning::DynamicNotFound => linux::dynamic(facts, sign),
            Meaning::DllImport => windows::dll_import(sign),
            Meaning::ExitNotFound => vec![
                Finding::fail(Code::NotFound, "the program ended because a DLL it needs was not found (0xC0000135)")
                    .why("Windows names the DLL in a window only; the exit code is all that is left in a terminal")
                    .fix("cudnnm exec PROGRAM    # with the folder of cuDNN first on PATH")
                    .fix("cudnnm doctor    # lists what is on PATH")
                    .certainty(Certainty::Possible),
            ],
            Meaning::Undefined => process::undefined(sign),
            Meaning::RequiresMajor => process::requires(facts, sign),
            Meaning::CudaProvider => windows::onnxruntime(facts),
            Meaning::Status => process::status(sign),
            _ => Vec::new(),
        };
        findings.extend(
            found
                .into_iter()
                .map(|finding| finding.explains([position])),
        );
    }
    majors::conflict(facts, findings);
    zlib::zlib_absent(facts, findings);
    windows::both_searches(facts, findings);
}
