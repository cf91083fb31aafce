//! What `verify` finds, and that the command it offers puts it right.

use std::fs;
use std::path::PathBuf;

use crate::importing::lay_out;
use crate::packages;
use crate::sandbox::Sandbox;

/// A store with one build, and its folder.
fn installed() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("unpacked");
    lay_out(&folder, &packages::linux_wheel("9.10.2.21", 12));
    sandbox
        .cudnnm(["import".as_ref(), folder.as_os_str()])
        .success();
    let name = if cfg!(windows) {
        "cudnn-9.10.2.21-cuda12-linux-x86_64"
    } else {
        "cudnn-9.10.2.21-cuda12"
    };
    let build = sandbox.store().join(name);
    (sandbox, build)
}

#[test]
fn a_whole_store_is_ok() {
    let (sandbox, _) = installed();
    let run = sandbox.cudnnm(["verify"]).success();
    assert!(
        run.stdout.contains("9.10.2.21+cuda12") && run.stdout.contains(": ok ("),
        "{}",
        run.stdout
    );
}

#[test]
fn every_kind_of_damage_is_named_and_the_hint_repairs_it() {
    let (sandbox, build) = installed();
    fs::remove_file(build.join("include/cudnn.h")).unwrap();
    fs::write(build.join("include/cudnn_ops.h"), "longer than it was").unwrap();
    let header = build.join("include/cudnn_version.h");
    let mut content = fs::read(&header).unwrap();
    content[10] ^= 1;
    fs::write(&header, content).unwrap();
    fs::write(build.join("lib/libcudnn_evil.so.9"), "x").unwrap();
    let run = sandbox.cudnnm(["verify"]).exits(1);
    for line in [
        ": damaged",
        "  include/cudnn.h is missing",
        "  include/cudnn_ops.h has 18 bytes instead of 6",
        "  include/cudnn_version.h has been changed",
        "  lib/libcudnn_evil.so.9 was not installed with it",
    ] {
        assert!(
            run.stdout.contains(line),
            "{line:?} is not in\n{}",
            run.stdout
        );
    }
    let json = sandbox.cudnnm(["verify", "--json"]).exits(1);
    let document: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(document["ok"], false);
    let mut kinds: Vec<&str> = document["items"][0]["damage"]
        .as_array()
        .unwrap()
        .iter()
        .map(|damage| damage["kind"].as_str().unwrap())
        .collect();
    // Where there are no symbolic links a library's other name is the same file, and has changed as well.
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, ["changed", "extra", "missing", "wrong-size"]);
    let repair = document["items"][0]["repair"].as_str().unwrap();
    let words = words(repair.strip_prefix("cudnnm ").unwrap());
    sandbox.cudnnm(words).success();
    sandbox.cudnnm(["verify"]).success();
}

/// Splits a hint as a shell would: blanks, and double quotes around a path.
fn words(line: &str) -> Vec<String> {
    line.split('"')
        .enumerate()
        .flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

#[cfg(unix)]
#[test]
fn links_that_lead_elsewhere_are_found() {
    let (sandbox, build) = installed();
    let link = build.join("lib/libcudnn.so");
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("libcudnn_ops.so.9", &link).unwrap();
    fs::remove_file(build.join("lib/libcudnn_adv.so")).unwrap();
    let run = sandbox.cudnnm(["verify"]).exits(1);
    assert!(
        run.stdout
            .contains("lib/libcudnn.so no longer leads to libcudnn.so.9"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("lib/libcudnn_adv.so is missing"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_receipt_edited_by_hand_can_name_no_file_outside() {
    let (sandbox, build) = installed();
    let receipt = build.join("receipt.toml");
    let text = fs::read_to_string(&receipt).unwrap();
    fs::write(&receipt, text.replace("include/cudnn.h", "../../secret")).unwrap();
    let run = sandbox.cudnnm(["verify"]).exits(1);
    assert!(
        run.stdout
            .contains("the receipt names `../../secret`, which no build has"),
        "{}",
        run.stdout
    );
    fs::write(&receipt, "schema = 1\nnonsense").unwrap();
    let run = sandbox
        .cudnnm(["verify"])
        .exits(1)
        .says(&["hint: put it right with: cudnnm install --force 9.10.2.21+cuda12"]);
    assert!(run.stdout.contains("can't be read"), "{}", run.stdout);
}

#[test]
fn what_is_not_installed_can_not_be_verified() {
    let (sandbox, _) = installed();
    sandbox
        .cudnnm(["verify", "8.2.1"])
        .exits(4)
        .says(&["8.2.1 is not installed"]);
    sandbox.cudnnm(["verify", "nonsense"]).exits(2);
    sandbox.cudnnm(["verify", "9"]).success();
}
