//! A fake GPU and a fake cuDNN that computes, built from `tests/fakes`, and stores that hold them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use cudnnm::archive;
use cudnnm::store::{FileRecord, Package, RECEIPT, Receipt, Trust};
use cudnnm::version::BuildId;

use crate::sandbox::Sandbox;

/// A sandbox whose loader finds a GPU.
pub fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    let folder = driver();
    sandbox.set("LD_LIBRARY_PATH", folder);
    sandbox
}

/// The folder with the fake driver.
pub fn driver() -> PathBuf {
    let file = compiled("libcuda.so.1", "cuda.c", &[]);
    file.parent().unwrap().to_owned()
}

/// Writes the libraries of a cuDNN into a folder: the main one, and these parts.
pub fn libraries(folder: &Path, encoded: u64, parts: &[&str]) {
    let major = if encoded < 10_000 {
        encoded / 1000
    } else {
        encoded / 10_000
    };
    fs::create_dir_all(folder).unwrap();
    let version = format!("-DVERSION={encoded}");
    let main = format!("libcudnn.so.{major}");
    fs::copy(compiled(&main, "cudnn.c", &[&version]), folder.join(&main)).unwrap();
    for part in parts {
        let name = format!("libcudnn_{part}.so.{major}");
        let define = format!("-DPART={part}");
        let file = compiled(&name, "cudnn.c", &[&version, &define]);
        fs::copy(file, folder.join(&name)).unwrap();
    }
}

/// A build in the store, as an install would leave it.
pub fn build(sandbox: &Sandbox, folder: &str, parts: &[&str]) -> PathBuf {
    let id = BuildId::from_folder(folder).expect("a folder name of ours");
    let root = sandbox.store().join(folder);
    libraries(&root.join("lib"), id.version.encoded(), parts);
    fs::create_dir_all(root.join("include")).unwrap();
    let header = format!(
        "#define CUDNN_MAJOR {}\n#define CUDNN_MINOR {}\n#define CUDNN_PATCHLEVEL {}\n",
        id.version.major, id.version.minor, id.version.patch
    );
    fs::write(root.join("include").join("cudnn_version.h"), header).unwrap();
    let mut files = Vec::new();
    for below in ["include", "lib"] {
        for entry in fs::read_dir(root.join(below)).unwrap() {
            let entry = entry.unwrap();
            let (size, sha256) = archive::digest(&entry.path()).unwrap();
            files.push(FileRecord {
                path: format!("{below}/{}", entry.file_name().to_str().unwrap()),
                size,
                sha256,
            });
        }
    }
    let receipt = Receipt {
        schema: 1,
        package: Package::Cudnn(id),
        source: "pypi".to_owned(),
        origin: "fake".to_owned(),
        file: None,
        sha256: None,
        trust: Trust::Index,
        installed: "2026-12-01T00:00:00Z".to_owned(),
        linked: None,
        needs: Vec::new(),
        signatures: None,
        links: Default::default(),
        files,
    };
    fs::write(root.join(RECEIPT), receipt.to_toml()).unwrap();
    root
}

/// The parts of a full build, as far as the fakes open them.
pub const PARTS_9: [&str; 3] = ["graph", "cnn", "heuristic"];
pub const PARTS_8: [&str; 3] = ["ops_infer", "cnn_infer", "cnn_train"];

/// Compiles once for all tests; each kind has a folder of its own.
fn compiled(name: &str, source: &str, defines: &[&str]) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fakes")
        .join(source);
    let changed = fs::metadata(&source).unwrap().modified().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("fakes")
        .join(format!("of {}", defines.join(" ").replace('/', "_")));
    let file = folder.join(name);
    if fs::metadata(&file)
        .and_then(|it| it.modified())
        .is_ok_and(|made| made > changed)
    {
        return file;
    }
    fs::create_dir_all(&folder).unwrap();
    // Another test program may be looking at the old one.
    let fresh = folder.join(format!("{name}.{}", std::process::id()));
    let output = Command::new("cc")
        .args(["-O2", "-w", "-shared", "-fPIC", "-o"])
        .arg(&fresh)
        .arg(&source)
        .args(defines)
        .arg(format!("-Wl,-soname,{name}"))
        // As NVIDIA's: what `LD_LIBRARY_PATH` lacks is looked for in the library's own folder.
        .args(["-Wl,-rpath,$ORIGIN", "-lm", "-ldl"])
        .output()
        .expect("a C compiler");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    fs::rename(&fresh, &file).unwrap();
    file
}
