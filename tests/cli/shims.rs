//! Shims: a program's name does what `cudnnm exec` does.

use std::path::PathBuf;
use std::process::Command;

use crate::fake;
use crate::sandbox::{Run, Sandbox, run};

/// A program that tells which build it was given, on a path behind the shims' folder.
fn machine() -> (Sandbox, PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let mut sandbox = Sandbox::new();
    let tools = sandbox.path("tools");
    std::fs::create_dir_all(&tools).unwrap();
    let tool = tools.join("tool");
    std::fs::write(
        &tool,
        "#!/bin/sh\necho \"${CUDNNM_ACTIVE:-none} $*\"\nexit 7\n",
    )
    .unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    sandbox
        .cudnnm(["shim", "add", "tool"])
        .success()
        .says(&["first on your PATH"]);
    let shims = sandbox.store().join("shims");
    sandbox.set(
        "PATH",
        format!("{}:{}:/usr/bin:/bin", shims.display(), tools.display()),
    );
    (sandbox, shims.join("tool"))
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
        call(&sandbox, &shim).exits(7).stdout,
        "none a b -x\n",
        "nothing selected: untouched"
    );
    fake::build(&sandbox, "cudnn-9.19.0.56-cuda13-jit");
    sandbox.cudnnm(["use", "9"]).success();
    assert_eq!(
        call(&sandbox, &shim).exits(7).stdout,
        "9.19.0.56+cuda13+jit a b -x\n"
    );
    std::fs::write(sandbox.project().join(".cudnn-version"), "8").unwrap();
    call(&sandbox, &shim)
        .exits(4)
        .says(&["this is the cudnnm shim", "cuDNN 8 is not installed"]);
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
