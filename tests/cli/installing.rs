//! `install`, from a server on this machine: good days, bad days, crowds and kills.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::published::{
    JIT, Market, cublas, file_path, old_archive, store_has_only_internals, wheel,
};
use crate::sandbox::Sandbox;
use crate::server::{Fault, Server};

const SPEC: &str = "9.99+cuda13+jit";
/// In the built-in list; the market does not have it.
const KNOWN: &str = "9.19.0+cuda13+jit";
const FOLDER: &str = "cudnn-9.99.0.1-cuda13-jit";

/// What may be there after a failed install: our own folder, and in it nothing that weighs.
#[track_caller]
fn nothing_left(sandbox: &Sandbox) {
    assert!(
        store_has_only_internals(sandbox),
        "{:?}",
        sandbox.store_listing()
    );
    for name in ["downloads", "staging", "trash"] {
        let folder = sandbox.store().join(".cudnnm").join(name);
        let left: Vec<_> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn a_wheel_installs_with_its_receipt() {
    let (market, package) = Market::with_jit(1000);
    let sandbox = market.customer();
    sandbox.cudnnm(["install", SPEC]).success().says(&[
        "NVIDIA's licence",
        "downloading 9.99.0.1+cuda13+jit",
        "from 127.0.0.1",
        "installed 9.99.0.1+cuda13+jit in",
        "also needs libcublasLt.so.13",
        "cudnnm install 9.99.0.1+cuda13+jit --with-companions",
    ]);
    let receipt = fs::read_to_string(sandbox.store().join(FOLDER).join("receipt.toml")).unwrap();
    let digest = crate::downloads::sha256(&package.bytes);
    for text in [
        &digest,
        "source = \"pypi\"",
        "trust = \"index\"",
        "lib/libcudnn.so.9",
        &package.file,
    ] {
        assert!(receipt.contains(text), "{text}\n{receipt}");
    }
    assert!(
        sandbox
            .store()
            .join(FOLDER)
            .join("lib")
            .join("libcudnn.so")
            .exists(),
        "the linker's name is made"
    );
    let downloads = sandbox.store().join(".cudnnm").join("downloads");
    assert_eq!(
        fs::read_dir(downloads).unwrap().count(),
        0,
        "the archive is not kept"
    );

    let again = sandbox.cudnnm(["install", SPEC, "--offline"]);
    again.exits(3);
    sandbox
        .cudnnm(["install", SPEC])
        .success()
        .says(&["9.99.0.1+cuda13+jit is installed already"]);
    assert_eq!(market.server.hits(&file_path(&package)).len(), 1);
    sandbox
        .cudnnm(["install", "--force", SPEC])
        .success()
        .says(&["installed 9.99.0.1+cuda13+jit"]);
}

#[test]
fn an_html_index_serves_as_well() {
    let mut market = Market::new();
    market.html = true;
    market.publish(JIT, wheel(JIT, "9.99.0.1", 10));
    market.customer().cudnnm(["install", SPEC]).success();
}

#[test]
fn a_folder_of_wheels_serves_without_any_index() {
    // Smaller ones count as placeholders.
    let (market, package) = Market::with_jit(1_200_000);
    let mut sandbox = market.customer();
    let wheels = sandbox.path("wheels 轮子");
    fs::create_dir_all(&wheels).unwrap();
    fs::write(wheels.join(&package.file), &package.bytes).unwrap();
    sandbox.set("PIP_NO_INDEX", "1");
    sandbox.set(
        "PIP_FIND_LINKS",
        url::Url::from_directory_path(&wheels).unwrap().as_str(),
    );
    // A folder names no digests, and the list does not know this file.
    sandbox
        .cudnnm(["install", SPEC, "--source", "pypi"])
        .exits(7)
        .says(&[
            "the digest of `nvidia_cudnn_jit_cu13-9.99.0.1",
            "hint: to take what comes and remember its digest: add --trust-on-first-use",
        ]);
    nothing_left(&sandbox);
    sandbox
        .cudnnm(["install", SPEC, "--source", "pypi", "--trust-on-first-use"])
        .success();
    let receipt = fs::read_to_string(sandbox.store().join(FOLDER).join("receipt.toml")).unwrap();
    assert!(receipt.contains("trust = \"first-use\""), "{receipt}");
    assert!(wheels.join(&package.file).exists(), "a person's file stays");
}

#[test]
fn nvidias_newer_release_is_found_and_preferred() {
    let (mut market, wheel) = Market::with_jit(10);
    let archive = old_archive("9.99.0.1", "13");
    let archive = crate::published::Package {
        file: "cudnn-linux-x86_64-9.99.0.1_cuda13-archive.tar.gz".to_owned(),
        ..archive
    };
    market.publish(
        "nvidia-cudnn-cu13",
        crate::published::wheel("nvidia-cudnn-cu13", "9.99.0.1", 10),
    );
    market.publish_by_nvidia("9.99.0.1", "cuda13", &archive);
    let sandbox = market.customer();
    let run = sandbox
        .cudnnm(["install", "9.99+cuda13+full", "--json"])
        .success();
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["builds"][0]["source"], "nvidia");
    assert_eq!(report["builds"][0]["build"], "9.99.0.1+cuda13");
    assert!(market.server.hits(&file_path(&wheel)).is_empty());
}

#[test]
fn an_unreachable_server_is_replaced_by_the_other() {
    let (mut market, _) = Market::with_jit(10);
    let archive = crate::published::Package {
        file: "cudnn-linux-x86_64-9.99.0.1_cuda13-archive.tar.gz".to_owned(),
        ..old_archive("9.99.0.1", "13")
    };
    market.publish(
        "nvidia-cudnn-cu13",
        wheel("nvidia-cudnn-cu13", "9.99.0.1", 10),
    );
    market.publish_by_nvidia("9.99.0.1", "cuda13", &archive);
    let path = format!("/compute/cudnn/redist/cudnn/linux-x86_64/{}", archive.file);
    market.server.fault(&path, None, Fault::Status(503, None));
    let sandbox = market.customer();
    sandbox
        .cudnnm(["install", "9.99+cuda13+full"])
        .success()
        .says(&[
            "answered 503 (Service Unavailable); trying pypi, which has 9.99.0.1+cuda13 as well",
            "installed 9.99.0.1+cuda13",
        ]);
}

#[test]
fn a_dry_run_shows_the_plan_and_does_nothing() {
    let (market, package) = Market::with_jit(10);
    let sandbox = market.customer();
    let run = sandbox.cudnnm(["install", "--dry-run", SPEC]).success();
    let digest = crate::downloads::sha256(&package.bytes);
    for text in ["9.99.0.1+cuda13+jit", &package.file, &digest, FOLDER] {
        assert!(run.stdout.contains(text), "{}", run.stdout);
    }
    assert!(market.server.hits(&file_path(&package)).is_empty());
    nothing_left(&sandbox);
}

#[test]
fn without_a_spec_the_projects_wish_is_installed() {
    let (market, _) = Market::with_jit(10);
    let sandbox = market.customer();
    sandbox
        .cudnnm(["install"])
        .exits(4)
        .says(&["no cuDNN is selected here"]);
    fs::write(sandbox.project().join(".cudnn-version"), SPEC).unwrap();
    sandbox
        .cudnnm(["install"])
        .success()
        .says(&[".cudnn-version, line 1 asks for 9.99+cuda13+jit"]);
    assert!(sandbox.store().join(FOLDER).is_dir());
}

#[test]
fn exec_and_use_install_when_asked() {
    let (market, _) = Market::with_jit(10);
    let sandbox = market.customer();
    sandbox.cudnnm(["use", SPEC]).exits(4);
    sandbox.cudnnm(["use", "--install", SPEC]).success();
    sandbox.cudnnm(["current"]).success();
    sandbox.cudnnm(["uninstall", SPEC]).success();
    let run = sandbox
        .cudnnm(["exec", "--install", "sh", "-c", "echo $CUDNN_PATH"])
        .success();
    assert!(run.stdout.contains(FOLDER), "{}", run.stdout);
}

#[test]
fn an_unknown_version_names_the_nearest() {
    let (market, _) = Market::with_jit(10);
    let sandbox = market.customer();
    sandbox
        .cudnnm(["install", "9.98.7"])
        .exits(3)
        .says(&["cuDNN 9.98.7 is not published", "nearest published: 9.99.0"]);
    nothing_left(&sandbox);
}

#[test]
fn a_version_that_is_not_published_like_this_says_what_there_is() {
    let (market, _) = Market::with_jit(10);
    let sandbox = market.customer();
    for (spec, lacks) in [
        ("8.2.1+cuda12", "for CUDA 12 on linux-x86_64"),
        ("8.2.1+jit", "as jit on linux-x86_64"),
        ("8.2.1+windows-arm64", "for windows-arm64"),
    ] {
        sandbox.cudnnm(["install", spec]).exits(3).says(&[
            &format!("cuDNN 8.2.1 is not published {lacks}"),
            "there is 8.2.1+",
        ]);
    }
    sandbox
        .cudnnm(["install", "9.99+cuda13", "--cuda", "12"])
        .exits(2)
        .says(&["a spec says +13 and --cuda says 12"]);
    nothing_left(&sandbox);
}

#[test]
fn a_wrong_digest_leaves_the_store_unchanged() {
    let (market, package) = Market::with_jit(10);
    let sandbox = market.customer();
    let mut bytes = package.bytes.clone();
    bytes[100] ^= 1;
    market.server.serve(&file_path(&package), bytes);
    sandbox.cudnnm(["install", SPEC]).exits(7).says(&[
        "is not the file it should be: its SHA-256 is",
        &crate::downloads::sha256(&package.bytes),
    ]);
    nothing_left(&sandbox);
}

#[test]
fn a_login_page_leaves_the_store_unchanged() {
    let (market, package) = Market::with_jit(10);
    let sandbox = market.customer();
    market
        .server
        .fault(&file_path(&package), None, Fault::LoginPage);
    sandbox
        .cudnnm(["install", SPEC])
        .exits(6)
        .says(&["answered with a web page instead of an archive"]);
    nothing_left(&sandbox);
}

#[test]
fn a_login_page_in_place_of_the_index_is_told() {
    let (market, _) = Market::with_jit(10);
    let sandbox = market.customer();
    market
        .server
        .fault(&format!("/simple/{JIT}/"), None, Fault::LoginPage);
    sandbox
        .cudnnm(["install", KNOWN, "--source", "pypi"])
        .exits(6)
        .says(&["is not what it should be: it is a web page with a form"]);
    nothing_left(&sandbox);
}

#[test]
fn a_missing_file_leaves_the_store_unchanged() {
    let (market, package) = Market::with_jit(10);
    let sandbox = market.customer();
    market
        .server
        .fault(&file_path(&package), None, Fault::Status(404, None));
    sandbox
        .cudnnm(["install", SPEC])
        .exits(6)
        .says(&["answered 404 (Not Found)"]);
    nothing_left(&sandbox);
}

#[test]
fn an_unreachable_index_is_named() {
    let (market, _) = Market::with_jit(10);
    let mut sandbox = market.customer();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    sandbox.set("PIP_INDEX_URL", format!("http://127.0.0.1:{port}/simple"));
    sandbox.set("CUDNNM_NETWORK_RETRIES", "0");
    sandbox
        .cudnnm(["install", KNOWN, "--source", "pypi"])
        .exits(6)
        .says(&[
            &format!("could not reach `127.0.0.1:{port}`"),
            "hint: behind a proxy",
        ]);
    nothing_left(&sandbox);
}

#[test]
fn a_proxy_that_refuses_is_named_without_its_password() {
    let (market, _) = Market::with_jit(10);
    let mut sandbox = market.customer();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    sandbox.set("HTTP_PROXY", format!("http://me:s3cret@127.0.0.1:{port}"));
    // A host name, so that no rule for local addresses applies.
    sandbox.set("PIP_INDEX_URL", "http://index.invalid/simple");
    sandbox.set("CUDNNM_NETWORK_RETRIES", "0");
    let run = sandbox
        .cudnnm(["install", KNOWN, "--source", "pypi"])
        .exits(6);
    let run = run.says(&[
        "could not reach `index.invalid`",
        &format!("the proxy in force is `http://127.0.0.1:{port}/`"),
    ]);
    assert!(!run.stderr.contains("s3cret"));
}

#[test]
fn offline_uses_no_network() {
    let (market, package) = Market::with_jit(10);
    let sandbox = market.customer();
    sandbox
        .cudnnm(["install", "--offline", "--refresh", SPEC])
        .exits(6)
        .says(&["needs the network, and --offline is set"]);
    assert!(market.server.hits(&format!("/simple/{JIT}/")).is_empty());
    assert!(market.server.hits(&file_path(&package)).is_empty());
}

#[test]
fn credentials_of_the_index_reach_its_files_and_nothing_else() {
    let (market, package) = Market::with_jit(10);
    let mut sandbox = market.customer();
    sandbox.set(
        "PIP_INDEX_URL",
        market
            .server
            .url("/simple")
            .replace("http://", "http://u:s3cret@"),
    );
    let run = sandbox.cudnnm(["install", SPEC]).success();
    assert!(!run.stderr.contains("s3cret"));
    let hit = &market.server.hits(&file_path(&package))[0];
    assert!(hit.headers["authorization"].starts_with("Basic "));
    let receipt = fs::read_to_string(sandbox.store().join(FOLDER).join("receipt.toml")).unwrap();
    assert!(!receipt.contains("s3cret"));
}

#[test]
fn an_archive_that_holds_something_else_is_refused() {
    let mut market = Market::new();
    let mut package = wheel(JIT, "9.98.0.1", 10);
    package.file = package.file.replace("9.98.0.1", "9.99.0.1");
    market.publish(JIT, package);
    let sandbox = market.customer();
    sandbox
        .cudnnm(["install", SPEC])
        .exits(7)
        .says(&["holds 9.98.0", "not 9.99.0.1+cuda13+jit"]);
    nothing_left(&sandbox);
}

#[test]
fn companions_come_along_when_asked() {
    let (mut market, _) = Market::with_jit(10);
    market.publish("nvidia-cublas", cublas("13.0.1.5", 13));
    market.publish("nvidia-cublas", cublas("13.0.0.19", 13));
    market.publish("nvidia-cublas", cublas("14.0.0.1", 14));
    let sandbox = market.customer();
    let run = sandbox
        .cudnnm(["install", SPEC, "--with-companions"])
        .success()
        .says(&["installed cublas 13.0.1.5+cuda13"]);
    assert!(!run.stderr.contains("also needs"));
    assert!(
        sandbox
            .store()
            .join("cublas-13.0.1.5-cuda13/lib/libcublasLt.so.13")
            .exists()
    );
    sandbox
        .cudnnm(["install", SPEC, "--with-companions"])
        .success()
        .says(&["libcublasLt.so.13 is there: "]);
    let run = sandbox
        .cudnnm(["exec", "--cudnn", SPEC, "sh", "-c", "echo $LD_LIBRARY_PATH"])
        .success();
    assert!(
        run.stdout.contains("cublas-13.0.1.5-cuda13/lib"),
        "{}",
        run.stdout
    );
}

#[test]
fn sixteen_processes_make_one_download() {
    let (market, package) = Market::with_jit(300_000);
    // Slow enough that all sixteen are there before the first is done.
    market.server.fault(
        &file_path(&package),
        None,
        Fault::Drip(30_000, Duration::from_millis(100)),
    );
    let sandbox = market.customer();
    let mut children: Vec<_> = (0..16)
        .map(|_| {
            let mut command = sandbox.command();
            command
                .args(["install", SPEC])
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let mut waited = 0;
    for child in children.drain(..) {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
        waited += usize::from(text.contains("waiting for another cudnnm"));
    }
    assert!(waited > 0);
    assert_eq!(market.server.hits(&file_path(&package)).len(), 1);
    assert!(sandbox.store().join(FOLDER).join("receipt.toml").is_file());
}

#[test]
fn a_kill_at_any_moment_leaves_a_store_that_works() {
    let (market, package) = Market::with_jit(400_000);
    market.server.fault(
        &file_path(&package),
        None,
        Fault::Drip(20_000, Duration::from_millis(10)),
    );
    let sandbox = market.customer();
    let mut installed = false;
    for round in 0..30_u64 {
        let mut command = sandbox.command();
        command
            .args(["install", "--force", SPEC])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // Spread over the whole of a run, differently each time.
        std::thread::sleep(Duration::from_millis(round * 37 % 400));
        child.kill().unwrap();
        child.wait().unwrap();
        installed |= sandbox.store().join(FOLDER).exists();
        assert_eq!(
            installed,
            sandbox.store().join(FOLDER).join("receipt.toml").is_file(),
            "round {round}"
        );
        sandbox.cudnnm(["list"]).success();
    }
    sandbox.cudnnm(["install", "--force", SPEC]).success();
    let staging = sandbox.store().join(".cudnnm").join("staging");
    assert_eq!(
        fs::read_dir(staging).unwrap().count(),
        0,
        "what the dead left is gone"
    );
}

#[test]
fn a_killed_download_goes_on_where_it_was() {
    let (market, package) = Market::with_jit(2_000_000);
    let path = file_path(&package);
    market
        .server
        .fault(&path, None, Fault::Drip(20_000, Duration::from_millis(10)));
    let sandbox = market.customer();
    let mut command = sandbox.command();
    command
        .args(["install", SPEC])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let started = Instant::now();
    while market.server.sent(&path) < 500_000 {
        assert!(started.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    market.server.heal();
    sandbox
        .cudnnm(["install", SPEC])
        .success()
        .says(&["are there from before"]);
    let twice = market.server.sent(&path) - package.bytes.len();
    assert!(twice < 400_000, "{twice} bytes were fetched twice");
}

#[test]
fn ten_kills_cost_a_large_download_almost_nothing() {
    let (market, package) = Market::with_jit(80 << 20);
    let path = file_path(&package);
    // Four connections at 8 kB a millisecond each: some seconds for the whole.
    market
        .server
        .fault(&path, None, Fault::Drip(8 << 10, Duration::from_millis(1)));
    let sandbox = market.customer();
    for round in 0..10_u64 {
        let mut command = sandbox.command();
        command
            .args(["install", SPEC])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (before, started) = (market.server.sent(&path), Instant::now());
        while market.server.sent(&path) == before {
            assert!(started.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(20 + round * 53 % 97));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    sandbox
        .cudnnm(["install", SPEC])
        .success()
        .says(&["are there from before"]);
    // The server's threads count a little longer than the client reads.
    std::thread::sleep(Duration::from_millis(100));
    let twice = market.server.sent(&path) - package.bytes.len();
    assert!(
        twice * 50 < package.bytes.len(),
        "{twice} bytes were fetched twice"
    );
}

#[test]
fn a_read_only_store_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let (market, _) = Market::with_jit(10);
    let sandbox = market.customer();
    fs::create_dir_all(sandbox.store()).unwrap();
    fs::set_permissions(sandbox.store(), fs::Permissions::from_mode(0o555)).unwrap();
    // Root writes everywhere: then there is nothing to see.
    if fs::write(sandbox.store().join("probe"), "").is_ok() {
        fs::remove_file(sandbox.store().join("probe")).unwrap();
        return;
    }
    sandbox
        .cudnnm(["install", SPEC])
        .exits(1)
        .says(&["could not create", "hint: "]);
}

#[test]
fn the_servers_themselves_are_found_by_their_settings() {
    let (market, _) = Market::with_jit(10);
    let mut sandbox = market.customer();
    let elsewhere = Server::new();
    sandbox.set("PIP_INDEX_URL", elsewhere.url("/wrong"));
    sandbox
        .cudnnm(["config", "pypi-index-url", &market.server.url("/simple")])
        .success();
    sandbox.cudnnm(["config", "sources", "pypi"]).success();
    sandbox.cudnnm(["install", SPEC]).success();
}

/// The market's NVIDIA has 8.2.1 for two CUDAs; the store's own list adds the digests of these small stand-ins.
fn with_8_2_1() -> (Market, Sandbox) {
    let market = Market::new();
    let sandbox = market.customer();
    let mut rows = String::new();
    for cuda in ["11.3", "10.2"] {
        let archive = old_archive("8.2.1.32", cuda);
        let path = format!("compute/redist/cudnn/v8.2.1/{}", archive.file);
        market
            .server
            .serve(&format!("/{path}"), archive.bytes.clone());
        rows.push_str(&format!(
            "  {{ version = \"8.2.1.32\", variant = \"{cuda}\", platform = \"linux-x86_64\", nvidia = \"{path}\", sha256 = \"{}\" }},\n",
            crate::downloads::sha256(&archive.bytes)
        ));
    }
    let manifests = sandbox.store().join("manifests");
    fs::create_dir_all(&manifests).unwrap();
    fs::write(
        manifests.join("releases.toml"),
        format!("schema = 1\nreleases = [\n{rows}]\n"),
    )
    .unwrap();
    (market, sandbox)
}

#[test]
fn nvidias_old_tree_serves_the_variant_of_the_toolkit() {
    for (toolkit, variant) in [("11.3", "11.3"), ("10.2", "10.2"), ("11.7", "11.3")] {
        let (_market, mut sandbox) = with_8_2_1();
        let root = sandbox.path("cuda");
        fs::create_dir_all(&root).unwrap();
        let json = format!("{{\"cuda\": {{\"version\": \"{toolkit}.0\"}}}}");
        fs::write(root.join("version.json"), json).unwrap();
        sandbox.set("CUDA_PATH", &root);
        let run = sandbox.cudnnm(["install", "8.2.1"]).success();
        assert!(
            run.stderr
                .contains(&format!("variant cuda{variant}, because")),
            "{}",
            run.stderr
        );
        let folder = sandbox
            .store()
            .join(format!("cudnn-8.2.1.32-cuda{variant}"));
        let receipt = fs::read_to_string(folder.join("receipt.toml")).unwrap();
        assert!(
            receipt.contains("source = \"nvidia\"") && receipt.contains("trust = \"manifest\""),
            "{receipt}"
        );
    }
}

#[test]
fn a_file_without_a_known_digest_is_never_installed_silently() {
    let market = Market::new();
    let archive = old_archive("9.97.0.1", "13");
    let path = format!("compute/redist/cudnn/v9.97.0/{}", archive.file);
    market
        .server
        .serve(&format!("/{path}"), archive.bytes.clone());
    let customer = || {
        let sandbox = market.customer();
        let manifests = sandbox.store().join("manifests");
        fs::create_dir_all(&manifests).unwrap();
        let row = format!(
            "version = \"9.97.0.1\", variant = \"13\", platform = \"linux-x86_64\", nvidia = \"{path}\""
        );
        fs::write(
            manifests.join("releases.toml"),
            format!("schema = 1\nreleases = [ {{ {row} }} ]\n"),
        )
        .unwrap();
        sandbox
    };
    let trust = |sandbox: &Sandbox| {
        let receipt = sandbox
            .store()
            .join("cudnn-9.97.0.1-cuda13")
            .join("receipt.toml");
        let text = fs::read_to_string(receipt).unwrap();
        text.lines()
            .find(|line| line.starts_with("trust"))
            .unwrap()
            .to_owned()
    };
    let sandbox = customer();
    sandbox.cudnnm(["install", "9.97"]).exits(7).says(&[
        &format!("the digest of `{}` is not known", archive.file),
        "--trust-on-first-use",
    ]);
    assert!(market.server.hits(&format!("/{path}")).is_empty());
    sandbox
        .cudnnm(["install", "9.97", "--trust-on-first-use"])
        .success();
    assert_eq!(trust(&sandbox), "trust = \"first-use\"");

    // NVIDIA has put digests beside some of its old archives.
    let line = format!(
        "{}  {}\n",
        crate::downloads::sha256(&archive.bytes),
        archive.file
    );
    market
        .server
        .serve_as(&format!("/{path}.sha256"), line, "text/plain");
    let sandbox = customer();
    sandbox.cudnnm(["install", "9.97"]).success();
    assert_eq!(trust(&sandbox), "trust = \"index\"");
    market
        .server
        .serve_as(&format!("/{path}.sha256"), "0".repeat(64), "text/plain");
    customer()
        .cudnnm(["install", "9.97"])
        .exits(7)
        .says(&["is not the file it should be"]);
}

#[test]
fn a_local_archive_is_known_by_its_digest_whatever_its_name() {
    let (_market, sandbox) = with_8_2_1();
    let path = sandbox.path("下载 (1).bin");
    fs::write(&path, old_archive("8.2.1.32", "11.3").bytes).unwrap();
    let run = sandbox
        .cudnnm(["install".as_ref(), "--from".as_ref(), path.as_os_str()])
        .success();
    assert!(
        run.stderr.contains("installed 8.2.1.32+cuda11.3"),
        "{}",
        run.stderr
    );
    assert!(path.exists(), "a person's file stays");
}

#[test]
fn a_local_archive_is_what_is_inside() {
    let sandbox = Market::new().customer();
    let package = wheel(JIT, "9.99.0.1", 10);
    let path = sandbox.path(&package.file);
    fs::write(&path, &package.bytes).unwrap();
    let from = |spec: &[&str]| {
        let mut args: Vec<&std::ffi::OsStr> = vec!["install".as_ref()];
        args.extend(spec.iter().map(std::ffi::OsStr::new));
        args.extend(["--from".as_ref(), path.as_os_str()]);
        sandbox.cudnnm(args)
    };
    from(&["8.2.1"])
        .exits(7)
        .says(&["holds 9.99.0.1+cuda13+jit, not 8.2.1"]);
    from(&["--cuda", "12"])
        .exits(7)
        .says(&["not a build for CUDA 12"]);
    from(&["--platform", "windows-x86_64"])
        .exits(7)
        .says(&["not a build for windows-x86_64"]);
    from(&["8", "9"]).exits(2).says(&["--from holds one build"]);
    nothing_left(&sandbox);
    let run = from(&["--dry-run"]).success();
    assert!(run.stdout.contains("9.99.0.1+cuda13+jit"), "{}", run.stdout);
    nothing_left(&sandbox);
    from(&["9.99"])
        .success()
        .says(&["installed 9.99.0.1+cuda13+jit"]);
    from(&[])
        .success()
        .says(&["9.99.0.1+cuda13+jit is installed already"]);
}

#[test]
fn a_local_file_that_is_no_archive_is_named() {
    let sandbox = Market::new().customer();
    let path = sandbox.path("cudnn.zip");
    fs::write(&path, "<html>please log in</html>").unwrap();
    sandbox
        .cudnnm(["install".as_ref(), "--from".as_ref(), path.as_os_str()])
        .exits(7)
        .says(&["cudnn.zip` is not an archive"]);
    sandbox
        .cudnnm(["install", "--from", "no-such-file.zip"])
        .exits(1)
        .says(&["no-such-file.zip"]);
    nothing_left(&sandbox);
}
