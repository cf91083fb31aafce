//! What a Python on Windows loads. Needs one: `CUDNNM_TEST_WINDOWS_PYTHON` names its `python.exe`, as the gate does.
//! `CUDNNM_TEST_WINDOWS_CUDNN` names a folder with the DLLs of a real cuDNN 9.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fake;
use crate::pe::{self, Code};
use crate::sandbox::{Run, Sandbox, run};

const JIT: &str = "cudnn-9.19.0.56-cuda13-jit";

/// Python functions: the cuDNN DLLs in this process, and what the one answers that a bare name leads to.
const LOOK: &str = r"
import ctypes, os, sys
from ctypes import wintypes
def loaded():
    kernel, psapi = ctypes.WinDLL('kernel32'), ctypes.WinDLL('psapi')
    kernel.GetCurrentProcess.restype = wintypes.HANDLE
    kernel.GetModuleFileNameW.argtypes = [wintypes.HMODULE, wintypes.LPWSTR, wintypes.DWORD]
    psapi.EnumProcessModules.argtypes = [wintypes.HANDLE, ctypes.c_void_p, wintypes.DWORD, ctypes.c_void_p]
    modules, needed, name = (wintypes.HMODULE * 1024)(), wintypes.DWORD(), ctypes.create_unicode_buffer(2000)
    psapi.EnumProcessModules(kernel.GetCurrentProcess(), modules, ctypes.sizeof(modules), ctypes.byref(needed))
    for module in modules[:needed.value // ctypes.sizeof(wintypes.HMODULE)]:
        kernel.GetModuleFileNameW(module, name, 2000)
        if os.path.basename(name.value).lower().startswith('cudnn'):
            yield name.value
def report():
    print(ctypes.CDLL('cudnn64_9.dll').cudnnGetVersion())
    print(*sorted(loaded()), sep='\n')
";

/// A Python, or a word about why there is none.
fn python() -> Option<PathBuf> {
    let named = variable("CUDNNM_TEST_WINDOWS_PYTHON");
    if named.is_none() {
        // Past the test harness, which would keep it to itself.
        let _ = std::io::stderr()
            .write_all(b"skipped: CUDNNM_TEST_WINDOWS_PYTHON names no Windows Python\n");
    }
    named
}

fn variable(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os(name)?);
    assert!(path.exists(), "{name} is {}", path.display());
    Some(path)
}

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("PYTHONUTF8", "1");
    sandbox
}

/// Runs a program of several lines with the build.
fn python_runs(sandbox: &Sandbox, python: &Path, code: &str) -> Run {
    let file = sandbox.path("程序 program.py");
    fs::write(&file, format!("{LOOK}\n{code}\n")).unwrap();
    let words = ["exec", "--cudnn", "9", "--"].map(OsString::from);
    sandbox.cudnnm(
        words
            .into_iter()
            .chain([python.into(), file.into_os_string()]),
    )
}

/// The version and the DLLs, all of which must lie in `folder`.
#[track_caller]
fn check(run: Run, number: &str, folder: &Path, names: &[&str]) {
    let run = run.success();
    let mut lines = run.stdout.lines();
    assert_eq!(lines.next(), Some(number), "{}", run.stderr);
    let found: Vec<PathBuf> = lines.map(PathBuf::from).collect();
    let expected: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
    assert_eq!(found, expected);
}

const BOTH: &[&str] = &["cudnn64_9.dll", "cudnn_graph64_9.dll"];

#[test]
fn a_bare_name_finds_the_build_and_its_parts() {
    let Some(python) = python() else { return };
    let mut sandbox = sandbox();
    let build = fake::build(&sandbox, JIT);
    let decoy = sandbox.path("decoy");
    fake::library(&decoy, 9, 90100);
    let path = format!("{};{}", decoy.display(), std::env::var("PATH").unwrap());
    sandbox.set("PATH", path);
    let run = python_runs(&sandbox, &python, "report()");
    assert_eq!(run.stderr, "");
    check(run, "91900", &build.join("bin"), BOTH);
}

#[test]
fn a_real_cudnn_is_loaded_from_the_store() {
    let Some(python) = python() else { return };
    let Some(real) = variable("CUDNNM_TEST_WINDOWS_CUDNN") else {
        let _ = std::io::stderr()
            .write_all(b"skipped: CUDNNM_TEST_WINDOWS_CUDNN names no folder with a real cuDNN\n");
        return;
    };
    let sandbox = sandbox();
    let bin = fake::build(&sandbox, "cudnn-9.10.2.21-cuda11").join("bin");
    fs::remove_dir_all(&bin).unwrap();
    fs::create_dir(&bin).unwrap();
    for entry in fs::read_dir(real).unwrap() {
        let file = entry.unwrap().path();
        cudnnm::store::link_or_copy(&file, &bin.join(file.file_name().unwrap())).unwrap();
    }
    check(
        python_runs(&sandbox, &python, "report()"),
        "91002",
        &bin,
        BOTH,
    );
    let all = [
        "cudnn64_9.dll",
        "cudnn_adv64_9.dll",
        "cudnn_cnn64_9.dll",
        "cudnn_engines_precompiled64_9.dll",
        "cudnn_engines_runtime_compiled64_9.dll",
        "cudnn_graph64_9.dll",
        "cudnn_heuristic64_9.dll",
        "cudnn_ops64_9.dll",
    ];
    framework(&sandbox.path("site"), "onnxruntime", "");
    let run = python_runs(
        &sandbox,
        &python,
        &import(&sandbox.path("site"), "onnxruntime"),
    );
    check(run, "91002", &bin, &all);
}

/// A package that stands in for a framework.
fn framework(site: &Path, name: &str, init: &str) -> PathBuf {
    let package = site.join(name);
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("__init__.py"), init).unwrap();
    package
}

fn import(site: &Path, name: &str) -> String {
    format!(
        "sys.path.insert(0, r'{}'); import {name}; report()",
        site.display()
    )
}

#[test]
fn a_framework_finds_every_part_open() {
    let Some(python) = python() else { return };
    let sandbox = sandbox();
    let build = fake::build(&sandbox, JIT);
    framework(&sandbox.path("site"), "onnxruntime", "");
    // Without the preload the part would be opened only when it is needed.
    let code = import(&sandbox.path("site"), "onnxruntime")
        .replace("report()", "print(91900, *sorted(loaded()), sep='\\n')");
    let run = python_runs(&sandbox, &python, &code);
    check(run, "91900", &build.join("bin"), BOTH);
}

#[test]
fn extension_modules_find_the_companions() {
    let Some(python) = python() else { return };
    let sandbox = sandbox();
    fake::build(&sandbox, JIT);
    let cublas = sandbox.store().join("cublas-13.0.2.14-cuda13").join("bin");
    fs::create_dir_all(&cublas).unwrap();
    let bytes = pe::library(
        "cublasLt64_13.dll",
        "cublasLtGetVersion",
        &[Code::Bytes(&pe::answer(130_002))],
    );
    fs::write(cublas.join("cublasLt64_13.dll"), bytes).unwrap();
    let code = "print(ctypes.CDLL('cublasLt64_13.dll').cublasLtGetVersion())";
    assert_eq!(
        python_runs(&sandbox, &python, code)
            .success()
            .stdout
            .trim_end(),
        "130002"
    );
}

/// What torch/__init__.py of 2.8 does on Windows, and one DLL that imports cuDNN by name.
///
/// Not in the sandbox: torch's own glob finds nothing below a folder with brackets in its name.
fn torch(site: &Path) -> PathBuf {
    let init = r"
import ctypes, glob, os
th_dll_path = os.path.join(os.path.dirname(__file__), 'lib')
kernel32 = ctypes.WinDLL('kernel32.dll', use_last_error=True)
kernel32.LoadLibraryExW.restype = ctypes.c_void_p
os.add_dll_directory(th_dll_path)
for dll in glob.glob(os.path.join(th_dll_path, '*.dll')):
    if kernel32.LoadLibraryExW(dll, None, 0x00001100) is None:
        raise ctypes.WinError(ctypes.get_last_error())
ask = ctypes.CDLL(os.path.join(th_dll_path, 'torch_cuda.dll')).ask
";
    let lib = framework(site, "torch", init).join("lib");
    fake::library(&lib, 9, 90100);
    let ask = [Code::Jump("cudnn64_9.dll", "cudnnGetVersion")];
    fs::write(
        lib.join("torch_cuda.dll"),
        pe::library("torch_cuda.dll", "ask", &ask),
    )
    .unwrap();
    lib
}

#[test]
fn torch_is_left_alone_or_overridden_whole() {
    let Some(python) = python() else { return };
    let mut sandbox = sandbox();
    let build = fake::build(&sandbox, JIT);
    let site = tempfile::tempdir().unwrap();
    let lib = torch(site.path());
    let code = import(site.path(), "torch").replace(
        "report()",
        "import glob; print(torch.ask(), *sorted(loaded()), sep='\\n'); assert glob.glob.__module__ == 'glob'",
    );
    let alone = python_runs(&sandbox, &python, &code);
    let said = format!(
        "cudnnm: torch loads the cuDNN in {}, not 9.19.0.56+cuda13+jit",
        lib.display()
    );
    check(
        alone.says(&[&said, "CUDNNM_TORCH=override"]),
        "90100",
        &lib,
        BOTH,
    );
    sandbox.set("CUDNNM_TORCH", "override");
    let overridden = python_runs(&sandbox, &python, &code);
    assert_eq!(overridden.stderr, "");
    check(overridden, "91900", &build.join("bin"), BOTH);
}

#[test]
fn a_torch_that_needs_another_major_keeps_its_own() {
    let Some(python) = python() else { return };
    let mut sandbox = sandbox();
    fake::build(&sandbox, JIT);
    let site = tempfile::tempdir().unwrap();
    let lib = torch(site.path());
    for name in BOTH {
        fs::remove_file(lib.join(name)).unwrap();
    }
    fake::library(&lib, 8, 8907);
    let ask = [Code::Jump("cudnn64_8.dll", "cudnnGetVersion")];
    fs::write(
        lib.join("torch_cuda.dll"),
        pe::library("torch_cuda.dll", "ask", &ask),
    )
    .unwrap();
    sandbox.set("CUDNNM_TORCH", "override");
    let code = import(site.path(), "torch").replace(
        "report()",
        "print(torch.ask(), *sorted(loaded()), sep='\\n')",
    );
    let run = python_runs(&sandbox, &python, &code).says(&["torch needs another major"]);
    check(
        run,
        "8907",
        &lib,
        &["cudnn64_8.dll", "cudnn_ops_infer64_8.dll"],
    );
}

#[test]
fn a_virtual_environment_and_a_sitecustomize_of_its_own_are_no_obstacle() {
    let Some(python) = python() else { return };
    let sandbox = sandbox();
    let build = fake::build(&sandbox, JIT);
    let venv = virtual_environment(&sandbox, &python);
    let site = venv.join("Lib").join("site-packages");
    fs::write(
        site.join("sitecustomize.py"),
        "import builtins\nbuiltins.own_one_ran = True\n",
    )
    .unwrap();
    let code = "assert own_one_ran; assert sys.prefix != sys.base_prefix; report()";
    let interpreter = venv.join("Scripts").join("python.exe");
    check(
        python_runs(&sandbox, &interpreter, code),
        "91900",
        &build.join("bin"),
        BOTH,
    );
}

fn virtual_environment(sandbox: &Sandbox, python: &Path) -> PathBuf {
    let venv = sandbox.path("venv 环境");
    let mut making = Command::new(python);
    sandbox.clean(&mut making);
    run(making.args(["-m", "venv", "--without-pip"]).arg(&venv)).success();
    let scripts = venv.join("Scripts");
    // Pythons that are not from python.org lack the launcher that belongs here; the interpreter itself does as well.
    if !scripts.join("python.exe").exists() {
        for entry in fs::read_dir(python.parent().unwrap()).unwrap() {
            let file = entry.unwrap().path();
            let name = file.file_name().unwrap().to_str().unwrap();
            if name == "python.exe" || (name.starts_with("python3") && name.ends_with(".dll")) {
                fs::copy(&file, scripts.join(name)).unwrap();
            }
        }
    }
    venv
}

#[test]
fn an_attached_environment_and_a_pasted_prelude_need_no_exec() {
    let Some(python) = python() else { return };
    let sandbox = sandbox();
    let build = fake::build(&sandbox, JIT);
    let program = sandbox.path("program.py");
    let plain = |interpreter: &Path| {
        let mut command = Command::new(interpreter);
        sandbox.clean(&mut command);
        run(command.arg(&program))
    };
    fs::write(&program, format!("{LOOK}\nreport()\n")).unwrap();
    let venv = virtual_environment(&sandbox, &python);
    let interpreter = venv.join("Scripts").join("python.exe");
    plain(&interpreter).exits(1).says(&["FileNotFoundError"]);
    let words = ["venv", "attach", "--cudnn", "9"].map(OsString::from);
    sandbox
        .cudnnm(words.into_iter().chain([venv.into_os_string()]))
        .success();
    check(plain(&interpreter), "91900", &build.join("bin"), BOTH);

    let pasted = sandbox.cudnnm(["prelude", "--cudnn", "9"]).success().stdout;
    fs::write(&program, format!("{pasted}\n{LOOK}\nreport()\n")).unwrap();
    check(plain(&python), "91900", &build.join("bin"), BOTH);
}
