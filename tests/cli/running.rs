//! `exec`: the child finds exactly the active build, and we are gone.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fake;
use crate::sandbox::{Run, Sandbox, run};

const JIT: &str = "cudnn-9.19.0.56-cuda13-jit";
const OLD: &str = "cudnn-9.12.0.46-cuda13-jit";

/// What a Python prints of the cuDNN it loads by bare name: the answer, and the file in its memory map.
const LOAD: &str = "import ctypes; library = ctypes.CDLL('libcudnn.so.9'); print(library.cudnnGetVersion()); \
    print(*sorted({line.split(None, 5)[-1].strip() for line in open('/proc/self/maps') if 'libcudnn' in line}), sep='\\n')";

/// The interpreter itself, not a version manager's shim that would run a shell first.
fn python() -> PathBuf {
    let asked = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output();
    let text = asked.expect("python3 is on the path").stdout;
    PathBuf::from(String::from_utf8(text).unwrap().trim())
}

fn exec<A: Into<OsString>>(sandbox: &Sandbox, args: impl IntoIterator<Item = A>) -> Run {
    let args = args.into_iter().map(Into::into);
    sandbox.cudnnm(std::iter::once(OsString::from("exec")).chain(args))
}

#[test]
fn each_project_loads_its_own_build_despite_a_decoy() {
    let mut sandbox = Sandbox::new();
    let builds = [fake::build(&sandbox, JIT), fake::build(&sandbox, OLD)];
    let decoy = sandbox.path("decoy");
    fake::library(&decoy, 9, 90100);
    sandbox.set("LD_LIBRARY_PATH", &decoy);
    for (project, version, build) in [("a", "9.19", &builds[0]), ("b", "9.12", &builds[1])] {
        let folder = sandbox.project().join(project);
        fs::create_dir_all(&folder).unwrap();
        sandbox.cudnnm_in(&folder, ["use", version]).success();
        let run = sandbox
            .cudnnm_in(&folder, ["exec", python().to_str().unwrap(), "-c", LOAD])
            .success();
        let number = if project == "a" { "91900" } else { "91200" };
        let file = build.join("lib").join("libcudnn.so.9");
        assert_eq!(run.stdout, format!("{number}\n{}\n", file.display()));
        assert_eq!(run.stderr, "", "exec says nothing of its own");
    }
}

#[test]
fn a_virtual_environment_and_a_sitecustomize_of_its_own_are_no_obstacle() {
    let sandbox = Sandbox::new();
    let build = fake::build(&sandbox, JIT);
    let venv = sandbox.path("venv");
    let made = run(Command::new(python())
        .args(["-m", "venv", "--without-pip"])
        .arg(&venv));
    made.success();
    let site = fs::read_dir(venv.join("lib"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path()
        .join("site-packages");
    fs::write(
        site.join("sitecustomize.py"),
        "import builtins\nbuiltins.own_one_ran = True\n",
    )
    .unwrap();
    let code =
        format!("assert own_one_ran; import sitecustomize; print(sitecustomize.__file__); {LOAD}");
    let interpreter = venv.join("bin").join("python");
    let run = exec(
        &sandbox,
        [
            "--cudnn".into(),
            "9".into(),
            interpreter.into_os_string(),
            "-c".into(),
            OsString::from(code),
        ],
    );
    let run = run.success();
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(Path::new(lines[0]), site.join("sitecustomize.py"));
    assert_eq!(Path::new(lines[2]), build.join("lib").join("libcudnn.so.9"));
}

#[test]
fn a_framework_gets_the_active_build_before_its_bundled_one() {
    let sandbox = Sandbox::new();
    let build = fake::build(&sandbox, JIT);
    // A wheel like torch's: it opens a cuDNN of its own by absolute path... and the loader reuses ours by its SONAME
    // only when a library asks for the bare name, which is what its libraries do.
    let site = sandbox.path("site");
    let package = site.join("torch");
    let bundled = fake::library(&package.join("lib"), 9, 91002);
    let extension = package.join("lib").join("libtorch_fake.so");
    let source = package.join("fake.c");
    fs::write(&source, "unsigned long cudnnGetVersion(void); unsigned long ask(void) { return cudnnGetVersion(); }").unwrap();
    let linked = run(Command::new("cc")
        .args([
            "-shared",
            "-fPIC",
            "-Wl,--disable-new-dtags,-rpath,$ORIGIN",
            "-o",
        ])
        .arg(&extension)
        .arg(&source)
        .arg(&bundled));
    linked.success();
    let init = "import ctypes, os\nask = ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'lib', 'libtorch_fake.so')).ask\n";
    fs::write(package.join("__init__.py"), init).unwrap();
    let code = format!(
        "import sys; sys.path.insert(0, {:?}); import torch; print(torch.ask())",
        site
    );
    let with = exec(
        &sandbox,
        ["--cudnn", "9", python().to_str().unwrap(), "-c", &code],
    )
    .success();
    assert_eq!(with.stdout, "91900\n", "{}", build.display());
    let without = run(Command::new(python()).args(["-c", &code])).success();
    assert_eq!(
        without.stdout, "91002\n",
        "the stand-in must prefer its own copy, or the test shows nothing"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_framework_that_opens_its_own_copy_by_path_gets_the_active_one_alone() {
    let sandbox = Sandbox::new();
    let build = fake::build(&sandbox, JIT);
    // As torch 2.11 and JAX do: the wheel's own front door, opened by its absolute path.
    let site = sandbox.path("site");
    let package = site.join("jax");
    fake::library(&package, 9, 91002);
    let init = "import ctypes, os, pathlib\nhere = pathlib.Path(__file__).parent\n\
        library = ctypes.cdll.LoadLibrary(str(here / 'libcudnn.so.9'))\n\
        print(library.cudnnGetVersion(), ctypes.CDLL(os.path.join(here, 'libcudnn.so.9')).cudnnGetVersion())\n";
    fs::write(package.join("__init__.py"), init).unwrap();
    let code = format!("import sys; sys.path.insert(0, {site:?}); import jax; {LOAD}");
    let python = python();
    let run = exec(
        &sandbox,
        ["--cudnn", "9", python.to_str().unwrap(), "-c", &code],
    )
    .success();
    let file = build.join("lib").join("libcudnn.so.9");
    assert_eq!(
        run.stdout,
        format!("91900 91900\n91900\n{}\n", file.display())
    );
}

#[test]
fn a_program_that_is_not_python_finds_it_too() {
    let sandbox = Sandbox::new();
    let build = fake::build(&sandbox, JIT);
    let source = sandbox.path("p.c");
    let program = sandbox.path("a program");
    fs::write(&source, "#include <stdio.h>\nunsigned long cudnnGetVersion(void);\nint main(void) { printf(\"%lu\\n\", cudnnGetVersion()); return 3; }\n").unwrap();
    let linked = run(Command::new("cc")
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .arg(build.join("lib").join("libcudnn.so.9")));
    linked.success();
    let run = exec(
        &sandbox,
        [
            OsString::from("--cudnn"),
            "9".into(),
            "--".into(),
            program.into_os_string(),
        ],
    )
    .exits(3);
    assert_eq!(run.stdout, "91900\n");
}

#[test]
fn programs_that_do_not_exist_or_start_are_told_apart() {
    let sandbox = Sandbox::new();
    fake::build(&sandbox, JIT);
    exec(&sandbox, ["--cudnn", "9", "no-such-program"])
        .exits(127)
        .says(&["there is no program `no-such-program`"]);
    exec(&sandbox, ["--cudnn", "9", "./no-such-file"])
        .exits(127)
        .says(&["`./no-such-file`"]);
    exec(&sandbox, ["--cudnn", "9", "./"])
        .exits(126)
        .says(&["is a folder"]);
    let text = sandbox.project().join("notes.txt");
    fs::write(&text, "hello").unwrap();
    exec(&sandbox, ["--cudnn", "9", "./notes.txt"])
        .exits(126)
        .says(&["notes.txt` is not executable"]);
}

#[test]
fn the_exit_status_is_the_childs() {
    let sandbox = Sandbox::new();
    fake::build(&sandbox, JIT);
    exec(&sandbox, ["--cudnn", "9", "sh", "-c", "exit 42"]).exits(42);
}

#[test]
fn a_vanished_build_is_a_warning_to_python_and_an_error_to_exec() {
    let sandbox = Sandbox::new();
    let build = fake::build(&sandbox, JIT);
    let code = format!(
        "import shutil, subprocess, sys; shutil.rmtree({build:?}); \
        print(subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True, text=True))"
    );
    let run = exec(
        &sandbox,
        ["--cudnn", "9", python().to_str().unwrap(), "-c", &code],
    )
    .success();
    assert!(
        run.stdout.contains("returncode=0") && run.stdout.contains("has vanished"),
        "{}",
        run.stdout
    );
    exec(&sandbox, ["--cudnn", "9", "true"])
        .exits(4)
        .says(&["cuDNN 9 is not installed", "hint: cudnnm install 9"]);
    // Somebody deleted the receipt by hand.
    let damaged = fake::build(&sandbox, OLD);
    fs::remove_file(damaged.join("receipt.toml")).unwrap();
    exec(&sandbox, ["--cudnn", "9", "true"])
        .exits(4)
        .says(&["is damaged", "install --force 9.12.0.46+cuda13+jit"]);
}

#[test]
fn python_options_that_skip_the_prelude_are_pointed_out() {
    let sandbox = Sandbox::new();
    fake::build(&sandbox, JIT);
    let run = exec(
        &sandbox,
        [
            "--cudnn",
            "9",
            python().to_str().unwrap(),
            "-Ic",
            "print(1)",
        ],
    )
    .success();
    assert_eq!(run.stdout, "1\n");
    run.says(&["Python's -I skips the cudnnm prelude"]);
}

#[test]
fn a_build_for_another_platform_is_never_started() {
    let sandbox = Sandbox::new();
    fake::build(&sandbox, "cudnn-9.19.0.56-cuda13-windows-x86_64");
    exec(&sandbox, ["--cudnn", "9", "true"]).exits(4);
    exec(&sandbox, ["--cudnn", "9+windows-x86_64", "true"])
        .exits(5)
        .says(&["is for windows-x86_64"]);
}

#[test]
fn a_store_on_a_read_only_share_still_runs_programs() {
    let sandbox = Sandbox::new();
    fake::build(&sandbox, JIT);
    // A file in the place of the folder refuses root as well, which permission bits do not.
    fs::write(sandbox.store().join(".cudnnm"), "").unwrap();
    let before = sandbox.store_listing();
    let run = exec(
        &sandbox,
        ["--cudnn", "9", "sh", "-c", "echo $CUDNNM_ACTIVE"],
    )
    .success();
    assert_eq!(run.stdout, "9.19.0.56+cuda13+jit\n");
    run.says(&["Python starts without the prelude"]);
    assert_eq!(sandbox.store_listing(), before);
}

#[test]
fn the_printed_environment_means_the_same_to_a_shell() {
    let sandbox = Sandbox::new();
    let build = fake::build(&sandbox, JIT);
    let printed = sandbox
        .cudnnm(["env", "--cudnn", "9", "--shell", "bash"])
        .success()
        .stdout;
    let mut shell = Command::new("bash");
    sandbox.clean(&mut shell);
    let run = run(shell
        .arg("-c")
        .arg(format!("{printed}\nprintf %s \"$CUDNN_PATH\"")))
    .success();
    assert_eq!(Path::new(&run.stdout), build);
    let json = sandbox
        .cudnnm(["env", "--cudnn", "9", "--json"])
        .success()
        .stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["variables"]["CUDNN_PATH"], build.to_str().unwrap());
    assert!(
        !json["variables"]["LD_LIBRARY_PATH"]
            .as_str()
            .unwrap()
            .contains("::")
    );
}

#[test]
fn a_pasted_prelude_needs_no_exec() {
    let sandbox = Sandbox::new();
    let build = fake::build(&sandbox, JIT);
    let code = sandbox.cudnnm(["prelude", "--cudnn", "9"]).success().stdout;
    let site = sandbox.path("site");
    fs::create_dir_all(&site).unwrap();
    fs::write(site.join("onnxruntime.py"), "").unwrap();
    let program = sandbox.path("program.py");
    fs::write(&program, format!("{code}\nimport onnxruntime\n{LOAD}\n")).unwrap();
    let mut python = Command::new(python());
    sandbox.clean(&mut python);
    let run = run(python.arg(program).env("PYTHONPATH", site)).success();
    assert!(
        run.stdout.contains(build.join("lib").to_str().unwrap()),
        "{}",
        run.stdout
    );
}

#[test]
fn an_attached_environment_needs_no_exec_and_can_be_detached() {
    let sandbox = Sandbox::new();
    let build = fake::build(&sandbox, JIT);
    let venv = sandbox.path("venv");
    run(Command::new(python())
        .args(["-m", "venv", "--without-pip"])
        .arg(&venv))
    .success();
    let attach = |action: &str| {
        let mut args: Vec<OsString> = vec!["venv".into(), action.into(), venv.clone().into()];
        if action == "attach" {
            args.extend(["--cudnn".into(), "9".into()]);
        }
        sandbox.cudnnm(args).success()
    };
    attach("attach");
    let site = sandbox.path("site");
    fs::create_dir_all(&site).unwrap();
    fs::write(site.join("torch.py"), "").unwrap();
    let opened = || {
        let code = format!(
            "import sys; sys.path.insert(0, {site:?}); import torch; \
             print('libcudnn' in open('/proc/self/maps').read())"
        );
        let mut python = Command::new(venv.join("bin").join("python"));
        sandbox.clean(&mut python);
        // -I: what an IDE or a Jupyter kernel may do; a .pth file is read all the same.
        run(python.args(["-I", "-c", &code])).success().stdout
    };
    assert_eq!(opened(), "True\n", "{}", build.display());
    attach("detach");
    assert_eq!(opened(), "False\n");
    sandbox
        .cudnnm(["venv", "attach", "/usr", "--cudnn", "9"])
        .exits(2)
        .says(&["is not a virtual environment"]);
}
