//! `cudnnm install`: gets builds into the store.

use std::time::Instant;

use serde::Serialize;

use super::installing::{Installed, InstalledCompanion, Options, Plan, Session};
use super::selected;
use crate::context::Context;
use crate::error::{Error, Exit};
use crate::output::size;
use crate::progress::took;
use crate::sources::Server;
use crate::version::{BuildId, CudaVersion, Platform, VersionSpec};

/// Install cuDNN versions into the store, from NVIDIA's server, the Python index or a file
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cudnnm install 8.2.1\n  cudnnm install 9.19+cuda13+jit 8.9.7+cuda12\n  cudnnm install 9 --cuda 12 --with-companions\n  cudnnm install            # what this project asks for"
)]
pub struct Args {
    /// Versions, ranges or latest, with tags if needed: 8.2.1+cuda11.3; without any, what this project asks for
    #[arg(value_name = "SPEC")]
    specs: Vec<VersionSpec>,
    /// Of several variants, the one for this CUDA
    #[arg(long, value_name = "VERSION")]
    cuda: Option<CudaVersion>,
    /// For another platform than this one
    #[arg(long, value_name = "PLATFORM")]
    platform: Option<Platform>,
    /// Only from here: nvidia or pypi
    #[arg(long, value_name = "SOURCE")]
    source: Option<Server>,
    /// Ask the sources for versions newer than the built-in list
    #[arg(long)]
    refresh: bool,
    /// Also install what the build needs beside itself (cuBLAS, NVRTC) and this machine lacks
    #[arg(long)]
    with_companions: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Install again what is there
    #[arg(long)]
    force: bool,
    /// Take a file whose digest nobody has published, and remember its digest
    #[arg(long)]
    trust_on_first_use: bool,
    /// Say nothing about NVIDIA's licence
    #[arg(long)]
    accept_license: bool,
    /// Keep the downloaded archive
    #[arg(long)]
    keep_archive: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    dry_run: bool,
    builds: Vec<Entry<'a>>,
    companions: Vec<CompanionEntry>,
}

#[derive(Serialize)]
struct CompanionEntry {
    status: &'static str,
    companion: String,
    path: std::path::PathBuf,
}

#[derive(Serialize)]
struct Entry<'a> {
    status: &'static str,
    asked: String,
    build: String,
    #[serde(flatten)]
    id: BuildId,
    path: std::path::PathBuf,
    source: Option<String>,
    origin: Option<String>,
    file: Option<&'a str>,
    size: Option<u64>,
    sha256: Option<String>,
    variant_reason: Option<&'a str>,
}

/// Runs the command.
///
/// # Errors
///
/// When one of the builds can't be installed; those before it are.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let specs = wanted(ctx, args)?;
    let session = Session::new(
        ctx,
        Options {
            source: args.source,
            refresh: args.refresh,
            force: args.force,
            trust_on_first_use: args.trust_on_first_use,
            keep_archive: args.keep_archive,
            accept_license: args.accept_license,
        },
    )?;
    let mut plans: Vec<Plan> = Vec::new();
    for spec in &specs {
        let plan = session.plan(spec)?;
        if !plans.iter().any(|other| other.build == plan.build) {
            plans.push(plan);
        }
    }
    let mut entries = Vec::new();
    let mut companions = Vec::new();
    for plan in &plans {
        if let Some(build) = plan.present.filter(|_| !args.force) {
            let path = ctx.store.build_folder(&build);
            ctx.output
                .note(format!("{build} is installed already: {}", path.display()));
            if args.with_companions && !args.dry_run {
                let needs = ctx.store.receipt(&build.folder())?.needs;
                companions.extend(add_companions(ctx, &session, &build, &needs)?);
            }
            entries.push(entry(ctx, plan, "present", build));
        } else if args.dry_run {
            if !args.json {
                show(ctx, plan);
            }
            entries.push(entry(ctx, plan, "planned", plan.build));
        } else {
            session.tell(plan);
            let started = Instant::now();
            let installed = session.carry_out(plan)?;
            report(ctx, &installed, started);
            if args.with_companions {
                companions.extend(add_companions(
                    ctx,
                    &session,
                    &installed.build,
                    &installed.needs,
                )?);
            } else {
                session.tell_missing(&installed)?;
            }
            let status = if installed.already {
                "present"
            } else {
                "installed"
            };
            let mut entry = entry(ctx, plan, status, installed.build);
            if let Some(origin) = installed.origin {
                entry.source = Some(origin.source);
                entry.origin = Some(origin.address);
                entry.size = Some(origin.size);
                entry.sha256 = Some(origin.sha256);
            }
            entries.push(entry);
        }
    }
    if args.json {
        ctx.output.json(&Report {
            schema: 1,
            dry_run: args.dry_run,
            builds: entries,
            companions,
        });
    }
    Ok(Exit::Done)
}

/// Installs what the build needs and this machine lacks; says where the rest is.
fn add_companions(
    ctx: &Context,
    session: &Session<'_>,
    build: &BuildId,
    names: &[String],
) -> Result<Vec<CompanionEntry>, Error> {
    let mut entries = Vec::new();
    for need in session.needs(build, names)? {
        if let Some(found) = &need.found {
            ctx.output.note(format!(
                "{} is there: {}",
                need.library,
                found.folder.display()
            ));
            continue;
        }
        let started = Instant::now();
        let InstalledCompanion { id, already } =
            session.install_companion(&need, build.platform)?;
        let path = ctx.store.companion_folder(&id);
        if !already {
            let took = took(started.elapsed());
            ctx.output
                .note(format!("installed {id} in {took}: {}", path.display()));
        }
        let status = if already { "present" } else { "installed" };
        entries.push(CompanionEntry {
            status,
            companion: id.to_string(),
            path,
        });
    }
    Ok(entries)
}

/// The specs with the flags laid over them; without any, what this project wants.
fn wanted(ctx: &Context, args: &Args) -> Result<Vec<VersionSpec>, Error> {
    let mut specs = args.specs.clone();
    if specs.is_empty() {
        let wish = selected::wish(ctx, None)?;
        ctx.output
            .note(format!("{} asks for {}", wish.reason, wish.spec));
        specs.push(wish.spec);
    }
    for spec in &mut specs {
        merge(&mut spec.variant, args.cuda, "--cuda", |a, b| {
            b.agrees_with(a)
        })?;
        merge(&mut spec.platform, args.platform, "--platform", |a, b| {
            a == b
        })?;
    }
    Ok(specs)
}

fn merge<T: Copy + std::fmt::Display>(
    tag: &mut Option<T>,
    flag: Option<T>,
    name: &str,
    agree: impl Fn(T, T) -> bool,
) -> Result<(), Error> {
    if let (Some(tag), Some(flag)) = (*tag, flag)
        && !agree(tag, flag)
    {
        let message = format!("a spec says +{tag} and {name} says {flag}");
        return Err(super::Error::Usage {
            message,
            hint: Some(format!("leave out {name}")),
        }
        .into());
    }
    *tag = tag.or(flag);
    Ok(())
}

fn show(ctx: &Context, plan: &Plan) {
    let output = &ctx.output;
    output.line(plan.build);
    for (release, _) in &plan.files {
        let length = release.size.map_or_else(|| "size unknown".to_owned(), size);
        output.line(format!(
            "  from     {}: {} ({length})",
            Server::of(&release.origin),
            release.file
        ));
        match release.digests.first() {
            Some(digest) => output.line(format!("  sha256   {}", digest.sha256)),
            None => output.line("  sha256   not known"),
        }
    }
    output.line(format!("  to       {}", plan.folder.display()));
    if let Some(reason) = &plan.variant_reason {
        output.line(format!("  because  {reason}"));
    }
}

fn report(ctx: &Context, installed: &Installed, started: Instant) {
    let path = ctx.store.build_folder(&installed.build);
    let build = installed.build;
    if installed.already {
        ctx.output.note(format!(
            "{build} has been installed meanwhile: {}",
            path.display()
        ));
    } else {
        let took = took(started.elapsed());
        ctx.output
            .note(format!("installed {build} in {took}: {}", path.display()));
    }
}

fn entry<'a>(ctx: &Context, plan: &'a Plan, status: &'static str, build: BuildId) -> Entry<'a> {
    let file = plan
        .files
        .iter()
        .map(|(release, _)| release)
        .find(|release| release.build() == build);
    let planned = status == "planned";
    Entry {
        status,
        asked: plan.spec.to_string(),
        build: build.to_string(),
        id: build,
        path: ctx.store.build_folder(&build),
        source: file
            .filter(|_| planned)
            .map(|release| Server::of(&release.origin).to_string()),
        origin: None,
        file: file.map(|release| release.file.as_str()),
        size: file.and_then(|release| release.size),
        sha256: file
            .and_then(|release| release.digests.first())
            .map(|digest| digest.sha256.clone()),
        variant_reason: plan.variant_reason.as_deref(),
    }
}
