//! Small packages that are real enough to install, and a server that publishes them. Linux only: they are compiled here.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use crate::downloads::sha256;
use crate::sandbox::Sandbox;
use crate::server::Server;

/// A file to publish.
#[derive(Debug, Clone)]
pub struct Package {
    pub file: String,
    pub bytes: Vec<u8>,
}

/// A wheel of cuDNN, with `ballast` bytes that do not compress.
pub fn wheel(project: &str, version: &str, ballast: usize) -> Package {
    let file = format!(
        "{}-{version}-py3-none-manylinux_2_27_x86_64.whl",
        project.replace('-', "_")
    );
    let numbers: Vec<u64> = version
        .split('.')
        .map(|part| part.parse().unwrap())
        .collect();
    let (major, minor, patch) = (numbers[0], numbers[1], numbers[2]);
    let cuda = project.rsplit("cu").next().unwrap();
    let mut members: Vec<(String, Vec<u8>)> = Vec::new();
    let text = format!(
        "#define CUDNN_MAJOR {major}\n#define CUDNN_MINOR {minor}\n#define CUDNN_PATCHLEVEL {patch}\n"
    );
    members.push((
        "nvidia/cudnn/include/cudnn_version.h".to_owned(),
        text.into_bytes(),
    ));
    let jit = ["_graph", "_engines_runtime_compiled"];
    let full = ["_graph", "_ops", "_cnn", "_engines_precompiled"];
    let parts: &[&str] = if project.contains("-jit-") {
        &jit
    } else {
        &full
    };
    for part in std::iter::once(&"").chain(parts) {
        let soname = format!("libcudnn{part}.so.{major}");
        let library = library(
            &soname,
            major * 10_000 + minor * 100 + patch,
            &format!("libcublasLt.so.{cuda}"),
        );
        members.push((format!("nvidia/cudnn/lib/{soname}"), library));
    }
    members.push((
        "nvidia/cudnn/include/ballast.h".to_owned(),
        crate::downloads::noise(ballast),
    ));
    let metadata = format!("Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n");
    let info = format!("{}-{version}.dist-info", project.replace('-', "_"));
    members.push((format!("{info}/METADATA"), metadata.into_bytes()));
    members.push((format!("{info}/License.txt"), b"licence\n".to_vec()));
    Package {
        file,
        bytes: zip(&members),
    }
}

/// A wheel of cuBLAS.
pub fn cublas(version: &str, cuda: u64) -> Package {
    let project = if cuda >= 13 {
        "nvidia_cublas".to_owned()
    } else {
        format!("nvidia_cublas_cu{cuda}")
    };
    let file = format!("{project}-{version}-py3-none-manylinux_2_27_x86_64.whl");
    let mut members: Vec<(String, Vec<u8>)> = ["libcublas", "libcublasLt"]
        .map(|stem| {
            let soname = format!("{stem}.so.{cuda}");
            (
                format!("nvidia/cublas/lib/{soname}"),
                library(&soname, 1, ""),
            )
        })
        .into();
    let metadata = format!(
        "Metadata-Version: 2.1\nName: {}\nVersion: {version}\n",
        project.replace('_', "-")
    );
    members.push((
        format!("{project}-{version}.dist-info/METADATA"),
        metadata.into_bytes(),
    ));
    Package {
        file,
        bytes: zip(&members),
    }
}

/// NVIDIA's `.tgz` of the years before 8.3.1: everything below `cuda/`.
pub fn old_archive(version: &str, cuda: &str) -> Package {
    let numbers: Vec<u64> = version
        .split('.')
        .map(|part| part.parse().unwrap())
        .collect();
    let text = format!(
        "#define CUDNN_MAJOR {}\n#define CUDNN_MINOR {}\n#define CUDNN_PATCHLEVEL {}\n",
        numbers[0], numbers[1], numbers[2]
    );
    let soname = format!("libcudnn.so.{}", numbers[0]);
    let number = numbers[0] * 1000 + numbers[1] * 100 + numbers[2];
    let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(encoder);
    let full = format!("{soname}.{}.{}", numbers[1], numbers[2]);
    for (name, bytes) in [
        ("cuda/include/cudnn_version.h".to_owned(), text.into_bytes()),
        (format!("cuda/lib64/{full}"), library(&soname, number, "")),
        (
            "cuda/NVIDIA_SLA_cuDNN_Support.txt".to_owned(),
            b"licence\n".to_vec(),
        ),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, bytes.as_slice())
            .unwrap();
    }
    for (name, target) in [
        (soname.clone(), full.clone()),
        ("libcudnn.so".to_owned(), soname),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        tar.append_link(&mut header, format!("cuda/lib64/{name}"), target)
            .unwrap();
    }
    let bytes = tar.into_inner().unwrap().finish().unwrap();
    Package {
        file: format!("cudnn-{cuda}-linux-x64-v{version}.tgz"),
        bytes,
    }
}

/// A shared object; each is compiled once in a run of the tests.
fn library(soname: &str, number: u64, opens: &str) -> Vec<u8> {
    static COMPILED: OnceLock<Mutex<BTreeMap<String, Vec<u8>>>> = OnceLock::new();
    let key = format!("{soname} {number} {opens}");
    let mut compiled = COMPILED.get_or_init(Mutex::default).lock().unwrap();
    compiled
        .entry(key)
        .or_insert_with(|| compile(soname, number, opens))
        .clone()
}

fn compile(soname: &str, number: u64, opens: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("fake.c");
    let text = format!(
        "const char *opens = \"{opens}\";\nunsigned long cudnnGetVersion(void) {{ return {number}; }}\n"
    );
    fs::write(&source, text).unwrap();
    let path = folder.path().join(soname);
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&path)
        .arg(&source)
        .arg(format!("-Wl,-soname,{soname}"))
        .status()
        .expect("a C compiler");
    assert!(status.success());
    fs::read(path).unwrap()
}

fn zip(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(name.as_str(), options(bytes)).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Ballast does not compress: trying takes seconds for nothing.
fn options(bytes: &[u8]) -> zip::write::SimpleFileOptions {
    let options = zip::write::SimpleFileOptions::default();
    if bytes.len() > 1 << 20 {
        options.compression_method(zip::CompressionMethod::Stored)
    } else {
        options
    }
}

/// A server with an index in which each project's page is there already, and NVIDIA's tree.
pub struct Market {
    pub server: Server,
    projects: BTreeMap<String, Vec<Package>>,
    pub html: bool,
}

impl Market {
    pub fn new() -> Self {
        Self {
            server: Server::new(),
            projects: BTreeMap::new(),
            html: false,
        }
    }

    /// A market with one jit wheel, `9.99.0.1+cuda13+jit`, newer than every list.
    pub fn with_jit(ballast: usize) -> (Self, Package) {
        let mut market = Self::new();
        let package = wheel(JIT, "9.99.0.1", ballast);
        market.publish(JIT, package.clone());
        (market, package)
    }

    pub fn publish(&mut self, project: &str, package: Package) {
        self.server
            .serve(&file_path(&package), package.bytes.clone());
        self.projects
            .entry(project.to_owned())
            .or_default()
            .push(package);
        let page = format!("/simple/{project}/");
        let packages = &self.projects[project];
        if self.html {
            let links: Vec<String> = packages
                .iter()
                .map(|Package { file, bytes }| {
                    format!(
                        "<a href=\"../../files/{file}#sha256={}\">{file}</a><br>",
                        sha256(bytes)
                    )
                })
                .collect();
            let text = format!(
                "<!DOCTYPE html><html><body>{}</body></html>",
                links.join("\n")
            );
            self.server
                .serve_as(&page, text, "text/html; charset=utf-8");
        } else {
            let files: Vec<serde_json::Value> = packages
                .iter()
                .map(|Package { file, bytes }| {
                    serde_json::json!({
                        "filename": file, "url": format!("../../files/{file}"),
                        // A small one would count as a placeholder.
                        "size": (bytes.len() > 1_000_000).then_some(bytes.len()),
                        "hashes": {"sha256": sha256(bytes)}, "yanked": false,
                    })
                })
                .collect();
            let text = serde_json::json!({"meta": {"api-version": "1.1"}, "name": project, "files": files});
            self.server.serve_as(
                &page,
                text.to_string(),
                "application/vnd.pypi.simple.v1+json",
            );
        }
    }

    /// Publishes an archive in NVIDIA's redistributable tree, with its JSON and listing.
    pub fn publish_by_nvidia(&mut self, version: &str, variant: &str, package: &Package) {
        let path = format!("cudnn/linux-x86_64/{}", package.file);
        self.server.serve(
            &format!("/compute/cudnn/redist/{path}"),
            package.bytes.clone(),
        );
        let label: Vec<&str> = version.split('.').take(3).collect();
        let label = label.join(".");
        let json = serde_json::json!({
            "release_date": "2026-11-30",
            "cudnn": {"version": version, "linux-x86_64": {variant: {
                "relative_path": path, "sha256": sha256(&package.bytes), "size": package.bytes.len().to_string(),
            }}},
        });
        let name = format!("redistrib_{label}.json");
        self.server.serve_as(
            &format!("/compute/cudnn/redist/{name}"),
            json.to_string(),
            "application/json",
        );
        let listing = format!("<html><a href=\"../\">..</a><a href='{name}'>{name}</a></html>");
        self.server
            .serve_as("/compute/cudnn/redist/", listing, "text/html");
    }

    /// A sandbox whose pip and whose NVIDIA are this market, in a hurry.
    pub fn customer(&self) -> Sandbox {
        let mut sandbox = Sandbox::new();
        sandbox.set("PIP_INDEX_URL", self.server.url("/simple"));
        sandbox.set(
            "PIP_CONFIG_FILE",
            if cfg!(windows) { "nul" } else { "/dev/null" },
        );
        sandbox.set("UV_NO_CONFIG", "1");
        sandbox.set("CUDNNM_NVIDIA_URL", self.server.url("/"));
        sandbox.set("CUDNNM_NETWORK_TIMEOUT", "1");
        sandbox.set("CUDNNM_NETWORK_RETRIES", "1");
        sandbox
    }
}

pub const JIT: &str = "nvidia-cudnn-jit-cu13";

/// Where the market serves a wheel.
pub fn file_path(package: &Package) -> String {
    format!("/files/{}", package.file)
}

/// The packages' files in the store, to see that nothing else is there.
pub fn store_has_only_internals(sandbox: &Sandbox) -> bool {
    fs::read_dir(sandbox.store())
        .into_iter()
        .flatten()
        .flatten()
        .all(|entry| entry.file_name() == ".cudnnm")
}
