//! Facts out of saved or pasted outputs.
//!
//! A file is taken for what its content is; its name helps where content can't tell (whose `PATH` is it?). Nothing need be
//! there, nothing is an error, and what no reader knows is searched for error messages.

use std::sync::Arc;

use super::facts::{
    Archive, Binary, Content, DigestPair, Disk, Fact, Facts, Gpu, GpuPair, Header, Input, Library,
    Machine, Number, PackageSource, Python, Reach, Reported, SearchKind, Selection, System,
    Toolkit, Variable, View,
};
use super::library::{self, LibraryName};
use super::read::csv::Table;
use super::read::{
    bytes, decode, df, driver, env, header, listing, loader, packages, search_path, version,
};
use super::signs::Texts;
use super::{Reference, order, owner};
use crate::companion::Dotted;
use crate::version::CudaVersion;

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

/// What a file was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Smi,
    Nvcc,
    Header,
    Table,
    Pip,
    Requirements,
    Conda,
    Env,
    Ldconfig,
    Loaded,
    Disks,
    Path,
    Where,
    Listing,
    Framework,
    Python,
    Uname,
    Log,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Smi => "nvidia-smi",
            Self::Nvcc => "nvcc",
            Self::Header => "header",
            Self::Table => "table",
            Self::Pip => "pip",
            Self::Requirements => "requirements",
            Self::Conda => "conda",
            Self::Env => "environment",
            Self::Ldconfig => "ldconfig",
            Self::Loaded => "loaded libraries",
            Self::Disks => "disks",
            Self::Path => "search path",
            Self::Where => "where",
            Self::Listing => "listing",
            Self::Framework => "framework",
            Self::Python => "python",
            Self::Uname => "system",
            Self::Log => "messages",
        }
    }
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

/// Facts out of one error text.
pub fn from_text(text: &str, reference: &Reference) -> Facts {
    let file = SavedFile {
        name: "error.txt".to_owned(),
        bytes: text.as_bytes().to_vec(),
        size: text.len() as u64,
    };
    facts(&[file], reference)
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
    fn library(&mut self, path: &str, size: Option<u64>, reach: Reach) {
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

    fn table(&mut self, lower: &str, table: &Table) {
        let cell = |row: &[String], column: Option<usize>| {
            column
                .and_then(|column| row.get(column))
                .cloned()
                .unwrap_or_default()
        };
        let file = table.column(&["path", "file", "dll", "library", "module", "location"]);
        let name = table.column(&["name", "gpu", "gpu_name", "device"]);
        let capability = table.column(&["compute_cap", "compute_capability", "sm", "capability"]);
        let cudnn = table.column(&["cudnn", "cudnn_version"]);
        let number = table.column(&[
            "version",
            "cudnngetversion",
            "fileversion",
            "file_version",
            "file version",
            "productversion",
            "version_resource",
        ]);
        let expected = table.column(&["expected", "want", "wanted", "recorded"]);
        let got = table.column(&["got", "actual", "computed", "found"]);
        let machine = table.column(&["machine", "arch", "bits", "bitness"]);
        let size = table.column(&["size", "bytes", "length"]);
        let what = table.column(&["what", "component", "framework", "package"]);
        let at = table.column(&["mount", "mounted on", "drive", "at", "filesystem"]);
        let free = table.column(&["available", "avail", "free", "freespace", "free_bytes"]);
        let place = table.column(&["toolkit"]);
        let header = table.column(&["header"]);
        let content = table.column(&["content"]);
        let spec = table.column(&["spec"]);
        for (position, row) in table.rows.iter().enumerate() {
            if let (Some(_), Some(_)) = (expected, got) {
                let file = file.or(table.column(&["archive", "name"]));
                self.facts.digests.push(DigestPair {
                    file: cell(row, file),
                    expected: cell(row, expected),
                    got: cell(row, got),
                });
            } else if let (Some(name), Some(_)) = (name, capability) {
                let gpu = Gpu {
                    name: cell(row, Some(name)),
                    capability: capability_of(&cell(row, capability)),
                };
                match version::cudnn(&cell(row, cudnn)) {
                    Some(cudnn) => self.facts.pairs.push(GpuPair { gpu, cudnn }),
                    None => self.facts.gpus.push(gpu),
                }
            } else if place.is_some() {
                if let Ok(version) = cell(row, number).parse::<CudaVersion>() {
                    self.facts.toolkits.push(Toolkit {
                        version,
                        at: cell(row, place),
                    });
                }
            } else if lower.contains("python") && file.is_some() {
                let version = cell(row, number);
                self.facts.pythons.push(Python {
                    path: cell(row, file),
                    version: if version.is_empty() {
                        Fact::not_given()
                    } else {
                        Fact::Known(version)
                    },
                    machine: machine_of(&cell(row, machine)),
                    active: cell(row, table.column(&["active"])) == "yes",
                });
            } else if let Some(header) = header {
                self.facts.headers.push(Header {
                    path: cell(row, Some(header)),
                    version: version::cudnn(&cell(row, number))
                        .map_or_else(Fact::not_given, Fact::Known),
                });
            } else if let (Some(_), Some(content)) = (file, content) {
                self.facts.binaries.push(Binary {
                    path: cell(row, file),
                    content: super::save::content_of(&cell(row, Some(content))),
                    size: cell(row, size).parse().unwrap_or(0),
                });
            } else if let Some(spec) = spec {
                self.facts.selection = Fact::Known(Selection {
                    spec: cell(row, Some(spec)),
                    because: cell(row, table.column(&["because"])),
                    installed: cell(row, table.column(&["installed"])) != "no",
                });
            } else if let (Some(_), Some(_)) = (at, free) {
                let available = cell(row, free);
                if let Ok(available) = available.parse() {
                    self.facts.disks.push(Disk {
                        at: cell(row, at),
                        available,
                        size: cell(row, size).parse().ok(),
                    });
                }
            } else if file.is_some() {
                let path = cell(row, file);
                let reach = reach_of(&cell(row, table.column(&["reach"])), position + 1);
                self.library(&path, cell(row, size).parse().ok(), reach);
                if let Fact::Known(libraries) = &mut self.facts.libraries
                    && let Some(library) = libraries
                        .iter_mut()
                        .find(|library| order::same_path(&library.path, &path))
                {
                    let text = cell(row, number.or(cudnn));
                    match version::cudnn(&text) {
                        Some(version) => library.version = Fact::Known(version),
                        None if !text.is_empty() => library.version = Fact::Unknown(text),
                        None => {}
                    }
                    if machine.is_some() {
                        library.machine = machine_of(&cell(row, machine));
                    }
                    library.imports_zlib = match cell(row, table.column(&["imports_zlib"])).as_str()
                    {
                        "yes" => Some(true),
                        "no" => Some(false),
                        _ => None,
                    };
                }
            } else if what.is_some() && number.is_some() {
                self.state(&cell(row, what), &cell(row, number));
            } else if let Some(number) = number.filter(|_| name.is_none()) {
                let text = cell(row, Some(number));
                if let (Ok(number), Some(version)) = (text.parse(), version::cudnn(&text)) {
                    self.facts.numbers.push(Number { number, version });
                }
            } else if name.is_some()
                && let Some(archive) = archive_of(&cell(row, name))
            {
                self.facts.archives.push(archive);
            }
        }
    }

    /// `active (cudnnm)`, `torch bundled` and the like with their versions.
    fn state(&mut self, what: &str, text: &str) {
        let Some(version) = version::cudnn(text) else {
            return;
        };
        let lower = what.to_ascii_lowercase();
        let is_active = ["active", "cudnnm", "selected", "installed"]
            .iter()
            .any(|word| lower.contains(word));
        if is_active {
            self.facts.active = Fact::Known(version);
        } else if let Some(framework) = lower.split(|c: char| !c.is_ascii_alphanumeric()).next() {
            self.reported(framework, version);
        }
    }

    fn reported(&mut self, framework: &str, version: crate::version::CudnnVersion) {
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

fn is_binary(lower: &str, content: &Content) -> bool {
    let base = library::base_name(lower);
    let by_name = base.ends_with(".dll")
        || base.ends_with(".lib")
        || base.ends_with(".a")
        || base.ends_with(".whl")
        || base.ends_with(".zip")
        || base.ends_with(".7z")
        || base.ends_with(".rar")
        || base.ends_with(".tgz")
        || base.ends_with(".conda")
        || base.contains(".tar.")
        || base.ends_with(".so")
        || base.contains(".so.");
    let text_after_all = base.ends_with(".txt") || base.ends_with(".csv") || base.ends_with(".h");
    match content {
        Content::Pe(_)
        | Content::Elf(_)
        | Content::CutShort(_)
        | Content::Zip
        | Content::ZipCutShort
        | Content::Compressed(_) => true,
        _ => by_name && !text_after_all,
    }
}

/// What a text is, by its name where that is plain, else by its content.
fn kind_of(lower: &str, text: &str) -> Kind {
    let base = library::base_name(lower);
    let says = |words: &[&str]| words.iter().any(|word| base.contains(word));
    let begins = |words: &[&str]| words.iter().any(|word| base.starts_with(word));
    if base.ends_with(".h") || text.contains("#define CUDNN_MAJOR") {
        return Kind::Header;
    }
    if base.ends_with(".csv") {
        return Kind::Table;
    }
    let table = [
        (
            says(&["nvidia-smi", "nvidia_smi", "smi."]) || begins(&["smi"]),
            Kind::Smi,
        ),
        (says(&["nvcc"]), Kind::Nvcc),
        (says(&["requirement", "constraints"]), Kind::Requirements),
        (
            says(&["conda-list", "conda_list", "conda."]) || begins(&["conda"]),
            Kind::Conda,
        ),
        (
            says(&["freeze", "pip-list", "pip_list"]) || begins(&["pip."]),
            Kind::Pip,
        ),
        (says(&["ldconfig"]) && text.contains(" => "), Kind::Ldconfig),
        (
            says(&[
                "ld-debug", "ld_debug", "maps", "ldd", "loaded", "modules", "lsof",
            ]),
            Kind::Loaded,
        ),
        (begins(&["df.", "df-", "disk"]), Kind::Disks),
        (
            begins(&["env.", "env-", "environment", "printenv", "set."]),
            Kind::Env,
        ),
        (begins(&["where.", "where-", "which."]), Kind::Where),
        (
            begins(&["path", "ld-library-path", "ld_library_path"]),
            Kind::Path,
        ),
        (
            says(&["listing", "present-files", "files."])
                || begins(&["ls.", "ls-", "dir.", "dir-", "tree", "find."]),
            Kind::Listing,
        ),
        (
            begins(&["python.", "python-version", "architecture"]),
            Kind::Python,
        ),
        (
            begins(&[
                "torch.",
                "pytorch.",
                "tensorflow.",
                "tf.",
                "jax.",
                "onnxruntime.",
            ]),
            Kind::Framework,
        ),
        (
            begins(&[
                "uname",
                "systeminfo",
                "os-release",
                "proc-version",
                "ver.",
                "system.",
            ]),
            Kind::Uname,
        ),
        (
            says(&["error", "log", "stderr", "traceback", "output", "message"]),
            Kind::Log,
        ),
    ];
    if let Some((_, kind)) = table.into_iter().find(|(holds, _)| *holds) {
        return kind;
    }
    by_content(text)
}

fn by_content(text: &str) -> Kind {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let most = |test: &dyn Fn(&str) -> bool| {
        !lines.is_empty() && lines.iter().filter(|line| test(line)).count() * 2 > lines.len()
    };
    if text.contains("NVIDIA-SMI") {
        Kind::Smi
    } else if text.contains("Cuda compilation tools") {
        Kind::Nvcc
    } else if text.contains("calling init: ") {
        Kind::Loaded
    } else if most(&|line| line.contains(" => /")) {
        Kind::Ldconfig
    } else if most(&|line| line.contains("==") && !line.contains(' ')) {
        Kind::Pip
    } else if text.contains("# packages in environment at") {
        Kind::Conda
    } else if most(&|line| {
        line.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    }) {
        Kind::Env
    } else if most(&|line| {
        let lower = line.trim().to_ascii_lowercase();
        !lower.contains(": ") && (lower.ends_with(".dll") || lower.contains(".so"))
    }) {
        Kind::Listing
    } else if lines.len() == 1 && (lines[0].matches(";C:\\").count() > 1) {
        Kind::Path
    } else {
        Kind::Log
    }
}

/// Whose environment a file shows, by words in its name.
fn view_of(lower: &str) -> View {
    let base = library::base_name(lower);
    let says = |words: &[&str]| {
        base.split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| words.contains(&word))
    };
    if says(&[
        "process", "ide", "pycharm", "vscode", "code", "jupyter", "kernel", "notebook", "child",
        "service", "spyder", "running", "idea", "clion", "daemon", "cron", "sudo",
    ]) {
        View::Process
    } else if says(&[
        "registry", "terminal", "cmd", "shell", "console", "machine", "stored", "new",
    ]) {
        View::Stored
    } else if says(&["before", "old", "backup"]) {
        View::Before
    } else if says(&["after"]) {
        View::After
    } else {
        View::Plain
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

fn capability_of(text: &str) -> Fact<u32> {
    let digits = text.trim().trim_start_matches("sm_");
    let value = match digits.split_once('.') {
        Some((major, minor)) => match (major.parse::<u32>(), minor.parse::<u32>()) {
            (Ok(major), Ok(minor)) if major < 100 && minor < 10 => Some(major * 10 + minor),
            _ => None,
        },
        None => digits.parse().ok().filter(|number| *number < 1000),
    };
    value.map_or_else(Fact::not_given, Fact::Known)
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

fn reach_of(text: &str, position: usize) -> Reach {
    match text {
        "system" => Reach::System,
        "cache" => Reach::Cache,
        "private" => Reach::Private,
        _ if text.starts_with("listed-") => {
            Reach::Listed(text["listed-".len()..].parse().unwrap_or(position))
        }
        _ => match text
            .strip_prefix("element-")
            .and_then(|rest| rest.parse().ok())
        {
            Some(element) => Reach::Element(element),
            None => Reach::Listed(position),
        },
    }
}

/// The parts of an archive's name, whatever generation of NVIDIA's naming it follows.
pub fn archive_of(name: &str) -> Option<Archive> {
    let lower = name.to_ascii_lowercase();
    let stem = [
        ".zip", ".tgz", ".tar.gz", ".tar.xz", ".tar.bz2", ".whl", ".conda", ".exe", ".deb",
    ]
    .iter()
    .find_map(|end| lower.strip_suffix(end))?;
    if !stem.contains("cudnn") {
        return None;
    }
    let words: Vec<&str> = stem.split(['-', '_']).collect();
    let system = if stem.contains("windows") || stem.contains("win_amd64") {
        Some(System::Windows)
    } else if stem.contains("linux") {
        Some(System::Linux)
    } else {
        None
    };
    let arch = if stem.contains("sbsa") {
        Some("sbsa")
    } else if stem.contains("ppc64le") {
        Some("ppc64le")
    } else if stem.contains("aarch64") {
        Some("aarch64")
    } else if stem.contains("arm64") {
        Some("arm64")
    } else if stem.contains("x64") || stem.contains("x86_64") || stem.contains("amd64") {
        Some("x86_64")
    } else {
        None
    };
    let is_number =
        |word: &str| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok());
    let cudnn = words
        .iter()
        .find_map(|word| {
            let word = word.strip_prefix('v')?;
            word.split('.')
                .all(|part| part.parse::<u32>().is_ok())
                .then_some(word)
        })
        .or_else(|| {
            // The new form has the version as a bare word of four parts; the old form's first bare number is CUDA.
            words
                .iter()
                .copied()
                .find(|word| is_number(word) && word.matches('.').count() >= 2)
        });
    let cuda = words
        .iter()
        .find_map(|word| {
            let digits = word
                .strip_prefix("cuda")
                .or_else(|| word.strip_prefix("cu"))?;
            digits
                .split('.')
                .all(|part| part.parse::<u32>().is_ok())
                .then_some(digits)
        })
        .or_else(|| {
            words.iter().copied().find(|word| {
                is_number(word) && Some(*word) != cudnn && word.matches('.').count() == 1
            })
        });
    Some(Archive {
        name: name.to_owned(),
        system,
        arch: arch.map(str::to_owned),
        cudnn: cudnn.map(str::to_owned),
        cuda: cuda.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_names_of_every_generation_are_taken_apart() {
        let cases = [
            (
                "cudnn-9.0-windows10-x64-v7.1.zip",
                (Some(System::Windows), "x86_64", "7.1", "9.0"),
            ),
            (
                "cudnn-11.3-windows-x64-v8.2.1.32.zip",
                (Some(System::Windows), "x86_64", "8.2.1.32", "11.3"),
            ),
            (
                "cudnn-10.2-linux-aarch64sbsa-v8.1.1.33.tgz",
                (Some(System::Linux), "sbsa", "8.1.1.33", "10.2"),
            ),
            (
                "cudnn-linux-ppc64le-8.9.0.131_cuda12-archive.tar.xz",
                (Some(System::Linux), "ppc64le", "8.9.0.131", "12"),
            ),
            (
                "cudnn-windows-x86_64-8.4.0.27_cuda11.6-archive.zip",
                (Some(System::Windows), "x86_64", "8.4.0.27", "11.6"),
            ),
            (
                "nvidia_cudnn_cu12-9.1.0.70-py3-none-manylinux2014_x86_64.whl",
                (Some(System::Linux), "x86_64", "9.1.0.70", "12"),
            ),
        ];
        for (name, (system, arch, cudnn, cuda)) in cases {
            let got = archive_of(name).unwrap();
            assert_eq!(got.system, system, "{name}");
            assert_eq!(got.arch.as_deref(), Some(arch), "{name}");
            assert_eq!(got.cudnn.as_deref(), Some(cudnn), "{name}");
            assert_eq!(got.cuda.as_deref(), Some(cuda), "{name}");
        }
        assert_eq!(archive_of("photos.zip"), None);
    }

    #[test]
    fn a_file_is_taken_for_what_it_is() {
        let cases = [
            ("nvidia-smi.txt", "| NVIDIA-SMI 1", Kind::Smi),
            ("out1.txt", "| NVIDIA-SMI 1", Kind::Smi),
            ("a.txt", "torch==2.0\nx==1\n", Kind::Pip),
            ("b.txt", "A=1\nB=2\n", Kind::Env),
            ("c.txt", "cudnn64_8.dll\n", Kind::Listing),
            (
                "d.txt",
                "Traceback (most recent call last):\nImportError: libcudnn.so.8: x\n",
                Kind::Log,
            ),
            ("path-user.txt", "", Kind::Path),
            ("where.cp866.bin", "", Kind::Where),
        ];
        for (name, text, kind) in cases {
            assert_eq!(kind_of(name, text), kind, "{name}");
        }
    }
}
