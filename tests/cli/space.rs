//! What builds take, and what `prune` gives back. Linux only: the packages' libraries are made here.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use crate::packages::{self, linux_wheel};
use crate::published::{Market, file_path};
use crate::sandbox::Sandbox;
use crate::server::Fault;

const SHARED: usize = 300_000;

/// Two releases, of which one large header is the same.
fn two_builds() -> Sandbox {
    let sandbox = Sandbox::new();
    for version in ["9.1.0.70", "9.1.1.17"] {
        let mut files = linux_wheel(version, 12);
        let header = crate::downloads::noise(SHARED);
        files.push(("nvidia/cudnn/include/cudnn_ballast.h".into(), header));
        let wheel = sandbox.path(&format!("nvidia_cudnn_cu12-{version}-py3-none-any.whl"));
        fs::write(&wheel, packages::zip(&files)).unwrap();
        sandbox
            .cudnnm(["install", "--from", &wheel.display().to_string()])
            .success();
    }
    sandbox
}

fn json(sandbox: &Sandbox, args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&sandbox.cudnnm(args).success().stdout).unwrap()
}

#[test]
fn a_listing_tells_what_builds_share_and_a_removal_what_comes_back() {
    let sandbox = two_builds();
    let report = json(&sandbox, &["list", "--json"]);
    let bytes = |index: usize, name: &str| report["builds"][index][name].as_u64().unwrap();
    for index in 0..2 {
        assert!(bytes(index, "shared_bytes") >= SHARED as u64);
        assert!(bytes(index, "bytes") > bytes(index, "shared_bytes"));
    }
    let total = report["bytes"].as_u64().unwrap();
    assert!(total <= bytes(0, "bytes") + bytes(1, "bytes") - SHARED as u64);
    let text = sandbox.cudnnm(["list"]).success().stdout;
    assert!(text.contains(" shared)"), "{text}");

    sandbox.cudnnm(["use", "9.1.1"]).success();
    let pruned = json(&sandbox, &["prune", "--unused", "--dry-run", "--json"]);
    assert_eq!(pruned["items"][0]["bytes"], bytes(1, "bytes"));
    assert_eq!(
        pruned["bytes"],
        bytes(1, "bytes") - bytes(1, "shared_bytes")
    );
    sandbox.cudnnm(["prune", "--unused"]).success();
    sandbox.cudnnm(["verify"]).success();
    let left = json(&sandbox, &["list", "--json"]);
    assert_eq!(left["builds"].as_array().unwrap().len(), 1);
    assert_eq!(left["builds"][0]["shared_bytes"], 0);
}

#[test]
fn prune_spares_what_is_younger_than_asked() {
    let sandbox = two_builds();
    let downloads = sandbox.store().join(".cudnnm/downloads");
    fs::create_dir_all(&downloads).unwrap();
    let old = SystemTime::now() - Duration::from_secs(40 * 24 * 3600);
    for (name, modified) in [("old.whl.part", Some(old)), ("new.whl.part", None)] {
        let file = fs::File::create(downloads.join(name)).unwrap();
        if let Some(time) = modified {
            file.set_modified(time).unwrap();
        }
    }
    let receipt = sandbox.store().join("cudnn-9.1.0.70-cuda12/receipt.toml");
    let text = fs::read_to_string(&receipt).unwrap();
    let (before, after) = text.split_once("installed = \"").unwrap();
    let aged = format!("{before}installed = \"2001{}", &after[4..]);
    fs::write(&receipt, aged).unwrap();
    sandbox.cudnnm(["use", "--global", "8"]).exits(4);
    let said = sandbox
        .cudnnm(["prune", "--unused", "--older-than", "30d"])
        .success();
    assert_eq!(said.stdout.lines().count(), 2, "{}", said.stdout);
    assert!(said.stdout.contains("old.whl.part"), "{}", said.stdout);
    assert!(said.stdout.contains("9.1.0.70"), "{}", said.stdout);
    assert!(downloads.join("new.whl.part").exists());
    assert!(sandbox.store().join("cudnn-9.1.1.17-cuda12").exists());
    sandbox
        .cudnnm(["prune", "--older-than", "soon"])
        .exits(2)
        .says(&["like 30d"]);
}

#[test]
fn prune_shows_and_clears_what_the_dead_left() {
    let sandbox = Sandbox::new();
    for folder in ["staging/cudnn-9.1.0.1", "trash/cudnn-9.1.0.2"] {
        let lib = sandbox.store().join(".cudnnm").join(folder).join("lib");
        fs::create_dir_all(&lib).unwrap();
        fs::write(lib.join("libcudnn.so.9"), [0; 2000]).unwrap();
    }
    let dry = json(&sandbox, &["prune", "--dry-run", "--json"]);
    assert_eq!(
        (&dry["bytes"], &dry["items"][0]["what"]),
        (&4000.into(), &"leftover".into())
    );
    sandbox
        .cudnnm(["prune"])
        .success()
        .says(&["4.00 kB given back"]);
    let again = sandbox.cudnnm(["prune"]).success();
    again.says(&["nothing to remove"]);
}

#[test]
fn prune_spares_a_download_that_another_process_is_working_on() {
    let (market, package) = Market::with_jit(1_000_000);
    let path = file_path(&package);
    market
        .server
        .fault(&path, None, Fault::Drip(20_000, Duration::from_millis(40)));
    let sandbox = market.customer();
    let mut command = sandbox.command();
    command
        .args(["install", "9.99+cuda13+jit"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let started = Instant::now();
    while market.server.sent(&path) < 100_000 {
        assert!(started.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(5));
    }
    let dry = sandbox.cudnnm(["prune", "--dry-run"]).success();
    assert_eq!(dry.stdout, "");
    sandbox
        .cudnnm(["prune"])
        .success()
        .says(&[".part stays: another cudnnm is working on it"]);
    assert!(child.wait().unwrap().success());
    assert_eq!(market.server.hits(&path).len(), 1);
    assert_eq!(market.server.sent(&path), package.bytes.len());
}
