//! Which cuDNN a framework wants.

use super::{Error, Reason};
use crate::companion::Dotted;
use crate::manifest::{Bundled, Facts, Framework};
use crate::version::{CudaVersion, Platform, Requirement, VersionSpec};

/// A framework as a person or pip names it: `torch==1.12.1+cu113`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The manifest's name for it.
    pub name: String,
    /// The release, as typed.
    pub version: Option<String>,
    /// Which of its packages, where the name or the version's local part says so: `cu113`.
    pub package: Option<String>,
    /// The CUDA, where the name or an extra says so: `cupy-cuda11x`, `jax[cuda12]`.
    pub cuda: Option<CudaVersion>,
}

/// The cuDNN that a framework release wants.
#[derive(Debug, Clone)]
pub struct Recommendation<'a> {
    /// What to install: what the framework was built or tested with.
    pub spec: VersionSpec,
    /// All that it runs with.
    pub accepts: Option<VersionSpec>,
    /// The entry that says so.
    pub framework: &'a Framework,
    /// The release, as named or the newest known.
    pub version: String,
    /// Why this one, and what else to know, most important first.
    pub reasons: Vec<Reason>,
}

/// The build that `text` (`torch==1.12.1`) wants on `platform`.
///
/// # Errors
///
/// When nothing is known about it, or it does not use cuDNN there.
pub fn for_framework<'a>(
    text: &str,
    platform: Platform,
    facts: &'a Facts,
) -> Result<Recommendation<'a>, Error> {
    Ok(packages(text, platform, facts)?.swap_remove(0))
}

/// As [`for_framework`], for each package of the release (`cu113`, `cu116`), the usual one first. Never empty.
///
/// # Errors
///
/// As [`for_framework`].
pub fn packages<'a>(
    text: &str,
    platform: Platform,
    facts: &'a Facts,
) -> Result<Vec<Recommendation<'a>>, Error> {
    let named = Named::parse(text)?;
    let (framework, version, others) = find(&named, platform, facts)?;
    if framework.bundled == Bundled::Inherits {
        return inherited(&named, framework, platform, facts);
    }
    let first = recommendation(&named, framework, &version, &others, platform, facts)?;
    let rest = others
        .iter()
        .filter_map(|other| recommendation(&named, other, &version, &[], platform, facts).ok());
    Ok(std::iter::once(first).chain(rest).collect())
}

fn recommendation<'a>(
    named: &Named,
    framework: &'a Framework,
    version: &str,
    others: &[&'a Framework],
    platform: Platform,
    facts: &Facts,
) -> Result<Recommendation<'a>, Error> {
    if framework.bundled == Bundled::NotUsed {
        return Err(Error::NoCudnn {
            name: named.name.clone(),
            version: version.to_owned(),
            note: framework.note.clone(),
        });
    }
    let Some(spec) = wanted(framework, named.cuda) else {
        return Err(Error::UnknownRelease {
            name: named.name.clone(),
            version: version.to_owned(),
            platform,
            known: Vec::new(),
        });
    };
    let source = facts.source(&framework.fact);
    let reason = |text: String| Reason {
        text,
        source: source.clone(),
    };
    let mut reasons = Vec::new();
    let name = &framework.name;
    let package = match &framework.package {
        Some(package) if package != name => format!(" ({package})"),
        _ => String::new(),
    };
    if let Some(built) = &framework.built {
        let cuda = match named.cuda.or_else(|| framework.cuda.last().copied()) {
            Some(cuda) => format!(" and CUDA {cuda}"),
            None => String::new(),
        };
        reasons.push(reason(format!(
            "{name} {version}{package} was built with cuDNN {built}{cuda}"
        )));
    }
    if let Some(accepts) = &framework.accepts {
        // The rest of a rule is about how to get around it.
        let rule = framework.rule.as_deref().unwrap_or("same major");
        let rule = rule.split([';', '(']).next().unwrap_or(rule).trim();
        reasons.push(reason(format!("it runs with cuDNN {accepts}: {rule}")));
    }
    reasons.push(reason(brings(framework)));
    if framework.bundled != Bundled::None
        && let Some(way) = &framework.override_by
    {
        reasons.push(reason(format!("to make another cuDNN win: {way}")));
    }
    if let Some(note) = &framework.note {
        reasons.push(reason(note.clone()));
    }
    if !others.is_empty() {
        let list: Vec<String> = others
            .iter()
            .filter_map(|other| {
                let package = other.package.as_deref()?;
                let built = other.built.as_ref()?;
                Some(format!("{package} with cuDNN {built}"))
            })
            .collect();
        if !list.is_empty() {
            reasons.push(reason(format!("its other packages: {}", list.join(", "))));
        }
    }
    Ok(Recommendation {
        spec,
        accepts: framework.accepts.clone(),
        framework,
        version: version.to_owned(),
        reasons,
    })
}

/// The frameworks that facts are known about.
pub fn known_frameworks(facts: &Facts) -> Vec<String> {
    let mut names: Vec<String> = facts
        .frameworks
        .iter()
        .map(|framework| framework.name.clone())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Whether a cuDNN comes with it, in words.
pub fn brings(framework: &Framework) -> String {
    let place = match &framework.bundled_at {
        Some(place) => format!(" ({place})"),
        None => String::new(),
    };
    match framework.bundled {
        Bundled::None => "it brings no cuDNN and loads the one it finds".to_owned(),
        Bundled::InWheel => format!("its package brings a cuDNN of its own{place}"),
        Bundled::PipDependency => match &framework.pin {
            Some(pin) => format!("pip installs {pin} with it{place}"),
            None => format!("pip installs NVIDIA's cuDNN with it{place}"),
        },
        Bundled::Static => {
            format!("cuDNN is linked into it{place}; no other can take its place")
        }
        Bundled::ShimOnly => {
            format!("it brings only cuDNN's front library{place}; the parts are found")
        }
        Bundled::Inherits => "it loads the cuDNN of the framework below it".to_owned(),
        Bundled::NotUsed => "it does not use cuDNN".to_owned(),
    }
}

impl Named {
    /// Reads `torch`, `torch==1.12.1+cu113`, `tensorflow_gpu=2.10`, `jax[cuda12]==0.4.30`, `mxnet-cu112==1.8.0`.
    ///
    /// # Errors
    ///
    /// When it is no such thing.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bad = || Error::BadFramework {
            text: text
                .trim()
                .chars()
                .take(80)
                .flat_map(char::escape_debug)
                .collect(),
        };
        let text = text.trim();
        let (name, version) = match text.split_once('=') {
            Some((name, version)) => (name, Some(version.trim_start_matches('=').trim())),
            None => match text.split_once(' ') {
                Some((name, version)) => (name, Some(version.trim())),
                None => (text, None),
            },
        };
        let (name, extras) = name.split_once('[').unwrap_or((name, ""));
        let name = name.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            return Err(bad());
        }
        if version.is_some_and(|version| release(version).is_none()) {
            return Err(bad());
        }
        let normal = name.to_ascii_lowercase().replace(['_', '.'], "-");
        let (name, mut package) = canonical(&normal);
        let cuda = cuda_in(&normal).or_else(|| cuda_in(extras));
        if let Some((_, local)) = version.and_then(|version| version.split_once('+')) {
            package = Some(local.to_owned());
        }
        Ok(Self {
            name,
            version: version.map(str::to_owned),
            package,
            cuda,
        })
    }
}

/// A package's name as the manifest has it, and which package of the framework it is.
fn canonical(name: &str) -> (String, Option<String>) {
    let plain = match name {
        "pytorch" | "libtorch" => "torch",
        "tf" | "tensorflow-gpu" => "tensorflow",
        "jaxlib" | "jax-cuda12-plugin" | "jax-cuda13-plugin" => "jax",
        "ort-gpu" | "onnxruntime-directml" => name,
        "paddle" | "paddlepaddle" => "paddlepaddle-gpu",
        "cv2" | "opencv-dnn" => "opencv",
        other => other,
    };
    if let Some(cuda) = plain.strip_prefix("mxnet-cu") {
        return ("mxnet".to_owned(), Some(format!("mxnet-cu{cuda}")));
    }
    if plain.starts_with("cupy-cuda") {
        return ("cupy".to_owned(), None);
    }
    (plain.to_owned(), None)
}

/// `cupy-cuda113` is for 11.3, `cupy-cuda11x` for 11, the extra `cuda12_pip` for 12.
fn cuda_in(text: &str) -> Option<CudaVersion> {
    let rest = text.split("cuda").nth(1)?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    match digits.len() {
        2 => digits.parse().ok().map(CudaVersion::major),
        3 => format!("{}.{}", &digits[..2], &digits[2..]).parse().ok(),
        _ => None,
    }
}

/// The numbers a version begins with: `2.15.0.post1` is 2.15.0.
pub(super) fn release(version: &str) -> Option<Dotted> {
    let plain = version.trim_start_matches(['v', 'V']);
    let end = plain
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(plain.len());
    Dotted::parse(plain[..end].trim_end_matches('.'))
}

/// The entry for a named release, the release's version, and the other packages of the same release.
pub(super) fn find<'a>(
    named: &Named,
    platform: Platform,
    facts: &'a Facts,
) -> Result<(&'a Framework, String, Vec<&'a Framework>), Error> {
    let all: Vec<&Framework> = facts
        .frameworks
        .iter()
        .filter(|framework| framework.name == named.name)
        .collect();
    if all.is_empty() {
        return Err(Error::UnknownFramework {
            name: named.name.clone(),
            known: known_frameworks(facts),
        });
    }
    // The tables were made for x86-64; other Linux machines get the same libraries.
    let table = match platform {
        Platform::LinuxSbsa | Platform::LinuxJetson | Platform::LinuxPpc64le => Platform::LinuxX64,
        Platform::WindowsArm64 => Platform::WindowsX64,
        other => other,
    };
    let here: Vec<&Framework> = all
        .iter()
        .copied()
        .filter(|framework| framework.platform.is_none_or(|platform| platform == table))
        .collect();
    let newest = here
        .iter()
        .filter_map(|framework| {
            framework
                .versions
                .to
                .as_ref()
                .or(framework.versions.from.as_ref())
        })
        .max();
    let (number, version) = match (&named.version, newest) {
        (Some(version), _) => (release(version), version.clone()),
        (None, Some(newest)) => (Some(newest.clone()), newest.to_string()),
        (None, None) => (None, String::new()),
    };
    let mut matching: Vec<&Framework> = match &number {
        Some(number) => here
            .iter()
            .copied()
            .filter(|framework| framework.versions.contains(number))
            .collect(),
        None => here.clone(),
    };
    if let Some(wanted) = &named.package {
        let narrowed: Vec<&Framework> = matching
            .iter()
            .copied()
            .filter(|framework| is_package(framework, wanted))
            .collect();
        if !narrowed.is_empty() {
            matching = narrowed;
        }
    }
    if let Some(cuda) = named.cuda {
        let includes = |framework: &Framework| {
            let majors = framework.cuda.iter().map(|cuda| cuda.major);
            majors.clone().min() <= Some(cuda.major) && majors.max() >= Some(cuda.major)
        };
        let narrowed: Vec<&Framework> = matching
            .iter()
            .copied()
            .filter(|framework| includes(framework))
            .collect();
        if !narrowed.is_empty() {
            matching = narrowed;
        }
    }
    // The package that pip gets by default first, then the newest CUDA.
    matching.sort_by_key(|framework| {
        let default = framework
            .package
            .as_deref()
            .is_some_and(|package| package.starts_with("pypi-default"));
        (
            framework.cpu_only,
            !default,
            std::cmp::Reverse(framework.cuda.last().copied()),
        )
    });
    let Some(first) = matching.first().copied() else {
        return Err(Error::UnknownRelease {
            name: named.name.clone(),
            version,
            platform,
            known: ranges(&here),
        });
    };
    if first.cpu_only {
        return Err(no_gpu_support(named, first, &version, platform, &here));
    }
    let others = matching[1..]
        .iter()
        .copied()
        .filter(|framework| !framework.cpu_only)
        .collect();
    Ok((first, version, others))
}

fn is_package(framework: &Framework, wanted: &str) -> bool {
    framework.package.as_deref().is_some_and(|package| {
        package
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
            .any(|word| word == wanted)
    })
}

fn no_gpu_support(
    named: &Named,
    framework: &Framework,
    version: &str,
    platform: Platform,
    here: &[&Framework],
) -> Error {
    let mut advice: Vec<String> = framework.note.iter().cloned().collect();
    let last = here
        .iter()
        .filter(|other| !other.cpu_only && !other.cuda.is_empty())
        .filter_map(|other| Some((other.versions.to.as_ref()?, other)))
        .max_by(|a, b| a.0.cmp(b.0));
    if let Some((last, with)) = last {
        let spec = wanted(with, None).map_or_else(String::new, |spec| {
            format!(
                ": cudnnm install {}",
                crate::selection::shell_word(&spec.to_string())
            )
        });
        advice.push(format!(
            "the last with GPU support there is {} {last}{spec}",
            named.name
        ));
    }
    Error::NoGpuSupport {
        name: named.name.clone(),
        version: version.to_owned(),
        platform,
        advice,
    }
}

fn ranges(frameworks: &[&Framework]) -> Vec<String> {
    let mut bounds: Vec<(&Option<Dotted>, &Option<Dotted>)> = frameworks
        .iter()
        .map(|framework| (&framework.versions.from, &framework.versions.to))
        .collect();
    bounds.sort();
    let first = bounds.iter().find_map(|(from, _)| from.as_ref());
    let last = bounds.iter().filter_map(|(_, to)| to.as_ref()).max();
    match (first, last) {
        (Some(first), Some(last)) => vec![format!("{first} to {last}")],
        _ => Vec::new(),
    }
}

/// What to install for an entry: the release it was built with, for its CUDA.
///
/// Up to cuDNN 8.0 there is a build for each CUDA minor, later one for each major.
fn wanted(framework: &Framework, cuda: Option<CudaVersion>) -> Option<VersionSpec> {
    let built = framework.built.as_ref();
    let accepts = framework.accepts.as_ref();
    let numbers: Vec<u32> = match (built.map(|spec| &spec.requirement), accepts) {
        (Some(Requirement::Prefix(numbers)), accepts) => {
            let floor = accepts.and_then(floor);
            match floor {
                // JAX 0.4.30 was built with 9.0 and needs 9.1.
                Some(floor)
                    if numbers.as_slice() < floor.as_slice() && !floor.starts_with(numbers) =>
                {
                    floor
                }
                _ => numbers.iter().take(3).copied().collect(),
            }
        }
        (_, Some(accepts)) => floor(accepts)?,
        _ => return None,
    };
    // A package for several majors (CuPy) leaves the choice to the machine.
    let its_own = match framework.cuda.as_slice() {
        [first, .., last] if first.major != last.major => None,
        all => all.last().copied(),
    };
    let cuda = cuda.or(its_own);
    let per_minor = numbers.first().is_some_and(|major| *major < 8) || numbers.starts_with(&[8, 0]);
    let variant = cuda.map(|cuda| {
        if per_minor || cuda.major < 11 {
            cuda
        } else {
            CudaVersion::major(cuda.major)
        }
    });
    Some(VersionSpec {
        requirement: Requirement::Prefix(numbers),
        variant,
        ..VersionSpec::latest()
    })
}

/// The lower end of a range, as a prefix.
fn floor(spec: &VersionSpec) -> Option<Vec<u32>> {
    match &spec.requirement {
        Requirement::Range(bounds) => bounds.first().map(|bound| bound.numbers.clone()),
        Requirement::Prefix(numbers) => Some(numbers.clone()),
        Requirement::Latest => None,
    }
}

/// faster-whisper is built on CTranslate2: the newest release of that which its own pin allows.
fn inherited<'a>(
    named: &Named,
    framework: &'a Framework,
    platform: Platform,
    facts: &'a Facts,
) -> Result<Vec<Recommendation<'a>>, Error> {
    let base = framework
        .pin
        .as_deref()
        .and_then(|pin| pin.split(['>', '<', '=', '~', ' ']).next())
        .unwrap_or("torch");
    let below: Option<Dotted> = framework
        .pin
        .as_deref()
        .and_then(|pin| pin.split_once('<'))
        .and_then(|(_, rest)| release(rest));
    let newest_with_cudnn = facts
        .frameworks
        .iter()
        .filter(|other| other.name == base && other.bundled != Bundled::NotUsed)
        .filter_map(|other| other.versions.to.as_ref())
        .filter(|to| below.as_ref().is_none_or(|below| *to < below))
        .max();
    let text = match newest_with_cudnn {
        Some(version) => format!("{base}=={version}"),
        None => base.to_owned(),
    };
    let mut packages = packages(&text, platform, facts)?;
    let note = framework.note.as_deref().unwrap_or_default();
    for recommendation in &mut packages {
        let text = format!("{} runs on {text}: {note}", named.name);
        let source = facts.source(&framework.fact);
        recommendation.reasons.insert(0, Reason { text, source });
    }
    Ok(packages)
}
