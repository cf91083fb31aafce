//! cuDNN's own numbers, and what a person may type to mean one.
//!
//! Two stages, two types. [`CudnnVersion`] is what exists: three or four numbers (`8.2.1.32`, where `.32` counts
//! NVIDIA's builds). It is not semver. [`VersionSpec`] is what was typed: `8`, `8.2.1`, `latest`, `>=8.5,<9`, each with
//! optional tags (`8.2.1+cuda11.3`, `9.19+cuda13+jit`). Below `cli` and `project` no version is ever a bare string.
//!
//! [`BuildId`] names one installable thing, and is also the folder name in the store.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A published cuDNN version.
///
/// The fourth part may be unknown (headers and Linux file names carry only three); two versions of which one lacks it
/// compare by the first three, then "unknown" sorts first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CudnnVersion {
    /// First part; also the number in file names (`cudnn64_8.dll`).
    pub major: u32,
    /// Second part.
    pub minor: u32,
    /// Third part, NVIDIA's "patch level".
    pub patch: u32,
    /// Fourth part, NVIDIA's build counter.
    pub build: Option<u32>,
}

impl CudnnVersion {
    /// A version of three parts.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self {
            major,
            minor,
            patch,
            build: None,
        }
    }

    /// The same version with NVIDIA's build number.
    pub const fn with_build(self, build: u32) -> Self {
        Self {
            build: Some(build),
            ..self
        }
    }

    /// Decodes what `cudnnGetVersion` returns: `major*1000 + minor*100 + patch` before 9 and
    /// `major*10000 + minor*100 + patch` from 9 on (`CUDNN_VERSION` in `cudnn_version.h`).
    pub fn from_encoded(number: u64) -> Option<Self> {
        let number = u32::try_from(number).ok()?;
        match number {
            1000..=8999 => Some(Self::new(number / 1000, number % 1000 / 100, number % 100)),
            90_000..=999_999 => Some(Self::new(
                number / 10_000,
                number % 10_000 / 100,
                number % 100,
            )),
            _ => None,
        }
    }

    /// From the constant that sub-libraries export: 0x091300 is 9.19.0.
    pub fn from_part_constant(number: u32) -> Option<Self> {
        let [zero, major, minor, patch] = number.to_be_bytes().map(u32::from);
        (zero == 0 && (7..100).contains(&major)).then(|| Self::new(major, minor, patch))
    }

    /// What `cudnnGetVersion` of this version returns.
    pub fn encoded(self) -> u64 {
        let thousand = if self.major < 9 { 1000 } else { 10_000 };
        u64::from(self.major) * thousand + u64::from(self.minor) * 100 + u64::from(self.patch)
    }

    /// Equal in the three parts that headers and `cudnnGetVersion` know.
    pub fn same_release(self, other: Self) -> bool {
        (self.major, self.minor, self.patch) == (other.major, other.minor, other.patch)
    }

    /// The three-part form, as in NVIDIA's release labels.
    pub fn label(self) -> String {
        format!("{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl fmt::Display for CudnnVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        match self.build {
            Some(build) => write!(f, ".{build}"),
            None => Ok(()),
        }
    }
}

impl FromStr for CudnnVersion {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match *numbers(text)?.as_slice() {
            [major, minor, patch] => Ok(Self::new(major, minor, patch)),
            [major, minor, patch, build] => Ok(Self::new(major, minor, patch).with_build(build)),
            _ => Err(ParseError::new(
                text,
                "a cuDNN version has three or four numbers, like 8.2.1.32",
            )),
        }
    }
}

impl From<CudnnVersion> for String {
    fn from(version: CudnnVersion) -> Self {
        version.to_string()
    }
}

impl TryFrom<String> for CudnnVersion {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

/// A CUDA toolkit version, or the CUDA a build was made for: `11.3`, or only the major, `12`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CudaVersion {
    /// First part.
    pub major: u32,
    /// Second part; `None` in a variant means "any of this major" (from cuDNN 8.5 on).
    pub minor: Option<u32>,
}

impl CudaVersion {
    /// `major.minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self {
            major,
            minor: Some(minor),
        }
    }

    /// A whole major, as in the variants `cuda11`, `cuda12`, `cuda13`.
    pub const fn major(major: u32) -> Self {
        Self { major, minor: None }
    }

    /// Whether a wish for `self` is met by `other`: equal, or one of the two names only the major.
    pub fn agrees_with(self, other: Self) -> bool {
        self.major == other.major
            && (self.minor.is_none() || other.minor.is_none() || self.minor == other.minor)
    }

    /// The form used in folder names, tags and messages: `cuda11.3`.
    pub fn tag(self) -> String {
        format!("cuda{self}")
    }
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.minor {
            Some(minor) => write!(f, "{}.{minor}", self.major),
            None => write!(f, "{}", self.major),
        }
    }
}

impl FromStr for CudaVersion {
    type Err = ParseError;

    /// Accepts `11.3`, `12`, `cuda11.3`; further parts (`12.6.77`) are read and dropped.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let bare = text.strip_prefix("cuda").unwrap_or(text);
        match *numbers(bare)
            .map_err(|_| ParseError::new(text, "a CUDA version looks like 11.3 or 12"))?
            .as_slice()
        {
            [major] => Ok(Self::major(major)),
            [major, minor, ..] => Ok(Self::new(major, minor)),
            [] => unreachable!("`numbers` returns at least one number"),
        }
    }
}

impl From<CudaVersion> for String {
    fn from(version: CudaVersion) -> Self {
        version.to_string()
    }
}

impl TryFrom<String> for CudaVersion {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

/// How much of cuDNN a build holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// Everything.
    Full,
    /// Only the graph API and the engines compiled at run time: tens of megabytes instead of hundreds (from 9.12 on).
    Jit,
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full",
            Self::Jit => "jit",
        })
    }
}

/// Operating system and processor, by the names of NVIDIA's redistributable tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Platform {
    /// 64-bit Windows on Intel and AMD.
    #[serde(rename = "windows-x86_64")]
    WindowsX64,
    /// Windows on ARM (cuDNN 9.26 and up).
    #[serde(rename = "windows-arm64")]
    WindowsArm64,
    /// Linux on Intel and AMD.
    #[serde(rename = "linux-x86_64")]
    LinuxX64,
    /// Linux on 64-bit ARM servers.
    #[serde(rename = "linux-sbsa")]
    LinuxSbsa,
    /// Linux on Jetson boards.
    #[serde(rename = "linux-aarch64")]
    LinuxJetson,
    /// Linux on POWER (to cuDNN 9.0).
    #[serde(rename = "linux-ppc64le")]
    LinuxPpc64le,
    /// macOS (to cuDNN 7.6, the last with CUDA for it).
    #[serde(rename = "osx-x86_64")]
    MacX64,
}

impl Platform {
    /// All of them, in the order in which lists show them.
    pub const ALL: [Self; 7] = [
        Self::WindowsX64,
        Self::WindowsArm64,
        Self::LinuxX64,
        Self::LinuxSbsa,
        Self::LinuxJetson,
        Self::LinuxPpc64le,
        Self::MacX64,
    ];

    /// The platform this program was built for.
    pub const fn host() -> Self {
        if cfg!(windows) {
            if cfg!(target_arch = "aarch64") {
                Self::WindowsArm64
            } else {
                Self::WindowsX64
            }
        } else if cfg!(target_os = "macos") {
            Self::MacX64
        } else if cfg!(target_arch = "aarch64") {
            Self::LinuxSbsa
        } else if cfg!(target_arch = "powerpc64") {
            Self::LinuxPpc64le
        } else {
            Self::LinuxX64
        }
    }

    /// Whether libraries are DLLs in `bin` rather than shared objects in `lib`.
    pub const fn is_windows(self) -> bool {
        matches!(self, Self::WindowsX64 | Self::WindowsArm64)
    }

    /// NVIDIA's name, e.g. `linux-x86_64`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WindowsX64 => "windows-x86_64",
            Self::WindowsArm64 => "windows-arm64",
            Self::LinuxX64 => "linux-x86_64",
            Self::LinuxSbsa => "linux-sbsa",
            Self::LinuxJetson => "linux-aarch64",
            Self::LinuxPpc64le => "linux-ppc64le",
            Self::MacX64 => "osx-x86_64",
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Platform {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::ALL
            .into_iter()
            .find(|platform| platform.name() == text)
            .ok_or_else(|| {
                let names: Vec<_> = Self::ALL.iter().map(|platform| platform.name()).collect();
                ParseError::new(text, &format!("platforms are {}", names.join(", ")))
            })
    }
}

/// One concrete thing that can be installed.
///
/// Displayed as a spec that selects exactly it (`9.19.0.56+cuda13+jit`); [`BuildId::folder`] is its name in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BuildId {
    /// cuDNN's version.
    pub version: CudnnVersion,
    /// The CUDA it was built for; `None` only for an adopted build that does not tell.
    pub variant: Option<CudaVersion>,
    /// Full or jit.
    pub flavour: Flavour,
    /// Where it runs.
    pub platform: Platform,
}

const FOLDER_PREFIX: &str = "cudnn-";

impl BuildId {
    /// The name of its folder in the store: `cudnn-8.2.1.32-cuda11.3`, `cudnn-9.19.0.56-cuda13-jit`.
    ///
    /// A build of another platform than the running one's carries that platform's name at the end, so that both can lie
    /// side by side and nothing starts a program with the wrong one.
    pub fn folder(&self) -> String {
        let mut name = format!("{FOLDER_PREFIX}{}", self.version);
        for tag in self.tags() {
            name.push('-');
            name.push_str(&tag);
        }
        name
    }

    /// Reads a folder name back; `None` if it is not one of ours.
    pub fn from_folder(name: &str) -> Option<Self> {
        let mut rest = name.strip_prefix(FOLDER_PREFIX)?;
        let mut platform = Platform::host();
        if let Some((head, other)) = Platform::ALL.into_iter().find_map(|platform| {
            Some((
                rest.strip_suffix(platform.name())?.strip_suffix('-')?,
                platform,
            ))
        }) {
            (rest, platform) = (head, other);
        }
        let mut parts = rest.split('-');
        let version = parts.next()?.parse().ok()?;
        let mut build = Self {
            version,
            variant: None,
            flavour: Flavour::Full,
            platform,
        };
        for part in parts {
            match part {
                "jit" => build.flavour = Flavour::Jit,
                _ => build.variant = Some(part.strip_prefix("cuda")?.parse().ok()?),
            }
        }
        (build.folder() == name).then_some(build)
    }

    /// The spec that means this build and no other.
    pub fn exact_spec(&self) -> VersionSpec {
        let VersionSpec { requirement, .. } = VersionSpec::exactly(self.version);
        VersionSpec {
            requirement,
            variant: self.variant,
            flavour: Some(self.flavour),
            platform: (self.platform != Platform::host()).then_some(self.platform),
        }
    }

    fn tags(&self) -> impl Iterator<Item = String> + use<> {
        let jit = (self.flavour == Flavour::Jit).then(|| Flavour::Jit.to_string());
        let platform = (self.platform != Platform::host()).then(|| self.platform.to_string());
        self.variant
            .map(CudaVersion::tag)
            .into_iter()
            .chain(jit)
            .chain(platform)
    }
}

impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.version)?;
        for tag in self.tags() {
            write!(f, "+{tag}")?;
        }
        Ok(())
    }
}

/// What a person asks for: a set of versions, optionally narrowed by tags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct VersionSpec {
    /// Which versions.
    pub requirement: Requirement,
    /// `+cuda11.3`, `+cuda12`.
    pub variant: Option<CudaVersion>,
    /// `+jit`, `+full`.
    pub flavour: Option<Flavour>,
    /// `+windows-x86_64`; absent means the running platform.
    pub platform: Option<Platform>,
}

/// The version part of a spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// `latest`: the newest there is.
    Latest,
    /// `8`, `8.2`, `8.2.1`, `8.2.1.32`: all versions that begin with these numbers.
    Prefix(Vec<u32>),
    /// `>=8.5,<9`: all bounds hold.
    Range(Vec<Bound>),
}

/// One comparison of a range. Missing parts count as 0, so `<9` excludes 9.0.0 and `>=8.5` includes 8.5.0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// `<`, `<=`, `>`, `>=`.
    pub comparison: Comparison,
    /// One to four numbers.
    pub numbers: Vec<u32>,
}

/// How a [`Bound`] compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl VersionSpec {
    /// Any version at all.
    pub const fn latest() -> Self {
        Self {
            requirement: Requirement::Latest,
            variant: None,
            flavour: None,
            platform: None,
        }
    }

    /// A spec that means one version.
    pub fn exactly(version: CudnnVersion) -> Self {
        let mut numbers = vec![version.major, version.minor, version.patch];
        numbers.extend(version.build);
        Self {
            requirement: Requirement::Prefix(numbers),
            ..Self::latest()
        }
    }

    /// Whether `build` is one of those meant. Without a platform tag only the running platform's builds are.
    pub fn matches(&self, build: &BuildId) -> bool {
        self.requirement.matches(build.version)
            && self.platform.unwrap_or(Platform::host()) == build.platform
            && self.flavour.is_none_or(|flavour| flavour == build.flavour)
            && self.variant.is_none_or(|wanted| {
                build
                    .variant
                    .is_some_and(|variant| wanted.agrees_with(variant))
            })
    }
}

impl Requirement {
    /// Whether `version` is one of those meant.
    pub fn matches(&self, version: CudnnVersion) -> bool {
        let parts = [
            version.major,
            version.minor,
            version.patch,
            version.build.unwrap_or(0),
        ];
        match self {
            Self::Latest => true,
            Self::Prefix(numbers) => {
                // An adopted build may not know its fourth part: `8.2.1.32` must not claim it.
                parts.starts_with(numbers) && (numbers.len() < 4 || version.build.is_some())
            }
            Self::Range(bounds) => bounds.iter().all(|bound| bound.holds(&parts)),
        }
    }
}

impl Bound {
    fn holds(&self, parts: &[u32; 4]) -> bool {
        // `<=8.9` must include 8.9.7: beyond the parts that were typed, `<=` and `>` look no further.
        let typed = &parts[..self.numbers.len()];
        let order = typed.cmp(self.numbers.as_slice());
        match self.comparison {
            Comparison::Less => order == Ordering::Less,
            Comparison::LessOrEqual => order != Ordering::Greater,
            Comparison::Greater => order == Ordering::Greater,
            Comparison::GreaterOrEqual => order != Ordering::Less,
        }
    }
}

impl fmt::Display for VersionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.requirement)?;
        if let Some(variant) = self.variant {
            write!(f, "+{}", variant.tag())?;
        }
        if let Some(flavour) = self.flavour {
            write!(f, "+{flavour}")?;
        }
        if let Some(platform) = self.platform {
            write!(f, "+{platform}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Prefix(numbers) => f.write_str(&dotted(numbers)),
            Self::Range(bounds) => {
                for (position, bound) in bounds.iter().enumerate() {
                    let comma = if position == 0 { "" } else { "," };
                    let sign = match bound.comparison {
                        Comparison::Less => "<",
                        Comparison::LessOrEqual => "<=",
                        Comparison::Greater => ">",
                        Comparison::GreaterOrEqual => ">=",
                    };
                    write!(f, "{comma}{sign}{}", dotted(&bound.numbers))?;
                }
                Ok(())
            }
        }
    }
}

impl FromStr for VersionSpec {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut parts = text.trim().split('+').map(str::trim);
        let head = parts.next().unwrap_or_default();
        let mut spec = Self {
            requirement: requirement(head, text)?,
            ..Self::latest()
        };
        for tag in parts {
            if let Some(cuda) = tag.strip_prefix("cuda").or_else(|| tag.strip_prefix("cu")) {
                let variant = cuda.parse().map_err(|_| {
                    ParseError::new(text, &format!("`+{tag}` is no CUDA tag like +cuda12"))
                })?;
                set_once(&mut spec.variant, variant, text, "a CUDA tag")?;
            } else if let Ok(platform) = tag.parse() {
                set_once(&mut spec.platform, platform, text, "a platform")?;
            } else {
                let flavour = match tag {
                    "jit" => Flavour::Jit,
                    "full" => Flavour::Full,
                    _ => {
                        return Err(ParseError::new(
                            text,
                            &format!(
                                "`+{tag}` is no tag; tags are +cuda11.3, +cuda12, +jit, +full and a platform"
                            ),
                        ));
                    }
                };
                set_once(&mut spec.flavour, flavour, text, "a flavour")?;
            }
        }
        Ok(spec)
    }
}

impl From<VersionSpec> for String {
    fn from(spec: VersionSpec) -> Self {
        spec.to_string()
    }
}

impl TryFrom<String> for VersionSpec {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

/// Text that is not the version, spec or tag it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not valid: {reason}")]
pub struct ParseError {
    text: String,
    reason: String,
}

impl ParseError {
    fn new(text: &str, reason: &str) -> Self {
        // Control characters of a broken file must not reach a terminal.
        let text: String = text.chars().take(80).flat_map(char::escape_debug).collect();
        Self {
            text,
            reason: reason.to_owned(),
        }
    }

    /// Why it is not valid, without the text itself.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

const SHAPES: &str = "write a version like 8.2.1, a range like >=8.5,<9, or latest, with tags like +cuda11.3 if needed";

fn requirement(head: &str, whole: &str) -> Result<Requirement, ParseError> {
    let malformed = || ParseError::new(whole, SHAPES);
    if head.eq_ignore_ascii_case("latest") {
        return Ok(Requirement::Latest);
    }
    if !head.starts_with(['<', '>', '=']) {
        // `v8.2.1` is how archives and release notes write it.
        let bare = head.strip_prefix(['v', 'V']).unwrap_or(head);
        return Ok(Requirement::Prefix(numbers(bare).map_err(|_| malformed())?));
    }
    let mut bounds = Vec::new();
    for part in head.split(',').map(str::trim) {
        let (comparison, rest) = if let Some(rest) = part.strip_prefix(">=") {
            (Comparison::GreaterOrEqual, rest)
        } else if let Some(rest) = part.strip_prefix("<=") {
            (Comparison::LessOrEqual, rest)
        } else if let Some(rest) = part.strip_prefix('>') {
            (Comparison::Greater, rest)
        } else if let Some(rest) = part.strip_prefix('<') {
            (Comparison::Less, rest)
        } else if let Some(rest) = part.strip_prefix("==").or_else(|| part.strip_prefix('=')) {
            let numbers = numbers(rest.trim()).map_err(|_| malformed())?;
            if head.contains(',') {
                return Err(malformed());
            }
            return Ok(Requirement::Prefix(numbers));
        } else {
            return Err(malformed());
        };
        bounds.push(Bound {
            comparison,
            numbers: numbers(rest.trim()).map_err(|_| malformed())?,
        });
    }
    Ok(Requirement::Range(bounds))
}

fn set_once<T>(slot: &mut Option<T>, value: T, text: &str, what: &str) -> Result<(), ParseError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(ParseError::new(text, &format!("{what} is given twice"))),
    }
}

/// One to four dotted numbers, at most nine digits each.
fn numbers(text: &str) -> Result<Vec<u32>, ParseError> {
    let parts: Option<Vec<u32>> = text
        .split('.')
        .map(|part| {
            let plausible =
                (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
            plausible.then(|| part.parse().ok()).flatten()
        })
        .collect();
    match parts {
        Some(parts) if parts.len() <= 4 => Ok(parts),
        _ => Err(ParseError::new(text, SHAPES)),
    }
}

fn dotted(numbers: &[u32]) -> String {
    numbers
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(folder: &str) -> BuildId {
        BuildId::from_folder(folder).expect("a folder name of ours")
    }

    #[test]
    fn encoded_numbers_follow_the_scheme_of_their_major() {
        for (text, number) in [
            ("7.6.5", 7605),
            ("8.2.1", 8201),
            ("8.9.7", 8907),
            ("9.10.2", 91002),
            ("9.19.0", 91900),
        ] {
            let version: CudnnVersion = text.parse().unwrap();
            assert_eq!(version.encoded(), number);
            assert_eq!(CudnnVersion::from_encoded(number), Some(version));
        }
        assert_eq!(CudnnVersion::from_encoded(0), None);
        assert_eq!(CudnnVersion::from_encoded(u64::MAX), None);
    }

    #[test]
    fn versions_order_by_number_not_by_text() {
        let mut versions: Vec<CudnnVersion> = ["9.9.0.52", "9.10.2.21", "8.9.7.29", "9.10.2"]
            .map(|text| text.parse().unwrap())
            .to_vec();
        versions.sort();
        assert_eq!(dotted_all(&versions), "8.9.7.29 9.9.0.52 9.10.2 9.10.2.21");
    }

    fn dotted_all(versions: &[CudnnVersion]) -> String {
        versions
            .iter()
            .map(CudnnVersion::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn specs_read_and_print_alike() {
        for text in [
            "8",
            "8.2",
            "8.2.1",
            "8.2.1.32",
            "latest",
            ">=8.5,<9",
            "8.2.1+cuda11.3",
            "9.19+cuda13+jit",
            "9+windows-x86_64",
        ] {
            assert_eq!(text.parse::<VersionSpec>().unwrap().to_string(), text);
        }
        for (typed, meant) in [
            (" v8.2.1 ", "8.2.1"),
            ("==8.2.1", "8.2.1"),
            ("LATEST", "latest"),
            ("9+cu12", "9+cuda12"),
        ] {
            assert_eq!(typed.parse::<VersionSpec>().unwrap().to_string(), meant);
        }
    }

    #[test]
    fn malformed_specs_are_refused() {
        for text in [
            "",
            "8.",
            ".8",
            "8.2.1.32.1",
            "8.x",
            "8.2.1+",
            "8+cudaX",
            "8+jit+jit",
            "8+cuda11+cuda12",
            "><8",
            ">=8,9",
            "=8,<9",
            "8 2",
            "8.2.1-rc1",
            "99999999999",
            "\u{1b}[31m8",
            "8+cuda",
        ] {
            assert!(
                text.parse::<VersionSpec>().is_err(),
                "{text:?} must be refused"
            );
        }
    }

    #[test]
    fn a_spec_matches_by_prefix_range_and_tags() {
        let cases = [
            ("8", "cudnn-8.9.7.29-cuda12", true),
            ("8.9", "cudnn-8.9.7.29-cuda12", true),
            ("8.90", "cudnn-8.9.7.29-cuda12", false),
            ("8.9.7.29", "cudnn-8.9.7-cuda12", false),
            ("8.9.7", "cudnn-8.9.7-cuda12", true),
            ("8.9.7+cuda12.1", "cudnn-8.9.7.29-cuda12", true),
            ("8.2.1+cuda11", "cudnn-8.2.1.32-cuda11.3", true),
            ("8.2.1+cuda10.2", "cudnn-8.2.1.32-cuda11.3", false),
            ("8.2.1+cuda11", "cudnn-8.2.1.32", false),
            (">=8.5,<9", "cudnn-8.9.7.29-cuda12", true),
            (">=8.5,<9", "cudnn-9.0.0.312-cuda12", false),
            ("<=8.9", "cudnn-8.9.7.29-cuda12", true),
            (">8.9", "cudnn-8.9.7.29-cuda12", false),
            ("9+jit", "cudnn-9.19.0.56-cuda13-jit", true),
            ("9+full", "cudnn-9.19.0.56-cuda13-jit", false),
            ("latest", "cudnn-9.19.0.56-cuda13-jit", true),
        ];
        for (spec, folder, expected) in cases {
            assert_eq!(
                spec.parse::<VersionSpec>().unwrap().matches(&build(folder)),
                expected,
                "{spec} against {folder}"
            );
        }
    }

    #[test]
    fn folder_names_read_back() {
        for name in [
            "cudnn-8.2.1.32-cuda11.3",
            "cudnn-9.19.0.56-cuda13-jit",
            "cudnn-8.2.1",
            "cudnn-9.26.0.51-cuda13-windows-arm64",
        ] {
            assert_eq!(build(name).folder(), name);
        }
        for name in [
            "cudnn",
            "cudnn-8",
            "cudnn-8.2.1.32-cudax",
            "cudnn-8.2.1-old",
            "Cudnn-8.2.1",
            "cublas-12.1.3.1-cuda12",
            "cudnn-08.2.1",
        ] {
            assert_eq!(BuildId::from_folder(name), None, "{name}");
        }
    }

    #[test]
    fn an_exact_spec_selects_its_own_build_only() {
        let (full, jit) = (
            build("cudnn-9.19.0.56-cuda13"),
            build("cudnn-9.19.0.56-cuda13-jit"),
        );
        assert!(jit.exact_spec().matches(&jit));
        assert!(!jit.exact_spec().matches(&full));
        assert!(!full.exact_spec().matches(&jit));
    }
}
