//! Small libraries that answer like a cuDNN, and stores that hold them. They are really loaded.

use std::fs;
use std::path::PathBuf;

use cudnnm::store::{FileRecord, Package, RECEIPT, Receipt, Trust};
use cudnnm::version::BuildId;

use crate::sandbox::Sandbox;

#[cfg(unix)]
pub use unix::library;
#[cfg(windows)]
pub use windows::library;

/// The folder of a build that programs load from.
pub const LIBRARIES: &str = if cfg!(windows) { "bin" } else { "lib" };

/// Puts a loadable build into the store, as an install would: its folder's name says what it is.
pub fn build(sandbox: &Sandbox, folder: &str) -> PathBuf {
    let id = BuildId::from_folder(folder).expect("a folder name of ours");
    let root = sandbox.store().join(folder);
    for name in ["include", "bin", "lib"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    let header = root.join("include").join("cudnn_version.h");
    fs::write(&header, "#define CUDNN_MAJOR 9\n").unwrap();
    let libraries = root.join(LIBRARIES);
    library(&libraries, id.version.major, id.version.encoded());
    let mut files: Vec<PathBuf> = fs::read_dir(libraries)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.push(header);
    files.sort();
    let record = |path: &PathBuf| FileRecord {
        path: path
            .strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .replace('\\', "/"),
        size: fs::metadata(path).unwrap().len(),
        sha256: cudnnm::archive::digest(path).unwrap().1,
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
        files: files.iter().map(record).collect(),
    };
    fs::write(root.join(RECEIPT), receipt.to_toml()).unwrap();
    root
}

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Command;

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
}

#[cfg(windows)]
mod windows {
    use std::fs;
    use std::path::{Path, PathBuf};

    use crate::pe::{self, Code};

    /// Writes `cudnn64_N.dll` into `folder`, a dispatcher like the real one: its `cudnnGetVersion` opens a part by bare
    /// name, and that one, which lies beside it, answers `number`. Without the part the answer is 0.
    pub fn library(folder: &Path, major: u32, number: u64) -> PathBuf {
        fs::create_dir_all(folder).unwrap();
        let part = if major == 8 {
            "cudnn_ops_infer64_8.dll".to_owned()
        } else {
            format!("cudnn_graph64_{major}.dll")
        };
        let answer = pe::answer(u32::try_from(number).unwrap());
        let bytes = pe::library(&part, "cudnnGetVersion", &[Code::Bytes(&answer)]);
        fs::write(folder.join(&part), bytes).unwrap();
        let name = format!("cudnn64_{major}.dll");
        let dispatch = [
            Code::Bytes(&[0x48, 0x83, 0xec, 0x28]), // sub rsp, 40
            Code::FirstArgument(&part),
            Code::Call("KERNEL32.dll", "LoadLibraryA"),
            Code::Bytes(&[0x48, 0x85, 0xc0, 0x74, 0x12]), // test rax, rax; jz past the call of rax
            Code::Bytes(&[0x48, 0x89, 0xc1]),             // mov rcx, rax
            Code::SecondArgument("cudnnGetVersion"),
            Code::Call("KERNEL32.dll", "GetProcAddress"),
            Code::Bytes(&[0xff, 0xd0]),                   // call rax
            Code::Bytes(&[0x48, 0x83, 0xc4, 0x28, 0xc3]), // add rsp, 40; ret
        ];
        let path = folder.join(&name);
        fs::write(&path, pe::library(&name, "cudnnGetVersion", &dispatch)).unwrap();
        path
    }
}
