//! Adopting what lies on the machine: folders, environments, toolkits, archives.

use std::fs;
use std::path::Path;

use crate::libraries::ElfSample;
use crate::packages::{self, Files};
use crate::sandbox::Sandbox;

/// Writes a package's files below a folder.
pub fn lay_out(folder: &Path, files: &Files) {
    for (name, content) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

fn listed(sandbox: &Sandbox, folder: &str) -> Vec<String> {
    let prefix = format!("{folder}/");
    sandbox
        .store_listing()
        .into_iter()
        .filter_map(|path| path.strip_prefix(&prefix).map(str::to_owned))
        .filter(|path| path.contains('.') || path.starts_with("LICENSE"))
        .collect()
}

fn library(name: &str, soname: &str) -> Vec<u8> {
    let data = format!("\0{name}\0libcublasLt.so.12\0");
    ElfSample {
        soname: Some(soname),
        data: data.as_bytes(),
        ..ElfSample::default()
    }
    .build()
}

const WINDOWS_BUILD: &str = if cfg!(windows) {
    "cudnn-8.2.1.32-cuda11"
} else {
    "cudnn-8.2.1.32-cuda11-windows-x86_64"
};

#[test]
fn only_cudnns_files_are_taken_out_of_a_cuda_toolkit() {
    let sandbox = Sandbox::new();
    let toolkit = sandbox.path("NVIDIA GPU Computing Toolkit/CUDA/v11.3");
    lay_out(
        &toolkit,
        &packages::moved(packages::windows_8_2_1(), "cuda/", ""),
    );
    let others = [
        "bin/cublas64_11.dll",
        "bin/nvcc.exe",
        "include/cuda.h",
        "lib/x64/cublas.lib",
        "EULA.txt",
    ];
    for name in others {
        lay_out(&toolkit, &vec![(name.to_owned(), b"x".to_vec())]);
    }
    sandbox
        .cudnnm(["import".as_ref(), toolkit.as_os_str()])
        .success();
    let mut expected = packages::windows_8_2_1_installed();
    expected.push("receipt.toml".to_owned());
    expected.sort();
    // A licence of CUDA's own is as good as none; cuDNN's stands beside it.
    let mut found = listed(&sandbox, WINDOWS_BUILD);
    found.retain(|path| path != "EULA.txt");
    assert!(found.contains(&"receipt.toml".to_owned()));
    for path in &found {
        assert!(expected.contains(path), "{path} is not cuDNN's");
    }
    for path in expected.iter().filter(|path| path.contains('/')) {
        assert!(found.contains(path), "{path} is missing");
    }
    sandbox.cudnnm(["verify"]).success();
}

#[test]
fn a_folder_with_several_versions_is_refused_and_names_them() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("cudnns");
    lay_out(&folder.join("a"), &packages::linux_wheel("9.10.2.21", 12));
    lay_out(&folder.join("b"), &packages::linux_wheel("9.1.0.70", 12));
    let before = sandbox.store_listing();
    sandbox
        .cudnnm(["import".as_ref(), folder.as_os_str()])
        .exits(2)
        .says(&[
            "holds 2 cuDNNs",
            "hint: 9.10.2.21+cuda12",
            "hint: 9.1.0.70+cuda12",
        ]);
    assert_eq!(sandbox.store_listing(), before);
    let run = sandbox
        .cudnnm([
            "import".as_ref(),
            "--list".as_ref(),
            "--json".as_ref(),
            folder.as_os_str(),
        ])
        .success();
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["found"][0]["version"], "9.10.2.21");
    assert_eq!(document["found"][1]["version"], "9.1.0.70");
    let one = document["found"][1]["path"].as_str().unwrap();
    sandbox.cudnnm(["import", one]).success();
    sandbox
        .cudnnm(["import", one])
        .success()
        .says(&["is in the store already"]);
}

#[test]
fn two_majors_in_one_system_folder_are_two_cudnns_with_their_own_headers() {
    let sandbox = Sandbox::new();
    let usr = sandbox.path("usr");
    let mut files = Files::new();
    for (version, major) in [("8.9.7", 8), ("9.1.0", 9)] {
        let parts: &[&str] = if major == 8 {
            &["", "_ops_infer"]
        } else {
            &["", "_ops"]
        };
        for part in parts {
            let soname = format!("libcudnn{part}.so.{major}");
            files.push((
                format!("lib/libcudnn{part}.so.{version}"),
                library(part, &soname),
            ));
        }
        let numbers: Vec<u32> = version
            .split('.')
            .map(|part| part.parse().unwrap())
            .collect();
        let header = packages::version_header(numbers[0], numbers[1], numbers[2]);
        files.push((format!("include/cudnn_version_v{major}.h"), header));
        files.push((format!("include/cudnn_v{major}.h"), b"/* */".to_vec()));
    }
    // `update-alternatives` points the plain name to the newest.
    files.push((
        "include/cudnn_version.h".to_owned(),
        packages::version_header(9, 1, 0),
    ));
    files.push(("lib/libc.so.6".to_owned(), b"not ours".to_vec()));
    lay_out(&usr, &files);
    let run = sandbox
        .cudnnm(["import".as_ref(), "--list".as_ref(), usr.as_os_str()])
        .success();
    assert!(
        run.stdout.contains("9.1.0+cuda12") && run.stdout.contains("8.9.7+cuda12"),
        "{}",
        run.stdout
    );
    assert_eq!(run.stdout.lines().count(), 2, "{}", run.stdout);
}

#[test]
fn environments_are_searched() {
    let mut sandbox = Sandbox::new();
    let venv = sandbox.path("venv");
    let site = if cfg!(windows) {
        "Lib/site-packages"
    } else {
        "lib/python3.12/site-packages"
    };
    lay_out(&venv.join(site), &packages::linux_wheel("9.10.2.21", 12));
    let conda = sandbox.path("envs/ml");
    let (lib, index) = (
        "lib/libcudnn.so.8",
        r#"{"name":"cudnn","version":"8.9.7.29","build":"h_0","depends":["cuda-version >=12.0,<13"]}"#,
    );
    lay_out(
        &conda,
        &vec![
            (lib.to_owned(), library("main", "libcudnn.so.8")),
            (
                "include/cudnn_version.h".to_owned(),
                packages::version_header(8, 9, 7),
            ),
            (
                "conda-meta/cudnn-8.9.7.29-h_0.json".to_owned(),
                index.as_bytes().to_vec(),
            ),
        ],
    );
    sandbox.set("VIRTUAL_ENV", &venv);
    sandbox.set("CONDA_PREFIX", &conda);
    let run = sandbox.cudnnm(["import", "--json"]).success();
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let found: Vec<&str> = document["found"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["build"].as_str().unwrap())
        .collect();
    let own = |text: &str| {
        if cfg!(windows) {
            format!("{text}+linux-x86_64")
        } else {
            text.to_owned()
        }
    };
    assert!(found.contains(&&*own("9.10.2.21+cuda12")), "{found:?}");
    assert!(found.contains(&&*own("8.9.7.29+cuda12")), "{found:?}");
}

#[test]
fn an_archive_is_adopted_and_a_wrong_one_leaves_the_store_as_it_was() {
    let sandbox = Sandbox::new();
    let archive = sandbox.path("cudnn-11.3-windows-x64-v8.2.1.32.rar");
    fs::write(&archive, packages::rar5(&packages::windows_8_2_1())).unwrap();
    sandbox
        .cudnnm(["import".as_ref(), archive.as_os_str()])
        .success();
    let before = sandbox.store_listing();
    for (name, bytes, expected) in [
        (
            "page.zip",
            b"<html><title>NVIDIA Login</title>".to_vec(),
            "it is a web page, titled `NVIDIA Login`",
        ),
        (
            "evil.zip",
            packages::zip(&vec![("../../evil".into(), b"x".to_vec())]),
            "is not safe to unpack",
        ),
        (
            "cut.zip",
            packages::zip(&packages::windows_8_2_1())[..5000].to_vec(),
            "is damaged or incomplete",
        ),
        (
            "photos.zip",
            packages::zip(&vec![("a.jpg".into(), b"x".to_vec())]),
            "holds no cuDNN",
        ),
    ] {
        let path = sandbox.path(name);
        fs::write(&path, bytes).unwrap();
        sandbox
            .cudnnm(["import".as_ref(), path.as_os_str()])
            .exits(7)
            .says(&[expected]);
        assert_eq!(sandbox.store_listing(), before, "{name}");
        assert!(!sandbox.path("evil").exists() && !sandbox.path("../evil").exists());
    }
    let missing = sandbox.path("nowhere");
    sandbox
        .cudnnm(["import".as_ref(), missing.as_os_str()])
        .exits(1)
        .says(&["could not find"]);
    sandbox
        .cudnnm(["import".as_ref(), "--link".as_ref(), archive.as_os_str()])
        .exits(2)
        .says(&[
            "--link needs a folder",
            "hint: leave out --link: cudnnm import",
        ]);
}

#[cfg(unix)]
#[test]
fn a_linked_build_refers_to_its_files_and_verify_sees_them_change() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("opt/cudnn");
    lay_out(&folder, &packages::linux_wheel("9.10.2.21", 12));
    sandbox
        .cudnnm(["import".as_ref(), "--link".as_ref(), folder.as_os_str()])
        .success();
    let build = sandbox.store().join("cudnn-9.10.2.21-cuda12");
    let main = folder.join("nvidia/cudnn/lib/libcudnn.so.9");
    assert_eq!(
        fs::read_link(build.join("lib/libcudnn.so.9")).unwrap(),
        main
    );
    assert_eq!(
        fs::read(build.join("lib/libcudnn.so")).unwrap(),
        fs::read(&main).unwrap()
    );
    sandbox.cudnnm(["verify"]).success();
    let original = fs::read(&main).unwrap();
    let mut changed = original.clone();
    *changed.last_mut().unwrap() ^= 1;
    fs::write(&main, changed).unwrap();
    let run = sandbox
        .cudnnm(["verify"])
        .exits(1)
        .says(&["hint: put it right with: cudnnm import --force --link"]);
    assert!(
        run.stdout.contains("lib/libcudnn.so.9 has been changed"),
        "{}",
        run.stdout
    );
    fs::remove_file(&main).unwrap();
    let run = sandbox.cudnnm(["verify"]).exits(1);
    assert!(
        run.stdout.contains("lib/libcudnn.so.9 is missing"),
        "{}",
        run.stdout
    );
    fs::write(&main, original).unwrap();
    sandbox
        .cudnnm([
            "import".as_ref(),
            "--force".as_ref(),
            "--link".as_ref(),
            folder.as_os_str(),
        ])
        .success();
    sandbox.cudnnm(["verify"]).success();
}

#[cfg(unix)]
#[test]
fn equal_files_of_two_builds_are_stored_once() {
    use std::os::unix::fs::MetadataExt;
    let sandbox = Sandbox::new();
    for (folder, version) in [("a", "9.10.2.21"), ("b", "9.10.1.4")] {
        let folder = sandbox.path(folder);
        lay_out(&folder, &packages::linux_wheel(version, 12));
        sandbox
            .cudnnm(["import".as_ref(), folder.as_os_str()])
            .success();
    }
    let shared = sandbox
        .store()
        .join("cudnn-9.10.1.4-cuda12/lib/libcudnn_adv.so.9");
    assert_eq!(shared.metadata().unwrap().nlink(), 2);
    sandbox.cudnnm(["verify"]).success();
    sandbox.cudnnm(["uninstall", "9.10.2.21"]).success();
    assert_eq!(shared.metadata().unwrap().nlink(), 1);
    sandbox.cudnnm(["verify"]).success();
}
