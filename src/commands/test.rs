//! `cudnnm test`: proof in three layers that the selected build is the one that loads, and that it computes.

use std::num::NonZero;
use std::time::Duration;

use serde::Serialize;

use super::selected::Selected;
use super::testing::computing::{self, Row, Size, Thoroughness};
use super::testing::framework::{self, Framework};
use super::testing::{Layer, Status, files, loading};
use super::{active, published, selected};
use crate::context::Context;
use crate::error::{Error, Exit, IoError};
use crate::manifest::{Capability, Facts};
use crate::probe::{FailedKind, GpuFacts, Launch};
use crate::process;
use crate::version::{BuildId, VersionSpec};

/// Prove that the selected cuDNN is complete, is the one that loads, and computes right on the GPU
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 proven, 1 something is wrong, 5 the GPU or driver does not fit, 9 no usable GPU (the first two layers are reported all the same)."
)]
pub struct Args {
    /// Use this version instead of the project's
    #[arg(long, value_name = "SPEC")]
    cudnn: Option<VersionSpec>,
    /// Try every algorithm and engine on every shape (minutes)
    #[arg(long)]
    full: bool,
    /// Also show what this framework loads for a convolution, by itself and under exec
    #[arg(long, value_enum, value_name = "NAME")]
    framework: Vec<Framework>,
    /// The framework's Python
    #[arg(long, value_name = "PROGRAM", requires = "framework")]
    python: Option<std::path::PathBuf>,
    /// Compute although this cuDNN is not made for this GPU
    #[arg(long)]
    force: bool,
    /// End the GPU part after so many seconds (60; with --full 900)
    #[arg(long, value_name = "SECONDS")]
    time_limit: Option<NonZero<u32>>,
    /// One JSON document
    #[arg(long)]
    json: bool,
    /// A first layer that a processor computes in a blink, and no ceilings: for driving the command without a GPU
    #[arg(long, hide = true)]
    small: bool,
}

#[derive(Serialize)]
struct Report {
    schema: u32,
    ok: bool,
    build: String,
    #[serde(flatten)]
    id: BuildId,
    because: String,
    path: std::path::PathBuf,
    files: Layer,
    loading: Loading,
    computing: Computing,
    frameworks: Vec<Asked>,
}

#[derive(Serialize)]
struct Loading {
    #[serde(flatten)]
    layer: Layer,
    loaded: Vec<loading::Loaded>,
}

#[derive(Serialize)]
struct Computing {
    #[serde(flatten)]
    layer: Layer,
    gpu: Option<GpuFacts>,
    driver_cuda: Option<String>,
    ceilings: std::collections::BTreeMap<String, f64>,
    seconds: f64,
    seed: u64,
    loaded: Vec<loading::Loaded>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Asked {
    name: &'static str,
    #[serde(flatten)]
    layer: Layer,
    by_itself: framework::Run,
    under_exec: framework::Run,
}

/// Runs the command.
///
/// # Errors
///
/// When no build is selected or installed, or there is no Python to ask.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let selected = selected::build(ctx, args.cudnn.as_ref())?;
    let build = &selected.build;
    let set = active::variables(ctx, &selected)?;
    let program =
        process::current_exe().map_err(IoError::at("find", std::path::Path::new("cudnnm")))?;
    let python = if args.framework.is_empty() {
        None
    } else {
        Some(framework::python(ctx, args.python.as_deref())?)
    };
    let thoroughness = if args.full {
        Thoroughness::Full
    } else {
        Thoroughness::Quick
    };
    let facts = published::facts(ctx)?;
    let launch = Launch {
        program: &program,
        set: &set,
        cwd: &ctx.cwd,
        limit: limit(args),
        silence: (limit(args) / 2).min(Duration::from_secs(60)),
    };
    let size = if args.small { Size::Small } else { Size::Usual };
    let compute = computing::compute(
        build,
        thoroughness,
        size,
        supported(&facts, build).filter(|_| !args.force),
        cores(),
    );
    let libraries = files::libraries(ctx, build);
    let (files, heard, told) = std::thread::scope(|scope| {
        let loading = scope.spawn(|| launch.run(&loading::request(build, &libraries)));
        let computing = scope.spawn(|| computing::run(build, &libraries, &compute, &launch));
        let files = files::layer(ctx, &selected);
        let heard = loading.join().expect("waiting for a child does not panic");
        let told = computing
            .join()
            .expect("waiting for a child does not panic");
        (files, heard, told)
    });
    let (layer, loaded) = loading::layer(build, &libraries, &heard);
    let loading = Loading { layer, loaded };
    let rows = computing::rows(&compute, &told);
    let mut layer = computing::layer(build, &compute, &told, &rows, thoroughness);
    let kind = told.stopped.as_ref().and_then(|stop| stop.kind);
    if kind == Some(FailedKind::Incompatible) {
        needed_driver(&facts, build, &mut layer);
    }
    let computing = Computing {
        layer,
        driver_cuda: told.driver.map(|cuda| cuda.to_string()),
        gpu: told.gpu,
        ceilings: told.ceilings,
        seconds: told.seconds,
        seed: compute.seed,
        loaded: told.loaded,
        rows,
    };
    let frameworks = args
        .framework
        .iter()
        .filter_map(|name| Some((name, python.as_deref()?)))
        .map(|(name, python)| {
            let ask = |set| {
                let limit = Duration::from_secs(300);
                framework::run(ctx, *name, python, set, build, &libraries, limit)
            };
            let (by_itself, under_exec) = (ask(&[]), ask(&set));
            Asked {
                name: name.name(),
                layer: framework::layer(*name, &by_itself, &under_exec),
                by_itself,
                under_exec,
            }
        })
        .collect();
    let mut report = Report {
        schema: 1,
        ok: false,
        build: build.to_string(),
        id: *build,
        because: selected.wish.reason.to_string(),
        path: ctx.store.build_folder(build),
        files,
        loading,
        computing,
        frameworks,
    };
    let exit = exit(&report, kind);
    report.ok = exit == Exit::Done;
    if args.json {
        ctx.output.json(&report);
    } else {
        print(ctx, &selected, &report);
    }
    Ok(exit)
}

fn limit(args: &Args) -> Duration {
    let otherwise = if args.full { 900 } else { 60 };
    Duration::from_secs(args.time_limit.map_or(otherwise, NonZero::get).into())
}

/// Processors to compile with.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Lowest and highest compute capability, by the manifest.
pub fn supported(facts: &Facts, build: &BuildId) -> Option<[Capability; 2]> {
    facts.support_for(build).map(|support| support.capability)
}

/// Names the driver that this build's CUDA needs.
fn needed_driver(facts: &Facts, build: &BuildId, layer: &mut Layer) {
    let needed = facts
        .toolkits
        .iter()
        .find(|toolkit| Some(toolkit.cuda().major) == build.variant.map(|variant| variant.major))
        .map(|toolkit| toolkit.minimum(build.platform));
    let too_old = layer
        .findings
        .iter_mut()
        .find(|finding| finding.text.starts_with("the driver runs CUDA"));
    if let (Some(finding), Some(needed)) = (too_old, needed) {
        finding.hint = Some(format!(
            "update the driver to {needed} or newer, or install this cuDNN for an older CUDA"
        ));
    }
}

fn exit(report: &Report, kind: Option<FailedKind>) -> Exit {
    let layers = [&report.files, &report.loading.layer];
    let frameworks = report.frameworks.iter().map(|asked| &asked.layer);
    let elsewhere = layers
        .into_iter()
        .chain(frameworks)
        .map(|layer| layer.status)
        .max();
    match (elsewhere, report.computing.layer.status) {
        (Some(Status::Failed), _) => Exit::Failed,
        (_, Status::Failed) if kind == Some(FailedKind::Incompatible) => Exit::Incompatible,
        (_, Status::Failed) => Exit::Failed,
        (_, Status::NotRun) | (Some(Status::NotRun), _) => Exit::NoGpu,
        _ => Exit::Done,
    }
}

fn print(ctx: &Context, selected: &Selected, report: &Report) {
    ctx.output.line(format!(
        "cuDNN {} (because of {})",
        report.build, selected.wish.reason
    ));
    layer(ctx, "files", &report.files);
    layer(ctx, "loading", &report.loading.layer);
    layer(ctx, "computing", &report.computing.layer);
    let lines = computing::lines(&report.computing.rows);
    if !lines.is_empty() {
        for line in lines {
            ctx.output.line(format!("  {line}"));
        }
        if let Some(text) = computing::ceilings(&report.computing.ceilings) {
            ctx.output.line(format!(
                "  in brackets: share of what this card can do, measured in this run: {text}"
            ));
        }
    }
    for asked in &report.frameworks {
        layer(ctx, asked.name, &asked.layer);
    }
}

fn layer(ctx: &Context, name: &str, layer: &Layer) {
    ctx.output.line(format!(
        "{name:<10} {:<8} {}",
        layer.status.word(),
        layer.summary
    ));
    for finding in &layer.findings {
        let word = match finding.status {
            Status::Ok => "",
            Status::Warning => "warning: ",
            Status::NotRun => "not run: ",
            Status::Failed => "FAILED: ",
        };
        ctx.output.line(format!("  {word}{}", finding.text));
        if let Some(hint) = &finding.hint {
            ctx.output.line(format!("    hint: {hint}"));
        }
    }
}
