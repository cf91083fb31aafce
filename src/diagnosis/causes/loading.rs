//! Libraries that could not be loaded: which, why, and what else is here.

use super::super::facts::{Facts, PackageSource};
use super::super::finding::{Certainty, Code, Finding};
use super::super::library::{LibraryName, base_name, folder, major_of_part};
use super::super::signs::{Meaning, Sign};
use super::super::{knowledge, order, signs_with};
use super::versions::cudnn_name;

pub fn rule(facts: &Facts, findings: &mut Vec<Finding>) {
    for (position, sign) in facts.signs.iter().enumerate() {
        let Some(meaning) = sign.meaning else {
            continue;
        };
        let found = match meaning {
            Meaning::NotLocated => not_located(facts, sign),
            Meaning::DependencyMissing => dependency(facts, sign),
            Meaning::LoadError => load_error(facts, sign),
            Meaning::LoadMissing => missing_shared(facts, sign, sign.get("path").unwrap_or_default()),
            Meaning::CannotOpen => missing_shared(facts, sign, sign.get("library").unwrap_or_default()),
            Meaning::NoneOf => none_of(facts, sign),
            Meaning::DynamicNotFound => dynamic(facts, sign),
            Meaning::DllImport => dll_import(sign),
            Meaning::ExitNotFound => vec![
                Finding::fail(Code::NotFound, "the program ended because a DLL it needs was not found (0xC0000135)")
                    .why("Windows names the DLL in a window only; the exit code is all that is left in a terminal")
                    .fix("cudnnm exec PROGRAM    # with the folder of cuDNN first on PATH")
                    .fix("cudnnm doctor    # lists what is on PATH")
                    .certainty(Certainty::Possible),
            ],
            Meaning::Undefined => undefined(sign),
            Meaning::RequiresMajor => requires(facts, sign),
            Meaning::CudaProvider => onnxruntime(facts),
            Meaning::Status => status(sign),
            _ => Vec::new(),
        };
        findings.extend(
            found
                .into_iter()
                .map(|finding| finding.explains([position])),
        );
    }
    conflict(facts, findings);
    zlib_absent(facts, findings);
    both_searches(facts, findings);
}

/// Majors of cuDNN that are here, as files or packages, newest first.
fn majors_here(facts: &Facts) -> Vec<u32> {
    let mut majors: Vec<u32> = facts
        .libraries
        .all()
        .iter()
        .filter(|library| library.name.is_cudnn)
        .filter_map(|library| library.name.major)
        .chain(
            facts
                .packages
                .all()
                .iter()
                .filter(|package| package.by != PackageSource::Requirement)
                .filter_map(|package| knowledge::provided(package).map(|version| version.major)),
        )
        .collect();
    majors.sort_unstable_by(|a, b| b.cmp(a));
    majors.dedup();
    majors
}

/// What is here, in words: `9.2.0` where a version is known, else `9`.
fn here_in_words(facts: &Facts, majors: &[u32]) -> String {
    let words: Vec<String> = majors
        .iter()
        .map(|major| {
            facts
                .libraries
                .all()
                .iter()
                .filter(|library| library.name.major == Some(*major))
                .find_map(order::version_of)
                .or_else(|| {
                    facts
                        .packages
                        .all()
                        .iter()
                        .filter_map(knowledge::provided)
                        .find(|version| version.major == *major)
                })
                .map_or_else(|| major.to_string(), |version| version.to_string())
        })
        .collect();
    super::joined(&words)
}

/// The last release of a major, the safe choice for a program that only names the major.
fn last_of(major: u32) -> &'static str {
    match major {
        5 => "5.1",
        6 => "6.0",
        7 => "7.6.5",
        8 => "8.9.7",
        _ => "9",
    }
}

/// MAJOR: a library of a major is asked for that is not here.
fn major(facts: &Facts, asked: &str, wanted: u32, certainty: Certainty) -> Finding {
    let here: Vec<u32> = majors_here(facts);
    let others: Vec<u32> = here
        .iter()
        .copied()
        .filter(|major| *major != wanted)
        .collect();
    let have = if others.is_empty() {
        String::new()
    } else {
        format!("; here is {}", here_in_words(facts, &others))
    };
    let by = wanting(facts, wanted);
    let program = by.as_deref().unwrap_or("the program");
    let last = last_of(wanted);
    let mut finding = Finding::fail(
        Code::Major,
        format!("{program} was built for cuDNN {wanted} and asks for `{asked}`{have}"),
    )
    .why(format!(
        "majors are not interchangeable: the libraries have other names and other functions{}. Two majors may live side by side, even in one process, since their file names differ",
        if wanted == 8 && (asked.contains("_infer") || asked.contains("_train")) {
            " (the _infer and _train libraries exist in cuDNN 8 only)"
        } else {
            ""
        }
    ))
    .fix(format!("cudnnm install {last}"))
    .fix(format!("cudnnm use {last}    # writes .cudnn-version; then: cudnnm exec PROGRAM"))
    .certainty(certainty);
    if let Some(step) = upgrade(by.as_deref(), wanted) {
        finding = finding.fix(step);
    }
    finding
}

/// The package here that loads that major.
fn wanting(facts: &Facts, major: u32) -> Option<String> {
    facts
        .packages
        .all()
        .iter()
        .filter(|package| knowledge::need_of(package).is_some_and(|need| need.major == major))
        .max_by_key(|package| knowledge::need_of(package).is_some_and(|need| !need.carries_own))
        .map(|package| format!("{} {}", package.name, package.version))
}

fn upgrade(program: Option<&str>, wanted: u32) -> Option<String> {
    let name = program?.split(' ').next()?;
    match (name, wanted) {
        ("ctranslate2", 8) => Some(
            "or move to the release for cuDNN 9: python -m pip install \"ctranslate2>=4.5\""
                .to_owned(),
        ),
        ("onnxruntime-gpu", 8) => Some(
            "or move to a release for cuDNN 9: python -m pip install \"onnxruntime-gpu>=1.19\""
                .to_owned(),
        ),
        _ => None,
    }
}

fn not_located(facts: &Facts, sign: &Sign) -> Vec<Finding> {
    let library = sign.get("library").unwrap_or_default();
    if library.eq_ignore_ascii_case("zlibwapi.dll") {
        return zlib(facts);
    }
    let name = LibraryName::of(library);
    missing_dll(facts, &name)
}

/// One of cuDNN's DLLs is not found by another.
fn missing_dll(facts: &Facts, name: &LibraryName) -> Vec<Finding> {
    let file = &name.base;
    let wanted = name.major;
    let here = majors_here(facts);
    let copies: Vec<&str> = facts
        .files
        .iter()
        .map(String::as_str)
        .filter(|path| base_name(path).eq_ignore_ascii_case(file) && !folder(path).is_empty())
        .collect();
    let list = order::effective(facts);
    if let Some(wanted) = wanted
        && copies.is_empty()
        && !here.is_empty()
        && !here.contains(&wanted)
    {
        return vec![major(facts, file, wanted, Certainty::Certain)];
    }
    if let (Some(list), Some(copy)) = (list, copies.first()) {
        let on_path = copies.iter().any(|copy| {
            list.elements
                .iter()
                .any(|element| order::same_folder(element, folder(copy)))
        });
        if !on_path {
            return vec![
                Finding::fail(
                    Code::PyDll,
                    format!("`{copy}` is there, but its folder is not on PATH"),
                )
                .why("cuDNN opens its own parts by bare name, an ordinary search that looks at PATH; folders given with os.add_dll_directory are not searched for it")
                .fix("cudnnm import    # lists the copies here; with the folder of one it takes it into the store")
                .fix("cudnnm exec python …    # sets PATH and calls os.add_dll_directory, both are needed"),
            ];
        }
    }
    if let Some(wanted) = wanted
        && conflicting(facts, wanted)
    {
        return vec![major(facts, file, wanted, Certainty::Certain)];
    }
    let only_in = name.part.as_deref().and_then(major_of_part);
    if only_in == Some(8) {
        return vec![major(facts, file, 8, Certainty::Likely)];
    }
    vec![
        Finding::fail(
            Code::PyDll,
            format!("cuDNN's main DLL was loaded, its part `{file}` was not found on PATH"),
        )
        .why("cuDNN opens its parts by bare name, which looks at PATH; os.add_dll_directory is enough for the main DLL and not for them. The check: cudnnm which tells whether that file lies beside the main one")
        .fix(format!("cudnnm which {file}"))
        .fix("cudnnm exec python …    # sets PATH and calls os.add_dll_directory, both are needed")
        .certainty(Certainty::Possible),
        Finding::fail(
            Code::Layout,
            format!("or the folder on PATH is not the one with `{file}`"),
        )
        .why("NVIDIA's installer puts the DLLs into a folder per CUDA below bin, and newer archives into bin\\x64; some wheels bring only the main DLL. The check: does the folder on PATH itself hold the file?")
        .fix("cudnnm import    # lists the copies here; with the folder of one it takes it into the store")
        .second(),
    ]
}

/// A package that needs `major`, while another brings a different one.
fn conflicting(facts: &Facts, major: u32) -> bool {
    let needs = facts.packages.all().iter().filter_map(knowledge::need_of);
    let others = needs.clone().any(|need| need.major != major);
    let wants = needs
        .clone()
        .any(|need| need.major == major && !need.carries_own);
    others && wants
}

/// `zlibwapi.dll`, or what the message only takes for it.
fn zlib(facts: &Facts) -> Vec<Finding> {
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
            let version = super::super::read::version::in_path(folder(&library.path))?;
            (Some(version.major) == library.name.major).then_some(version)
        })
}

fn zlib_finding(version: Option<crate::version::CudnnVersion>, certainty: Certainty) -> Finding {
    let named = version.map_or_else(|| "8.3 to 9.1".to_owned(), |version| version.to_string());
    Finding::fail(
        Code::Zlib,
        format!("zlibwapi.dll (64-bit) is missing; cuDNN {named} for Windows loads it at its first convolution"),
    )
    .why("cuDNN 8.3 to 9.1 for Windows need it, and neither the CUDA toolkit nor NVIDIA's cuDNN archive contains it")
    .fix("cudnnm install 8.9.7    # its DLLs from the Python index do not need zlibwapi.dll")
    .fix("cudnnm use 8.9.7")
    .fix("or, with conda: conda install -c conda-forge libzlib-wapi    # the 64-bit file")
    .certainty(certainty)
}

fn has_zlib(facts: &Facts) -> bool {
    facts
        .files
        .iter()
        .map(String::as_str)
        .chain(facts.binaries.iter().map(|binary| binary.path.as_str()))
        .any(|path| base_name(path).eq_ignore_ascii_case("zlibwapi.dll"))
}

/// Whether a listing shows the folder of a cuDNN for Windows.
fn folder_is_listed(facts: &Facts) -> bool {
    facts
        .entries
        .iter()
        .filter(|entry| LibraryName::of(&entry.path).is_cudnn)
        .count()
        > 2
}

/// Without a message: a version that needs zlib, its folder listed, and no zlib in sight.
fn zlib_absent(facts: &Facts, findings: &mut Vec<Finding>) {
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

fn dependency(facts: &Facts, sign: &Sign) -> Vec<Finding> {
    let library = sign.get("library").unwrap_or("the DLL");
    let version = knowledge::cudnn_here(facts);
    vec![
        Finding::fail(
            Code::PyDll,
            format!("`{library}` is there, but a DLL that it needs is not found on PATH"),
        )
        .why("its sister DLLs, cublasLt and nvrtc are searched on PATH (os.add_dll_directory does not count); zlibwapi.dll was found, so it is not that")
        .fix("cudnnm exec PROGRAM    # puts cuDNN's and CUDA's folders on PATH together")
        .fix("cudnnm test    # names what can't be resolved")
        .certainty(Certainty::Possible),
        Finding::fail(
            Code::Mixed,
            format!("or a sister DLL of `{library}` is of another version{}", version.map_or(String::new(), |version| format!(" than {version}"))),
        )
        .why("parts of two versions in the search order fit neither. The check: cudnnm doctor lists every copy with its version")
        .fix("cudnnm doctor")
        .second(),
    ]
}

fn load_error(facts: &Facts, sign: &Sign) -> Vec<Finding> {
    let library = sign.get("library").unwrap_or("a DLL");
    let base = base_name(library);
    let missing = sign.get("missing");
    let code = sign.number("code").unwrap_or(126);
    match code {
        127 | 182 => vec![
            Finding::fail(
                Code::Mixed,
                format!("`{library}` met a DLL of another version than its own (error {code}: a function is missing)"),
            )
            .why("two cuDNNs are mixed: one of its sister DLLs was found in another folder first, or files of two versions were copied into one folder")
            .fix("cudnnm doctor    # lists every copy in search order with its version")
            .fix(if library.to_ascii_lowercase().contains("torch") {
                "python -m pip install --force-reinstall --no-deps torch==VERSION    # puts its own files back"
            } else {
                "cudnnm exec PROGRAM    # gives it one complete set"
            })
            .certainty(Certainty::Likely),
        ],
        193 => vec![
            Finding::fail(
                Code::Bitness,
                format!("`{base}` is not a 64-bit file, or the program is 32-bit (error 193)"),
            )
            .why("the loader refuses a file for another processor. The check: cudnnm doctor reads the header of every copy; 32-bit says BITNESS, cut short says CORRUPT")
            .fix("python -c \"import platform; print(platform.architecture())\"    # must say 64bit")
            .fix("cudnnm doctor")
            .certainty(Certainty::Possible),
            Finding::fail(Code::Corrupt, format!("or `{base}` is damaged"))
                .why("a file that is cut short, a Git LFS pointer or a saved web page gives the same code. The check: its size and digest")
                .fix("cudnnm verify")
                .second(),
        ],
        1114 => vec![
            Finding::fail(
                Code::Unknown,
                format!("`{base}` was found but its start-up failed (error 1114)"),
            )
            .why("most often the Microsoft Visual C++ runtime is too old, then a driver that is too old, then too little memory")
            .fix("install the latest Microsoft Visual C++ redistributable (x64)")
            .fix("nvidia-smi    # does the driver answer?")
            .certainty(Certainty::Possible),
        ],
        5 => vec![
            Finding::fail(Code::Perm, format!("`{library}` may not be opened (error 5)"))
                .why("its folder's rights, an antivirus, or the mark of a file from the internet keep this user out")
                .fix("cudnnm install 9    # into your own store; choose the version you need"),
        ],
        _ => not_found_dll(facts, sign, library, missing),
    }
}

/// Error 126: the DLL or something it needs is not there.
fn not_found_dll(facts: &Facts, sign: &Sign, library: &str, missing: Option<&str>) -> Vec<Finding> {
    if let Some(missing) = missing {
        let name = LibraryName::of(missing);
        if let Some(wanted) = name.major.filter(|_| name.is_cudnn) {
            let here = majors_here(facts);
            if !here.is_empty() && !here.contains(&wanted) {
                return vec![major(facts, missing, wanted, Certainty::Certain)];
            }
            return vec![
                Finding::fail(
                    Code::NotFound,
                    format!(
                        "`{missing}` is not on PATH; `{}` needs it",
                        base_name(library)
                    ),
                )
                .why("the program was built for that major of cuDNN and searches PATH for it")
                .fix(format!("cudnnm install {}", last_of(wanted)))
                .fix("cudnnm exec python …")
                .certainty(Certainty::Likely),
            ];
        }
        return vec![
            Finding::fail(Code::NotFound, format!("`{missing}` of the CUDA toolkit is not on PATH; `{}` needs it", base_name(library)))
                .why("the program was built for that major of CUDA")
                .fix("cudnnm install 9 --with-companions    # brings cuBLAS and NVRTC along; choose the version you need")
                .fix("cudnnm exec python …")
                .certainty(Certainty::Likely),
        ];
    }
    let base = base_name(library).to_ascii_lowercase();
    if base == "zlibwapi.dll" {
        return zlib(facts);
    }
    if base.starts_with("onnxruntime_providers") {
        return onnxruntime(facts);
    }
    let Some(name) = cudnn_name(sign) else {
        if library.to_ascii_lowercase().contains("torch") {
            return vec![
                Finding::fail(Code::Framework, format!("`{base}` of torch was found, something it needs was not (error 126)"))
                    .why("most often the Microsoft Visual C++ runtime is missing or too old; else files of torch\\lib were replaced")
                    .fix("install the latest Microsoft Visual C++ redistributable (x64)")
                    .fix("python -m pip install --force-reinstall --no-deps torch==VERSION    # puts its own files back")
                    .certainty(Certainty::Possible),
            ];
        }
        return vec![
            Finding::fail(
                Code::NotFound,
                format!("`{base}` or a DLL that it needs was not found (error 126)"),
            )
            .why("Windows gives one code for both; the first missing name is what counts")
            .fix("cudnnm exec PROGRAM    # with cuDNN's and CUDA's folders on PATH")
            .certainty(Certainty::Possible),
        ];
    };
    let here = majors_here(facts);
    if let Some(wanted) = name.major
        && !here.is_empty()
        && !here.contains(&wanted)
    {
        return vec![major(facts, &name.base, wanted, Certainty::Certain)];
    }
    let version = knowledge::cudnn_here(facts);
    let zlib_possible =
        version.map_or(name.major == Some(8), knowledge::wants_zlib) && !has_zlib(facts);
    let certain = folder_is_listed(facts)
        && facts
            .entries
            .iter()
            .any(|entry| base_name(&entry.path).eq_ignore_ascii_case(&name.base));
    let other = Finding::fail(
        Code::PyDll,
        format!("`{}`, or a DLL that it needs, is not found on PATH (error 126)", name.base),
    )
    .why("its sister DLLs and cublasLt are searched on PATH, where os.add_dll_directory does not count. The check: cudnnm which tells whether they lie in one folder, and whether that is on PATH")
    .fix(format!("cudnnm which {}", name.base))
    .fix("cudnnm exec python …    # sets PATH and calls os.add_dll_directory, both are needed")
    .certainty(Certainty::Possible);
    if !zlib_possible {
        return vec![other];
    }
    if certain {
        return vec![zlib_finding(version, Certainty::Certain)];
    }
    vec![zlib_finding(version, Certainty::Possible), other.second()]
}

fn onnxruntime(facts: &Facts) -> Vec<Finding> {
    let wanted = facts
        .package("onnxruntime-gpu")
        .and_then(knowledge::need_of)
        .map(|need| need.major);
    let here = majors_here(facts);
    if let Some(wanted) = wanted
        && !here.is_empty()
        && !here.contains(&wanted)
    {
        return vec![major(
            facts,
            &format!("cudnn64_{wanted}.dll"),
            wanted,
            Certainty::Certain,
        )];
    }
    vec![
        Finding::fail(
            Code::NotFound,
            "ONNX Runtime's CUDA part was found, a DLL that it needs was not (error 126)",
        )
        .why("it imports cudnn64_N.dll, cublasLt64_N.dll and others through PATH: from 1.19 on cuDNN 9 and CUDA 12, before that cuDNN 8. It goes on with the CPU")
        .fix("cudnnm exec --cudnn 9 python …    # 8 for ONNX Runtime before 1.19")
        .fix("cudnnm test --framework onnxruntime    # names what it loads")
        .certainty(Certainty::Possible),
        Finding::fail(Code::Major, "or the cuDNN on PATH is of another major than this ONNX Runtime was built for")
            .why("8 and 9 are not interchangeable. The check: which of cudnn64_8.dll and cudnn64_9.dll is on PATH, and which ONNX Runtime is installed")
            .fix("cudnnm compat --framework onnxruntime-gpu==VERSION")
            .second(),
    ]
}

/// A shared object that could not be opened.
fn missing_shared(facts: &Facts, sign: &Sign, path: &str) -> Vec<Finding> {
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
fn shared(facts: &Facts, name: &LibraryName, usual: Code) -> Vec<Finding> {
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
    if let Some(copy) = copy.filter(|copy| !matches!(copy.reach, super::super::facts::Reach::Cache))
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
            .fix(format!("cudnnm install {}", last_of(wanted)))
            .fix(format!(
                "cudnnm use {}    # then: cudnnm exec python …",
                last_of(wanted)
            ))
            .certainty(Certainty::Likely),
        ],
    }
}

fn none_of(facts: &Facts, sign: &Sign) -> Vec<Finding> {
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

fn dynamic(facts: &Facts, sign: &Sign) -> Vec<Finding> {
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

fn dll_import(sign: &Sign) -> Vec<Finding> {
    let reason = sign.get("reason").unwrap_or_default();
    let module = sign
        .get("module")
        .or_else(|| sign.get("library").map(base_name))
        .unwrap_or("the module");
    if reason.contains("%1") || reason.contains("193") || reason.contains("Win32") {
        return vec![
            Finding::fail(
                Code::Bitness,
                format!("`{module}` or a DLL it needs is not a 64-bit file, or this Python is 32-bit"),
            )
            .why("Windows says \"not a valid Win32 application\" (error 193) for a file of another processor and for one that is cut short")
            .fix("python -c \"import platform; print(platform.architecture())\"    # must say 64bit")
            .fix("cudnnm doctor    # reads the header of every copy")
            .certainty(Certainty::Likely),
        ];
    }
    vec![
        Finding::fail(
            Code::PyDll,
            format!("Python does not find a DLL that `{module}` needs: since 3.8 it ignores PATH for extension modules"),
        )
        .why("an extension's DLLs are searched in folders given with os.add_dll_directory; cuDNN's own parts are searched on PATH. Both must name the folder")
        .fix("cudnnm exec python …    # sets PATH and calls os.add_dll_directory")
        .fix("cudnnm venv attach    # does the same for IDEs and notebooks in a virtual environment")
        .certainty(Certainty::Likely),
    ]
}

/// Two messages together show both halves of Python's and cuDNN's searches.
fn both_searches(facts: &Facts, findings: &mut Vec<Finding>) {
    let imports: Vec<usize> = signs_with(facts, Meaning::DllImport)
        .map(|(position, _)| position)
        .collect();
    let parts: Vec<(usize, &Sign)> = signs_with(facts, Meaning::NotLocated)
        .filter(|(_, sign)| cudnn_name(sign).is_some_and(|name| name.part.is_some()))
        .collect();
    let ([_, ..], [(_, part), ..]) = (imports.as_slice(), parts.as_slice()) else {
        return;
    };
    let library = part.get("library").unwrap_or("cudnn_ops64_9.dll");
    findings.push(
        Finding::fail(
            Code::PyDll,
            format!("Python ignores PATH for extension modules, and cuDNN ignores os.add_dll_directory for its parts (`{library}`): both must name the folder"),
        )
        .why("since 3.8 Python searches an extension's DLLs only in folders given with os.add_dll_directory; cuDNN opens its parts by bare name, an ordinary search of PATH")
        .fix("cudnnm exec python …    # does both")
        .fix("cudnnm venv attach    # does both for IDEs and notebooks in a virtual environment")
        .certainty(Certainty::Likely)
        .explains(imports.iter().copied().chain(parts.iter().map(|(position, _)| *position))),
    );
}

/// A function that one part has and another lacks.
fn undefined(sign: &Sign) -> Vec<Finding> {
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

fn requires(facts: &Facts, sign: &Sign) -> Vec<Finding> {
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

fn status(sign: &Sign) -> Vec<Finding> {
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

/// Without a message: packages that load a major which nothing here provides.
fn conflict(facts: &Facts, findings: &mut Vec<Finding>) {
    if facts.signs.iter().any(|sign| {
        matches!(
            sign.meaning,
            Some(
                Meaning::LoadMissing
                    | Meaning::CannotOpen
                    | Meaning::NotLocated
                    | Meaning::NoneOf
                    | Meaning::DynamicNotFound
            )
        )
    }) {
        return;
    }
    let here = majors_here(facts);
    if here.is_empty() || !facts.expects_gpu() {
        return;
    }
    let has_wheel = facts
        .packages
        .all()
        .iter()
        .any(|package| package.name.starts_with("nvidia-cudnn-cu"));
    for package in facts.packages.all() {
        // On Linux what torch carries is a wheel of its own, and pip lets another package replace it.
        let by_wheel = has_wheel && facts.is_linux();
        let Some(need) = knowledge::need_of(package).filter(|need| !need.carries_own || by_wheel)
        else {
            continue;
        };
        if here.contains(&need.major) || package.by == PackageSource::Requirement {
            continue;
        }
        let asked = if facts.is_windows() {
            format!("cudnn64_{}.dll", need.major)
        } else {
            format!("libcudnn.so.{}", need.major)
        };
        findings.push(major(facts, &asked, need.major, Certainty::Certain));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_release_of_each_major_is_offered() {
        assert_eq!(last_of(8), "8.9.7");
        assert_eq!(last_of(7), "7.6.5");
        assert_eq!(major_of_part("cnn_train"), Some(8));
    }
}
