//! `cudnnm install`: gets builds into the store.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::installing::{
    Claim, CompanionEntry, Entry, FromPath, Installed, InstalledCompanion, Options, Plan, Report,
    Session,
};
use super::{fitness, selected};
use crate::context::Context;
use crate::error::{Error, Exit};
use crate::output::size;
use crate::progress::took;
use crate::selection::shell_word;
use crate::sources::Server;
use crate::version::{BuildId, CudaVersion, Platform, VersionSpec};

/// Install cuDNN versions into the store, from NVIDIA's server, the Python index or a file
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cudnnm install 8.2.1\n  cudnnm install 9.19+cuda13+jit 8.9.7+cuda12\n  cudnnm install 9 --cuda 12 --with-companions\n  cudnnm install --from cudnn-11.3-windows-x64-v8.2.1.32.zip
  cudnnm install            # what this project asks for"
)]
pub struct Args {
    /// Versions, ranges or latest, with tags if needed: 8.2.1+cuda11.3; without any, what this project asks for
    #[arg(value_name = "SPEC")]
    specs: Vec<VersionSpec>,
    /// From this archive or folder instead of a server; what it is shows its content
    #[arg(long, value_name = "PATH", conflicts_with_all = ["source", "refresh"])]
    from: Option<PathBuf>,
    /// What this release of a framework wants
    #[arg(long = "for", value_name = "NAME==VERSION")]
    framework: Option<String>,
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

/// Runs the command.
///
/// # Errors
///
/// When one of the builds can't be installed; those before it are.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
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
    let (builds, companions) = match &args.from {
        Some(path) => from_path(ctx, args, &session, path)?,
        None => from_servers(ctx, args, &session)?,
    };
    if args.json {
        let (schema, dry_run) = (1, args.dry_run);
        ctx.output.json(&Report {
            schema,
            dry_run,
            builds,
            companions,
        });
    }
    Ok(Exit::Done)
}

type Entries = (Vec<Entry>, Vec<CompanionEntry>);

fn from_servers(ctx: &Context, args: &Args, session: &Session<'_>) -> Result<Entries, Error> {
    let mut plans: Vec<Plan> = Vec::new();
    for spec in wanted(ctx, args)? {
        let plan = session.plan(&spec)?;
        fitness::check(ctx, &plan.build, args.force)?;
        if !plans.iter().any(|other| other.build == plan.build) {
            plans.push(plan);
        }
    }
    let (mut entries, mut companions) = (Vec::new(), Vec::new());
    let mut missing = Vec::new();
    for plan in plans {
        if let Some(build) = plan.present.filter(|_| !args.force) {
            let path = ctx.store.build_folder(&build);
            ctx.output
                .note(format!("{build} is installed already: {}", path.display()));
            if args.with_companions && !args.dry_run {
                let needs = ctx.store.receipt(&build.folder())?.needs;
                companions.extend(add_companions(session, &build, &needs)?);
            }
            entries.push(Entry::planned(ctx, &plan, "present", build));
        } else if args.dry_run {
            if !args.json {
                show(ctx, &plan);
            }
            entries.push(Entry::planned(ctx, &plan, "planned", plan.build));
        } else {
            missing.push(plan);
        }
    }
    session.carry_out_all(&missing, |plan, installed, took| {
        companions.extend(finish(args, session, &installed, took)?);
        let entry = Entry::planned(ctx, plan, status(&installed), installed.build);
        entries.push(entry.with_origin(installed.origin));
        Ok(())
    })?;
    Ok((entries, companions))
}

fn from_path(
    ctx: &Context,
    args: &Args,
    session: &Session<'_>,
    path: &Path,
) -> Result<Entries, Error> {
    let spec = match args.specs.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        _ => {
            return Err(super::Error::Usage {
                message: "--from holds one build, and several are named".to_owned(),
                hint: Some(format!(
                    "name none: cudnnm install --from {}",
                    shell_word(&path.to_string_lossy())
                )),
            }
            .into());
        }
    };
    let started = Instant::now();
    let claim = Claim {
        spec,
        cuda: args.cuda,
        platform: args.platform,
    };
    let FromPath {
        installed,
        file,
        dry_run,
    } = session.install_from(&ctx.absolute(path), &claim, args.dry_run)?;
    let build = installed.build;
    let mut companions = Vec::new();
    if dry_run {
        if !args.json {
            ctx.output.line(build);
            let folder = ctx.store.build_folder(&build);
            ctx.output.line(format!("  to       {}", folder.display()));
        }
    } else {
        companions = finish(args, session, &installed, started.elapsed())?;
    }
    let status = if dry_run {
        "planned"
    } else {
        status(&installed)
    };
    let mut entry = Entry::new(ctx, status, build);
    entry.asked = claim.spec.map(|spec| spec.to_string());
    entry.file = file;
    Ok((vec![entry.with_origin(installed.origin)], companions))
}

/// What is said and done after an install: where it is, and what it needs beside itself.
fn finish(
    args: &Args,
    session: &Session<'_>,
    installed: &Installed,
    took: Duration,
) -> Result<Vec<CompanionEntry>, Error> {
    report(session, installed, took);
    if args.with_companions {
        return add_companions(session, &installed.build, &installed.needs);
    }
    session.tell_missing(installed)?;
    Ok(Vec::new())
}

fn status(installed: &Installed) -> &'static str {
    if installed.already {
        "present"
    } else {
        "installed"
    }
}

/// Installs what the build needs and this machine lacks; says where the rest is.
fn add_companions(
    session: &Session<'_>,
    build: &BuildId,
    names: &[String],
) -> Result<Vec<CompanionEntry>, Error> {
    let mut entries = Vec::new();
    for need in session.needs(build, names)? {
        if let Some(found) = &need.found {
            session.note(format!(
                "{} is there: {}",
                need.library,
                found.folder.display()
            ));
            continue;
        }
        let started = Instant::now();
        let InstalledCompanion { id, already } =
            session.install_companion(&need, build.platform)?;
        let path = session.store().companion_folder(&id);
        if !already {
            let took = took(started.elapsed());
            session.note(format!("installed {id} in {took}: {}", path.display()));
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
    if let Some(framework) = &args.framework {
        specs.push(fitness::wanted_by(ctx, framework, args.platform)?);
    }
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

fn report(session: &Session<'_>, installed: &Installed, duration: Duration) {
    let path = session.store().build_folder(&installed.build);
    let build = installed.build;
    session.note(if installed.already {
        format!("{build} is installed already: {}", path.display())
    } else {
        let took = took(duration);
        format!("installed {build} in {took}: {}", path.display())
    });
}
