//! What is known about a machine: read from it live, or from outputs that somebody saved or pasted.
//!
//! Each fact is known or says why not; "could not be read" is never "is not there".

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::knowledge::Need;
use super::library::LibraryName;
use super::read::listing::Entry;
use super::signs::Sign;
use crate::companion::Dotted;
use crate::manifest;
use crate::version::{CudaVersion, CudnnVersion};

/// A value, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fact<T> {
    /// So it is.
    Known(T),
    /// Nobody knows, for this reason.
    Unknown(String),
}

impl<T> Fact<T> {
    /// Not among what was given.
    pub fn not_given() -> Self {
        Self::Unknown("not given".to_owned())
    }

    /// The value, if known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown(_) => None,
        }
    }
}

impl<T> Fact<Vec<T>> {
    /// The values; none when unknown.
    pub fn all(&self) -> &[T] {
        self.known().map_or(&[], Vec::as_slice)
    }

    /// Adds one, which makes the fact known.
    pub fn push(&mut self, value: T) {
        match self {
            Self::Known(values) => values.push(value),
            Self::Unknown(_) => *self = Self::Known(vec![value]),
        }
    }
}

/// An operating system, as far as libraries differ by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum System {
    /// DLLs and `PATH`.
    Windows,
    /// Shared objects and `LD_LIBRARY_PATH`.
    Linux,
}

/// What a library or program was built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Machine {
    /// 64-bit Intel and AMD.
    X64,
    /// 32-bit Intel and AMD.
    X86,
    /// 64-bit ARM.
    Arm64,
    /// POWER.
    Ppc64le,
    /// Something else.
    Other,
}

impl Machine {
    /// How a person calls it.
    pub fn words(self) -> &'static str {
        match self {
            Self::X64 => "64-bit x86-64",
            Self::X86 => "32-bit x86",
            Self::Arm64 => "64-bit ARM (aarch64)",
            Self::Ppc64le => "POWER (ppc64le)",
            Self::Other => "another processor",
        }
    }

    /// Whether it is a 32-bit one.
    pub fn is_32_bit(self) -> bool {
        self == Self::X86
    }
}

/// Everything that is known.
#[derive(Debug, Clone, Serialize)]
pub struct Facts {
    /// In short.
    pub summary: Summary,
    /// Windows or Linux.
    pub system: Fact<System>,
    /// The processor of this machine.
    pub machine: Fact<Machine>,
    /// Inside the Windows Subsystem for Linux.
    pub wsl: Fact<bool>,
    /// Inside a container.
    pub container: Fact<bool>,
    /// The NVIDIA driver, each time it was asked.
    pub driver: Fact<Vec<Driver>>,
    /// The GPUs.
    pub gpus: Fact<Vec<Gpu>>,
    /// CUDA toolkits, the one in force first.
    pub toolkits: Fact<Vec<Toolkit>>,
    /// What `nvcc --version` says.
    pub nvcc: Fact<Dotted>,
    /// Variables that matter to loading.
    pub variables: Fact<Vec<Variable>>,
    /// `PATH` or `LD_LIBRARY_PATH`, one for each place where it was read.
    pub searches: Fact<Vec<SearchList>>,
    /// cuDNN libraries and what they need, in the order in which the loader would come upon them.
    pub libraries: Fact<Vec<Library>>,
    /// For each library name that has more than one copy or a known version: the copy that wins, with its version.
    pub winners: Vec<String>,
    /// Other files and folders that are known to exist.
    pub files: Vec<String>,
    /// Listings row by row, for sizes, links and rights.
    #[serde(skip)]
    pub entries: Vec<Entry>,
    /// cuDNN headers.
    pub headers: Vec<Header>,
    /// Installed (or required) packages of pip and conda.
    pub packages: Fact<Vec<Package>>,
    /// What the packages need, by name and version.
    pub needs: Vec<PackageNeed>,
    /// cuDNN files that a process has really mapped.
    pub loaded: Vec<String>,
    /// Names that a process looked for and what it got: `needed by` → file.
    pub binaries: Vec<Binary>,
    /// Archives.
    pub archives: Vec<Archive>,
    /// Checksums that were wanted and got.
    pub digests: Vec<DigestPair>,
    /// GPU and cuDNN pairs that somebody asks about.
    pub pairs: Vec<GpuPair>,
    /// Disks.
    pub disks: Fact<Vec<Disk>>,
    /// The cuDNN that cudnnm selects here.
    pub active: Fact<CudnnVersion>,
    /// What is selected here, and whether it is there.
    pub selection: Fact<Selection>,
    /// The cuDNN that a framework reports as its own, with the framework's name.
    pub reported: Vec<Reported>,
    /// Numbers as `cudnnGetVersion` returns them, decoded.
    pub numbers: Vec<Number>,
    /// Python interpreters.
    pub pythons: Fact<Vec<Python>>,
    /// Error messages and warnings that were recognised.
    pub signs: Vec<Sign>,
    /// What these facts were read from.
    pub inputs: Vec<Input>,
    /// The outputs were written by `doctor --save` and not chosen by a person.
    #[serde(skip)]
    pub saved_by_doctor: bool,
    /// What fits what.
    #[serde(skip)]
    pub fits: Arc<manifest::Facts>,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            summary: Summary::default(),
            saved_by_doctor: false,
            system: Fact::not_given(),
            machine: Fact::not_given(),
            wsl: Fact::not_given(),
            container: Fact::not_given(),
            driver: Fact::not_given(),
            gpus: Fact::not_given(),
            toolkits: Fact::not_given(),
            nvcc: Fact::not_given(),
            variables: Fact::not_given(),
            searches: Fact::not_given(),
            libraries: Fact::not_given(),
            winners: Vec::new(),
            files: Vec::new(),
            entries: Vec::new(),
            headers: Vec::new(),
            packages: Fact::not_given(),
            needs: Vec::new(),
            loaded: Vec::new(),
            binaries: Vec::new(),
            archives: Vec::new(),
            digests: Vec::new(),
            pairs: Vec::new(),
            disks: Fact::not_given(),
            active: Fact::not_given(),
            selection: Fact::not_given(),
            reported: Vec::new(),
            numbers: Vec::new(),
            pythons: Fact::not_given(),
            signs: Vec::new(),
            inputs: Vec::new(),
            fits: Arc::default(),
        }
    }
}

/// One reading of the driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Driver {
    /// Who said it: a file name, `NVML`, `nvidia-smi`.
    pub from: String,
    /// What came of asking.
    pub state: DriverState,
    /// Its version, `570.133.20`.
    pub version: Option<manifest::Driver>,
    /// The newest CUDA it runs.
    pub cuda: Option<CudaVersion>,
}

/// What came of asking for the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriverState {
    /// It answered.
    Ok,
    /// It answered, but CUDA is "N/A": `libcuda` is not there.
    NoLibcuda,
    /// There is a GPU of NVIDIA's, and no driver for it.
    NoDriver,
    /// It is installed but not running.
    DriverNotRunning,
    /// The user-space library and the kernel module are of different versions.
    VersionMismatch,
    /// It answers, and there is no GPU.
    NoDevices,
    /// A container that lost its access to the GPU.
    ContainerLostDevice,
    /// There is no `nvidia-smi`; this says nothing about a driver.
    NoTool,
    /// The answer is of an unknown form; this says nothing about a driver.
    Unreadable,
}

/// A GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gpu {
    /// As the driver calls it, possibly cut short.
    pub name: String,
    /// Compute capability, times ten: 86 for 8.6.
    pub capability: Fact<u32>,
}

impl Gpu {
    /// `8.6`.
    pub fn capability_text(&self) -> Option<String> {
        self.capability
            .known()
            .map(|capability| capability_text(*capability))
    }
}

/// `8.6` for 86.
pub fn capability_text(capability: u32) -> String {
    format!("{}.{}", capability / 10, capability % 10)
}

/// A CUDA toolkit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Toolkit {
    /// Its version.
    pub version: CudaVersion,
    /// Where it is, or which package it is.
    pub at: String,
}

/// An environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// From which input.
    pub from: String,
}

/// Which variable a search list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum SearchKind {
    /// Windows' `PATH`.
    #[serde(rename = "PATH")]
    Path,
    /// Linux' `LD_LIBRARY_PATH`.
    #[serde(rename = "LD_LIBRARY_PATH")]
    LdLibraryPath,
}

impl SearchKind {
    /// The variable's name.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Path => "PATH",
            Self::LdLibraryPath => "LD_LIBRARY_PATH",
        }
    }
}

/// Whose environment a search list was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// Nobody said.
    Plain,
    /// What the system holds for new processes (registry, a new terminal).
    Stored,
    /// What one running process has.
    Process,
    /// Before some change.
    Before,
    /// After it.
    After,
}

/// A search list as the loader splits it: at every separator, quotes being ordinary characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SearchList {
    /// Which variable.
    pub kind: SearchKind,
    /// Whose.
    pub view: View,
    /// From which input.
    pub from: String,
    /// The elements, empty ones too.
    pub elements: Vec<String>,
    /// Length of the whole text in characters.
    pub length: usize,
    /// How many elements are empty. On Linux each means "the current folder".
    pub empty: usize,
    /// How many elements stand there again.
    pub duplicates: usize,
}

/// A library file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Library {
    /// Its path as given; a bare name when no folder was given.
    pub path: String,
    /// Its version: from the file itself where that was read, never from its name.
    pub version: Fact<CudnnVersion>,
    /// What it was built for.
    pub machine: Fact<Machine>,
    /// In bytes.
    pub size: Option<u64>,
    /// Whose it is: `conda`, `pip`, `CUDA toolkit`, `MATLAB`.
    pub owner: String,
    /// How the loader comes to it.
    pub reach: Reach,
    /// Whether a DLL imports zlibwapi.dll, where that was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imports_zlib: Option<bool>,
    /// Its name taken apart.
    #[serde(skip)]
    pub name: LibraryName,
}

/// How a loader would come to a library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// Windows' own folder, searched before `PATH`.
    System,
    /// An element of the search list, counted from 1.
    Element(usize),
    /// The loader's cache or its default folders.
    Cache,
    /// Its place in a list that is in search order already (`where`, a table).
    Listed(usize),
    /// Only programs that know its folder find it.
    Private,
}

/// A cuDNN header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Header {
    /// The file.
    pub path: String,
    /// What its macros say; unknown for a cudnn.h from 8 on, which only includes cudnn_version.h.
    pub version: Fact<CudnnVersion>,
}

/// An installed or required package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Package {
    /// Its name, lower case, `_` as `-`.
    pub name: String,
    /// Its version without a local part.
    pub version: String,
    /// The local part: `cu118`, `cpu`.
    pub local: Option<String>,
    /// `pip`, `conda`, `requirement`.
    pub by: PackageSource,
    /// What it needs, once looked up.
    #[serde(skip)]
    pub need: Option<Need>,
}

/// Where a package was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PackageSource {
    /// Installed by pip.
    Pip,
    /// Installed by conda.
    Conda,
    /// Asked for in a requirements file.
    Requirement,
}

/// The cuDNN that a package needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PackageNeed {
    /// Name and version.
    pub package: String,
    /// The major it loads.
    pub cudnn: String,
    /// What it was built with, where known.
    pub built_with: Option<CudnnVersion>,
    /// Whether it brings that cuDNN along.
    pub carries_own: bool,
}

/// A binary file that was looked into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Binary {
    /// The file.
    pub path: String,
    /// What it turned out to be.
    pub content: Content,
    /// In bytes.
    pub size: u64,
}

/// What a file's bytes are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// A Windows program or DLL.
    Pe(Machine),
    /// A Linux program or shared object.
    Elf(Machine),
    /// It begins as one but ends too early.
    CutShort(Machine),
    /// Nothing.
    Empty,
    /// A short text that names a file beside it: a symbolic link that became a file.
    FlattenedLink(String),
    /// A Git LFS pointer.
    LfsPointer,
    /// A web page.
    WebPage,
    /// A zip archive, complete to its directory.
    Zip,
    /// A zip archive without its end.
    ZipCutShort,
    /// gzip, xz, bzip2, 7z, rar, zstd.
    Compressed(&'static str),
    /// Something else.
    Other,
}

/// An archive by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Archive {
    /// The file's name.
    pub name: String,
    /// `windows` or `linux`.
    pub system: Option<System>,
    /// `x86_64`, `sbsa`, `aarch64`, `ppc64le`, `arm64`.
    pub arch: Option<String>,
    /// `8.2.4.15`
    pub cudnn: Option<String>,
    /// `11.4`
    pub cuda: Option<String>,
}

/// A wanted and a got checksum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DigestPair {
    /// Of what.
    pub file: String,
    /// Wanted.
    pub expected: String,
    /// Got.
    pub got: String,
}

/// A GPU and a cuDNN together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GpuPair {
    /// The GPU.
    pub gpu: Gpu,
    /// The cuDNN.
    pub cudnn: CudnnVersion,
}

/// A file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Disk {
    /// Where it is mounted, or its drive.
    pub at: String,
    /// Free bytes.
    pub available: u64,
    /// All bytes, where known.
    pub size: Option<u64>,
}

/// What a framework says its cuDNN is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reported {
    /// Which framework.
    pub framework: String,
    /// Its cuDNN.
    pub version: CudnnVersion,
}

/// What cudnnm selects in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Selection {
    /// The spec.
    pub spec: String,
    /// Who says so.
    pub because: String,
    /// Whether a build that it means is installed.
    pub installed: bool,
}

/// The facts that a person asks for first, in words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Driver versions, as told.
    pub driver: String,
    /// The newest CUDA of the driver.
    pub cuda: String,
    /// GPUs.
    pub gpus: Vec<String>,
    /// Every main library in search order, with its version and owner.
    pub cudnn: Vec<String>,
}

/// A number of `cudnnGetVersion` and what it means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Number {
    /// The number.
    pub number: u64,
    /// The version.
    pub version: CudnnVersion,
}

/// A Python interpreter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Python {
    /// Its executable.
    pub path: String,
    /// Its version.
    pub version: Fact<String>,
    /// What it was built for.
    pub machine: Fact<Machine>,
    /// The conda environment or venv it belongs to, if active.
    pub active: bool,
}

/// One thing the facts were read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Input {
    /// The file, below the folder that was given.
    pub name: String,
    /// What it was taken for.
    pub kind: String,
    /// The encoding its text was in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

impl Facts {
    /// The value of a variable, by any input.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables
            .all()
            .iter()
            .find(|variable| variable.name == name)
            .map(|variable| variable.value.as_str())
    }

    /// Windows, as far as known.
    pub fn is_windows(&self) -> bool {
        self.system.known() == Some(&System::Windows)
    }

    /// Linux, as far as known.
    pub fn is_linux(&self) -> bool {
        self.system.known() == Some(&System::Linux)
    }

    /// The package of that name.
    pub fn package(&self, name: &str) -> Option<&Package> {
        self.packages
            .all()
            .iter()
            .find(|package| package.name == name)
    }

    /// Whether somebody here expects a GPU to work: outputs were given, or a driver answers. A machine without one is
    /// not ill for running its frameworks on the CPU.
    pub fn expects_gpu(&self) -> bool {
        let given = !self.inputs.is_empty() && !self.saved_by_doctor;
        given || self.main_driver().is_some()
    }

    /// The driver readings that answered.
    pub fn drivers(&self) -> impl Iterator<Item = &Driver> {
        self.driver
            .all()
            .iter()
            .filter(|driver| driver.version.is_some())
    }

    /// The driver that counts: the first reading that answered.
    pub fn main_driver(&self) -> Option<&Driver> {
        self.drivers().next()
    }
}

impl Serialize for super::signs::Sign {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut out = serializer.serialize_struct("Sign", 4)?;
        out.serialize_field("from", &self.from)?;
        out.serialize_field("text", &self.line)?;
        out.serialize_field("source", &self.source)?;
        out.serialize_field("captures", &self.captures)?;
        out.end()
    }
}
