//! Programs that compare the cuDNN they got with the one they were built with.

use super::{install, range, serves};
use crate::diagnosis::facts::{Facts, PackageSource, Reach, SearchKind};
use crate::diagnosis::finding::{Certainty, Code, Finding};
use crate::diagnosis::library::folder;
use crate::diagnosis::read::version::in_path;
use crate::diagnosis::signs::{Meaning, Sign};
use crate::diagnosis::{knowledge, order, signs_with};
use crate::version::CudnnVersion;

/// A file whose content is of another major than its name.
pub fn renamed(facts: &Facts, findings: &mut Vec<Finding>) {
    for library in facts.libraries.all() {
        let (Some(named), Some(is)) = (library.name.major, library.version.known()) else {
            continue;
        };
        if named == is.major {
            continue;
        }
        let signs: Vec<usize> = signs_with(facts, Meaning::VersionLoaded)
            .chain(signs_with(facts, Meaning::LoadError))
            .map(|(position, _)| position)
            .collect();
        findings.push(
            Finding::fail(
                Code::Renamed,
                format!("`{}` says {named} in its name, but the file is cuDNN {is}", library.path),
            )
            .why("somebody gave a file of another major the name that a program asked for; it loads, and the first operation fails. A name does not change what is inside")
            .fix("delete that file")
            .fix_by_version(&named.to_string(), named)
            .explains(signs),
        );
    }
}

/// TensorFlow and XLA compare what they loaded with what they were compiled with.
pub fn loaded(facts: &Facts, sign: &Sign) -> Option<Finding> {
    let runtime = sign.version("runtime")?;
    let compiled = sign.version("compiled")?;
    let rule = "the loaded cuDNN must have the same major version and at least the minor version that the program was compiled with";
    if runtime.major != compiled.major {
        if sign.name == "jax-outdated" {
            return Some(install(
                Finding::fail(
                    Code::Major,
                    format!("cuDNN {runtime} is loaded, JAX was built with {compiled}"),
                )
                .why(rule),
                compiled,
            ));
        }
        return Some(
            Finding::fail(
                Code::Renamed,
                format!("a cuDNN {runtime} was loaded under the name of version {}", compiled.major),
            )
            .why(format!(
                "the program asks for its library by a name with {} in it and got a file of major {}: the file was renamed, which never makes it fit",
                compiled.major, runtime.major
            ))
            .fix("delete the file with the false name: cudnnm doctor shows where it lies")
            .fix_by_version(&compiled.major.to_string(), compiled.major)
            .certainty(Certainty::Likely),
        );
    }
    let known: Vec<Known> = copies(facts);
    let fitting = known.iter().find(|copy| serves(copy.version, compiled));
    let culprit = known
        .iter()
        .find(|copy| copy.version.same_release(runtime))
        .or_else(|| {
            known.iter().find(|copy| {
                (copy.version.major, copy.version.minor) == (runtime.major, runtime.minor)
            })
        });
    if let Some(fitting) = fitting {
        let winner = culprit.map_or_else(
            || format!("a cuDNN {runtime}"),
            |copy| format!("`{}` ({}, {})", copy.path, copy.version, copy.owner),
        );
        let code = if culprit.is_some_and(|copy| copy.reach == Reach::System) {
            Code::System32
        } else {
            Code::Shadow
        };
        return Some(install(
            Finding::fail(
                code,
                format!(
                    "{winner} is found first and hides `{}` ({}, {})",
                    fitting.path, fitting.version, fitting.owner
                ),
            )
            .why(format!(
                "loaded is {runtime}, compiled with {compiled}, needed {}; {rule}",
                range(compiled)
            ))
            .fix(removal(culprit, fitting)),
            compiled,
        ));
    }
    if let Some(culprit) = culprit.filter(|copy| copy.reach == Reach::System) {
        return Some(install(
            Finding::fail(
                Code::System32,
                format!("`{}` is cuDNN {}, found before anything on PATH", culprit.path, culprit.version),
            )
            .why(format!("Windows looks into its own folder first; loaded is {runtime}, compiled with {compiled}"))
            .fix("delete that stale file"),
            compiled,
        ));
    }
    let header = facts
        .headers
        .iter()
        .find_map(|header| Some((header, *header.version.known()?)))
        .filter(|(_, version)| !version.same_release(runtime));
    if let Some((header, version)) = header {
        return Some(install(
            Finding::fail(
                Code::Header,
                format!("the header `{}` says {version}, the library that is loaded is {runtime}", header.path),
            )
            .why(format!("a header does not tell which library a program loads; loaded is {runtime}, compiled with {compiled}. The header was updated and the library was not, or another library is found first")),
            compiled,
        ));
    }
    let element = culprit_element(facts, runtime);
    if let Some(element) = element {
        return Some(install(
            Finding::fail(
                Code::Shadow,
                format!("the cuDNN {runtime} in `{element}` is found first"),
            )
            .why(format!(
                "loaded is {runtime}, compiled with {compiled}, needed {}; {rule}",
                range(compiled)
            ))
            .fix(format!(
                "take `{element}` off the search path, or behind the folder of the right one"
            )),
            compiled,
        ));
    }
    let direction = if runtime < compiled {
        "older"
    } else {
        "another"
    };
    Some(install(
        Finding::fail(
            Code::VersionLow,
            format!("the loaded cuDNN {runtime} is {direction} than the {compiled} that the program was compiled with")
                .replace("another than", "another one than"),
        )
        .why(format!("needed is {}; {rule}", range(compiled)))
        .certainty(Certainty::Likely),
        compiled,
    ))
}

fn removal(culprit: Option<&Known>, fitting: &Known) -> String {
    match culprit {
        Some(culprit) if culprit.reach == Reach::System => {
            "delete the stale file named above, which Windows finds before anything on PATH"
                .to_owned()
        }
        Some(culprit) => format!(
            "put the folder of the {} copy before that of {}",
            fitting.version, culprit.version
        ),
        None => format!("put the folder of the {} copy first", fitting.version),
    }
}

/// A cuDNN that is known to be here, as a file or as a package.
pub struct Known {
    pub path: String,
    pub version: CudnnVersion,
    pub owner: String,
    pub reach: Reach,
}

pub fn copies(facts: &Facts) -> Vec<Known> {
    let mut known: Vec<Known> = facts
        .libraries
        .all()
        .iter()
        .filter(|library| library.name.is_main())
        .filter_map(|library| {
            Some(Known {
                path: library.path.clone(),
                version: order::version_of(library)?,
                owner: library.owner.clone(),
                reach: library.reach.clone(),
            })
        })
        .collect();
    for package in facts.packages.all() {
        if package.by == PackageSource::Requirement {
            continue;
        }
        let Some(version) = knowledge::provided(package) else {
            continue;
        };
        if known.iter().any(|copy| copy.version.same_release(version)) {
            continue;
        }
        known.push(Known {
            path: format!("{} {}", package.name, package.version),
            version,
            owner: match package.by {
                PackageSource::Conda => "conda".to_owned(),
                PackageSource::Pip | PackageSource::Requirement => "pip".to_owned(),
            },
            reach: Reach::Private,
        });
    }
    known
}

/// The element of the search path whose folder carries that version in its name, else one named after cuDNN.
fn culprit_element(facts: &Facts, runtime: CudnnVersion) -> Option<String> {
    let list = order::effective(facts)?;
    list.elements
        .iter()
        .find(|element| in_path(element).is_some_and(|version| version.same_release(runtime)))
        .cloned()
}

/// PyTorch compares its own cuDNN with the one that is loaded instead.
pub fn linked(facts: &Facts, sign: &Sign) -> Option<Finding> {
    let runtime = sign.version("runtime")?;
    let compiled = sign.version("compiled")?;
    let wheel = facts
        .packages
        .all()
        .iter()
        .filter(|package| package.name.starts_with("nvidia-cudnn-cu"))
        .find(|package| {
            knowledge::provided(package).is_some_and(|version| version.same_release(runtime))
        });
    let list = order::effective(facts).filter(|list| list.kind == SearchKind::LdLibraryPath);
    let by_library = order::reachable_mains(facts)
        .find(|library| {
            order::version_of(library).is_some_and(|version| version.same_release(runtime))
        })
        .map(|library| folder(&library.path).to_owned());
    let element = culprit_element(facts, runtime).or(by_library).or_else(|| {
        list.and_then(|list| {
            list.elements
                .iter()
                .find(|element| element.to_ascii_lowercase().contains("cudnn"))
                .or_else(|| {
                    list.elements
                        .iter()
                        .find(|element| super::super::environment::concerns_cuda(element))
                })
                .cloned()
        })
    });
    if element.is_none()
        && let Some(package) = wheel
    {
        return Some(install(
            Finding::fail(
                Code::VersionLow,
                format!("{} {} is installed, PyTorch was built with cuDNN {compiled}", package.name, package.version),
            )
            .why("another package asked pip for an older cuDNN than the one PyTorch pins; all Python packages of an environment share it")
            .fix("python -m pip check    # names the packages that disagree"),
            compiled,
        ));
    }
    let what = match &element {
        Some(element) => format!(
            "the cuDNN {runtime} in `{element}` is loaded instead of the {compiled} that PyTorch carries"
        ),
        None => format!(
            "a cuDNN {runtime} from outside is loaded instead of the {compiled} that PyTorch carries"
        ),
    };
    let why = format!(
        "compiled with {compiled}, running with {runtime}: folders of {} are searched before the wheel's own",
        if facts.is_windows() {
            "PATH"
        } else {
            "LD_LIBRARY_PATH"
        }
    );
    let finding = Finding::fail(Code::Shadow, what).why(why);
    Some(match element {
        Some(element) => finding
            .fix(format!("take `{element}` out of {} for this program", if facts.is_windows() { "PATH" } else { "LD_LIBRARY_PATH" }))
            .fix(format!("or give it one that serves: cudnnm exec --cudnn \"{}\" python …", range(compiled))),
        None => finding
            .fix("unset LD_LIBRARY_PATH    # if that cures it, one of its folders holds the other cuDNN")
            .fix("cudnnm doctor    # lists every cuDNN in search order")
            .fix(format!("or give it one that serves: cudnnm exec --cudnn \"{}\" python …", range(compiled)))
            .certainty(Certainty::Likely),
    })
}

/// OpenCV compares too, and its older releases read cuDNN 9's number wrongly.
pub fn reported(sign: &Sign) -> Option<Finding> {
    let runtime = sign.version("runtime")?;
    let compiled = sign.version("compiled")?;
    if runtime.major >= 40 {
        return Some(
            Finding::ok(
                Code::VersionFmt,
                format!("a false alarm: \"{}.{}\" is cuDNN {}.{}", runtime.major, runtime.minor, runtime.major / 10, runtime.minor),
            )
            .why("cuDNN 9 counts its number in ten thousands (90500 is 9.5.0), and the program divides by a thousand as for 8; OpenCV 4.11 reads it right")
            .fix("nothing needs to be done; a newer OpenCV says it no more"),
        );
    }
    if runtime.major == compiled.major && runtime >= compiled {
        return Some(
            Finding::warn(
                Code::BuildRuntimeDiff,
                format!("built with cuDNN {compiled}, running with {runtime}"),
            )
            .why("the same major and not older: that works, cuDNN keeps to it; the warning only says that they differ")
            .fix(format!("cudnnm exec --cudnn {}.{}.{} PROGRAM    # for the very version it was built with", compiled.major, compiled.minor, compiled.patch)),
        );
    }
    let code = if runtime.major == compiled.major {
        Code::VersionLow
    } else {
        Code::Major
    };
    Some(install(
        Finding::fail(
            code,
            format!("built with cuDNN {compiled}, running with {runtime}"),
        )
        .why("the running cuDNN must have the same major version and not be older"),
        compiled,
    ))
}
