//! Messages of Windows, of cuDNN's dispatcher there, and of Python.

use super::super::versions::cudnn_name;
use super::majors::{conflicting, last_of, major, majors_here};
use super::zlib::{folder_is_listed, has_zlib, zlib, zlib_finding};
use crate::diagnosis::facts::Facts;
use crate::diagnosis::finding::{Certainty, Code, Finding};
use crate::diagnosis::library::{LibraryName, base_name, folder, major_of_part};
use crate::diagnosis::signs::{Meaning, Sign};
use crate::diagnosis::{knowledge, order, signs_with};

pub fn not_located(facts: &Facts, sign: &Sign) -> Vec<Finding> {
    let library = sign.get("library").unwrap_or_default();
    if library.eq_ignore_ascii_case("zlibwapi.dll") {
        return zlib(facts);
    }
    let name = LibraryName::of(library);
    missing_dll(facts, &name)
}

/// One of cuDNN's DLLs is not found by another.
pub fn missing_dll(facts: &Facts, name: &LibraryName) -> Vec<Finding> {
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

pub fn dependency(facts: &Facts, sign: &Sign) -> Vec<Finding> {
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

pub fn load_error(facts: &Facts, sign: &Sign) -> Vec<Finding> {
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
pub fn not_found_dll(
    facts: &Facts,
    sign: &Sign,
    library: &str,
    missing: Option<&str>,
) -> Vec<Finding> {
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

pub fn onnxruntime(facts: &Facts) -> Vec<Finding> {
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

pub fn dll_import(sign: &Sign) -> Vec<Finding> {
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
pub fn both_searches(facts: &Facts, findings: &mut Vec<Finding>) {
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
