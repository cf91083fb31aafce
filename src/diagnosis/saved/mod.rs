//! Facts out of saved or pasted outputs.
//!
//! A file is taken for what its content is; its name helps where content can't tell (whose `PATH` is it?). Nothing need be
//! there, nothing is an error, and what no reader knows is searched for error messages.

use std::sync::Arc;

use super::facts::{
    Binary, Content, Fact, Facts, Header, Input, Library, Machine, PackageSource, Python, Reach,
    Reported, SearchKind, System, Variable, View,
};
use super::library::{self, LibraryName};
use super::read::csv::Table;
use super::read::{
    bytes, decode, df, driver, env, header, listing, loader, packages, search_path, version,
};
use super::signs::Texts;
use super::{Reference, order, owner};
use crate::companion::Dotted;

mod archive;
mod kind;
mod table;

use archive::archive_of;
use kind::{Kind, is_binary, kind_of, view_of};

/// A file of a saved folder.
#[derive(Debug, Clone)]
pub struct SavedFile {
    /// Its path below the folder, with `/`.
    pub name: String,
    /// Its content, or the beginning of it.
    pub bytes: Vec<u8>,
    /// Its whole size.
    pub size: u64,
}

/// Reads all files of a folder together.
pub fn facts(files: &[SavedFile], reference: &Reference) -> Facts {
    let mut reader = Reader {
        facts: Facts {
            fits: Arc::clone(&reference.fits),
            ..Facts::default()
        },
        texts: &reference.texts,
        windows: 0,
        linux: 0,
    };
    for file in files {
        reader.file(file);
    }
    reader.finish()
}

struct Reader<'a> {
    facts: Facts,
    texts: &'a Texts,
    /// Votes for the system these files come from.
    windows: u32,
    linux: u32,
}

impl Reader<'_> {
    fn file(&mut self, file: &SavedFile) {
        let lower = file.name.to_lowercase();
        if file.name == super::save::MARK {
            self.facts.saved_by_doctor = true;
            return;
        }
        // Notes beside the outputs are prose, not outputs.
        if lower.ends_with(".md") {
            return;
        }
        let content = bytes::content(&file.bytes, file.size);
        if is_binary(&lower, &content) {
            self.binary(file, content);
            return;
        }
        let decoded = decode::text(&file.bytes);
        let kind = kind_of(&lower, &decoded.text);
        self.facts.inputs.push(Input {
            name: file.name.clone(),
            kind: kind.name().to_owned(),
            encoding: Some(decoded.encoding.to_owned()),
        });
        self.text(&file.name, &lower, &decoded.text, kind);
    }

    fn binary(&mut self, file: &SavedFile, content: Content) {
        self.facts.inputs.push(Input {
            name: file.name.clone(),
            kind: "binary".to_owned(),
            encoding: None,
        });
        if let Some(archive) = archive_of(library::base_name(&file.name)) {
            self.facts.archives.push(archive);
        }
        self.facts.binaries.push(Binary {
            path: file.name.clone(),
            content,
            size: file.size,
        });
    }

    fn text(&mut self, name: &str, lower: &str, text: &str, kind: Kind) {
        self.vote(text, kind);
        match kind {
            Kind::Smi => self.smi(name, text),
            Kind::Nvcc => {
                if let Some(found) = driver::nvcc(text) {
                    self.facts.nvcc = Fact::Known(found);
                } else {
                    self.facts.nvcc = Fact::Unknown("nvcc gave no version".to_owned());
                }
            }
            Kind::Header => self.facts.headers.push(Header {
                path: name.to_owned(),
                version: header::version(text).map_or_else(
                    || Fact::Unknown("it has no version macros".to_owned()),
                    Fact::Known,
                ),
            }),
            Kind::Table => self.table(lower, &Table::parse(text)),
            Kind::Pip => self.packages(packages::pip(text, PackageSource::Pip)),
            Kind::Requirements => self.packages(packages::pip(text, PackageSource::Requirement)),
            Kind::Conda => self.packages(packages::conda(text)),
            Kind::Env => self.variables(name, lower, text),
            Kind::Ldconfig => {
                for entry in loader::ldconfig(text) {
                    let machine = entry.machine;
                    self.library(&entry.path, None, Reach::Cache);
                    if let (Some(machine), Fact::Known(libraries)) =
                        (machine, &mut self.facts.libraries)
                        && let Some(last) = libraries.last_mut()
                        && last.path == entry.path
                    {
                        last.machine = Fact::Known(machine);
                    }
                }
            }
            Kind::Loaded => self.facts.loaded.extend(loader::loaded(text)),
            Kind::Disks => {
                for disk in df::disks(text) {
                    self.facts.disks.push(disk);
                }
            }
            Kind::Path => {
                let mut list = search_path::parse(text, name, view_of(lower));
                // The registry stores names of variables on purpose; they are replaced when a process starts.
                if text.contains("REG_EXPAND_SZ") {
                    list.view = View::Stored;
                }
                self.facts.searches.push(list);
            }
            Kind::Where => self.where_listed(text),
            Kind::Listing => self.listing(text),
            Kind::Framework => self.framework(lower, text),
            Kind::Python => self.python(text),
            Kind::Uname => self.uname(text),
            Kind::Log => {}
        }
        let quiet = matches!(
            kind,
            Kind::Header | Kind::Table | Kind::Pip | Kind::Requirements | Kind::Conda | Kind::Path
        );
        if !quiet {
            let signs = self.texts.signs(text, name);
            self.facts.signs.extend(signs);
        }
        if kind == Kind::Log {
            self.log(name, text);
        }
    }

    /// What a log tells beside its messages.
    fn log(&mut self, name: &str, text: &str) {
        if text.contains("NVML") || text.contains("NVIDIA-SMI") {
            let smi = driver::smi(text, name);
            use super::facts::DriverState::{NoTool, Unreadable};
            if !matches!(smi.driver.state, NoTool | Unreadable) {
                self.facts.driver.push(smi.driver);
            }
        }
        for word in text.split_whitespace() {
            let word = word.trim_matches(['"', '\'', ',', '(', ')']);
            if let Some(archive) = archive_of(library::base_name(word))
                && !self.facts.archives.contains(&archive)
            {
                self.facts.archives.push(archive);
            }
        }
        if text.to_ascii_lowercase().contains("microsoft-standard")
            || text.contains("/usr/lib/wsl/")
        {
            self.facts.wsl = Fact::Known(true);
        }
    }

    fn vote(&mut self, text: &str, kind: Kind) {
        let lower = text.to_ascii_lowercase();
        let windows = [
            ".dll",
            "c:\\",
            "winerror",
            "lnk1",
            "lnk2",
            "win_amd64",
            "tensorflow-intel",
            "pywin32",
            "windows_nt",
        ];
        let linux = [
            ".so",
            "/usr/",
            "/home/",
            "/opt/",
            "manylinux",
            "ld_library_path",
            "triton",
        ];
        let count = |words: &[&str]| {
            u32::try_from(words.iter().filter(|word| lower.contains(**word)).count()).unwrap_or(9)
        };
        match kind {
            // Requirements are often written on another system than the one they fail on.
            Kind::Requirements => {}
            Kind::Pip => {
                self.windows += count(&["tensorflow-intel", "pywin32", "colorama==", "pypiwin32"]);
                self.linux += count(&["triton==", "nvidia-nccl"]);
            }
            _ => {
                self.windows += count(&windows);
                self.linux += count(&linux);
            }
        }
    }

    fn smi(&mut self, name: &str, text: &str) {
        let smi = driver::smi(text, name);
        if smi.windows {
            self.windows += 3;
        }
        let base = library::base_name(name);
        // Where several were pasted, the one with the plain name is this machine's.
        let plain = base == "nvidia-smi.txt";
        match &mut self.facts.driver {
            Fact::Known(readings) if plain => readings.insert(0, smi.driver),
            driver => driver.push(smi.driver),
        }
        let first = self.facts.gpus.known().is_none();
        if !smi.gpus.is_empty() && (plain || first) {
            self.facts.gpus = Fact::Known(smi.gpus);
        }
    }

    fn packages(&mut self, found: Vec<super::facts::Package>) {
        for package in found {
            self.facts.packages.push(package);
        }
    }

    fn variables(&mut self, name: &str, lower: &str, text: &str) {
        let mut has_search = false;
        for (variable, value) in env::variables(text) {
            let upper = variable.to_ascii_uppercase();
            let kind = match upper.as_str() {
                "LD_LIBRARY_PATH" => Some(SearchKind::LdLibraryPath),
                "PATH"
                    if search_path::is_windows_path(&value)
                        || value.split(';').any(search_path::is_windows_path) =>
                {
                    Some(SearchKind::Path)
                }
                _ => None,
            };
            has_search |= kind.is_some();
            if let Some(kind) = kind {
                self.facts
                    .searches
                    .push(search_path::list(kind, &value, name, view_of(lower)));
            }
            if upper.starts_with("WSL_") {
                self.facts.wsl = Fact::Known(true);
            }
            if upper.starts_with("NVIDIA_VISIBLE_DEVICES")
                || upper.starts_with("NVIDIA_DRIVER_CAPABILITIES")
                || upper == "KUBERNETES_SERVICE_HOST"
            {
                self.facts.container = Fact::Known(true);
            }
            self.facts.variables.push(Variable {
                name: variable,
                value,
                from: name.to_owned(),
            });
        }
        // A process without the variable searches nothing by it; that is worth comparing.
        if !has_search && view_of(lower) == View::Process {
            self.facts.searches.push(search_path::list(
                SearchKind::LdLibraryPath,
                "",
                name,
                View::Process,
            ));
        }
    }

    fn where_listed(&mut self, text: &str) {
        for (position, entry) in listing::entries(text).into_iter().enumerate() {
            self.library(&entry.path, entry.size, Reach::Listed(position + 1));
        }
    }

    fn listing(&mut self, text: &str) {
        for entry in listing::entries(text) {
            if let Some(archive) = archive_of(library::base_name(&entry.path)) {
                self.facts.archives.push(archive);
            }
            self.library(&entry.path, entry.size, Reach::Private);
            self.facts.entries.push(entry);
        }
    }

    /// A library (or what one needs) that is known to exist. One file named by two inputs is one library.
    pub(super) fn library(&mut self, path: &str, size: Option<u64>, reach: Reach) {
        let name = LibraryName::of(path);
        self.facts.files.push(path.to_owned());
        if !name.is_cudnn && !is_companion(&name.base) {
            return;
        }
        if let Fact::Known(libraries) = &mut self.facts.libraries
            && let Some(known) = libraries
                .iter_mut()
                .find(|known| order::same_path(&known.path, path))
        {
            known.size = known.size.or(size);
            if known.reach == Reach::Private {
                known.reach = reach;
            }
            return;
        }
        self.facts.libraries.push(Library {
            path: path.to_owned(),
            version: Fact::not_given(),
            machine: Fact::not_given(),
            size,
            owner: owner::of(path),
            reach,
            imports_zlib: None,
            name,
        });
    }

    pub(super) fn reported(&mut self, framework: &str, version: crate::version::CudnnVersion) {
        let new = Reported {
            framework: framework.to_owned(),
            version,
        };
        if !self.facts.reported.contains(&new) {
            self.facts.reported.push(new);
        }
    }

    /// `torch.txt` and its like: what a framework prints about itself.
    fn framework(&mut self, lower: &str, text: &str) {
        let base = library::base_name(lower);
        let framework = base
            .split(|c: char| !c.is_ascii_alphanumeric())
            .next()
            .unwrap_or("torch")
            .to_owned();
        for word in text.split_whitespace() {
            let word = word.trim_matches(['(', ')', ',', '\'', '"']);
            if let Some((number, local)) = word.split_once('+')
                && Dotted::parse(number).is_some()
            {
                self.facts.packages.push(super::facts::Package {
                    name: framework.clone(),
                    version: number.to_owned(),
                    local: Some(local.to_owned()),
                    by: PackageSource::Pip,
                    need: None,
                });
            } else if word.len() >= 4
                && word.bytes().all(|byte| byte.is_ascii_digit())
                && let Some(version) = version::cudnn(word)
            {
                self.reported(&framework, version);
            }
        }
    }

    /// What a Python prints about itself: `platform.architecture()`, its start message, `sys.version`.
    fn python(&mut self, text: &str) {
        let lower = text.to_ascii_lowercase();
        let machine = if lower.contains("32bit")
            || lower.contains("32 bit")
            || lower.contains("32-bit")
        {
            Fact::Known(Machine::X86)
        } else if lower.contains("64bit") || lower.contains("64 bit") || lower.contains("64-bit") {
            Fact::Known(Machine::X64)
        } else {
            Fact::not_given()
        };
        let version = lower
            .split(|c: char| !c.is_ascii_digit() && c != '.')
            .find(|word| word.matches('.').count() == 2 && word.starts_with(['2', '3']))
            .map_or_else(Fact::not_given, |word| Fact::Known(word.to_owned()));
        self.facts.pythons.push(Python {
            path: "python".to_owned(),
            version,
            machine,
            active: true,
        });
    }

    fn uname(&mut self, text: &str) {
        let lower = text.to_ascii_lowercase();
        if lower.contains("microsoft") && lower.contains("linux") {
            self.facts.wsl = Fact::Known(true);
        }
        if lower.contains("container") {
            self.facts.container = Fact::Known(true);
        }
        if lower.contains("linux") {
            self.linux += 2;
        }
        if lower.contains("windows") && !lower.contains("linux") {
            self.windows += 2;
        }
        if let Fact::Known(machine) = machine_of(&lower) {
            self.facts.machine = Fact::Known(machine);
        }
    }

    fn finish(mut self) -> Facts {
        if self.windows != self.linux {
            self.facts.system = Fact::Known(if self.windows > self.linux {
                System::Windows
            } else {
                System::Linux
            });
        }
        if let Fact::Known(gpus) = &mut self.facts.gpus {
            let mut seen = Vec::new();
            gpus.retain(|gpu| {
                let new = !seen.contains(gpu);
                seen.push(gpu.clone());
                new
            });
        }
        super::complete(&mut self.facts);
        self.facts
    }
}

/// A library that cuDNN itself needs beside its own parts.
fn is_companion(base: &str) -> bool {
    let lower = base.to_ascii_lowercase();
    lower == "zlibwapi.dll"
        || [
            "cublas64_",
            "cublaslt64_",
            "nvrtc64_",
            "libcublas.so",
            "libcublaslt.so",
            "libnvrtc.so",
            "libcuda.so",
        ]
        .iter()
        .any(|start| lower.starts_with(start))
}

/// A machine by any of its names.
pub fn machine_of(text: &str) -> Fact<Machine> {
    let lower = text.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if says(&["aarch64", "arm64", "0xaa64", "0xb7", "sbsa"]) {
        Fact::Known(Machine::Arm64)
    } else if says(&["ppc64"]) {
        Fact::Known(Machine::Ppc64le)
    } else if says(&[
        "x86_64", "x86-64", "amd64", "x64", "0x8664", "64-bit", "64bit",
    ]) || lower == "64"
    {
        Fact::Known(Machine::X64)
    } else if says(&["i386", "i686", "x86", "0x014c", "0x14c", "32-bit", "32bit"]) || lower == "32"
    {
        Fact::Known(Machine::X86)
    } else {
        Fact::not_given()
    }
}
