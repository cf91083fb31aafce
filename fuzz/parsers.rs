//! Every parser that reads what others wrote: one function each, which must hold whatever the bytes are.
//!
//! `cargo fuzz` runs them for hours (see the README's "Hostile input"); `cargo test` replays the corpus and some random
//! mutations of it.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cudnnm::companion::CompanionId;
use cudnnm::diagnosis::{self, Reference, saved};
use cudnnm::download::Document;
use cudnnm::manifest::{Facts, Releases, Texts, redistrib};
use cudnnm::settings::Settings;
use cudnnm::sources::pypi;
use cudnnm::store::Receipt;
use cudnnm::version::{BuildId, CudaVersion, VersionSpec};
use cudnnm::{archive, binary, layout, project};

/// A name, and what is tried with the bytes.
pub type Parser = (&'static str, fn(&[u8]));

pub const PARSERS: [Parser; 13] = [
    ("spec", spec),
    ("version_file", version_file),
    ("manifest", manifest),
    ("facts", facts),
    ("redistrib", redistrib_json),
    ("index_json", index_json),
    ("index_html", index_html),
    ("member_names", member_names),
    ("archive", unpack),
    ("receipt", receipt),
    ("settings", settings),
    ("binary", library),
    ("doctor", doctor),
];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What is understood is written in a way that means the same.
pub fn spec(bytes: &[u8]) {
    let text = text(bytes);
    if let Ok(spec) = text.parse::<VersionSpec>() {
        let again: VersionSpec = spec
            .to_string()
            .parse()
            .expect("a spec reads what it writes");
        assert_eq!(again, spec);
    }
    if let Ok(cuda) = text.parse::<CudaVersion>() {
        assert_eq!(cuda.to_string().parse::<CudaVersion>().ok(), Some(cuda));
    }
    if let Some(build) = BuildId::from_folder(&text) {
        assert_eq!(BuildId::from_folder(&build.folder()), Some(build));
        assert!(build.exact_spec().matches(&build), "{build}");
    }
    if let Some(companion) = CompanionId::from_folder(&text) {
        assert_eq!(
            CompanionId::from_folder(&companion.folder()),
            Some(companion)
        );
    }
}

pub fn version_file(bytes: &[u8]) {
    match project::parse(PathBuf::from(".cudnn-version"), bytes) {
        Ok(file) => assert!(file.line > 0),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

pub fn manifest(bytes: &[u8]) {
    if let Ok(releases) = Releases::parse("releases.toml", &text(bytes)) {
        for release in releases.all() {
            let _ = (release.build(), release.address(), releases.source(release));
        }
        let written = releases.render();
        let again =
            Releases::parse("releases.toml", &written).expect("a manifest reads what it writes");
        assert_eq!(again.all(), releases.all());
    }
}

pub fn facts(bytes: &[u8]) {
    let text = text(bytes);
    for texts in [
        Texts {
            cuda: Some(&text),
            gpus: None,
            frameworks: None,
        },
        Texts {
            cuda: None,
            gpus: Some(&text),
            frameworks: None,
        },
        Texts {
            cuda: None,
            gpus: None,
            frameworks: Some(&text),
        },
    ] {
        let _ = Facts::parse(texts);
    }
}

pub fn redistrib_json(bytes: &[u8]) {
    let text = text(bytes);
    let _ = redistrib::labels(&text);
    for release in redistrib::parse("9.1.0", &text).unwrap_or_default() {
        let (_, path) = release.address();
        assert!(!path.split('/').any(|part| part == ".."), "{path}");
    }
}

pub fn index_json(bytes: &[u8]) {
    index(bytes, "application/vnd.pypi.simple.v1+json");
}

pub fn index_html(bytes: &[u8]) {
    index(bytes, "text/html");
}

fn index(bytes: &[u8], kind: &str) {
    let document = Document {
        url: "https://index.example/simple/nvidia-cudnn-cu12/"
            .parse()
            .expect("an address"),
        content_type: kind.to_owned(),
        body: bytes.to_vec(),
    };
    let Ok(wheels) = pypi::read_page(&document) else {
        return;
    };
    for wheel in &wheels {
        assert!(!wheel.file.contains(['/', '\\']), "{}", wheel.file);
        assert!(
            matches!(wheel.url.scheme(), "https" | "http" | "file"),
            "{}",
            wheel.url
        );
    }
    let _ = pypi::releases("nvidia-cudnn-cu12", &wheels);
}

/// Names and link targets of members: no answer leads out of the archive.
pub fn member_names(bytes: &[u8]) {
    let text = text(bytes);
    let mut lines = text.split('\n');
    let (name, target) = (
        lines.next().unwrap_or_default(),
        lines.next().unwrap_or_default(),
    );
    let Ok(path) = layout::member_path(name) else {
        return;
    };
    let safe = |path: &[String]| {
        path.iter()
            .all(|part| !matches!(part.as_str(), "" | "." | "..") && !part.contains(['/', '\\']))
    };
    assert!(safe(&path), "{path:?}");
    if let Some(place) = layout::place(&path) {
        let folders = ["bin/", "include/", "lib/"];
        let place = place.path();
        assert!(
            !place.contains('/') || folders.iter().any(|folder| place.starts_with(folder)),
            "{place}"
        );
    }
    if let Ok(to) = layout::link_target(&path, target) {
        assert!(safe(&to), "{to:?}");
    }
}

/// A whole archive of any kind, unpacked into a folder of its own: nothing appears beside it.
pub fn unpack(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (file, target) = (folder.path().join("archive"), folder.path().join("target"));
    std::fs::write(&file, bytes).expect("a file of our own");
    std::fs::create_dir(&target).expect("a folder of our own");
    let outcome = archive::unpack(&file, &target, &mut |_| ());
    let beside = std::fs::read_dir(folder.path())
        .expect("a folder of our own")
        .count();
    assert_eq!(beside, 2, "something was written outside");
    if let Ok(unpacked) = outcome {
        for record in &unpacked.files {
            assert!(target.join(&record.path).is_file(), "{}", record.path);
        }
    }
}

pub fn receipt(bytes: &[u8]) {
    let path = Path::new("receipt.toml");
    if let Ok(receipt) = Receipt::parse(path, &text(bytes)) {
        let _ = receipt.size();
        let again =
            Receipt::parse(path, &receipt.to_toml()).expect("a receipt reads what it writes");
        assert_eq!(again, receipt);
    }
}

pub fn settings(bytes: &[u8]) {
    let _ = Settings::parse(Path::new("settings.toml"), &text(bytes));
}

/// PE, ELF and Mach-O.
pub fn library(bytes: &[u8]) {
    let mut file = Cursor::new(bytes);
    if let Ok(Some(read)) = binary::read(&mut file) {
        let _ = binary::exports(&mut file, &read);
        let _ = binary::opened_names(&mut file, &read);
    }
}

/// What `doctor --from` reads: the first byte says under which name the rest was saved.
pub fn doctor(bytes: &[u8]) {
    const NAMES: [&str; 11] = [
        "nvidia-smi.txt",
        "nvcc.txt",
        "path.txt",
        "where.txt",
        "listing.txt",
        "pip-freeze.txt",
        "conda-list.txt",
        "env.txt",
        "error.txt",
        "cudnn_version.h",
        "notes.txt",
    ];
    static REFERENCE: OnceLock<Reference> = OnceLock::new();
    let reference = REFERENCE.get_or_init(|| {
        let none = Texts {
            cuda: None,
            gpus: None,
            frameworks: None,
        };
        Reference::new(Facts::load(none).expect("the built-in manifests are right"))
    });
    let Some((first, content)) = bytes.split_first() else {
        return;
    };
    let file = saved::SavedFile {
        name: NAMES[usize::from(*first) % NAMES.len()].to_owned(),
        bytes: content.to_vec(),
        size: content.len() as u64,
    };
    let mut facts = saved::facts(&[file], reference);
    diagnosis::complete(&mut facts);
    for finding in diagnosis::diagnose(&facts) {
        let known = |sign: &usize| *sign < facts.signs.len();
        assert!(finding.explains.iter().all(known));
    }
}
