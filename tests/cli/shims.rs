//! Shims: a program's name does what `cudnnm exec` does.

use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fake;
use crate::sandbox::{Run, Sandbox, run};

/// A program that tells which build it was given, on a path behind the shims' folder.
fn machine() -> (Sandbox, PathBuf) {
    let mut sandbox = Sandbox::new();
    let tools = sandbox.path("tools");
    std::fs::create_dir_all(&tools).unwrap();
    write_tool(&tools);
    sandbox
        .cudnnm(["shim", "add", "tool"])
        .success()
        .says(&["first on your PATH"]);
    let shims = sandbox.store().join("shims");
    let inherited = std::env::var_os("PATH").unwrap();
    let path = [shims.clone(), tools]
        .into_iter()
        .chain(std::env::split_paths(&inherited));
    sandbox.set("PATH", std::env::join_paths(path).unwrap());
    (sandbox, shims.join(format!("tool{EXE_SUFFIX}")))
}

#[cfg(unix)]
fn write_tool(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let tool = folder.join("tool");
    std::fs::write(
        &tool,
        "#!/bin/sh\necho \"${CUDNNM_ACTIVE:-none} $1 $2\"\nexit 7\n",
    )
    .unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(windows)]
fn write_tool(folder: &Path) {
    let text = "@if not defined CUDNNM_ACTIVE set CUDNNM_ACTIVE=none\r\n@echo %CUDNNM_ACTIVE% %~1 %2\r\n@exit /b 7\r\n";
    std::fs::write(folder.join("tool.cmd"), text).unwrap();
}

fn call(sandbox: &Sandbox, shim: &PathBuf) -> Run {
    let mut command = Command::new(shim);
    sandbox.clean(&mut command);
    run(command.env_remove("CUDNNM_ROOT").args(["a b", "-x"]))
}

#[test]
fn a_shim_runs_the_real_program_with_the_folders_build() {
    let (sandbox, shim) = machine();
    assert_eq!(
        call(&sandbox, &shim).exits(7).stdout.trim_end(),
        "none a b -x",
        "nothing selected: untouched"
    );
    fake::build(&sandbox, "cudnn-9.19.0.56-cuda13-jit");
    sandbox.cudnnm(["use", "9"]).success();
    assert_eq!(
        call(&sandbox, &shim).exits(7).stdout.trim_end(),
        "9.19.0.56+cuda13+jit a b -x"
    );
    std::fs::write(sandbox.project().join(".cudnn-version"), "8").unwrap();
    call(&sandbox, &shim)
        .exits(4)
        .says(&["this is the cudnnm shim", "cuDNN 8 is not installed"]);
}

#[test]
fn a_shim_does_not_find_itself_under_another_name() {
    let (mut sandbox, shim) = machine();
    let other = sandbox.path("other name");
    #[cfg(unix)]
    std::os::unix::fs::symlink(sandbox.store().join("shims"), &other).unwrap();
    #[cfg(windows)]
    let other = {
        drop(other);
        sandbox.store().join("SHIMS")
    };
    let tools = sandbox.path("tools");
    let inherited = std::env::var_os("PATH").unwrap();
    let path = [other, tools]
        .into_iter()
        .chain(std::env::split_paths(&inherited));
    sandbox.set("PATH", std::env::join_paths(path).unwrap());
    let run = call(&sandbox, &shim).exits(7);
    assert_eq!(run.stdout.trim_end(), "none a b -x");
}

#[test]
fn shims_are_listed_and_removed() {
    let (sandbox, shim) = machine();
    assert_eq!(sandbox.cudnnm(["shim", "list"]).success().stdout, "tool\n");
    sandbox.cudnnm(["shim", "remove", "tool"]).success();
    assert!(!shim.exists());
    sandbox
        .cudnnm(["shim", "remove", "tool"])
        .exits(1)
        .says(&["there is no shim `tool`"]);
    sandbox
        .cudnnm(["shim", "add", "../python"])
        .exits(2)
        .says(&["not the name of a program"]);
}
