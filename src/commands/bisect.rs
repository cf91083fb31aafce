//! `cudnnm bisect`: the first version with which a command no longer succeeds.

use std::ffi::OsString;

use serde::Serialize;

use super::Error as CommandError;
use super::{active, installing, published, selected};
use crate::context::Context;
use crate::error::{Error, Exit};
use crate::process::{self, Invocation};
use crate::selection::{Reason, Wish};
use crate::version::{CudnnVersion, Platform, Requirement, VersionSpec};

/// Find the first cuDNN version with which a command that succeeded begins to fail
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The command runs as under exec. Exit status 0 means good, 125 means that this version can't be judged, any other means bad.\n\nExamples:\n  cudnnm bisect 9.10..9.19 -- python train.py --steps 10\n  cudnnm bisect 9.12+cuda13+jit..9.19 --install -- python -m pytest -x tests/test_conv.py"
)]
pub struct Args {
    /// From a good version to a bad one; either may be the newer
    #[arg(value_name = "GOOD..BAD", value_parser = parse)]
    range: Range,
    /// Also take published versions, and install each that is needed
    #[arg(long)]
    install: bool,
    /// One JSON document; what the command says goes to stderr
    #[arg(long)]
    json: bool,
    /// The command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Two ends of what is searched.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    good: VersionSpec,
    bad: VersionSpec,
}

fn parse(text: &str) -> Result<Range, String> {
    let (good, bad) = text
        .split_once("..")
        .ok_or("two versions with two dots between them, like 9.10..9.19")?;
    let mut ends = [good, bad].map(|text| {
        let spec: VersionSpec = text
            .parse()
            .map_err(|_| format!("`{text}` is no version"))?;
        match spec.requirement {
            Requirement::Range(_) => Err(format!("`{text}` is a range itself")),
            Requirement::Latest | Requirement::Prefix(_) => Ok(spec),
        }
    });
    // A tag on one end is meant for both.
    if let [Ok(a), Ok(b)] = &mut ends {
        (a.variant, b.variant) = (a.variant.or(b.variant), b.variant.or(a.variant));
        (a.flavour, b.flavour) = (a.flavour.or(b.flavour), b.flavour.or(a.flavour));
    }
    let [good, bad] = ends;
    Ok(Range {
        good: good?,
        bad: bad?,
    })
}

#[derive(Serialize)]
struct Report {
    schema: u32,
    first_bad: String,
    last_good: String,
    /// Between the two, and not judged.
    skipped: Vec<String>,
    runs: Vec<Ran>,
}

#[derive(Debug, Clone, Serialize)]
struct Ran {
    version: String,
    build: String,
    exit: i32,
    verdict: Verdict,
}

/// What one run means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Good,
    Bad,
    Skipped,
}

/// With this status a command says that it can't judge, as for `git bisect`.
const SKIP: i32 = 125;

/// Runs the command.
///
/// # Errors
///
/// When there are no two versions to search between, the ends are not as told, or a build can't be installed.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let versions = versions(ctx, args)?;
    let mut runs = Vec::new();
    let mut judge = |position: usize| -> Result<Verdict, Error> {
        let ran = try_one(ctx, args, versions[position])?;
        let verdict = ran.verdict;
        ctx.output.note(format!(
            "{}: {} (exit status {})",
            ran.build,
            match verdict {
                Verdict::Good => "good",
                Verdict::Bad => "bad",
                Verdict::Skipped => "can't be judged",
            },
            ran.exit
        ));
        runs.push(ran);
        Ok(verdict)
    };
    let last = versions.len() - 1;
    expect(judge(0)?, Verdict::Good, versions[0])?;
    expect(judge(last)?, Verdict::Bad, versions[last])?;
    let found = search(last, &mut judge)?;
    let build = |position: usize| {
        let label = versions[position].label();
        let ran = runs.iter().find(|ran| ran.version == label);
        ran.map_or(label, |ran| ran.build.clone())
    };
    let report = Report {
        schema: 1,
        first_bad: build(found.bad),
        last_good: build(found.good),
        skipped: (found.good + 1..found.bad)
            .map(|position| versions[position].label())
            .collect(),
        runs: runs.clone(),
    };
    if args.json {
        ctx.output.json(&report);
        return Ok(Exit::Done);
    }
    ctx.output
        .line(format!("{} is the first bad version", report.first_bad));
    ctx.output
        .note(format!("{} is the last good one", report.last_good));
    if !report.skipped.is_empty() {
        ctx.output.note(format!(
            "between them, not judged: {}",
            report.skipped.join(", ")
        ));
    }
    Ok(Exit::Done)
}

fn expect(verdict: Verdict, expected: Verdict, version: CudnnVersion) -> Result<(), Error> {
    if verdict == expected {
        return Ok(());
    }
    let message = match (expected, verdict) {
        (_, Verdict::Skipped) => format!(
            "{} can't be judged, so there is no end to start from",
            version.label()
        ),
        (Verdict::Good, _) => format!("the command fails already with {}", version.label()),
        (_, _) => format!("the command still succeeds with {}", version.label()),
    };
    Err(CommandError::Usage {
        message,
        hint: Some(
            "the first version is to be a good one and the second a bad one: GOOD..BAD".to_owned(),
        ),
    }
    .into())
}

/// Where the change is: positions of the last good and of the first bad one.
#[derive(Debug, PartialEq, Eq)]
struct Change {
    good: usize,
    bad: usize,
}

/// Halves the stretch between 0, which is good, and `last`, which is bad, until nothing between can be judged.
fn search<E>(last: usize, judge: &mut dyn FnMut(usize) -> Result<Verdict, E>) -> Result<Change, E> {
    let (mut good, mut bad) = (0, last);
    let mut skipped = Vec::new();
    loop {
        let between: Vec<usize> = (good + 1..bad)
            .filter(|position| !skipped.contains(position))
            .collect();
        let Some(middle) = between.get(between.len() / 2).copied() else {
            return Ok(Change { good, bad });
        };
        match judge(middle)? {
            Verdict::Good => good = middle,
            Verdict::Bad => bad = middle,
            Verdict::Skipped => skipped.push(middle),
        }
    }
}

/// The releases from one end to the other, in that order.
fn versions(ctx: &Context, args: &Args) -> Result<Vec<CudnnVersion>, Error> {
    let mut builds = ctx.store.contents()?.builds;
    let published = published::releases(ctx)?;
    let installed = builds.len();
    builds.extend(published.all().iter().map(crate::manifest::Release::build));
    let any = |requirement: Requirement| VersionSpec {
        requirement,
        ..args.range.good.clone()
    };
    let every = any(Requirement::Prefix(Vec::new()));
    let releases = |count: usize| {
        let mut releases: Vec<CudnnVersion> = builds[..count]
            .iter()
            .filter(|build| build.platform == every.platform.unwrap_or(Platform::host()))
            .filter(|build| {
                every
                    .variant
                    .is_none_or(|variant| build.variant.is_some_and(|own| variant.agrees_with(own)))
            })
            .filter(|build| every.flavour.is_none_or(|flavour| build.flavour == flavour))
            .map(|build| {
                CudnnVersion::new(
                    build.version.major,
                    build.version.minor,
                    build.version.patch,
                )
            })
            .collect();
        releases.sort();
        releases.dedup();
        releases
    };
    let all = releases(if args.install {
        builds.len()
    } else {
        installed
    });
    let chosen = between(&all, &args.range);
    if chosen.len() < 2 {
        let more = between(&releases(builds.len()), &args.range).len();
        return Err(CommandError::Usage {
            message: format!(
                "{} between the two ends; at least two are needed",
                if args.install {
                    "there is no choice of published versions"
                } else {
                    "too few versions are installed"
                }
            ),
            hint: (!args.install && more >= 2)
                .then(|| format!("--install takes the {more} published ones too")),
        }
        .into());
    }
    Ok(chosen)
}

/// Those from the good end to the bad one, in that order. An end that names several releases, like 9.10, is wide: the range
/// takes them all.
fn between(all: &[CudnnVersion], range: &Range) -> Vec<CudnnVersion> {
    let ends = [&range.good, &range.bad].map(|spec| {
        let mut matching = all
            .iter()
            .filter(|version| spec.requirement.matches(**version));
        let first = matching.next();
        (first, matching.next_back().or(first))
    });
    // An end that is not there itself still bounds the rest by its numbers.
    let bound = |spec: &VersionSpec| match &spec.requirement {
        Requirement::Prefix(numbers) => {
            let part = |index: usize| numbers.get(index).copied().unwrap_or(0);
            CudnnVersion::new(part(0), part(1), part(2))
        }
        _ => CudnnVersion::new(u32::MAX, 0, 0),
    };
    let low_high = |end: usize, spec: &VersionSpec| {
        let (first, last) = ends[end];
        (
            first.copied().unwrap_or_else(|| bound(spec)),
            last.copied().unwrap_or_else(|| bound(spec)),
        )
    };
    let good = low_high(0, &range.good);
    let bad = low_high(1, &range.bad);
    let upward = good.0 <= bad.1;
    let (low, high) = if upward {
        (good.0, bad.1)
    } else {
        (bad.0, good.1)
    };
    let mut chosen: Vec<CudnnVersion> = all
        .iter()
        .copied()
        .filter(|version| (low..=high).contains(version))
        .collect();
    if !upward {
        chosen.reverse();
    }
    chosen
}

fn try_one(ctx: &Context, args: &Args, version: CudnnVersion) -> Result<Ran, Error> {
    let wish = Wish {
        spec: VersionSpec {
            requirement: Requirement::Prefix(vec![version.major, version.minor, version.patch]),
            ..args.range.good.clone()
        },
        reason: Reason::Flag,
    };
    let selected = if args.install {
        installing::match_or_install(ctx, wish)?
    } else {
        selected::match_installed(ctx, wish)?
    };
    let set = active::variables(ctx, &selected)?;
    let (name, rest) = args
        .command
        .split_first()
        .expect("clap asks for at least one word");
    let search_path = set
        .iter()
        .find(|(name, _)| name == "PATH")
        .map(|(_, value)| value.as_os_str());
    let program =
        process::find_program(name, search_path.or_else(|| ctx.env.var("PATH")), &ctx.cwd)?;
    let exit = process::run_and_wait(
        Invocation {
            program,
            arg0: name.clone(),
            args: rest.to_vec(),
            set,
        },
        // With --json stdout is ours.
        args.json,
    )?;
    Ok(Ran {
        version: version.label(),
        build: selected.build.to_string(),
        exit,
        verdict: match exit {
            0 => Verdict::Good,
            SKIP => Verdict::Skipped,
            _ => Verdict::Bad,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_change_is_found_wherever_it_is() {
        for last in 1..20 {
            for first_bad in 1..=last {
                let mut asked = 0;
                let change = search::<()>(last, &mut |position| {
                    asked += 1;
                    Ok(if position < first_bad {
                        Verdict::Good
                    } else {
                        Verdict::Bad
                    })
                });
                let expected = Change {
                    good: first_bad - 1,
                    bad: first_bad,
                };
                assert_eq!(change, Ok(expected));
                assert!(asked <= 5, "{asked} runs for {last}");
            }
        }
    }

    #[test]
    fn what_cannot_be_judged_is_gone_round() {
        let change = search::<()>(6, &mut |position| {
            Ok(match position {
                ..=1 => Verdict::Good,
                2 | 3 => Verdict::Skipped,
                _ => Verdict::Bad,
            })
        });
        assert_eq!(change, Ok(Change { good: 1, bad: 4 }));
    }

    #[test]
    fn ends_bound_the_versions_in_both_directions() {
        let all: Vec<CudnnVersion> = ["9.10.0", "9.10.2", "9.12.0", "9.15.1", "9.19.0"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        for (range, expected) in [
            ("9.10..9.15", "9.10.0 9.10.2 9.12.0 9.15.1"),
            ("9.15..9.10.2", "9.15.1 9.12.0 9.10.2"),
            ("9.11..latest", "9.12.0 9.15.1 9.19.0"),
            ("9.12.0..9.12.0", "9.12.0"),
            ("8..9.11", "9.10.0 9.10.2"),
        ] {
            let found: Vec<String> = between(&all, &parse(range).unwrap())
                .iter()
                .map(|version| version.label())
                .collect();
            assert_eq!(found.join(" "), expected, "{range}");
        }
        assert!(parse("9.10").is_err());
        assert!(parse(">=9..9.10").is_err());
    }
}
