//! What is published and what fits what, as a person asks for it: list-remote, manifest, compat.

use std::fs;

use crate::sandbox::Sandbox;
use crate::server::{Fault, Server};

/// The documents that `--json` prints begin with their schema.
fn json(text: &str) -> serde_json::Value {
    let document: serde_json::Value = serde_json::from_str(text).expect("one JSON document");
    assert!(text.starts_with("{\n  \"schema\": 1"), "{text}");
    document
}

#[test]
fn list_remote_has_a_line_for_each_release_and_the_files_of_one() {
    let sandbox = Sandbox::new();
    let all = sandbox
        .cudnnm(["list-remote", "--platform", "windows-x86_64"])
        .success();
    let lines: Vec<&str> = all.stdout.lines().collect();
    assert!(lines.len() > 95, "{}", all.stdout);
    assert!(lines[0].starts_with("7.0.1.13"), "{}", lines[0]);
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("9.15.0.57/9.15.0.58")),
        "{}",
        all.stdout
    );

    let one = sandbox
        .cudnnm(["list-remote", "8.2.1", "--platform", "windows-x86_64"])
        .success();
    assert_eq!(one.stdout.lines().count(), 2);
    assert!(one.stdout.contains("cudnn-11.3-windows-x64-v8.2.1.32.zip"));
    assert!(one.stdout.contains("CUDA 11.0 to 11.3"));

    let unknown = sandbox
        .cudnnm(["list-remote", "7.4.2+windows-x86_64"])
        .success();
    assert!(
        unknown.stdout.contains("digest unknown"),
        "{}",
        unknown.stdout
    );

    let narrow = sandbox
        .cudnnm([
            "list-remote",
            "8.2+windows-x86_64",
            "--cuda",
            "11.4",
            "--json",
        ])
        .success();
    let files = json(&narrow.stdout)["files"].clone();
    let variants: Vec<&str> = files
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["variant"].as_str().unwrap())
        .collect();
    assert_eq!(variants, ["11.4", "11.4"], "8.2.2 and 8.2.4");
    assert!(!files[0]["fact"].as_str().unwrap().is_empty());
    assert_eq!(
        sandbox.store_listing(),
        Vec::<String>::new(),
        "asking creates nothing"
    );
}

#[test]
fn what_is_not_published_is_an_error_that_names_the_nearest() {
    let sandbox = Sandbox::new();
    for (args, says) in [
        (
            &["list-remote", "8.2.3"][..],
            ["8.2.3 is not published", "8.2.4, 8.2.2"],
        ),
        (
            &[
                "list-remote",
                "8.2.1",
                "--platform",
                "windows-x86_64",
                "--cuda",
                "12",
            ],
            [
                "not published for CUDA 12 on windows-x86_64",
                "8.2.1+cuda11.3",
            ],
        ),
        (
            &["list-remote", "8.2.1+linux-x86_64", "--source", "pypi"],
            [
                "not published by pypi",
                "cudnnm list-remote 8.2.1 --all-platforms",
            ],
        ),
    ] {
        sandbox.cudnnm(args).exits(3).says(&says);
    }
    sandbox.cudnnm(["list-remote", "newest"]).exits(2);
    sandbox
        .cudnnm(["list-remote", "--source", "rapidshare"])
        .exits(2);
}

#[test]
fn an_installed_build_is_marked() {
    let sandbox = Sandbox::new();
    let folder = sandbox.store().join("cudnn-8.9.7.29-cuda12-windows-x86_64");
    fs::create_dir_all(folder).unwrap();
    let run = sandbox
        .cudnnm(["list-remote", "8.9", "--platform", "windows-x86_64"])
        .success();
    let marked: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| line.contains("installed"))
        .collect();
    if cfg!(windows) {
        assert_eq!(
            marked.len(),
            0,
            "that is not how the folder of a Windows build is called there"
        );
    } else {
        assert_eq!(marked.len(), 1, "{}", run.stdout);
        assert!(marked[0].starts_with("8.9.7.29") && marked[0].ends_with("installed: cuda12"));
    }
}

/// NVIDIA's listing and the manifest of one new release, of which the archive has this digest.
fn publish(server: &Server, digest: char) {
    let manifest = format!(
        r#"{{"release_date": "2027-01-05", "cudnn": {{"linux-x86_64": {{"cuda13": {{
            "relative_path": "cudnn/linux-x86_64/cudnn-linux-x86_64-9.31.0.7_cuda13-archive.tar.xz",
            "sha256": "{}", "size": "900000000"}}}}}}}}"#,
        digest.to_string().repeat(64)
    );
    server.serve("/compute/cudnn/redist/redistrib_9.31.0.json", manifest);
    server.serve(
        "/compute/cudnn/redist/",
        r#"<a href="redistrib_9.31.0.json">redistrib_9.31.0.json</a>"#,
    );
}

#[test]
fn an_update_finds_a_new_release_and_keeps_every_digest() {
    let server = Server::new();
    let mut sandbox = Sandbox::new();
    sandbox.set("CUDNNM_NVIDIA_URL", server.url("/"));
    publish(&server, 'a');

    let update = ["manifest", "update", "--source", "nvidia"];
    let first = sandbox.cudnnm(update).success();
    assert_eq!(
        first.stdout.lines().collect::<Vec<_>>().len(),
        1,
        "{}",
        first.stdout
    );
    assert!(
        first.stdout.starts_with("new: 9.31.0.7+cuda13"),
        "{}",
        first.stdout
    );
    let again = sandbox.cudnnm(update).success().says(&["nothing is new"]);
    assert_eq!(again.stdout, "");

    publish(&server, 'b');
    sandbox.cudnnm(update).success().says(&[
        "cuda13-archive.tar.xz` has a new digest",
        "the old one stays known",
    ]);
    let listed = sandbox
        .cudnnm(["list-remote", "9.31+linux-x86_64", "--json"])
        .success();
    let digests = json(&listed.stdout)["files"][0]["digests"].clone();
    let digests: Vec<&str> = digests
        .as_array()
        .unwrap()
        .iter()
        .map(|digest| digest["sha256"].as_str().unwrap())
        .collect();
    assert_eq!(digests, ["b".repeat(64), "a".repeat(64)]);

    let check = sandbox.cudnnm(["manifest", "check"]).success();
    assert!(check.stdout.contains("releases of cuDNN"));
    check.says(&["releases.toml"]);
}

#[test]
fn list_remote_refreshes_first_when_asked() {
    let server = Server::new();
    let mut sandbox = Sandbox::new();
    sandbox.set("CUDNNM_NVIDIA_URL", server.url("/"));
    publish(&server, 'a');
    let args = ["list-remote", "9.31+linux-x86_64", "--source", "nvidia"];
    sandbox
        .cudnnm(args)
        .exits(3)
        .says(&["cudnnm manifest update"]);
    let found = sandbox
        .cudnnm(args.into_iter().chain(["--refresh"]))
        .success();
    assert!(found.stdout.contains("9.31.0.7"), "{}", found.stdout);
    sandbox.cudnnm(args).success();
}

#[test]
fn an_update_that_reaches_nobody_is_a_network_error_and_changes_nothing() {
    let server = Server::new();
    let mut sandbox = Sandbox::new();
    sandbox.set("CUDNNM_NVIDIA_URL", server.url("/"));
    sandbox.set("CUDNNM_NETWORK_RETRIES", "0");
    publish(&server, 'a');
    let update = ["manifest", "update", "--source", "nvidia"];
    server.fault("/compute/cudnn/redist/", None, Fault::Status(503, None));
    sandbox.cudnnm(update).exits(6);
    sandbox
        .cudnnm(["--offline", "manifest", "update", "--source", "nvidia"])
        .exits(6);
    server.heal();
    // One manifest that is a login page: it is told, and nothing else suffers.
    server.fault(
        "/compute/cudnn/redist/redistrib_9.31.0.json",
        None,
        Fault::LoginPage,
    );
    sandbox
        .cudnnm(update)
        .success()
        .says(&["redistrib_9.31.0.json"]);
    assert!(!sandbox.store().join("manifests").exists());
}

#[test]
fn a_manifest_of_the_store_that_can_t_be_used_is_named() {
    let sandbox = Sandbox::new();
    let folder = sandbox.store().join("manifests");
    fs::create_dir_all(&folder).unwrap();
    for (text, says) in [
        (
            "schema = 2\nreleases = []\n",
            "`releases.toml` has schema 2",
        ),
        ("schema = 1\nreleases = [\n", "`releases.toml` is not valid"),
        ("\u{0}", "`releases.toml` is not valid"),
    ] {
        fs::write(folder.join("releases.toml"), text).unwrap();
        sandbox
            .cudnnm(["list-remote"])
            .exits(1)
            .says(&[says, "hint: "]);
        sandbox.cudnnm(["manifest", "check"]).exits(1).says(&[says]);
    }
}

#[test]
fn the_built_in_manifests_pass_their_own_check() {
    let sandbox = Sandbox::new();
    let run = sandbox.cudnnm(["manifest", "check", "--json"]).success();
    let report = json(&run.stdout);
    assert!(report["files"].as_u64().unwrap() > 1000);
    assert!(report["platforms"]["windows-x86_64"].as_u64().unwrap() > 300);
    assert!(report["without_digest"].as_u64().unwrap() < 200);
}

#[test]
fn generate_says_which_input_is_missing_or_wrong() {
    let sandbox = Sandbox::new();
    let input = sandbox.path("facts");
    fs::create_dir_all(&input).unwrap();
    let output = sandbox.path("out");
    let args = |input: &std::path::Path| {
        [
            "manifest".into(),
            "generate".into(),
            input.as_os_str().to_owned(),
            output.as_os_str().to_owned(),
        ]
    };
    sandbox
        .cudnnm(args(&input))
        .exits(1)
        .says(&["could not read", "catalogue.jsonl"]);
    for name in [
        "catalogue.jsonl",
        "cuda_toolkits.jsonl",
        "cudnn_support.jsonl",
        "gpu_archs.jsonl",
        "frameworks.jsonl",
    ] {
        fs::write(input.join(name), "").unwrap();
    }
    sandbox
        .cudnnm(args(&input))
        .exits(1)
        .says(&["cuDNN 7.0 for windows-x86_64 is missing"]);
    fs::write(input.join("catalogue.jsonl"), "\n{\"cudnn\": 1}\n").unwrap();
    sandbox
        .cudnnm(args(&input))
        .exits(1)
        .says(&["`catalogue.jsonl`, line 2"]);
    assert!(!output.exists(), "nothing is written from wrong facts");
}

#[test]
fn compat_answers_with_reasons_and_sources_and_refuses_with_5() {
    let sandbox = Sandbox::new();
    let run = sandbox
        .cudnnm(["compat", "--gpu", "GTX 1080", "--platform", "linux-x86_64"])
        .success();
    assert!(
        run.stdout
            .contains("9.10.2 is the last with kernels for it [1]"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("\n[1] "), "{}", run.stdout);

    let run = sandbox.cudnnm([
        "compat",
        "--framework",
        "torch==2.15.0",
        "--gpu",
        "V100",
        "--platform",
        "linux-x86_64",
        "--json",
    ]);
    let run = run.exits(5);
    let answer = json(&run.stdout);
    assert_eq!(answer["impossible"], true);
    let last = answer["lines"].as_array().unwrap().last().unwrap();
    assert_eq!(last["level"], "fail");
    assert!(!last["source"].as_str().unwrap().is_empty());

    sandbox
        .cudnnm([
            "compat",
            "--framework",
            "tensorflow==2.12",
            "--platform",
            "windows-x86_64",
        ])
        .exits(5)
        .says(&[
            "no GPU support on windows-x86_64",
            "cudnnm install 8.1+cuda11",
        ]);
    sandbox
        .cudnnm(["compat", "--gpu", "Voodoo 2"])
        .exits(2)
        .says(&["compute_cap"]);
    sandbox
        .cudnnm(["compat", "--framework", "flax==1"])
        .exits(3)
        .says(&["torch"]);
    sandbox.cudnnm(["compat", "--driver", "new"]).exits(2);
}

#[test]
fn compat_reads_what_powershell_makes_of_pip_freeze() {
    let sandbox = Sandbox::new();
    let text = "torch==1.13.1\r\ntensorflow==2.18.0\r\n";
    let mut utf16 = vec![0xff, 0xfe];
    utf16.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    fs::write(sandbox.project().join("freeze.txt"), utf16).unwrap();
    let args = [
        "compat",
        "--platform",
        "linux-x86_64",
        "--requirements",
        "freeze.txt",
    ];
    let run = sandbox.cudnnm(args).exits(5);
    assert!(
        run.stdout
            .contains("conflict: no one build serves all: cuDNN 8 for torch 1.13.1; cuDNN 9 for tensorflow 2.18.0"),
        "{}",
        run.stdout
    );
    fs::write(sandbox.project().join("freeze.txt"), "numpy==2.0\n").unwrap();
    sandbox
        .cudnnm(args)
        .success()
        .says(&["no package in it loads cuDNN"]);
    sandbox
        .cudnnm(["compat", "--requirements", "nowhere.txt"])
        .exits(1)
        .says(&["could not read", "nowhere.txt"]);
}
