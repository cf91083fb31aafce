//! What a set of files is, found from what is in them.
//!
//! [`Evidence`] is gathered from the disk; [`conclude`] is pure. The libraries decide: they are what a program loads. Headers
//! must agree with them. Names ([`Claims`]) fill in what no library says and are reported where they contradict.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use super::claims::Claims;
use super::{Error, Identity};
use crate::binary::{self, Binary, Format, Machine};
use crate::companion::CompanionKind;
use crate::error::IoError;
use crate::version::{CudaVersion, CudnnVersion, Flavour, Platform};

/// Headers with the version macros, the telling one first: up to 7.6 they stood in `cudnn.h`. With a suffix they are
/// what Debian packages have.
const VERSION_HEADERS: [&str; 2] = ["cudnn_version", "cudnn"];
/// Version headers are 3 KB, cuDNN 7's `cudnn.h` is 120 KB.
const MAX_HEADER: u64 = 1 << 20;

/// One library of cuDNN's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// Its file name.
    pub name: String,
    /// For which system and processor; `None` for one that no cuDNN was made for.
    pub platform: Option<Platform>,
    /// From its version resource, else what its `cudnnGetVersion` returns.
    pub version: Option<CudnnVersion>,
    /// The CUDA runtime inside it: what its `cudnnGetCudartVersion` answers.
    pub cudart: Option<CudaVersion>,
    /// `DT_SONAME`.
    pub soname: Option<String>,
    /// Libraries that it loads or opens by name.
    pub opens: Vec<String>,
}

/// All that speaks for what a package is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Version macros.
    pub headers: Option<CudnnVersion>,
    /// Each loadable library.
    pub libraries: Vec<Library>,
    /// What the package says of itself.
    pub package: Claims,
    /// What the archive's name says.
    pub name: Claims,
}

/// What follows from the evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    pub identity: Identity,
    pub needs: Vec<String>,
    pub remarks: Vec<String>,
}

/// Why nothing follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// No library of cuDNN's.
    NoLibrary(Option<String>),
    /// Files that don't belong together.
    Mixed(String),
    /// No version anywhere.
    NoVersion,
}

impl Problem {
    pub fn into_error(self, path: &Path) -> Error {
        let path = path.to_owned();
        match self {
            Self::NoLibrary(seems) => Error::NoCudnn { path, seems },
            Self::Mixed(what) => Error::Mixed { path, what },
            Self::NoVersion => Error::UnknownVersion { path },
        }
    }
}

/// Reads one library.
///
/// # Errors
///
/// When it can't be read, or is no library although it is called one.
pub fn library(path: &Path, archive: &Path) -> Result<Library, Error> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let damaged = |source: Box<dyn std::error::Error + Send + Sync>| Error::Damaged {
        path: archive.to_owned(),
        member: Some(name.clone()),
        source,
    };
    let mut file = File::open(path).map_err(IoError::at("read", path))?;
    let Some(binary) = binary::read(&mut file).map_err(|error| damaged(Box::new(error)))? else {
        return Err(damaged("it is called a library but is none".into()));
    };
    let mut opens =
        binary::opened_names(&mut file, &binary).map_err(|error| damaged(Box::new(error)))?;
    opens.extend(binary.imports.iter().cloned());
    let mut numbers = |function| {
        binary::returned_numbers(&mut file, &binary, function)
            .map_err(|error| damaged(Box::new(error)))
    };
    let returned = numbers("cudnnGetVersion")?;
    let cudart = numbers("cudnnGetCudartVersion")?;
    let major = dll_major(&name).or_else(|| {
        so_numbers(binary.soname.as_deref().unwrap_or(&name))
            .first()
            .copied()
    });
    Ok(Library {
        version: resource_version(&binary, &name).or_else(|| returned_version(&returned, major)),
        cudart: returned_cudart(&cudart),
        platform: platform(&binary),
        soname: binary.soname,
        opens,
        name,
    })
}

/// The version macros in a folder of headers.
///
/// # Errors
///
/// When a header can't be read.
pub fn header_version(include: &Path) -> Result<Option<CudnnVersion>, IoError> {
    let mut names: Vec<String> = match fs::read_dir(include) {
        Ok(entries) => entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(IoError::at("read", include)(error)),
    };
    names.sort();
    for stem in VERSION_HEADERS {
        for name in &names {
            let lower = name.to_lowercase();
            let Some(rest) = lower
                .strip_prefix(stem)
                .and_then(|rest| rest.strip_suffix(".h"))
            else {
                continue;
            };
            let suffix = rest.is_empty()
                || rest
                    .strip_prefix("_v")
                    .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
            if !suffix {
                continue;
            }
            let path = include.join(name);
            if let Some(version) = version_of_header(&path)? {
                return Ok(Some(version));
            }
        }
    }
    Ok(None)
}

/// The version macros of one header.
///
/// # Errors
///
/// When it can't be read.
pub fn version_of_header(path: &Path) -> Result<Option<CudnnVersion>, IoError> {
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_HEADER).read_to_end(&mut text))
        .map_err(IoError::at("read", path))?;
    Ok(macros(&String::from_utf8_lossy(&text)))
}

/// `CUDNN_MAJOR`, `CUDNN_MINOR` and `CUDNN_PATCHLEVEL`, however they are spaced.
pub fn macros(text: &str) -> Option<CudnnVersion> {
    let value = |wanted: &str| {
        text.lines().find_map(|line| {
            let rest = line
                .trim_start()
                .strip_prefix('#')?
                .trim_start()
                .strip_prefix("define")?;
            let mut words = rest.split_whitespace();
            if words.next()? != wanted {
                return None;
            }
            words.next()?.trim_matches(['(', ')']).parse::<u32>().ok()
        })
    };
    let version = CudnnVersion::new(
        value("CUDNN_MAJOR")?,
        value("CUDNN_MINOR")?,
        value("CUDNN_PATCHLEVEL")?,
    );
    (1..100).contains(&version.major).then_some(version)
}

/// The numbers of a version resource, if they are cuDNN's own: some builds carry the driver's scheme (6.14.11.…).
fn resource_version(binary: &Binary, name: &str) -> Option<CudnnVersion> {
    let [major, minor, patch, build] = binary.file_version?.map(u32::from);
    (dll_major(name) == Some(major)).then(|| {
        let version = CudnnVersion::new(major, minor, patch);
        if build == 0 {
            version
        } else {
            version.with_build(build)
        }
    })
}

/// The one number among those a function returns that is a version of this major. The main library of 8 and 9 only passes
/// the question on; the part that answers (`ops_infer`, `graph`) has it in its code.
fn returned_version(numbers: &[u32], major: Option<u32>) -> Option<CudnnVersion> {
    let mut versions: Vec<CudnnVersion> = numbers
        .iter()
        .filter_map(|number| CudnnVersion::from_encoded(u64::from(*number)))
        .filter(|version| major == Some(version.major))
        .collect();
    versions.dedup();
    match *versions {
        [version] => Some(version),
        _ => None,
    }
}

/// 13010 means 13.1, as `CUDART_VERSION` counts.
fn returned_cudart(numbers: &[u32]) -> Option<CudaVersion> {
    let mut found: Vec<CudaVersion> = numbers
        .iter()
        .filter(|number| (7000..40_000).contains(*number) && *number % 10 == 0)
        .map(|number| CudaVersion::new(number / 1000, number % 1000 / 10))
        .collect();
    found.dedup();
    match *found {
        [version] => Some(version),
        _ => None,
    }
}

/// The `8` of `cudnn_ops_infer64_8.dll`.
pub fn dll_major(name: &str) -> Option<u32> {
    let lower = name.to_lowercase();
    lower
        .strip_suffix(".dll")?
        .rsplit_once("64_")?
        .1
        .parse()
        .ok()
}

/// The numbers behind `.so.`: `libcudnn.so.8.9.7` → 8, 9, 7.
pub fn so_numbers(name: &str) -> Vec<u32> {
    let Some((_, rest)) = name.split_once(".so.") else {
        return Vec::new();
    };
    rest.split('.')
        .map_while(|part| part.parse().ok())
        .collect()
}

fn platform(binary: &Binary) -> Option<Platform> {
    Some(match (binary.format, binary.machine) {
        (Format::Pe, Machine::X64) => Platform::WindowsX64,
        (Format::Pe, Machine::Arm64) => Platform::WindowsArm64,
        (Format::Elf, Machine::X64) => Platform::LinuxX64,
        // Servers and Jetson boards share the processor; only names tell them apart.
        (Format::Elf, Machine::Arm64) => Platform::LinuxSbsa,
        (Format::Elf, Machine::Ppc64le) => Platform::LinuxPpc64le,
        (Format::MachO, Machine::X64) => Platform::MacX64,
        _ => return None,
    })
}

/// What the evidence amounts to.
///
/// # Errors
///
/// When it is no cuDNN, or files of several are mixed.
pub fn conclude(evidence: &Evidence) -> Result<Conclusion, Problem> {
    let libraries = &evidence.libraries;
    let Some(main) = libraries.iter().find(|library| is_main(&library.name)) else {
        let seems = match (libraries.is_empty(), evidence.headers) {
            (true, None) => None,
            (true, Some(version)) => Some(format!("only the headers of cuDNN {version}")),
            (false, _) => Some("a part of cuDNN without its main library".to_owned()),
        };
        return Err(Problem::NoLibrary(seems));
    };
    let mut remarks = Vec::new();
    let platform = one_platform(libraries, main)?;
    let claims = evidence.package.or(evidence.name);
    let platform = match (platform, claims.platform) {
        (Platform::LinuxSbsa, Some(Platform::LinuxJetson)) => Platform::LinuxJetson,
        (found, Some(claimed)) if found != claimed => {
            remarks.push(format!(
                "its name says {claimed}, but its libraries are for {found}"
            ));
            found
        }
        (found, _) => found,
    };
    let version = version(evidence, main, &mut remarks)?;
    let flavour = flavour(libraries);
    if claims.flavour.is_some_and(|claimed| claimed != flavour) {
        remarks.push(format!(
            "by its name it is another flavour, but it is {flavour}"
        ));
    }
    let variant = variant(evidence, &mut remarks);
    let needs = needs(libraries, version, variant, platform);
    Ok(Conclusion {
        identity: Identity {
            version,
            variant,
            flavour,
            platform,
        },
        needs,
        remarks,
    })
}

/// `cudnn64_9.dll`, `libcudnn.so.9`.
pub fn is_main(name: &str) -> bool {
    let lower = name.to_lowercase();
    (lower.starts_with("cudnn64_") && lower.ends_with(".dll"))
        || lower == "libcudnn.so"
        || lower.starts_with("libcudnn.so.")
        || (lower.starts_with("libcudnn.") && lower.ends_with(".dylib"))
}

fn one_platform(libraries: &[Library], main: &Library) -> Result<Platform, Problem> {
    for library in libraries {
        let Some(platform) = library.platform else {
            return Err(Problem::Mixed(format!(
                "`{}` is for a processor that cuDNN was never made for",
                library.name
            )));
        };
        if Some(platform) != main.platform {
            return Err(Problem::Mixed(format!(
                "`{}` is for {platform}, `{}` is not",
                library.name, main.name
            )));
        }
    }
    main.platform.ok_or(Problem::NoVersion)
}

fn version(
    evidence: &Evidence,
    main: &Library,
    remarks: &mut Vec<String>,
) -> Result<CudnnVersion, Problem> {
    // The most exact first: a resource has four numbers, a full file name three, a SONAME one.
    let mut found: Option<(CudnnVersion, &str)> = None;
    let mut major: Option<(u32, &str)> = None;
    for library in &evidence.libraries {
        let numbers = match so_numbers(&library.name) {
            short if short.len() < 3 => library.soname.as_deref().map(so_numbers).unwrap_or(short),
            full => full,
        };
        let of_name = match *numbers {
            // cuDNN 8.x.y in some re-packed Debian names: libcudnn.so.8.2.1
            [major, minor, patch, ..] => Some(CudnnVersion::new(major, minor, patch)),
            _ => None,
        };
        if let Some(version) = library.version.or(of_name) {
            match found {
                Some((first, name)) if !first.same_release(version) => {
                    return Err(Problem::Mixed(format!(
                        "`{name}` is of cuDNN {first}, `{}` of {version}",
                        library.name
                    )));
                }
                Some((first, _)) if first.build.is_some() || version.build.is_none() => {}
                _ => found = Some((version, &library.name)),
            }
        }
        let this = numbers
            .first()
            .copied()
            .or_else(|| dll_major(&library.name));
        match (major, this) {
            (Some((first, name)), Some(this)) if first != this => {
                return Err(Problem::Mixed(format!(
                    "`{name}` is of cuDNN {first}, `{}` of {this}",
                    library.name
                )));
            }
            (None, Some(this)) => major = Some((this, &library.name)),
            _ => {}
        }
    }
    let found = found.map(|(version, _)| version);
    let major = major.map(|(major, _)| major);
    if let Some(headers) = evidence.headers {
        let agrees = found.is_none_or(|version| version.same_release(headers))
            && major.is_none_or(|major| major == headers.major);
        if !agrees {
            let libraries = found.map_or_else(
                || format!("a cuDNN {}", major.unwrap_or_default()),
                |version| format!("cuDNN {version}"),
            );
            return Err(Problem::Mixed(format!(
                "the headers are of cuDNN {headers}, `{}` is of {libraries}",
                main.name
            )));
        }
    }
    let content = found.or(evidence.headers);
    let mut version = content;
    for (claimed, whose) in [
        (evidence.package.version, "its own description"),
        (evidence.name.version, "its name"),
    ] {
        let Some(claimed) = claimed else { continue };
        match version {
            None if major.is_none_or(|major| major == claimed.major) => version = Some(claimed),
            None => {}
            Some(known) if !known.same_release(claimed) => {
                remarks.push(format!("{whose} says cuDNN {claimed}, but it is {known}"));
            }
            Some(known) => match (known.build, claimed.build) {
                (None, Some(_)) => version = Some(claimed),
                (Some(build), Some(other)) if build != other => {
                    remarks.push(format!("{whose} says cuDNN {claimed}, but it is {known}"));
                }
                _ => {}
            },
        }
    }
    version.ok_or(Problem::NoVersion)
}

/// Jit: the graph API and the engines that are compiled at run time, and no precompiled part.
fn flavour(libraries: &[Library]) -> Flavour {
    let has = |part: &str| {
        libraries
            .iter()
            .any(|library| library.name.to_lowercase().contains(part))
    };
    let full = ["_ops", "_cnn", "_adv", "_engines_precompiled"];
    if has("_graph") && has("_engines_runtime_compiled") && !full.into_iter().any(has) {
        Flavour::Jit
    } else {
        Flavour::Full
    }
}

/// The CUDA it was built for: the major from the cuBLAS it opens and the runtime inside it, the minor (builds before 8.5) from
/// names.
fn variant(evidence: &Evidence, remarks: &mut Vec<String>) -> Option<CudaVersion> {
    let opened: BTreeSet<&str> = opened(&evidence.libraries);
    let linked = evidence
        .libraries
        .iter()
        .filter_map(|library| library.cudart);
    let majors: BTreeSet<u32> = opened
        .iter()
        .filter_map(|name| cublas_major(name))
        .chain(linked.map(|cudart| cudart.major))
        .collect();
    // CUDA 11's cuDNN makes NVRTC's name of two numbers, later ones of one (9.10 for CUDA 11 and 12, 9.19 for 13).
    let nvrtc_of_11 = opened.contains("libnvrtc.so.%d.%d");
    let nvrtc_later = opened.contains("libnvrtc.so.%d");
    let agrees = |claimed: CudaVersion| {
        if majors.is_empty() {
            !(nvrtc_of_11 && claimed.major > 11 || nvrtc_later && claimed.major < 11)
        } else {
            majors.contains(&claimed.major)
        }
    };
    let content = match majors.len() {
        1 => majors.first().copied().map(CudaVersion::major),
        _ => None,
    };
    let mut chosen = None;
    for (claimed, whose) in [
        (evidence.package.variant, "its own description"),
        (evidence.name.variant, "its name"),
    ] {
        let Some(claimed) = claimed else { continue };
        if !agrees(claimed) {
            let is =
                content.map_or_else(|| "another one".to_owned(), |content| content.to_string());
            remarks.push(format!(
                "{whose} says CUDA {claimed}, but it was built for CUDA {is}"
            ));
        } else if chosen.is_none() {
            chosen = Some(claimed);
        }
    }
    chosen.or(content)
}

fn opened(libraries: &[Library]) -> BTreeSet<&str> {
    libraries
        .iter()
        .flat_map(|library| library.opens.iter().map(String::as_str))
        .collect()
}

/// The `12` of `libcublasLt.so.12` and `cublas64_12.dll`; the 100 of `cublas64_100.dll` is CUDA 10.0.
fn cublas_major(name: &str) -> Option<u32> {
    let digits = if let Some(rest) = name.strip_prefix("libcublas") {
        let (kind, number) = rest.split_once(".so.")?;
        matches!(kind, "" | "Lt").then_some(number.split('.').next()?)?
    } else {
        let rest = name.strip_prefix("cublas")?.strip_suffix(".dll")?;
        rest.strip_prefix("64_")
            .or_else(|| rest.strip_prefix("Lt64_"))?
    };
    let number: u32 = digits.parse().ok()?;
    let number = if number >= 60 { number / 10 } else { number };
    (6..40).contains(&number).then_some(number)
}

/// Names of libraries that it opens and that a CUDA toolkit or a companion brings.
fn needs(
    libraries: &[Library],
    version: CudnnVersion,
    variant: Option<CudaVersion>,
    platform: Platform,
) -> Vec<String> {
    let mut needs = BTreeSet::new();
    for name in opened(libraries) {
        if cublas_major(name).is_some() {
            needs.insert(name.to_owned());
        } else if name.starts_with("libnvrtc.so.") || name.starts_with("nvrtc64_") {
            if !name.contains('%') {
                needs.insert(name.to_owned());
            } else if let Some(variant) = variant {
                needs.extend(CompanionKind::Nvrtc.libraries(variant.major, platform));
            }
        } else if name == "zlibwapi.dll" {
            // The name stands in the loader table of later ones too, which no longer use it.
            let release = (version.major, version.minor);
            if ((8, 3)..(9, 2)).contains(&release) {
                needs.insert(name.to_owned());
            }
        }
    }
    needs.into_iter().collect()
}

/// SONAME of each shared object, by file name.
pub fn sonames(libraries: &[Library]) -> BTreeMap<String, Option<String>> {
    libraries
        .iter()
        .filter(|library| library.name.contains(".so"))
        .map(|library| (library.name.clone(), library.soname.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dll(name: &str, version: Option<&str>, opens: &[&str]) -> Library {
        Library {
            name: name.to_owned(),
            platform: Some(Platform::WindowsX64),
            version: version.map(|text| text.parse().unwrap()),
            cudart: None,
            soname: None,
            opens: opens.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    fn so(name: &str, soname: &str, opens: &[&str]) -> Library {
        Library {
            platform: Some(Platform::LinuxX64),
            soname: Some(soname.to_owned()),
            ..dll(name, None, opens)
        }
    }

    fn shown(evidence: &Evidence) -> String {
        match conclude(evidence) {
            Err(problem) => format!("{problem:?}"),
            Ok(Conclusion {
                identity,
                needs,
                remarks,
            }) => {
                let variant = identity
                    .variant
                    .map_or("-".to_owned(), |variant| variant.to_string());
                format!(
                    "{} {variant} {} {} needs {needs:?} remarks {remarks:?}",
                    identity.version, identity.flavour, identity.platform
                )
            }
        }
    }

    #[test]
    fn macros_are_read_however_they_are_spaced() {
        for text in [
            "#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 2\n#define CUDNN_PATCHLEVEL 1\n",
            "  #  define\tCUDNN_MAJOR\t 8 \r\n#define CUDNN_MINOR (2)\r\n#define CUDNN_PATCHLEVEL 1 // x\r\n",
        ] {
            assert_eq!(macros(text), Some(CudnnVersion::new(8, 2, 1)), "{text:?}");
        }
        assert_eq!(
            macros("#define CUDNN_MAJOR 8\n#define CUDNN_MINOR_X 2\n"),
            None
        );
        assert_eq!(
            macros(
                "#define CUDNN_MAJOR CUDNN_X\n#define CUDNN_MINOR 2\n#define CUDNN_PATCHLEVEL 1"
            ),
            None
        );
    }

    #[test]
    fn a_windows_build_is_known_from_its_libraries_and_the_name_adds_the_minor() {
        let evidence = Evidence {
            headers: Some(CudnnVersion::new(8, 2, 1)),
            libraries: vec![
                dll("cudnn64_8.dll", Some("8.2.1.32"), &[]),
                dll(
                    "cudnn_ops_infer64_8.dll",
                    None,
                    &["cublas64_11.dll", "cublasLt64_11.dll", "zlibwapi.dll"],
                ),
            ],
            name: Claims::of_file_name("cudnn-11.3-windows-x64-v8.2.1.32.zip"),
            ..Evidence::default()
        };
        assert_eq!(
            shown(&evidence),
            r#"8.2.1.32 11.3 full windows-x86_64 needs ["cublas64_11.dll", "cublasLt64_11.dll"] remarks []"#
        );
        let renamed = Evidence {
            name: Claims::of_file_name("dl.zip"),
            ..evidence.clone()
        };
        assert!(shown(&renamed).starts_with("8.2.1.32 11 full windows-x86_64"));
        let lying = Evidence {
            name: Claims::of_file_name("cudnn-10.2-linux-x64-v8.0.5.39.tgz"),
            ..evidence
        };
        assert_eq!(
            conclude(&lying).unwrap().remarks,
            [
                "its name says linux-x86_64, but its libraries are for windows-x86_64",
                "its name says cuDNN 8.0.5.39, but it is 8.2.1.32",
                "its name says CUDA 10.2, but it was built for CUDA 11",
            ]
        );
    }

    #[test]
    fn a_linux_wheel_is_known_from_headers_sonames_and_metadata() {
        let evidence = Evidence {
            headers: Some(CudnnVersion::new(9, 19, 0)),
            libraries: vec![
                so("libcudnn.so.9", "libcudnn.so.9", &[]),
                so(
                    "libcudnn_graph.so.9",
                    "libcudnn_graph.so.9",
                    &["libnvrtc.so.%d"],
                ),
                so(
                    "libcudnn_engines_runtime_compiled.so.9",
                    "libcudnn_engines_runtime_compiled.so.9",
                    &[],
                ),
            ],
            package: Claims::of_metadata("Name: nvidia-cudnn-jit-cu13\nVersion: 9.19.0.56\n"),
            ..Evidence::default()
        };
        assert_eq!(
            shown(&evidence),
            r#"9.19.0.56 13 jit linux-x86_64 needs ["libnvrtc.so.13"] remarks []"#
        );
        let bare = Evidence {
            package: Claims::default(),
            ..evidence
        };
        assert_eq!(
            shown(&bare),
            r#"9.19.0 - jit linux-x86_64 needs [] remarks []"#
        );
    }

    #[test]
    fn code_tells_version_and_cuda_where_names_do_not() {
        assert_eq!(
            returned_version(&[0, 91900, 9190], Some(9)),
            Some(CudnnVersion::new(9, 19, 0))
        );
        assert_eq!(returned_version(&[91900], Some(8)), None);
        assert_eq!(returned_version(&[91900, 91002], Some(9)), None);
        assert_eq!(
            returned_cudart(&[65536, 13010]),
            Some(CudaVersion::new(13, 1))
        );
        assert_eq!(returned_cudart(&[0, 500]), None);
        let graph = Library {
            version: Some(CudnnVersion::new(9, 19, 0)),
            cudart: Some(CudaVersion::new(13, 1)),
            ..so(
                "libcudnn_graph.so.9",
                "libcudnn_graph.so.9",
                &["libnvrtc.so.%d"],
            )
        };
        let evidence = Evidence {
            libraries: vec![so("libcudnn.so.9", "libcudnn.so.9", &[]), graph],
            ..Evidence::default()
        };
        assert!(
            shown(&evidence).starts_with("9.19.0 13 full"),
            "{}",
            shown(&evidence)
        );
        let other = Evidence {
            headers: Some(CudnnVersion::new(9, 10, 2)),
            ..evidence
        };
        assert!(shown(&other).starts_with("Mixed"), "{}", shown(&other));
    }

    #[test]
    fn file_names_give_three_parts_where_headers_are_missing() {
        let evidence = Evidence {
            libraries: vec![so(
                "libcudnn.so.8.9.7",
                "libcudnn.so.8",
                &["libcublas.so.12", "libcublasLt.so.12"],
            )],
            ..Evidence::default()
        };
        assert!(shown(&evidence).starts_with("8.9.7 12 full linux-x86_64"));
    }

    #[test]
    fn mixtures_are_named() {
        let main = dll("cudnn64_8.dll", Some("8.2.1.32"), &[]);
        let with = |other: Library, headers| {
            shown(&Evidence {
                headers,
                libraries: vec![main.clone(), other],
                ..Evidence::default()
            })
        };
        assert_eq!(
            with(dll("cudnn_ops_infer64_8.dll", Some("8.9.7.29"), &[]), None),
            r#"Mixed("`cudnn64_8.dll` is of cuDNN 8.2.1.32, `cudnn_ops_infer64_8.dll` of 8.9.7.29")"#
        );
        assert_eq!(
            with(dll("cudnn_ops64_9.dll", None, &[]), None),
            r#"Mixed("`cudnn64_8.dll` is of cuDNN 8, `cudnn_ops64_9.dll` of 9")"#
        );
        assert_eq!(
            with(
                dll("cudnn_x64_8.dll", None, &[]),
                Some(CudnnVersion::new(8, 9, 7))
            ),
            r#"Mixed("the headers are of cuDNN 8.9.7, `cudnn64_8.dll` is of cuDNN 8.2.1.32")"#
        );
        let x86 = Library {
            platform: None,
            ..dll("cudnn_x64_8.dll", None, &[])
        };
        assert!(with(x86, None).contains("a processor that cuDNN was never made for"));
    }

    #[test]
    fn what_is_no_whole_cudnn_is_said() {
        assert_eq!(shown(&Evidence::default()), "NoLibrary(None)");
        let headers = Evidence {
            headers: Some(CudnnVersion::new(9, 1, 0)),
            ..Evidence::default()
        };
        assert_eq!(
            shown(&headers),
            r#"NoLibrary(Some("only the headers of cuDNN 9.1.0"))"#
        );
        let part = Evidence {
            libraries: vec![dll("cudnn_ops64_9.dll", None, &[])],
            ..Evidence::default()
        };
        assert_eq!(
            shown(&part),
            r#"NoLibrary(Some("a part of cuDNN without its main library"))"#
        );
        let unknown = Evidence {
            libraries: vec![dll("cudnn64_9.dll", None, &[])],
            ..Evidence::default()
        };
        assert_eq!(shown(&unknown), "NoVersion");
    }

    #[test]
    fn cublas_names_give_the_cuda_major() {
        for (name, major) in [
            ("libcublas.so.12", Some(12)),
            ("libcublasLt.so.11", Some(11)),
            ("libcublas.so.10.0", Some(10)),
            ("cublas64_100.dll", Some(10)),
            ("cublas64_92.dll", Some(9)),
            ("cublasLt64_13.dll", Some(13)),
            ("libcublas.so", None),
            ("libcublasXt.so.12", None),
            ("cublas64_.dll", None),
        ] {
            assert_eq!(cublas_major(name), major, "{name}");
        }
    }
}
