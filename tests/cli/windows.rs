//! What `exec` does on Windows, with programs and libraries that are really loaded.
//!
//! Seen under Wine in the gate. What Wine can't show: DLLs that keep their file locked, an antivirus, window closing.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::fake;
use crate::pe::{self, Code};
use crate::sandbox::{Run, Sandbox, run};

const JIT: &str = "cudnn-9.19.0.56-cuda13-jit";
const OLD: &str = "cudnn-9.12.0.46-cuda13-jit";

/// 0xC0000135, STATUS_DLL_NOT_FOUND.
const DLL_NOT_FOUND: i32 = 0xc000_0135_u32 as i32;

/// A program that imports `cudnnGetVersion` and ends with its answer as exit code.
fn program(path: &Path) {
    let code = [
        Code::Bytes(&[0x48, 0x83, 0xec, 0x28]), // sub rsp, 40
        Code::Call("cudnn64_9.dll", "cudnnGetVersion"),
        Code::Bytes(&[0x89, 0xc1]), // mov ecx, eax
        Code::Call("KERNEL32.dll", "ExitProcess"),
    ];
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, pe::program(&code)).unwrap();
}

/// Does nothing in the suite. `exec` starts the test program itself as its child to see what a child gets.
#[test]
#[expect(clippy::print_stdout, reason = "the test that started it reads this")]
fn report() {
    match std::env::var("CUDNNM_TEST_REPORT").as_deref() {
        Err(_) => return,
        Ok("and wait") => {
            println!("waiting");
            std::thread::sleep(Duration::from_secs(60));
        }
        Ok(_) => {}
    }
    for argument in std::env::args_os().skip(4) {
        println!("argument: {}", argument.to_str().unwrap());
    }
    for (name, value) in std::env::vars_os() {
        println!("{}={}", name.to_str().unwrap(), value.to_str().unwrap());
    }
}

/// The words that make the test program report.
fn reporter(sandbox: &mut Sandbox) -> Vec<OsString> {
    sandbox.set("CUDNNM_TEST_REPORT", "1");
    let mut words = vec![std::env::current_exe().unwrap().into_os_string()];
    words.extend(["--exact", "windows::report", "--nocapture"].map(OsString::from));
    words
}

fn exec<A: Into<OsString>>(sandbox: &Sandbox, args: impl IntoIterator<Item = A>) -> Run {
    let words = ["exec", "--cudnn", "9", "--"].map(OsString::from);
    sandbox.cudnnm(words.into_iter().chain(args.into_iter().map(Into::into)))
}

fn inherited_path() -> String {
    std::env::var("PATH").unwrap()
}

#[test]
fn each_project_loads_its_own_build_despite_a_decoy() {
    let mut sandbox = Sandbox::new();
    for folder in [JIT, OLD] {
        fake::build(&sandbox, folder);
    }
    let tool = sandbox.path("a tool").join("tool.exe");
    program(&tool);
    let decoy = sandbox.path("decoy");
    fake::library(&decoy, 9, 90100);
    sandbox.set("PATH", format!("{};{}", decoy.display(), inherited_path()));
    for (project, version, answer) in [("a", "9.19", 91900), ("b", "9.12", 91200)] {
        let folder = sandbox.project().join(project);
        fs::create_dir_all(&folder).unwrap();
        sandbox.cudnnm_in(&folder, ["use", version]).success();
        let run = sandbox
            .cudnnm_in(&folder, ["exec".into(), tool.clone().into_os_string()])
            .exits(answer);
        assert_eq!(run.stderr, "", "exec says nothing of its own");
    }
    let mut bare = Command::new(&tool);
    sandbox.clean(&mut bare);
    run(&mut bare).exits(90100);
}

#[test]
fn the_exit_code_keeps_its_32_bits() {
    let sandbox = Sandbox::new();
    fake::build(&sandbox, "cudnn-8.9.7.29-cuda12");
    let tool = sandbox.path("tool.exe");
    program(&tool);
    let words = ["exec", "--cudnn", "8", "--"].map(OsString::from);
    let run = sandbox.cudnnm(words.into_iter().chain([tool.into_os_string()]));
    run.exits(DLL_NOT_FOUND);
}

#[test]
fn a_child_does_not_outlive_a_killed_exec() {
    let mut sandbox = Sandbox::new();
    fake::build(&sandbox, JIT);
    let words = reporter(&mut sandbox);
    let mut command = sandbox.command();
    command
        .args(["exec", "--cudnn", "9", "--"])
        .args(words)
        .env("CUDNNM_TEST_REPORT", "and wait")
        .stdout(Stdio::piped());
    let mut exec = command.spawn().unwrap();
    let mut said = BufReader::new(exec.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().ends_with("waiting")));
    let started = Instant::now();
    exec.kill().unwrap();
    exec.wait().unwrap();
    // The pipe ends when the last process that could write into it is gone.
    assert_eq!(said.count(), 0);
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_copy_that_windows_prefers_is_named() {
    let sandbox = Sandbox::new();
    fake::build(&sandbox, JIT);
    let tool = sandbox.path("beside").join("tool.exe");
    program(&tool);
    let copy = fake::library(&sandbox.path("beside"), 9, 90100);
    let found = exec(&sandbox, [tool]).exits(90100);
    found.says(&["where Windows looks first", copy.to_str().unwrap()]);
}

#[test]
fn arguments_arrive_as_they_were() {
    let mut sandbox = Sandbox::new();
    fake::build(&sandbox, JIT);
    let arguments = [
        "a b",
        "中文 字",
        "qu\"ote",
        "end\\",
        "a\\\"b",
        "%PATH%",
        "x&y|z^<>",
        "",
        "🧪",
        "*.dll",
    ];
    let words: Vec<OsString> = reporter(&mut sandbox)
        .into_iter()
        .chain(arguments.map(OsString::from))
        .collect();
    let run = exec(&sandbox, words).success();
    let arrived: Vec<&str> = run
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("argument: "))
        .collect();
    assert_eq!(arrived, arguments);
}

#[test]
fn the_child_has_one_path_without_quotes_and_doubles() {
    let mut sandbox = Sandbox::new();
    let build = fake::build(&sandbox, JIT);
    let words = reporter(&mut sandbox);
    let quoted = sandbox.path("semi;colon");
    let path = format!(
        r#""{}";C:\Tools;c:\tools\;;{};{}"#,
        quoted.display(),
        sandbox.store().join(OLD).join("bin").display(),
        inherited_path()
    );
    // As the registry writes it, and as a POSIX shell hands it on.
    for name in ["Path", "PATH"] {
        let mut command = sandbox.command();
        command.env_remove("PATH").env(name, &path);
        command.args(["exec", "--cudnn", "9", "--"]).args(&words);
        let report = run(&mut command).success().stdout;
        let paths: Vec<&str> = report
            .lines()
            .filter_map(|line| {
                let (name, value) = line.split_once('=')?;
                name.eq_ignore_ascii_case("path").then_some(value)
            })
            .collect();
        let expected = format!(
            r#"{};"{}";C:\Tools;{}"#,
            build.join("bin").display(),
            quoted.display(),
            inherited_path()
        );
        assert_eq!(paths, [expected]);
    }
}

#[test]
fn a_path_near_the_limit_of_a_variable_is_no_obstacle() {
    let mut sandbox = Sandbox::new();
    fake::build(&sandbox, JIT);
    let tool = sandbox.path("tool.exe");
    program(&tool);
    let many: Vec<String> = (0..700)
        .map(|number| format!(r"C:\Program Files\some vendor\product {number}\bin"))
        .collect();
    let path = format!("{};{}", many.join(";"), inherited_path());
    assert!((30_000..32_000).contains(&path.len()), "{}", path.len());
    sandbox.set("PATH", path);
    exec(&sandbox, [tool]).exits(91900);
}

#[test]
fn programs_are_found_as_windows_finds_them() {
    let mut sandbox = Sandbox::new();
    fake::build(&sandbox, JIT);
    let tools = sandbox.path("工具 tools");
    program(&tools.join("app.exe"));
    fs::write(
        tools.join("script.cmd"),
        "@echo %CUDNNM_ACTIVE% %1 [%~2]\r\n@exit /b 7\r\n",
    )
    .unwrap();
    fs::write(tools.join("notes.txt"), "hello").unwrap();
    sandbox.set("PATH", format!("{};{}", tools.display(), inherited_path()));
    for name in ["app", "APP.exe"] {
        exec(&sandbox, [name]).exits(91900);
    }
    for name in ["script", "script.cmd"] {
        let run = exec(&sandbox, [name, "a", "b c"]).exits(7);
        assert_eq!(run.stdout, "9.19.0.56+cuda13+jit a [b c]\r\n");
    }
    exec(&sandbox, ["no-such-program"])
        .exits(127)
        .says(&["there is no program `no-such-program`"]);
    exec(&sandbox, [r".\no-such-file"]).exits(127);
    exec(&sandbox, [r".\"]).exits(126).says(&["is a folder"]);
    exec(&sandbox, [tools.join("notes.txt")]).exits(126);
    // It has the name of a program and is none.
    fs::write(tools.join("broken.exe"), "not a program").unwrap();
    exec(&sandbox, ["broken"])
        .exits(126)
        .says(&["could not start", "broken.exe"]);
}

#[test]
fn another_cudnn_does_not_fill_the_gaps_of_a_small_one() {
    let mut sandbox = Sandbox::new();
    let build = fake::build(&sandbox, JIT);
    fs::remove_file(build.join("bin").join("cudnn_graph64_9.dll")).unwrap();
    let tool = sandbox.path("tool.exe");
    program(&tool);
    let nvidia = sandbox
        .path("NVIDIA")
        .join("CUDNN")
        .join("v9.3")
        .join("bin");
    fake::library(&nvidia, 9, 90300);
    sandbox.set("PATH", format!("{};{}", nvidia.display(), inherited_path()));
    exec(&sandbox, [tool]).exits(0);
}

#[test]
fn a_python_that_ignores_variables_is_pointed_out() {
    let sandbox = Sandbox::new();
    fake::build(&sandbox, JIT);
    let embedded = sandbox.path("embedded");
    let python = embedded.join("python.exe");
    program(&python);
    exec(
        &sandbox,
        [python.clone().into_os_string(), "-Ic".into(), "pass".into()],
    )
    .exits(91900)
    .says(&["Python's -I skips the cudnnm prelude", "cudnnm prelude"]);
    // As in the packages for embedding, which portable bundles are made of.
    fs::write(embedded.join("python311._pth"), "python311.zip\n").unwrap();
    exec(&sandbox, [python]).says(&["python311._pth` makes this Python skip"]);
}

#[test]
fn both_programs_know_long_paths_and_say_their_version() {
    let cudnnm = PathBuf::from(env!("CARGO_BIN_EXE_cudnnm"));
    for file in [
        cudnnm.clone(),
        PathBuf::from(env!("CARGO_BIN_EXE_cudnnm-shim")),
    ] {
        let bytes = fs::read(&file).unwrap();
        let has = |wanted: &[u8]| bytes.windows(wanted.len()).any(|bytes| bytes == wanted);
        assert!(has(b"longPathAware"), "{}", file.display());
        let version: Vec<u8> = env!("CARGO_PKG_VERSION")
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert!(has(&version), "{}", file.display());
    }
    let mut sandbox = Sandbox::new();
    let deep = (0..6).fold(sandbox.path("很长"), |path, number| {
        path.join(format!(
            "a folder whose name is long enough, number {number}"
        ))
    });
    assert!(deep.as_os_str().len() > 260);
    sandbox.set("CUDNNM_ROOT", &deep);
    let folder = deep.join(JIT);
    fs::create_dir_all(deep.parent().unwrap()).unwrap();
    let built = fake::build(&sandbox, JIT);
    fs::create_dir_all(&deep).unwrap();
    fs::rename(built, folder).unwrap();
    let tool = sandbox.path("tool.exe");
    program(&tool);
    exec(&sandbox, [tool]).exits(91900);
}
