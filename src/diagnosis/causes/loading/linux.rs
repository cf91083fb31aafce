//! Messages of Linux' loader, of cuDNN there, and of frameworks that open it by name.

use super::majors::{conflicting, last_of, major, majors_here};
use crate::diagnosis::facts::Facts;
use crate::diagnosis::finding::{Certainty, Code, Finding};
use crate::diagnosis::knowledge;
use crate::diagnosis::library::{LibraryName, base_name, folder};
use crate::diagnosis::signs::Sign;

/// A shared object that could not be opened.
pub fn missing_shared(facts: &Facts, sign: &Sign, path: &str) -> Vec<Finding> {
    let denied = sign
        .get("reason")
        .is_some_and(|reason| reason.to_ascii_lowercase().contains("permission denied"));
    let base = base_name(path);
    if denied || base.starts_with("libcuda.so") {
        return Vec::new();
    }
    let name = LibraryName::of(base);
    if !name.is_cudnn {
        return vec![
            Finding::fail(Code::NotFound, format!("`{base}` is not on the loader's path"))
                .why("it belongs to the CUDA toolkit; cuDNN and frameworks open it by name")
                .fix("cudnnm install 9 --with-companions    # brings cuBLAS and NVRTC along; choose the version you need")
                .fix("cudnnm exec PROGRAM")
                .certainty(Certainty::Likely),
        ];
    }
    shared(facts, &name, Code::Major)
}

/// A cuDNN library that the Linux loader does not find. `usual` is what it mostly means when nothing else is known.
pub fn shared(facts: &Facts, name: &LibraryName, usual: Code) -> Vec<Finding> {
    let file = name.base.clone();
    let Some(wanted) = name.major else {
        let numbered = facts
            .libraries
            .all()
            .iter()
            .find(|library| library.name.is_main() && library.name.major.is_some());
        return vec![match numbered {
            Some(library) => Finding::fail(
                Code::SymLink,
                format!("`{file}`, the name without a number, is missing beside `{}`", library.path),
            )
            .why("runtime packages and wheels leave that link out, and some programs ask for it")
            .fix("cudnnm install 9    # makes the links; choose the version the program needs")
            .fix("cudnnm exec PROGRAM"),
            None => Finding::fail(Code::NotFound, format!("`{file}` is not on the loader's path"))
                .why("no cuDNN is on LD_LIBRARY_PATH or in the loader's cache, or its link without a number is missing")
                .fix("cudnnm install 9    # makes the links; choose the version the program needs")
                .fix("cudnnm exec PROGRAM")
                .certainty(Certainty::Likely),
        }];
    };
    let here = majors_here(facts);
    if !here.is_empty() && !here.contains(&wanted) {
        return vec![major(facts, &file, wanted, Certainty::Certain)];
    }
    let copy = facts.libraries.all().iter().find(|library| {
        library.name.soname() == name.soname() && !folder(&library.path).is_empty()
    });
    let package = facts.packages.all().iter().find(|package| {
        knowledge::provided(package).is_some_and(|version| version.major == wanted)
    });
    if let Some(copy) =
        copy.filter(|copy| !matches!(copy.reach, crate::diagnosis::facts::Reach::Cache))
    {
        return vec![
            Finding::fail(
                Code::Layout,
                format!("`{}` is there, but its folder is not on the loader's path", copy.path),
            )
            .why("the loader looks into LD_LIBRARY_PATH and its cache, never into folders below them")
            .fix("cudnnm import    # lists the copies here; with the folder of one it takes it into the store")
            .fix("cudnnm exec PROGRAM    # puts it on LD_LIBRARY_PATH for that program"),
        ];
    }
    if conflicting(facts, wanted) && package.is_none() {
        return vec![major(facts, &file, wanted, Certainty::Certain)];
    }
    if let Some(package) = package {
        return vec![
            Finding::fail(
                Code::Layout,
                format!("{} {} is installed, but its folder is not on the loader's path", package.name, package.version),
            )
            .why("a wheel's libraries lie in site-packages/nvidia/cudnn/lib, which only packages that know it look into")
            .fix(format!("cudnnm install {}", package.version))
            .fix("cudnnm exec PROGRAM    # puts it on LD_LIBRARY_PATH for that program")
            .certainty(Certainty::Likely),
        ];
    }
    match usual {
        Code::Major => vec![major(facts, &file, wanted, Certainty::Likely)],
        _ => vec![
            Finding::fail(
                Code::NotFound,
                format!("`{file}` was not found; the program goes on without GPU"),
            )
            .why(format!(
                "it was built for cuDNN {wanted} and searches {} for it",
                if file.ends_with(".dll") {
                    "PATH (os.add_dll_directory does not count)"
                } else {
                    "LD_LIBRARY_PATH and the loader's cache"
                }
            ))
            .fix_by_version(last_of(wanted), wanted)
            .certainty(Certainty::Likely),
        ],
    }
}

pub fn none_of(facts: &Facts, sign: &Sign) -> Vec<Finding> {
    let version = sign.get("version").unwrap_or_default();
    let library = sign.get("library").unwrap_or("libcudnn");
    let major_text = version.split('.').next().unwrap_or("9");
    let name = LibraryName::of(&format!("{library}.so.{major_text}"));
    let mut found = shared(facts, &name, Code::Major);
    for finding in &mut found {
        finding.why = format!(
            "the main library is {version} and looks for its parts beside it and on the loader's path; {}",
            finding.why
        );
    }
    found
}

pub fn dynamic(facts: &Facts, sign: &Sign) -> Vec<Finding> {
    let library = sign.get("library").unwrap_or_default();
    let name = LibraryName::of(library);
    if library.contains("libcuda.so") {
        return Vec::new();
    }
    if name.is_cudnn && name.base.ends_with(".dll") {
        let here = majors_here(facts);
        if let Some(wanted) = name.major
            && !here.is_empty()
            && !here.contains(&wanted)
        {
            return vec![major(facts, &name.base, wanted, Certainty::Certain)];
        }
        return shared(facts, &name, Code::NotFound);
    }
    if name.is_cudnn {
        return shared(facts, &name, Code::NotFound);
    }
    vec![
        Finding::fail(
            Code::NotFound,
            if library == "cudnn" {
                "no cuDNN was found on the search path".to_owned()
            } else {
                format!("`{library}` was not found; the program goes on without GPU")
            },
        )
        .why(if library == "cudnn" {
            "the program looks for it on PATH or LD_LIBRARY_PATH, in the major it was built for"
        } else {
            "it belongs to the CUDA toolkit of the version that the program was built for"
        })
        .fix("cudnnm install 9 --with-companions    # or 8, as the program needs")
        .fix("cudnnm exec PROGRAM")
        .certainty(Certainty::Likely),
    ]
}
