//! Layer 1: what lies in the build's folder, read without running any of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::archive;
use crate::binary::{self, Binary, Machine};
use crate::commands::active;
use crate::commands::selected::Selected;
use crate::companion::CompanionKind;
use crate::context::Context;
use crate::environment;
use crate::output::size;
use crate::probe::files::is_cudnn;
use crate::store::{Damage, DamageKind, Receipt};
use crate::version::{BuildId, CudnnVersion, Platform};

use super::{Findings, Layer, counted};

/// The libraries of a build, as the loading layer needs them.
#[derive(Debug, Default)]
pub struct Libraries {
    /// File names that a program or cuDNN opens: SONAMEs on Linux, DLL names on Windows; the main library is not among them.
    pub parts: Vec<String>,
    /// Names of parts that its libraries open and that it lacks.
    pub strangers: Vec<String>,
    /// Every library file, links resolved.
    pub real: BTreeSet<PathBuf>,
}

/// Reads what the build's libraries say of themselves.
pub fn libraries(ctx: &Context, build: &BuildId) -> Libraries {
    let folder = environment::library_folder(&ctx.store.build_folder(build), build);
    let main = environment::main_library(build);
    let mut found = Libraries::default();
    let mut opened = BTreeSet::new();
    let mut names = BTreeSet::new();
    // A part that has been deleted must be missed too.
    if let Ok(receipt) = ctx.store.receipt(&build.folder()) {
        let ending = format!(".so.{}", build.version.major);
        let installed = receipt
            .files
            .iter()
            .map(|file| &file.path)
            .chain(receipt.links.keys());
        let libraries = installed.filter_map(|path| path.rsplit('/').next());
        let opened = libraries.filter(|name| {
            is_cudnn(Path::new(name)) && (name.ends_with(&ending) || name.ends_with(".dll"))
        });
        found
            .parts
            .extend(opened.filter(|name| **name != main).map(str::to_owned));
    }
    for path in library_files(&folder) {
        let Ok(real) = dunce::canonicalize(&path) else {
            continue;
        };
        let name = file_name(&path);
        names.insert(name.clone());
        if !found.real.insert(real) {
            continue;
        }
        let Ok(mut file) = File::open(&path) else {
            continue;
        };
        let Ok(Some(binary)) = binary::read(&mut file) else {
            continue;
        };
        let called = binary.soname.clone().unwrap_or_else(|| name.clone());
        if called != main {
            found.parts.push(called);
        }
        // The dispatcher and the graph library open the others; both are small.
        let small = file
            .metadata()
            .is_ok_and(|metadata| metadata.len() < MAX_OPENER);
        if small {
            opened.extend(binary::opened_parts(&mut file, &binary).unwrap_or_default());
        }
    }
    found.parts.sort();
    found.parts.dedup();
    let major = build.version.major;
    found.strangers = opened
        .into_iter()
        .map(|name| match name.strip_suffix(".so") {
            Some(stem) => format!("{stem}.so.{major}"),
            None => name,
        })
        // The loader table of a DLL names parts of every major.
        .filter(|name| !name.ends_with(".dll") || name.ends_with(&format!("64_{major}.dll")))
        .filter(|name| !names.contains(name) && !found.parts.contains(name))
        .collect();
    found
}

/// Libraries that open others are smaller than this; those with GPU code are larger.
const MAX_OPENER: u64 = 16 << 20;

/// Looks at the files.
pub fn layer(ctx: &Context, selected: &Selected) -> Layer {
    let build = &selected.build;
    let folder = ctx.store.build_folder(build);
    let mut findings = Findings::default();
    let receipt = match ctx.store.receipt(&build.folder()) {
        Ok(receipt) => receipt,
        Err(error) => {
            findings.fail(error.to_string(), Some(repair(build)));
            return findings.layer("without a receipt nothing can be compared");
        }
    };
    let receipts = [(build.folder(), receipt)];
    let damages = ctx
        .store
        .verify(&receipts, &archive::digest, &|_| ())
        .remove(0);
    let [(_, receipt)] = &receipts;
    damaged(&damages, receipt, build, &mut findings);
    let versions = contents(&folder, build, &damages, &mut findings);
    imports(ctx, selected, receipt, &mut findings);
    if let Some(signatures) = &receipt.signatures
        && !signatures.valid
    {
        findings.warn(
            "not every DLL had a valid signature when it was installed",
            None,
        );
    }
    let files = counted(receipt.files.len(), "file");
    let intact = if damages.is_empty() {
        "as installed"
    } else {
        "not as installed"
    };
    let says = match versions.iter().collect::<Vec<_>>().as_slice() {
        [] => "no version found in them".to_owned(),
        [only] => format!("all say {}", only.label()),
        several => format!(
            "they say {}",
            several
                .iter()
                .map(|version| version.label())
                .collect::<Vec<_>>()
                .join(" and ")
        ),
    };
    findings.layer(format!(
        "{files}, {}, {intact}; {says}",
        size(receipt.size())
    ))
}

fn damaged(damages: &[Damage], receipt: &Receipt, build: &BuildId, findings: &mut Findings) {
    for damage in damages {
        let text = damage.to_string();
        let repair = match (&receipt.linked, receipt.source.as_str()) {
            (Some(place), _) => Some(format!(
                "put it right with: cudnnm import --force --link {}",
                crate::selection::shell_word(place)
            )),
            (None, "local" | "import") => None,
            (None, _) => Some(repair(build)),
        };
        if damage.kind == DamageKind::Extra && !is_cudnn(Path::new(&damage.path)) {
            findings.warn(text, None);
        } else {
            findings.fail(text, repair);
        }
    }
}

fn repair(build: &BuildId) -> String {
    format!("put it right with: cudnnm install --force {build}")
}

/// Machine type and version of every library, and the headers' version. Returns the versions that were found.
fn contents(
    folder: &Path,
    build: &BuildId,
    damages: &[Damage],
    findings: &mut Findings,
) -> BTreeSet<CudnnVersion> {
    let mut versions = BTreeSet::new();
    let libraries = environment::library_folder(folder, build);
    let mut seen = BTreeSet::new();
    for path in library_files(&libraries) {
        // Several names lead to one file: the one that is no link stands for it.
        if dunce::canonicalize(&path).is_ok_and(|real| !seen.insert(real)) {
            continue;
        }
        let name = file_name(&path);
        let Ok(mut file) = File::open(&path) else {
            continue;
        };
        let binary = match binary::read(&mut file) {
            Ok(Some(binary)) => binary,
            Ok(None) => {
                findings.fail(
                    format!("{name} is no library: its head is neither PE nor ELF"),
                    None,
                );
                continue;
            }
            Err(error) => {
                findings.fail(format!("{name} is damaged: {error}"), None);
                continue;
            }
        };
        if !fits(binary.machine, build.platform) {
            findings.fail(
                format!(
                    "{name} is for {}, not for {}",
                    machine(binary.machine),
                    build.platform
                ),
                None,
            );
            continue;
        }
        let Some(version) = version_of(&name, &mut file, &binary) else {
            continue;
        };
        versions.insert(CudnnVersion::new(
            version.major,
            version.minor,
            version.patch,
        ));
        if !version.same_release(build.version) {
            findings.fail(
                format!(
                    "{name} is of cuDNN {}, not {}",
                    version.label(),
                    build.version.label()
                ),
                None,
            );
        }
    }
    match archive::header_version(&folder.join("include")) {
        Ok(Some(version)) => {
            versions.insert(CudnnVersion::new(
                version.major,
                version.minor,
                version.patch,
            ));
            if !version.same_release(build.version) {
                findings.fail(
                    format!(
                        "the headers are of cuDNN {}, not {}",
                        version.label(),
                        build.version.label()
                    ),
                    None,
                );
            }
        }
        // A wheel may come without headers; a linked build certainly.
        Ok(None) => {}
        Err(error) => findings.fail(error.to_string(), None),
    }
    let has_main = libraries.join(environment::main_library(build)).exists();
    if !has_main && damages.is_empty() {
        findings.fail(
            format!("there is no {}", environment::main_library(build)),
            None,
        );
    }
    versions
}

fn version_of(name: &str, file: &mut File, binary: &Binary) -> Option<CudnnVersion> {
    if let Some([major, minor, patch, _]) = binary.file_version {
        let version = CudnnVersion::new(major.into(), minor.into(), patch.into());
        return (version.major > 0).then_some(version);
    }
    let stem = name.strip_prefix("lib")?;
    let stem = &stem[..stem.find(".so")?];
    let number = binary::constant(file, binary, &format!("{stem}_version"));
    CudnnVersion::from_part_constant(number.ok()??)
}

fn fits(machine: Machine, platform: Platform) -> bool {
    matches!(
        (machine, platform),
        (
            Machine::X64,
            Platform::LinuxX64 | Platform::WindowsX64 | Platform::MacX64
        ) | (
            Machine::Arm64,
            Platform::LinuxSbsa | Platform::LinuxJetson | Platform::WindowsArm64
        ) | (Machine::Ppc64le, Platform::LinuxPpc64le)
    )
}

fn machine(machine: Machine) -> String {
    match machine {
        Machine::X64 => "64-bit x86".to_owned(),
        Machine::Arm64 => "64-bit ARM".to_owned(),
        Machine::Ppc64le => "POWER".to_owned(),
        Machine::X86 => "32-bit x86".to_owned(),
        Machine::Other(number) => format!("processor type {number}"),
    }
}

/// Every import found, by the search that a launch would make, and the libraries that are opened by name.
fn imports(ctx: &Context, selected: &Selected, receipt: &Receipt, findings: &mut Findings) {
    let build = &selected.build;
    let folders = active::library_folders(ctx, selected);
    let windows = build.platform.is_windows();
    let in_folders = |name: &str| folders.iter().any(|folder| exists(folder, name, windows));
    let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for path in library_files(&folders[0]) {
        let Ok(mut file) = File::open(&path) else {
            continue;
        };
        let Ok(Some(binary)) = binary::read(&mut file) else {
            continue;
        };
        if dunce::canonicalize(&path).is_ok_and(|real| !seen.insert(real)) {
            continue;
        }
        for import in binary.imports {
            if !is_known_kind(&import) || in_folders(&import) || in_system(&import, windows) {
                continue;
            }
            let wanting = missing.entry(import).or_default();
            if !wanting.contains(&file_name(&path)) {
                wanting.push(file_name(&path));
            }
        }
    }
    for (import, wanting) in missing {
        let hint = source_of(&import, build);
        findings.fail(
            format!("{import} is not found; needed by {}", wanting.join(", ")),
            hint,
        );
    }
    for name in &receipt.needs {
        if in_folders(name) || in_system(name, windows) {
            continue;
        }
        findings.warn(
            format!("it opens {name} at run time, which is not found"),
            source_of(name, build),
        );
    }
}

/// Whether a library is one that this tool can say something about. What belongs to the system is looked at by loading.
fn is_known_kind(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let stem = lower.strip_prefix("lib").unwrap_or(&lower);
    ["cudnn", "cublas", "nvrtc", "cudart", "zlibwapi"]
        .iter()
        .any(|start| stem.starts_with(start))
}

fn exists(folder: &Path, name: &str, windows: bool) -> bool {
    let path = folder.join(name);
    path.is_file() || windows && folder.join(name.to_ascii_lowercase()).is_file()
}

fn in_system(name: &str, windows: bool) -> bool {
    // Windows has its own look-up, which loading shows; on Linux these are where the loader looks without being told.
    !windows
        && [
            "/lib/x86_64-linux-gnu",
            "/usr/lib/x86_64-linux-gnu",
            "/lib/aarch64-linux-gnu",
            "/usr/lib/aarch64-linux-gnu",
            "/lib64",
            "/usr/lib64",
            "/lib",
            "/usr/lib",
        ]
        .iter()
        .any(|folder| Path::new(folder).join(name).exists())
}

/// Where a missing library comes from.
fn source_of(name: &str, build: &BuildId) -> Option<String> {
    let major = build.variant?.major;
    let companion = CompanionKind::ALL.into_iter().any(|kind| {
        let names = kind.libraries(major, build.platform);
        names.iter().any(|other| other.eq_ignore_ascii_case(name))
    });
    if companion || name.contains("cublas") || name.contains("nvrtc") {
        return Some(format!("cudnnm install --with-companions {build}"));
    }
    if name.to_ascii_lowercase().contains("zlibwapi") {
        return Some(
            "zlibwapi.dll is in zlib123dllx64.zip of the zlib project; put it into a folder on PATH"
                .to_owned(),
        );
    }
    if name.contains("cudnn") {
        return Some(repair(build));
    }
    None
}

fn library_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_cudnn(path))
        .collect();
    files.sort_by_key(|path| (path.is_symlink(), path.clone()));
    files
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
