//! Disks that fail: full, failing, read-only, without locks. What is installed stays as it is, and the reason is named.
//!
//! A small library that is loaded before the program's own makes single system calls fail. Full and read-only disks are
//! real ones in memory; where mounting is not allowed those tests say that they are skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::fake;
use crate::packages::{self, linux_wheel};
use crate::published::Market;
use crate::sandbox::{Run, Sandbox, run};

const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* FAULT_CALL names the call, FAULT_ERROR the number, FAULT_PATH a part of the path that is hit. */
static int hit(const char *call, const char *path) {
    const char *wanted = getenv("FAULT_CALL"), *part = getenv("FAULT_PATH");
    if (!wanted || strcmp(wanted, call) || (part && !strstr(path, part))) return 0;
    errno = atoi(getenv("FAULT_ERROR"));
    return 1;
}
static int hit_file(const char *call, int file) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return hit(call, path);
}
#define NEXT(name, type) ((type)dlsym(RTLD_NEXT, name))
int flock(int file, int operation) {
    return hit_file("flock", file) ? -1 : NEXT("flock", int (*)(int, int))(file, operation);
}
ssize_t write(int file, const void *bytes, size_t count) {
    return hit_file("write", file) ? -1 : NEXT("write", ssize_t (*)(int, const void *, size_t))(file, bytes, count);
}
ssize_t read(int file, void *bytes, size_t count) {
    return hit_file("read", file) ? -1 : NEXT("read", ssize_t (*)(int, void *, size_t))(file, bytes, count);
}
int rename(const char *from, const char *to) {
    return hit("rename", to) ? -1 : NEXT("rename", int (*)(const char *, const char *))(from, to);
}
int mkdir(const char *path, mode_t mode) {
    return hit("mkdir", path) ? -1 : NEXT("mkdir", int (*)(const char *, mode_t))(path, mode);
}
"#;

const EIO: i32 = 5;
const ENOLCK: i32 = 37;
const EOPNOTSUPP: i32 = 95;

/// Compiled once for all tests; lies in the test program's own temporary folder until the system clears it.
fn shim() -> &'static Path {
    static SHIM_FILE: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    &SHIM_FILE
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let (source, library) = (
                folder.path().join("fault.c"),
                folder.path().join("fault.so"),
            );
            fs::write(&source, SHIM).unwrap();
            let status = Command::new("cc")
                .args(["-shared", "-fPIC", "-O1", "-o"])
                .args([&library, &source])
                .arg("-ldl")
                .status()
                .expect("a C compiler");
            assert!(status.success());
            (folder, library)
        })
        .1
}

fn failing(sandbox: &Sandbox, call: &str, error: i32, path: &str, args: &[&str]) -> Run {
    let mut command = sandbox.command();
    command
        .args(args)
        .env("LD_PRELOAD", shim())
        .env("FAULT_CALL", call)
        .env("FAULT_ERROR", error.to_string())
        .env("FAULT_PATH", path);
    run(&mut command)
}

fn wheel(sandbox: &Sandbox, ballast: usize) -> String {
    let mut files = linux_wheel("9.1.0.70", 12);
    files.push((
        "nvidia/cudnn/include/cudnn_ballast.h".into(),
        vec![0; ballast],
    ));
    let path = sandbox.path("nvidia_cudnn_cu12-9.1.0.70-py3-none-any.whl");
    fs::write(&path, packages::zip(&files)).unwrap();
    path.display().to_string()
}

/// What counts of the store: builds, and work that somebody forgot.
fn weighty(sandbox: &Sandbox) -> Vec<String> {
    let mut listing = sandbox.store_listing();
    listing.retain(|path| {
        !path.starts_with(".cudnnm")
            || [".cudnnm/staging/", ".cudnnm/trash/", ".cudnnm/downloads/"]
                .iter()
                .any(|folder| path.starts_with(folder))
    });
    listing
}

#[test]
fn a_file_system_without_locks_is_refused_with_the_reason() {
    let sandbox = Sandbox::new();
    fake::build(&sandbox, "cudnn-8.2.1.32-cuda11.3");
    let wheel = wheel(&sandbox, 1000);
    let before = weighty(&sandbox);
    for error in [ENOLCK, EOPNOTSUPP] {
        failing(&sandbox, "flock", error, "", &["install", "--from", &wheel])
            .exits(1)
            .says(&[
                "lies on a file system without file locks, where two installs could damage each other",
                "caused by: ",
                "hint: set CUDNNM_ROOT to a folder on a local disk",
            ]);
        assert_eq!(weighty(&sandbox), before);
    }
    // What is there can be used all the same.
    let plain = |args: &[&str]| failing(&sandbox, "flock", ENOLCK, "", args).success();
    plain(&["use", "8.2"]);
    assert_eq!(plain(&["current"]).stdout, "8.2.1.32+cuda11.3\n");
    plain(&["exec", "true"]);
    plain(&["list"]);
}

#[test]
fn a_failing_disk_is_named_and_changes_nothing() {
    let cases = [
        ("write", "/lib/libcudnn", "could not write"),
        ("write", "receipt.toml", "could not write"),
        ("rename", "cudnn-9.1.0.70-cuda12", "could not create"),
        ("mkdir", "/include", "could not create"),
        ("read", ".whl", "could not read"),
    ];
    for (call, path, says) in cases {
        let sandbox = Sandbox::new();
        fake::build(&sandbox, "cudnn-8.2.1.32-cuda11.3");
        let wheel = wheel(&sandbox, 1000);
        let before = weighty(&sandbox);
        failing(&sandbox, call, EIO, path, &["install", "--from", &wheel])
            .exits(1)
            .says(&[says, "caused by: Input/output error"]);
        assert_eq!(weighty(&sandbox), before, "{call} of {path}");
        sandbox.cudnnm(["install", "--from", &wheel]).success();
        sandbox.cudnnm(["verify", "9.1"]).success();
    }
}

#[test]
fn a_disk_that_fails_under_small_files_keeps_the_old_ones() {
    let sandbox = Sandbox::new();
    fake::build(&sandbox, "cudnn-8.2.1.32-cuda11.3");
    fake::build(&sandbox, "cudnn-9.1.0.70-cuda12");
    sandbox.cudnnm(["use", "8.2"]).success();
    sandbox.cudnnm(["use", "--global", "8.2"]).success();
    for (call, says) in [("write", "could not write"), ("rename", "could not write")] {
        failing(&sandbox, call, EIO, "cudnn-version", &["use", "9"])
            .exits(1)
            .says(&[says, ".cudnn-version", "Input/output error"]);
        failing(
            &sandbox,
            call,
            EIO,
            "settings.toml",
            &["use", "--global", "9"],
        )
        .exits(1)
        .says(&[says, "settings.toml", "Input/output error"]);
    }
    assert_eq!(
        sandbox.cudnnm(["current"]).success().stdout,
        "8.2.1.32+cuda11.3\n"
    );
    assert_eq!(fs::read_dir(sandbox.project()).unwrap().count(), 1);
    // A removal that can't begin leaves the build usable.
    failing(&sandbox, "rename", EIO, "trash", &["uninstall", "9.1"])
        .exits(1)
        .says(&["could not move away", "Input/output error"]);
    assert!(
        sandbox
            .store()
            .join("cudnn-9.1.0.70-cuda12/receipt.toml")
            .is_file()
    );
}

/// A disk in memory, mounted over the sandbox's store.
struct Disk(PathBuf);

impl Disk {
    /// `None` where this user may not mount.
    fn mount(sandbox: &Sandbox, size: &str) -> Option<Self> {
        let place = sandbox.store().to_owned();
        fs::create_dir_all(&place).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "cudnnm-test"])
            .arg(&place)
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            eprintln!("SKIPPED: this test needs a disk of {size}, and this user may not mount one");
            return None;
        }
        Some(Self(place))
    }

    fn remount(&self, options: &str) {
        let status = Command::new("mount")
            .args(["-o", &format!("remount,{options}")])
            .arg(&self.0)
            .status()
            .unwrap();
        assert!(status.success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_named_and_changes_nothing() {
    let sandbox = Sandbox::new();
    let Some(disk) = Disk::mount(&sandbox, "2m") else {
        return;
    };
    fake::build(&sandbox, "cudnn-8.2.1.32-cuda11.3");
    let before = weighty(&sandbox);
    // Small as an archive, larger than the disk as files: no estimate can know.
    let wheel = wheel(&sandbox, 6 << 20);
    sandbox
        .cudnnm(["install", "--from", &wheel])
        .exits(1)
        .says(&[
            "could not write",
            "caused by: No space left on device",
            "hint: free some space",
            "set CUDNNM_ROOT",
        ]);
    assert_eq!(weighty(&sandbox), before);
    sandbox.cudnnm(["exec", "--cudnn", "8.2", "true"]).success();
    disk.remount("size=64m");
    sandbox.cudnnm(["install", "--from", &wheel]).success();
}

#[test]
fn too_little_space_is_said_before_anything_is_written() {
    let sandbox = Sandbox::new();
    let Some(_disk) = Disk::mount(&sandbox, "1m") else {
        return;
    };
    let mut files = linux_wheel("9.1.0.70", 12);
    let noise = crate::downloads::noise(2 << 20);
    files.push(("nvidia/cudnn/include/cudnn_ballast.h".into(), noise));
    let path = sandbox.path("nvidia_cudnn_cu12-9.1.0.70-py3-none-any.whl");
    fs::write(&path, packages::zip(&files)).unwrap();
    let run = sandbox.cudnnm(["install", "--from", &path.display().to_string()]);
    run.exits(1).says(&["4.2", "MB", "free"]);
    assert_eq!(weighty(&sandbox), Vec::<String>::new());
}

#[test]
fn a_disk_that_fills_up_during_a_download_keeps_what_came() {
    let (market, package) = Market::with_jit(3_000_000);
    let sandbox = market.customer();
    let Some(disk) = Disk::mount(&sandbox, "16m") else {
        return;
    };
    // Somebody else takes the space while we download: here at once, behind the check's back.
    let part = format!(".cudnnm/downloads/{}.part", package.file);
    failing(
        &sandbox,
        "write",
        28,
        &part,
        &["install", "9.99+cuda13+jit"],
    )
    .exits(1)
    .says(&[
        "could not write",
        "No space left on device",
        "hint: free some space",
    ]);
    sandbox.cudnnm(["install", "9.99+cuda13+jit"]).success();
    drop(disk);
}

#[test]
fn a_read_only_share_serves_everything_that_reads() {
    let sandbox = Sandbox::new();
    let Some(disk) = Disk::mount(&sandbox, "16m") else {
        return;
    };
    let wheel = wheel(&sandbox, 1000);
    sandbox.cudnnm(["install", "--from", &wheel]).success();
    sandbox.cudnnm(["exec", "--cudnn", "9", "true"]).success();
    disk.remount("ro");
    sandbox.cudnnm(["use", "9.1"]).success();
    for args in [
        &["list"] as &[&str],
        &["current"],
        &["which"],
        &["exec", "true"],
        &["env", "--shell", "bash"],
        &["verify"],
        &["prune", "--dry-run"],
    ] {
        sandbox.cudnnm(args).success();
    }
    sandbox
        .cudnnm(["install", "--force", "--from", &wheel])
        .exits(1)
        .says(&[
            "Read-only file system",
            "set CUDNNM_ROOT to a folder that can",
        ]);
    sandbox
        .cudnnm(["uninstall", "9.1"])
        .exits(1)
        .says(&["Read-only file system"]);
}
