//! Any of driver, GPU, CUDA, cuDNN and framework gives the rest.
//!
//! Each thing that is given says what it asks for. Then every published build is held against all of them: the newest
//! that passes is the answer, and where none does, the pairs that exclude each other are named.

use serde::Serialize;

use super::{Fit, Gpu, Machine, Reason, Recommendation, judge};
use crate::manifest::{Bundled, Driver, Facts, Releases, Toolkit};
use crate::version::{BuildId, CudaVersion, CudnnVersion, Flavour, Platform, VersionSpec};

/// What is given.
#[derive(Debug, Default)]
pub struct Question<'a> {
    /// `--driver`
    pub driver: Option<Driver>,
    /// `--gpu`
    pub gpu: Option<Gpu>,
    /// `--cuda`
    pub cuda: Option<CudaVersion>,
    /// `--cudnn`
    pub cudnn: Option<VersionSpec>,
    /// `--framework`: the packages of its release, the usual one first; the first that fits the rest is taken.
    pub framework: Vec<Recommendation<'a>>,
}

/// How a line is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A fact.
    Ok,
    /// Something to know before relying on it.
    Warn,
    /// It can't work.
    Fail,
}

/// One fact of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// `driver`, `gpu`, `cuda`, `cudnn`, `framework`, `build`.
    pub about: &'static str,
    /// How it is meant.
    pub level: Level,
    /// For a person.
    pub text: String,
    /// The source of the fact.
    pub source: String,
}

/// The answer.
#[derive(Debug, Default, Serialize)]
pub struct Answer {
    /// Facts and conclusions, in the order in which they are best read.
    pub lines: Vec<Line>,
    /// The newest build that meets everything given.
    pub build: Option<BuildId>,
    /// The build that is safest: what the framework was built with, where one is given and it fits.
    pub recommended: Option<BuildId>,
    /// Nothing meets everything given.
    pub impossible: bool,
}

/// Answers for one platform.
pub fn answer(
    question: &Question,
    platform: Platform,
    releases: &Releases,
    facts: &Facts,
) -> Answer {
    let mut answer = Answer::default();
    let mut offers = offers(releases, platform, facts);
    // `jit` builds are for those who ask for them.
    let wanted_flavour = question.cudnn.as_ref().and_then(|spec| spec.flavour);
    offers.retain(|offer| offer.build.flavour == wanted_flavour.unwrap_or(Flavour::Full));
    let framework = fitting_package(question, platform, &offers, facts);
    if let Some(framework) = framework {
        about_framework(&mut answer, framework);
    }
    if let Some(gpu) = &question.gpu {
        about_gpu(&mut answer, gpu, platform, facts);
    }
    if let Some(driver) = &question.driver {
        about_driver(&mut answer, driver, platform, facts);
    }
    if let Some(cuda) = question.cuda {
        about_cuda(&mut answer, cuda, platform, facts);
    }
    if let Some(spec) = &question.cudnn {
        about_cudnn(&mut answer, spec, platform, &offers, facts);
    }
    conclude(&mut answer, question, framework, platform, &offers, facts);
    answer
}

/// Of a framework's packages the first with which something meets all that is given; the usual one if none does.
fn fitting_package<'a>(
    question: &'a Question<'a>,
    platform: Platform,
    offers: &[Offer],
    facts: &Facts,
) -> Option<&'a Recommendation<'a>> {
    let fits = |package: &&Recommendation| {
        let given = given(question, Some(package));
        offers.iter().any(|offer| {
            given
                .iter()
                .all(|given| !matches!(given.fit(offer, platform, facts), Fit::Impossible(_)))
        })
    };
    question
        .framework
        .iter()
        .find(fits)
        .or(question.framework.first())
}

/// A published build with the toolkits it is documented for.
#[derive(Debug, Clone, Copy)]
struct Offer {
    build: BuildId,
    toolkits: Option<[CudaVersion; 2]>,
}

fn offers(releases: &Releases, platform: Platform, facts: &Facts) -> Vec<Offer> {
    let mut offers: Vec<Offer> = releases
        .all()
        .iter()
        .filter(|release| release.platform == platform)
        .map(|release| Offer {
            build: release.build(),
            toolkits: release.cuda_range.or_else(|| {
                let support = facts.support_for(&release.build())?;
                Some([support.first_cuda, support.last_cuda?])
            }),
        })
        .collect();
    offers.sort_by_key(|offer| std::cmp::Reverse(offer.build));
    offers.dedup_by_key(|offer| offer.build);
    offers
}

fn push(answer: &mut Answer, about: &'static str, level: Level, text: String, source: &str) {
    answer.lines.push(Line {
        about,
        level,
        text,
        source: source.to_owned(),
    });
}

fn about_framework(answer: &mut Answer, framework: &Recommendation) {
    for reason in &framework.reasons {
        push(
            answer,
            "framework",
            Level::Ok,
            reason.text.clone(),
            &reason.source,
        );
    }
}

fn about_gpu(answer: &mut Answer, gpu: &Gpu, platform: Platform, facts: &Facts) {
    let capability = gpu.capability;
    let name = gpu.name.as_deref().unwrap_or("GPU");
    let Some(architecture) = facts.architecture(capability) else {
        let text = format!("{name}: compute capability {capability}, which is not known here");
        push(answer, "gpu", Level::Warn, text, "");
        return;
    };
    let source = facts.source(&architecture.fact);
    push(
        answer,
        "gpu",
        Level::Ok,
        format!(
            "{name}: {}, compute capability {capability}",
            architecture.name
        ),
        &source,
    );
    let cuda = match architecture.last_cuda {
        Some(last) => format!("CUDA {} to {last}", architecture.first_cuda),
        None => format!("CUDA {} and newer", architecture.first_cuda),
    };
    push(
        answer,
        "gpu",
        Level::Ok,
        format!("{cuda} make code for it"),
        &source,
    );
    if let Some(last) = &architecture.last_cudnn {
        let text = format!("cuDNN {last} is the last with kernels for it");
        push(answer, "gpu", Level::Ok, text, &source);
    } else if let Some(first) = &architecture.first_cudnn {
        let text = format!("cuDNN knows it from {first} on");
        push(answer, "gpu", Level::Ok, text, &source);
    }
    if let Some(toolkit) = oldest_toolkit(architecture.first_cuda, facts)
        && let Some(driver) = toolkit.driver(platform)
    {
        let text = format!(
            "drivers from about {driver} on know it: that is the one of CUDA {}, the first for it",
            toolkit.cuda()
        );
        push(answer, "gpu", Level::Ok, text, &facts.source(&toolkit.fact));
    }
}

fn about_driver(answer: &mut Answer, driver: &Driver, platform: Platform, facts: &Facts) {
    // Only releases that shipped with a driver no newer than this one are sure to be native to it.
    let native = facts.toolkits.iter().find(|toolkit| {
        toolkit
            .driver(platform)
            .is_some_and(|shipped| driver >= shipped)
    });
    let compatible = facts
        .toolkits
        .iter()
        .filter(|toolkit| driver >= toolkit.minimum(platform))
        .max_by_key(|toolkit| toolkit.cuda());
    let text = match (native, compatible) {
        (_, None) => format!("driver {driver} is older than any CUDA known here needs"),
        (Some(native), Some(best)) if best.cuda().major == native.cuda().major => {
            let minors = if native.minor_compatible {
                format!(
                    ", and programs for every CUDA {}.x by minor version compatibility",
                    native.cuda().major
                )
            } else {
                String::new()
            };
            format!("driver {driver} runs CUDA up to {}{minors}", native.cuda())
        }
        (_, Some(best)) => format!(
            "driver {driver} runs programs for every CUDA {}.x by minor version compatibility",
            best.cuda().major
        ),
    };
    let level = if compatible.is_none() {
        Level::Fail
    } else {
        Level::Ok
    };
    let source = compatible
        .or(facts.toolkits.last())
        .map_or_else(String::new, |toolkit| facts.source(&toolkit.fact));
    push(answer, "driver", level, text, &source);
}

fn about_cuda(answer: &mut Answer, cuda: CudaVersion, platform: Platform, facts: &Facts) {
    let Some(toolkit) = oldest_toolkit(cuda, facts) else {
        let text = format!("CUDA {cuda} is not known here");
        push(answer, "cuda", Level::Warn, text, "");
        return;
    };
    let minimum = toolkit.minimum(platform);
    let system = if platform.is_windows() {
        "Windows"
    } else {
        "Linux"
    };
    let text = if toolkit.minor_compatible {
        format!(
            "CUDA {cuda} needs the {system} driver {minimum} or newer, as all of {}.x do",
            toolkit.cuda().major
        )
    } else {
        format!("CUDA {cuda} needs the {system} driver {minimum} or newer")
    };
    let source = facts.source(&toolkit.fact);
    push(answer, "cuda", Level::Ok, text, &source);
    let shipped = toolkit
        .driver(platform)
        .filter(|shipped| cuda.minor.is_some() && *shipped > minimum);
    if let Some(shipped) = shipped {
        let text = format!("it was released with driver {shipped}");
        push(answer, "cuda", Level::Ok, text, &source);
    } else if platform.is_windows() && toolkit.windows.is_none() {
        let text = "NVIDIA names no Windows driver for it; the branch is that of Linux".to_owned();
        push(answer, "cuda", Level::Warn, text, &source);
    }
}

fn about_cudnn(
    answer: &mut Answer,
    spec: &VersionSpec,
    platform: Platform,
    offers: &[Offer],
    facts: &Facts,
) {
    let meant: Vec<&Offer> = offers
        .iter()
        .filter(|offer| spec_matches(spec, offer, platform))
        .collect();
    let Some(newest) = meant.first().map(|offer| offer.build.version) else {
        let text = format!("cuDNN {spec} is not published for {platform}");
        push(answer, "cudnn", Level::Fail, text, "");
        return;
    };
    for offer in meant
        .iter()
        .filter(|offer| offer.build.version.same_release(newest))
    {
        let build = &offer.build;
        let toolkits = match offer.toolkits {
            Some([first, last]) if first == last => format!("documented for CUDA {first}"),
            Some([first, last]) => format!("documented for CUDA {first} to {last}"),
            None => "documented for its CUDA major".to_owned(),
        };
        match facts.support_for(build) {
            None => push(
                answer,
                "cudnn",
                Level::Ok,
                format!("{build}: {toolkits}"),
                "",
            ),
            Some(support) => {
                let [low, high] = support.capability;
                let text =
                    format!("{build}: {toolkits}, GPUs of compute capability {low} to {high}");
                push(
                    answer,
                    "cudnn",
                    Level::Ok,
                    text,
                    &facts.source(&support.fact),
                );
            }
        }
        if let Some(toolkit) = build
            .variant
            .and_then(|variant| super::toolkit_of_variant(variant, facts))
        {
            let text = format!(
                "{build} needs driver {} or newer",
                toolkit.minimum(platform)
            );
            push(
                answer,
                "cudnn",
                Level::Ok,
                text,
                &facts.source(&toolkit.fact),
            );
        }
    }
    if let Some(broken) = facts
        .broken
        .iter()
        .find(|broken| broken.version.same_release(newest))
    {
        let text = format!(
            "cuDNN {} is faulty: {}",
            broken.version.label(),
            broken.reason
        );
        push(answer, "cudnn", Level::Warn, text, &broken.fact);
    }
}

fn spec_matches(spec: &VersionSpec, offer: &Offer, platform: Platform) -> bool {
    VersionSpec {
        platform: Some(platform),
        ..spec.clone()
    }
    .matches(&offer.build)
}

/// What is given, one thing at a time, each able to refuse a build.
enum Given<'a> {
    Driver(&'a Driver),
    Gpu(&'a Gpu),
    Cuda(CudaVersion),
    Cudnn(&'a VersionSpec),
    Framework(&'a Recommendation<'a>),
}

impl Given<'_> {
    fn name(&self) -> String {
        match self {
            Self::Driver(driver) => format!("driver {driver}"),
            Self::Gpu(gpu) => match &gpu.name {
                Some(name) => name.clone(),
                None => format!("compute capability {}", gpu.capability),
            },
            Self::Cuda(cuda) => format!("CUDA {cuda}"),
            Self::Cudnn(spec) => format!("cuDNN {spec}"),
            Self::Framework(framework) => {
                format!("{} {}", framework.framework.name, framework.version)
            }
        }
    }

    fn fit(&self, offer: &Offer, platform: Platform, facts: &Facts) -> Fit {
        let build = &offer.build;
        let refuse = |text: String, source: String| Fit::Impossible(Reason { text, source });
        match self {
            Self::Driver(driver) => judge(
                build,
                &Machine {
                    driver: Some((*driver).clone()),
                    ..Machine::default()
                },
                facts,
            ),
            Self::Gpu(gpu) => judge(
                build,
                &Machine {
                    gpus: vec![(*gpu).clone()],
                    ..Machine::default()
                },
                facts,
            ),
            Self::Cuda(cuda) => cuda_fit(offer, *cuda),
            Self::Cudnn(spec) => {
                if spec_matches(spec, offer, platform) {
                    Fit::Good
                } else {
                    refuse(format!("{build} is not cuDNN {spec}"), String::new())
                }
            }
            Self::Framework(recommendation) => {
                let framework = recommendation.framework;
                let source = || facts.source(&framework.fact);
                let accepted = recommendation
                    .accepts
                    .as_ref()
                    .is_none_or(|accepts| accepts.requirement.matches(build.version));
                if !accepted {
                    let accepts = recommendation.accepts.as_ref().map(VersionSpec::to_string);
                    return refuse(
                        format!(
                            "{} {} runs with cuDNN {}, not {}",
                            framework.name,
                            recommendation.version,
                            accepts.unwrap_or_default(),
                            build.version
                        ),
                        source(),
                    );
                }
                let majors: Vec<u32> = framework.cuda.iter().map(|cuda| cuda.major).collect();
                let same_cuda = match (majors.first(), majors.last(), build.variant) {
                    (Some(first), Some(last), Some(variant)) => {
                        (*first..=*last).contains(&variant.major)
                    }
                    _ => true,
                };
                if !same_cuda {
                    return refuse(
                        format!(
                            "{} {} is built for CUDA {}, {build} for another",
                            framework.name,
                            recommendation.version,
                            cudas(recommendation)
                        ),
                        source(),
                    );
                }
                Fit::Good
            }
        }
    }
}

/// The CUDA of a framework: one, or from one to another.
fn cudas(recommendation: &Recommendation) -> String {
    match recommendation.framework.cuda.as_slice() {
        [] => "unknown".to_owned(),
        [only] => only.to_string(),
        [first, .., last] => format!("{first} to {last}"),
    }
}

/// A toolkit of the same major, not older than the build where that counts.
fn cuda_fit(offer: &Offer, cuda: CudaVersion) -> Fit {
    let build = &offer.build;
    let Some(variant) = build.variant else {
        return Fit::Good;
    };
    let source = "NVIDIA's support matrix for this cuDNN".to_owned();
    let impossible = |text: String| {
        Fit::Impossible(Reason {
            text,
            source: source.clone(),
        })
    };
    if variant.major != cuda.major {
        return impossible(format!("{build} is built for CUDA {variant}, not {cuda}"));
    }
    if cuda.minor.is_none() || variant.agrees_with(cuda) && variant.minor.is_some() {
        return Fit::Good;
    }
    match offer.toolkits {
        Some([first, last]) if (first..=last).contains(&cuda) => Fit::Good,
        // Before CUDA 11 libraries of different minors don't go together.
        Some([first, last]) if variant.major < 11 => impossible(format!(
            "{build} is for CUDA {}, not {cuda}",
            if first == last {
                first.to_string()
            } else {
                format!("{first} to {last}")
            }
        )),
        Some([first, last]) => Fit::Warn(Reason {
            text: format!(
                "{build} is documented for CUDA {first} to {last}; with {cuda} it relies on minor version compatibility"
            ),
            source,
        }),
        None => Fit::Good,
    }
}

/// All that is given; the harder the fact, the earlier: a GPU can't be changed, a cuDNN can.
fn given<'a>(
    question: &'a Question<'a>,
    framework: Option<&'a Recommendation<'a>>,
) -> Vec<Given<'a>> {
    let mut given = Vec::new();
    given.extend(question.gpu.as_ref().map(Given::Gpu));
    given.extend(question.driver.as_ref().map(Given::Driver));
    given.extend(framework.map(Given::Framework));
    given.extend(question.cuda.map(Given::Cuda));
    given.extend(question.cudnn.as_ref().map(Given::Cudnn));
    given
}

fn conclude(
    answer: &mut Answer,
    question: &Question,
    framework: Option<&Recommendation>,
    platform: Platform,
    offers: &[Offer],
    facts: &Facts,
) {
    let given = given(question, framework);
    let works = |offer: &Offer, given: &[&Given]| {
        given
            .iter()
            .map(|given| given.fit(offer, platform, facts))
            .max_by_key(|fit| match fit {
                Fit::Good => 0,
                Fit::Warn(_) => 1,
                Fit::Impossible(_) => 2,
            })
            .unwrap_or(Fit::Good)
    };
    let all: Vec<&Given> = given.iter().collect();
    let mut fitting: Vec<(&Offer, Option<Reason>)> = offers
        .iter()
        .filter_map(|offer| match works(offer, &all) {
            Fit::Good => Some((offer, None)),
            Fit::Warn(reason) => Some((offer, Some(reason))),
            Fit::Impossible(_) => None,
        })
        .collect();
    // The newest release; of its variants the newest CUDA; what is certain before what has a "but".
    fitting.sort_by_key(|(offer, doubt)| {
        let version = offer.build.version;
        (
            doubt.is_some(),
            std::cmp::Reverse((version, offer.build.variant)),
        )
    });
    let Some((newest, doubt)) = fitting.first() else {
        answer.impossible = true;
        explain_conflict(answer, &all, offers, platform, facts);
        return;
    };
    answer.build = Some(newest.build);
    let names: Vec<String> = all.iter().map(|given| given.name()).collect();
    let fits = if names.is_empty() {
        "the newest published".to_owned()
    } else {
        format!("the newest that fits {}", names.join(", "))
    };
    let (source, level) = match doubt {
        Some(reason) => (reason.source.clone(), Level::Warn),
        None => (
            "all published builds held against the facts above".to_owned(),
            Level::Ok,
        ),
    };
    let mut text = format!("{}: {fits}", newest.build);
    if let Some(reason) = doubt {
        text.push_str(&format!("; but {}", reason.text));
    }
    push(answer, "build", level, text, &source);
    let oldest = fitting
        .iter()
        .filter(|(_, doubt)| doubt.is_none())
        .map(|(offer, _)| offer.build.version)
        .min();
    if let Some(oldest) = oldest.filter(|oldest| !oldest.same_release(newest.build.version)) {
        push(
            answer,
            "build",
            Level::Ok,
            format!("{oldest} is the oldest that fits"),
            "all published builds held against the facts above",
        );
    }
    if let Some(framework) = framework {
        recommend(answer, framework, &fitting, platform);
    }
    why_not_newer(answer, newest.build.version, &all, offers, platform, facts);
}

/// With a framework, what it was built with is the safest choice.
fn recommend(
    answer: &mut Answer,
    framework: &Recommendation,
    fitting: &[(&Offer, Option<Reason>)],
    platform: Platform,
) {
    let best = fitting
        .iter()
        .find(|(offer, _)| spec_matches(&framework.spec, offer, platform));
    let name = format!("{} {}", framework.framework.name, framework.version);
    match best {
        Some((offer, _)) => {
            answer.recommended = Some(offer.build);
            let entry = framework.framework;
            let pinned = entry.pin.as_deref().is_some_and(|pin| pin.contains("=="));
            let extra = entry
                .bundled_at
                .as_deref()
                .is_some_and(|place| place.contains("only with extra"));
            let own = match entry.bundled {
                Bundled::InWheel => ", and brings itself",
                Bundled::PipDependency if pinned && !extra => ", and brings itself",
                _ => "",
            };
            push(
                answer,
                "build",
                Level::Ok,
                format!("{}: what {name} was built with{own}", offer.build),
                framework
                    .reasons
                    .first()
                    .map_or("", |reason| &reason.source),
            );
        }
        None => push(
            answer,
            "build",
            Level::Warn,
            format!(
                "cuDNN {}, with which {name} was built, does not fit or is not published",
                framework.spec
            ),
            framework
                .reasons
                .first()
                .map_or("", |reason| &reason.source),
        ),
    }
}

/// When a newer release is published but refused, the one reason.
fn why_not_newer(
    answer: &mut Answer,
    version: CudnnVersion,
    given: &[&Given],
    offers: &[Offer],
    platform: Platform,
    facts: &Facts,
) {
    let next = offers
        .iter()
        .rev()
        .find(|offer| offer.build.version > version && !offer.build.version.same_release(version));
    let Some(next) = next else { return };
    for given in given {
        // What was asked for by name needs no explanation.
        if matches!(given, Given::Cudnn(_)) {
            continue;
        }
        let all_refused = offers
            .iter()
            .filter(|offer| offer.build.version.same_release(next.build.version))
            .map(|offer| given.fit(offer, platform, facts))
            .collect::<Vec<_>>();
        let every = all_refused
            .iter()
            .all(|fit| matches!(fit, Fit::Impossible(_)));
        if let (true, Some(Fit::Impossible(reason))) = (every, all_refused.into_iter().next()) {
            let text = format!("not {}: {}", next.build.version.label(), reason.text);
            push(answer, "build", Level::Ok, text, &reason.source);
            return;
        }
    }
}

/// The pairs of given things that no build meets together.
fn explain_conflict(
    answer: &mut Answer,
    given: &[&Given],
    offers: &[Offer],
    platform: Platform,
    facts: &Facts,
) {
    let passes = |given: &Given, offer: &Offer| {
        !matches!(given.fit(offer, platform, facts), Fit::Impossible(_))
    };
    let before = answer.lines.len();
    for (index, one) in given.iter().enumerate() {
        let by_one: Vec<&Offer> = offers.iter().filter(|offer| passes(one, offer)).collect();
        if by_one.is_empty() {
            let text = format!("no published build fits {}", one.name());
            push(answer, "build", Level::Fail, text, "");
            continue;
        }
        for other in &given[index + 1..] {
            if by_one.iter().any(|offer| passes(other, offer)) {
                continue;
            }
            let reason = match (one, other) {
                (Given::Framework(framework), Given::Cuda(_)) => Some(Reason {
                    text: format!("it is built for CUDA {}", cudas(framework)),
                    source: facts.source(&framework.framework.fact),
                }),
                // The first of two is the harder fact: it tells why it refuses the newest build that the other means.
                _ => offers
                    .iter()
                    .find(|offer| passes(other, offer))
                    .and_then(|offer| match one.fit(offer, platform, facts) {
                        Fit::Impossible(reason) => Some(reason),
                        Fit::Good | Fit::Warn(_) => None,
                    }),
            };
            if let Some(reason) = reason {
                let text = format!(
                    "{} and {} don't go together: {}",
                    one.name(),
                    other.name(),
                    reason.text
                );
                push(answer, "build", Level::Fail, text, &reason.source);
            }
        }
    }
    if answer.lines.len() == before {
        let names: Vec<String> = given.iter().map(|given| given.name()).collect();
        let text = format!("no published build fits all of {}", names.join(", "));
        push(answer, "build", Level::Fail, text, "");
    }
}

fn oldest_toolkit(cuda: CudaVersion, facts: &Facts) -> Option<&Toolkit> {
    facts
        .toolkits
        .iter()
        .filter(|toolkit| cuda.agrees_with(toolkit.cuda()))
        .min_by(|a, b| a.version.cmp(&b.version))
}
