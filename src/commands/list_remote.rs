//! `cudnnm list-remote`: what is published.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{published, refreshing};
use crate::context::Context;
use crate::error::{Error, Exit};
use crate::manifest::{Digest, Release};
use crate::output;
use crate::selection::Candidate;
use crate::sources::Server;
use crate::version::{BuildId, CudaVersion, CudnnVersion, Flavour, Platform, VersionSpec};

/// List the cuDNN versions that can be installed
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only these, like 8, 8.2.1, ">=9.10", 9+cuda13; a single release is shown with all its files
    spec: Option<VersionSpec>,
    /// Builds for every platform, not only this one
    #[arg(long, conflicts_with = "platform")]
    all_platforms: bool,
    /// Builds for another platform, like windows-x86_64
    #[arg(long)]
    platform: Option<Platform>,
    /// Only builds that serve this CUDA toolkit, like 11.2
    #[arg(long)]
    cuda: Option<CudaVersion>,
    /// Only what this source has
    #[arg(long, value_name = "SOURCE")]
    source: Option<Server>,
    /// Ask the sources first for versions newer than the built-in list, and remember them
    #[arg(long)]
    refresh: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    files: Vec<FileReport<'a>>,
}

#[derive(Serialize)]
struct FileReport<'a> {
    version: CudnnVersion,
    variant: CudaVersion,
    flavour: Flavour,
    platform: Platform,
    build: String,
    source: &'static str,
    #[serde(flatten)]
    origin: &'a crate::manifest::Origin,
    file: &'a str,
    size: Option<u64>,
    digests: &'a [Digest],
    cuda_range: Option<[CudaVersion; 2]>,
    fact: String,
    installed: bool,
}

/// Runs the command.
///
/// # Errors
///
/// When nothing that is asked for is published, or a manifest can't be used.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let releases = if args.refresh {
        let refreshed = refreshing::refresh(ctx, args.source, refreshing::Depth::News)?;
        for warning in &refreshed.warnings {
            ctx.output.warning(warning);
        }
        for failure in &refreshed.failures {
            ctx.output.note(failure);
        }
        refreshed.releases
    } else {
        published::releases(ctx)?
    };
    let installed: BTreeSet<BuildId> = ctx.store.contents()?.builds.into_iter().collect();
    let mut spec = args.spec.clone().unwrap_or(VersionSpec::latest());
    spec.platform = args.platform.or(spec.platform);
    let order: Vec<&str> = match &args.source {
        Some(source) => vec![source.name()],
        None => Server::ORDER.iter().map(|server| server.name()).collect(),
    };
    let wanted = |release: &&Release| {
        let platform = if args.all_platforms {
            Some(release.platform)
        } else {
            spec.platform
        };
        VersionSpec {
            platform,
            ..spec.clone()
        }
        .matches(&release.build())
            && order.contains(&release.origin.source())
            && args.cuda.is_none_or(|cuda| serves(release, cuda))
    };
    let found: Vec<&Release> = releases.all().iter().filter(wanted).collect();
    if found.is_empty() {
        spec.variant = args.cuda.or(spec.variant);
        return Err(releases.absence(&spec, &order).into());
    }
    if args.json {
        ctx.output.json(&Report {
            schema: 1,
            files: found
                .iter()
                .map(|release| FileReport {
                    version: release.version,
                    variant: release.variant,
                    flavour: release.flavour,
                    platform: release.platform,
                    build: release.build().to_string(),
                    source: release.origin.source(),
                    origin: &release.origin,
                    file: &release.file,
                    size: release.size,
                    digests: &release.digests,
                    cuda_range: release.cuda_range,
                    fact: releases.source(release),
                    installed: installed.contains(&release.build()),
                })
                .collect(),
        });
        return Ok(Exit::Done);
    }
    let one_release = found
        .iter()
        .all(|release| release.version.same_release(found[0].version));
    let rows = if one_release && args.spec.is_some() {
        file_rows(&found, &installed)
    } else {
        release_rows(&found, &installed, args.all_platforms)
    };
    for line in output::table(&rows) {
        ctx.output.line(line);
    }
    Ok(Exit::Done)
}

/// Whether a build is for this toolkit, as documented.
fn serves(release: &Release, cuda: CudaVersion) -> bool {
    match release.toolkits() {
        Some([first, last]) if cuda.minor.is_some() => (first..=last).contains(&cuda),
        _ => cuda.agrees_with(release.variant),
    }
}

/// A line for each release, newest last, where a terminal shows it.
fn release_rows(
    found: &[&Release],
    installed: &BTreeSet<BuildId>,
    all_platforms: bool,
) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let releases = found.chunk_by(|a, b| a.version.same_release(b.version));
    for files in releases {
        let versions: BTreeSet<CudnnVersion> = files.iter().map(|file| file.version).collect();
        let mut row = vec![
            joined(versions.iter(), "/"),
            variants(files, Flavour::Full),
            match variants(files, Flavour::Jit).as_str() {
                "" => String::new(),
                jit => format!("jit: {jit}"),
            },
        ];
        if all_platforms {
            let platforms: BTreeSet<Platform> = files.iter().map(|file| file.platform).collect();
            row.push(joined(platforms.iter(), " "));
        }
        let sources: BTreeSet<&str> = files.iter().map(|file| file.origin.source()).collect();
        row.push(joined(sources.iter(), " "));
        row.push(sizes(files));
        let here: BTreeSet<String> = files
            .iter()
            .map(|file| file.build())
            .filter(|build| installed.contains(build))
            .map(|build| tags(&build))
            .collect();
        row.push(if here.is_empty() {
            String::new()
        } else {
            format!("installed: {}", joined(here.iter(), " "))
        });
        rows.push(row);
    }
    rows.reverse();
    // A column in which no line has anything is only a gap.
    let columns = rows.first().map_or(0, Vec::len);
    for column in (0..columns).rev() {
        if rows.iter().all(|row| row[column].is_empty()) {
            for row in &mut rows {
                row.remove(column);
            }
        }
    }
    rows
}

/// A line for each file of one release.
fn file_rows(found: &[&Release], installed: &BTreeSet<BuildId>) -> Vec<Vec<String>> {
    found
        .iter()
        .map(|file| {
            let build = file.build();
            let mut notes = Vec::new();
            if let Some([first, last]) = file.toolkits() {
                notes.push(if first == last {
                    format!("CUDA {first}")
                } else {
                    format!("CUDA {first} to {last}")
                });
            }
            if file.digests.is_empty() {
                notes.push("digest unknown".to_owned());
            }
            if installed.contains(&build) {
                notes.push("installed".to_owned());
            }
            vec![
                build.to_string(),
                file.platform.to_string(),
                file.origin.source().to_owned(),
                file.size.map_or_else(|| "-".to_owned(), output::size),
                file.file.clone(),
                notes.join(", "),
            ]
        })
        .collect()
}

fn variants(files: &[&Release], flavour: Flavour) -> String {
    let variants: BTreeSet<CudaVersion> = files
        .iter()
        .filter(|file| file.flavour == flavour)
        .map(|file| file.variant)
        .collect();
    let tags: Vec<String> = variants.iter().map(|variant| variant.tag()).collect();
    tags.join(" ")
}

fn tags(build: &BuildId) -> String {
    let variant = build.variant.map(CudaVersion::tag).unwrap_or_default();
    match build.flavour {
        Flavour::Full => variant,
        Flavour::Jit => format!("{variant}+jit"),
    }
}

/// The smallest and the largest full build; jit ones are so much smaller that they would say nothing about the others.
fn sizes(files: &[&Release]) -> String {
    let full = |file: &&&Release| file.flavour == Flavour::Full;
    let any_full = files.iter().any(|file| full(&file));
    let known: Vec<u64> = files
        .iter()
        .filter(|file| full(file) || !any_full)
        .filter_map(|file| file.size)
        .collect();
    match (known.iter().min(), known.iter().max()) {
        (Some(least), Some(most)) if output::size(*least) != output::size(*most) => {
            format!("{} to {}", output::size(*least), output::size(*most))
        }
        (Some(only), _) => output::size(*only),
        _ => "-".to_owned(),
    }
}

fn joined<T: std::fmt::Display>(items: impl Iterator<Item = T>, between: &str) -> String {
    let words: Vec<String> = items.map(|item| item.to_string()).collect();
    words.join(between)
}
