//! Small shared libraries that answer like a cuDNN, and stores that hold them. Linux only: they are really loaded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cudnnm::store::{FileRecord, Package, RECEIPT, Receipt, Trust};
use cudnnm::version::BuildId;

use crate::sandbox::Sandbox;

/// Writes `libcudnn.so.N` into `folder`: its `cudnnGetVersion` answers `number`.
pub fn library(folder: &Path, major: u32, number: u64) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    let source = folder.join("fake.c");
    fs::write(
        &source,
        format!("unsigned long cudnnGetVersion(void) {{ return {number}; }}\n"),
    )
    .unwrap();
    let name = format!("libcudnn.so.{major}");
    let path = folder.join(&name);
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&path)
        .arg(&source)
        .arg(format!("-Wl,-soname,{name}"))
        .status()
        .expect("a C compiler");
    assert!(status.success());
    fs::remove_file(source).unwrap();
    path
}

/// Puts a loadable build into the store, as an install would: its folder's name says what it is.
pub fn build(sandbox: &Sandbox, folder: &str) -> PathBuf {
    let id = BuildId::from_folder(folder).expect("a folder name of ours");
    let root = sandbox.store().join(folder);
    let library = library(&root.join("lib"), id.version.major, id.version.encoded());
    fs::create_dir_all(root.join("include")).unwrap();
    fs::create_dir_all(root.join("bin")).unwrap();
    let header = root.join("include").join("cudnn_version.h");
    fs::write(&header, "#define CUDNN_MAJOR 9\n").unwrap();
    let record = |path: &Path| FileRecord {
        path: path
            .strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned(),
        size: fs::metadata(path).unwrap().len(),
        sha256: String::new(),
    };
    let receipt = Receipt {
        schema: 1,
        package: Package::Cudnn(id),
        source: "local".to_owned(),
        origin: "fake".to_owned(),
        file: None,
        sha256: Some("ab".repeat(32)),
        trust: Trust::Local,
        installed: "2026-12-01T00:00:00Z".to_owned(),
        linked: None,
        needs: Vec::new(),
        signatures: None,
        links: Default::default(),
        files: vec![record(&header), record(&library)],
    };
    fs::write(root.join(RECEIPT), receipt.to_toml()).unwrap();
    root
}
