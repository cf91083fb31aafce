//! Which of several cuDNNs is loaded, and whether it is one that fits.

use super::super::facts::{Facts, Library, PackageSource, Reach, SearchKind};
use super::super::finding::{Certainty, Code, Finding};
use super::super::library::{LibraryName, folder};
use super::super::read::version::in_path;
use super::super::signs::{Meaning, Sign};
use super::super::{knowledge, order, signs_with};
use crate::version::CudnnVersion;

pub fn rule(facts: &Facts, findings: &mut Vec<Finding>) {
    renamed(facts, findings);
    for (position, sign) in signs_with(facts, Meaning::VersionLoaded) {
        findings.extend(loaded(facts, sign).map(|finding| finding.explains([position])));
    }
    for (position, sign) in signs_with(facts, Meaning::VersionLinked) {
        findings.extend(linked(facts, sign).map(|finding| finding.explains([position])));
    }
    for (position, sign) in signs_with(facts, Meaning::VersionReported) {
        findings.extend(reported(sign).map(|finding| finding.explains([position])));
    }
    not_installed(facts, findings);
    mixed(facts, findings);
    two_wheels(facts, findings);
    cmake_found(facts, findings);
    let compared = [Meaning::VersionLoaded, Meaning::VersionLinked]
        .into_iter()
        .any(|meaning| signs_with(facts, meaning).next().is_some());
    if !compared {
        system_folder(facts, findings);
        several(facts, findings);
        headers(facts, findings);
        package_needs(facts, findings);
    }
}

/// The rule of cuDNN's own compatibility: same major, and not older than what a program was compiled with.
fn serves(version: CudnnVersion, compiled: CudnnVersion) -> bool {
    version.major == compiled.major && version.minor >= compiled.minor
}

/// `>=8.6,<9`: what serves a program compiled with 8.6.
fn range(compiled: CudnnVersion) -> String {
    format!(
        ">={}.{},<{}",
        compiled.major,
        compiled.minor,
        compiled.major + 1
    )
}

fn install(finding: Finding, compiled: CudnnVersion) -> Finding {
    let range = range(compiled);
    finding
        .fix(format!("cudnnm install \"{range}\""))
        .fix(format!(
            "cudnnm use \"{range}\"    # then start the program with: cudnnm exec PROGRAM"
        ))
}

/// A file whose content is of another major than its name.
fn renamed(facts: &Facts, findings: &mut Vec<Finding>) {
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
            .fix(format!("cudnnm install {named}"))
            .fix(format!("cudnnm use {named}"))
            .explains(signs),
        );
    }
}

/// TensorFlow and XLA compare what they loaded with what they were compiled with.
fn loaded(facts: &Facts, sign: &Sign) -> Option<Finding> {
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
            .fix(format!("cudnnm install {}", compiled.major))
            .fix(format!("cudnnm use {}", compiled.major))
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
struct Known {
    path: String,
    version: CudnnVersion,
    owner: String,
    reach: Reach,
}

fn copies(facts: &Facts) -> Vec<Known> {
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
fn linked(facts: &Facts, sign: &Sign) -> Option<Finding> {
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
                        .find(|element| super::environment::concerns_cuda(element))
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
fn reported(sign: &Sign) -> Option<Finding> {
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

/// Sub-libraries of one process that come from more than one folder, or one folder with several versions.
fn mixed(facts: &Facts, findings: &mut Vec<Finding>) {
    let signs: Vec<usize> = signs_with(facts, Meaning::Status)
        .filter(|(_, sign)| {
            sign.get("status")
                .is_some_and(|status| status.to_ascii_uppercase().contains("VERSION_MISMATCH"))
        })
        .chain(signs_with(facts, Meaning::Undefined))
        .chain(signs_with(facts, Meaning::DependencyMissing))
        .chain(
            signs_with(facts, Meaning::LoadError)
                .filter(|(_, sign)| matches!(sign.number("code"), Some(126 | 127))),
        )
        .map(|(position, _)| position)
        .collect();
    let mut folders: Vec<(&str, Vec<&str>)> = Vec::new();
    for path in &facts.loaded {
        let place = folder(path);
        match folders.iter_mut().find(|(known, _)| *known == place) {
            Some((_, files)) => files.push(path),
            None => folders.push((place, vec![path])),
        }
    }
    if folders.len() > 1 {
        folders.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
        let odd: Vec<&str> = folders[1..]
            .iter()
            .flat_map(|(_, files)| files.clone())
            .collect();
        let (main, files) = &folders[0];
        findings.push(
            Finding::fail(
                Code::Mixed,
                format!("one process uses cuDNN files from {} folders: {} does not come from where the other {} come from", folders.len(), super::quoted(&odd), files.len()),
            )
            .why(format!("the others lie in `{main}`; all parts must be of one version, and the loader takes a part that is missing there from wherever it finds one"))
            .fix("cudnnm exec PROGRAM    # gives the program one complete set")
            .fix("take the other copy off LD_LIBRARY_PATH (or remove the system's package) if nothing else needs it")
            .explains(signs.clone()),
        );
    }
    // A folder into which two versions were copied.
    let mut seen: Vec<(&str, CudnnVersion, &Library)> = Vec::new();
    for library in facts.libraries.all() {
        let Some(version) = order::version_of(library).filter(|_| library.name.is_cudnn) else {
            continue;
        };
        let place = folder(&library.path);
        if place.is_empty() {
            continue;
        }
        let other = seen.iter().find(|(known, other, _)| {
            order::same_folder(known, place)
                && other.major == version.major
                && !other.same_release(version)
        });
        if let Some((_, other, first)) = other
            && first.name.part != library.name.part
        {
            findings.push(
                Finding::fail(
                    Code::Mixed,
                    format!("`{place}` holds parts of two versions: `{}` is {other}, `{}` is {version}", first.name.base, library.name.base),
                )
                .why("one version was copied over another, and some files were left; all parts must be of one version")
                .fix(format!("cudnnm install {}.{}    # a complete set in a folder of its own", version.major, version.minor))
                .fix("delete cuDNN's files from that folder")
                .explains(signs.clone()),
            );
            break;
        }
        seen.push((place, version, library));
    }
}

/// What the project selects is not in the store.
fn not_installed(facts: &Facts, findings: &mut Vec<Finding>) {
    let Some(selection) = facts.selection.known() else {
        return;
    };
    if !selection.installed {
        let spec = crate::selection::shell_word(&selection.spec);
        findings.push(
            Finding::fail(
                Code::NotFound,
                format!(
                    "cuDNN {} is selected here and not installed",
                    selection.spec
                ),
            )
            .why(format!("{} says so", selection.because))
            .fix(format!("cudnnm install {spec}")),
        );
    }
}

/// Two wheels of NVIDIA that unpack into one folder.
fn two_wheels(facts: &Facts, findings: &mut Vec<Finding>) {
    let wheels: Vec<String> = facts
        .packages
        .all()
        .iter()
        .filter(|package| {
            package.by == PackageSource::Pip && package.name.starts_with("nvidia-cudnn-cu")
        })
        .map(|package| format!("{} {}", package.name, package.version))
        .collect();
    if wheels.len() < 2 {
        return;
    }
    findings.push(
        Finding::warn(
            Code::Mixed,
            format!("{} are installed together, and they share one folder", super::joined(&wheels)),
        )
        .why("both unpack into site-packages/nvidia/cudnn, so files of one lie among those of the other")
        .fix("python -m pip uninstall -y nvidia-cudnn-cu11 nvidia-cudnn-cu12 nvidia-cudnn-cu13")
        .fix("install the framework anew: it brings the one it needs")
        .explains(
            signs_with(facts, Meaning::Status)
                .filter(|(_, sign)| sign.get("status").is_some_and(|status| status.contains("MISMATCH")))
                .chain(signs_with(facts, Meaning::Undefined))
                .map(|(position, _)| position),
        ),
    );
}

/// What CMake found: the header's version, and a library whose name tells another major.
fn cmake_found(facts: &Facts, findings: &mut Vec<Finding>) {
    for (position, sign) in signs_with(facts, Meaning::CmakeFound) {
        let library = sign.get("library").unwrap_or_default();
        let include = sign.get("include").unwrap_or_default();
        let name = LibraryName::of(library);
        let library_major = name.major;
        let Some(header) = sign.version("version") else {
            findings.push(
                Finding::fail(Code::Build, format!("CMake found `{library}` but could not read the version of the header in `{include}`"))
                    .why("from cuDNN 8 on the version stands in cudnn_version.h; an old finder reads cudnn.h only")
                    .fix("cudnnm exec cmake -B build    # hands over one complete set, in a fresh build folder")
                    .explains([position]),
            );
            continue;
        };
        let differs = library_major.is_some_and(|major| major != header.major)
            || name.full.is_some_and(|full| !full.same_release(header));
        if differs {
            findings.push(
                Finding::fail(Code::Header, format!("CMake took the header of cuDNN {header} from `{include}` and the library `{library}`, which is another version"))
                    .why("headers and library must be of one version; two cuDNNs are installed, and the folders are searched one by one")
                    .fix("cudnnm exec cmake -B build    # hands over one complete set, in a fresh build folder")
                    .explains([position]),
            );
        }
    }
}

/// A copy in Windows' own folder beats everything on PATH.
fn system_folder(facts: &Facts, findings: &mut Vec<Finding>) {
    let mut said = false;
    for library in facts.libraries.all() {
        if library.reach != Reach::System || !library.name.is_cudnn || said {
            continue;
        }
        let version = order::version_of(library);
        let other = facts
            .libraries
            .all()
            .iter()
            .find(|other| other.name.base == library.name.base && other.reach != Reach::System);
        let differs = other
            .and_then(order::version_of)
            .zip(version)
            .is_some_and(|(other, version)| !other.same_release(version));
        let signs: Vec<usize> = [
            Meaning::NotLocated,
            Meaning::LoadError,
            Meaning::Undefined,
            Meaning::Status,
            Meaning::DllImport,
        ]
        .into_iter()
        .flat_map(|meaning| signs_with(facts, meaning))
        .map(|(position, _)| position)
        .collect();
        let named = version.map_or(String::new(), |version| format!(" (cuDNN {version})"));
        let what = match other {
            Some(other) => format!(
                "`{}`{named} is loaded before `{}`{}",
                library.path,
                other.path,
                order::version_of(other).map_or(String::new(), |version| format!(" ({version})"))
            ),
            None => format!("`{}`{named} lies in Windows' own folder", library.path),
        };
        let finding = if differs || !signs.is_empty() {
            Finding::fail(Code::System32, what)
        } else {
            Finding::warn(Code::System32, what)
        };
        findings.push(
            finding
                .why("Windows searches its own folder before PATH, for every program; a cuDNN there hides all others and no list of PATH shows it")
                .fix("delete that stale file (it takes administrator rights once), then: cudnnm doctor")
                .fix("cudnnm install 8    # keeps each version in a folder of its own; choose the one you need")
                .explains(signs),
        );
        said = true;
    }
}

/// A folder on LD_LIBRARY_PATH supplies the parts of a wheel's cuDNN: the wheel's main library looks there first.
fn over_wheel(facts: &Facts, findings: &mut Vec<Finding>) {
    let outside = order::reachable_mains(facts).find_map(|library| match library.reach {
        Reach::Element(_) => Some((library, order::version_of(library)?)),
        _ => None,
    });
    let Some((outside, version)) = outside.filter(|_| !facts.is_windows()) else {
        return;
    };
    let wheel = facts
        .libraries
        .all()
        .iter()
        .filter(|library| library.reach == Reach::Private && library.name.is_main())
        .filter(|library| library.owner.starts_with("pip") || library.owner == "torch")
        .find_map(|library| {
            let own = order::version_of(library)?;
            (own.major == version.major && !own.same_release(version)).then_some((library, own))
        });
    let Some((wheel, own)) = wheel else { return };
    findings.push(
        Finding::warn(
            Code::Shadow,
            format!("`{}` ({version}) on LD_LIBRARY_PATH is found before the parts of `{}` ({own})", outside.path, wheel.path),
        )
        .why("the wheel's main library opens its parts by name, and LD_LIBRARY_PATH is searched before its own folder: frameworks in this environment run with a mix of both or stop with CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH")
        .fix(format!("unset LD_LIBRARY_PATH    # or take `{}` out of it", folder(&outside.path)))
        .fix("cudnnm exec PROGRAM    # for the program that needs the other one"),
    );
}

/// Several copies of one name that programs reach without knowing a folder.
fn several(facts: &Facts, findings: &mut Vec<Finding>) {
    // Inside `cudnnm exec` the first one is first on purpose.
    if facts.variable("CUDNNM_ACTIVE").is_some() {
        return;
    }
    over_wheel(facts, findings);
    let mut names: Vec<String> = Vec::new();
    for library in order::reachable_mains(facts) {
        let name = library.name.soname();
        if library.name.major.is_none() || names.contains(&name) {
            continue;
        }
        names.push(name.clone());
        let all: Vec<&Library> = order::reachable_mains(facts)
            .filter(|other| other.name.soname() == name && other.reach != Reach::System)
            .collect();
        let Some(first) = all.first().filter(|first| first.reach != Reach::System) else {
            continue;
        };
        let Some(winner) = order::version_of(first) else {
            continue;
        };
        // A file and the link to it are one copy.
        let mut others: Vec<&&Library> = Vec::new();
        for other in &all {
            let differs =
                order::version_of(other).is_some_and(|version| !version.same_release(winner));
            let is_new = !others.iter().any(|known| {
                order::same_folder(folder(&known.path), folder(&other.path))
                    && order::version_of(known) == order::version_of(other)
            });
            if differs && is_new {
                others.push(other);
            }
        }
        if others.is_empty() {
            continue;
        }
        // A program that needs more than the winner is served by one that is hidden.
        let needy = facts.packages.all().iter().find_map(|package| {
            let need = knowledge::need_of(package)?;
            let built = need.built.filter(|_| !need.carries_own)?;
            let hidden = others.iter().any(|other| {
                order::version_of(other).is_some_and(|version| serves(version, built))
            });
            (built.major == winner.major && !serves(winner, built) && hidden)
                .then(|| (format!("{} {}", package.name, package.version), built))
        });
        let hidden: Vec<String> = others
            .iter()
            .map(|other| {
                format!(
                    "{} ({})",
                    other.path,
                    order::version_of(other).expect("filtered by having one")
                )
            })
            .collect();
        let what = format!(
            "{name} is there in several versions: `{}` ({winner}, {}) is found first and hides {}",
            first.path,
            first.owner,
            super::quoted(&hidden)
        );
        let finding = match &needy {
            Some((package, built)) => install(
                Finding::fail(Code::Shadow, what).why(format!("{package} needs {} and would be served by a hidden one", range(*built))),
                *built,
            ),
            None => Finding::warn(Code::Shadow, what)
                .why("which version a program gets depends on the order of folders alone, and changes with it")
                .fix("cudnnm exec PROGRAM    # gives each program the version its project names")
                .fix("remove the copy that nothing needs"),
        };
        let signs = signs_with(facts, Meaning::Undefined)
            .chain(signs_with(facts, Meaning::Status))
            .filter(|(_, sign)| {
                sign.means(Meaning::Undefined)
                    || sign
                        .get("status")
                        .is_some_and(|status| status.contains("MISMATCH"))
            })
            .map(|(position, _)| position);
        findings.push(finding.explains(signs));
    }
}

/// A header of one version beside a library of another.
fn headers(facts: &Facts, findings: &mut Vec<Finding>) {
    let known: Vec<(&str, CudnnVersion)> = facts
        .headers
        .iter()
        .filter_map(|header| Some((header.path.as_str(), *header.version.known()?)))
        .collect();
    if let [(a, first), .., (b, last)] = known.as_slice()
        && !first.same_release(*last)
    {
        findings.push(
            Finding::warn(Code::Header, format!("the headers disagree: `{a}` says {first}, `{b}` says {last}"))
                .why("from cuDNN 8 on the version stands in cudnn_version.h; an old cudnn.h that was left misleads builds")
                .fix("delete the older headers, or build with one complete set: cudnnm exec cmake -B build"),
        );
        return;
    }
    let Some((path, header)) = known.first() else {
        return;
    };
    // Copies of Python packages have headers of their own and are not what builds link.
    let of_packages = ["pip", "torch", "conda", "cudnnm"];
    let libraries: Vec<CudnnVersion> = facts
        .libraries
        .all()
        .iter()
        .filter(|library| library.name.is_main())
        .filter(|library| {
            !of_packages
                .iter()
                .any(|owner| library.owner.starts_with(owner))
        })
        .filter_map(order::version_of)
        .collect();
    let Some(library) = libraries.first() else {
        return;
    };
    if libraries
        .iter()
        .any(|version| version.same_release(*header))
    {
        return;
    }
    let what = format!("the header `{path}` says {header}, the library is {library}");
    // A program that is built with an older header runs with a newer library of the same major, not the other way round.
    let finding = if serves(*library, *header) {
        Finding::warn(Code::Header, what)
    } else {
        Finding::fail(Code::Header, what)
    };
    findings.push(
        finding
            .why("a program built with this header expects what the header promises; one of the two was updated and the other was not")
            .fix(format!("cudnnm install {}.{}    # headers and libraries of one version, in a folder of their own", library.major, library.minor))
            .fix("cudnnm exec cmake -B build"),
    );
}

/// Packages that need a newer minor, or another major, than the packages here provide.
fn package_needs(facts: &Facts, findings: &mut Vec<Finding>) {
    let provided: Vec<CudnnVersion> = copies(facts).into_iter().map(|copy| copy.version).collect();
    if provided.is_empty() || !facts.expects_gpu() {
        return;
    }
    for package in facts.packages.all() {
        let Some(need) = knowledge::need_of(package).filter(|need| !need.carries_own) else {
            continue;
        };
        let Some(built) = need.built else { continue };
        let best = provided
            .iter()
            .filter(|version| version.major == need.major)
            .max();
        let Some(best) = best.filter(|best| !serves(**best, built)) else {
            continue;
        };
        findings.push(install(
            Finding::fail(
                Code::VersionLow,
                format!(
                    "{} {} was built with cuDNN {}.{}, the newest {} here is {best}",
                    package.name, package.version, built.major, built.minor, need.major
                ),
            )
            .why(
                "the loaded cuDNN must have the same major version and at least that minor version",
            ),
            built,
        ));
    }
}

/// Whether a sign names a file of cuDNN.
pub fn cudnn_name(sign: &Sign) -> Option<LibraryName> {
    let name = LibraryName::of(sign.get("library")?);
    name.is_cudnn.then_some(name)
}
