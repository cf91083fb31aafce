//! `cudnnm bench`: the same convolutions with several builds, one after the other on one card.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::testing::computing::{self, Outcomes, Row, Size, Thoroughness};
use super::testing::framework::{self, Framework};
use super::testing::{Layer, Status, files, page};
use super::{active, published, selected, test};
use crate::context::Context;
use crate::error::{Error, Exit, IoError};
use crate::output::table;
use crate::probe::{Direction, FailedKind, GpuFacts, Launch, Precision, Shape};
use crate::process;
use crate::progress::Progress;
use crate::store::{now_utc, replace_file};
use crate::version::{BuildId, VersionSpec};

/// Run the same convolutions with several installed versions and compare their times
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cudnnm bench 8.9.7 9.12 9.19 --html bench.html")]
pub struct Args {
    /// Builds to compare; without any, the selected one
    #[arg(value_name = "SPEC")]
    specs: Vec<VersionSpec>,
    /// Also write a page with bars
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Only the first layer, and few candidates of each (seconds)
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Try every algorithm and engine (minutes for each build)
    #[arg(long)]
    full: bool,
    /// Also show what this framework itself reaches with the cuDNN it uses by itself (torch only)
    #[arg(long, value_enum, value_name = "NAME")]
    framework: Option<Framework>,
    /// The framework's Python
    #[arg(long, value_name = "PROGRAM", requires = "framework")]
    python: Option<PathBuf>,
    /// Compute although a cuDNN is not made for this GPU
    #[arg(long)]
    force: bool,
    /// End a build's part after so many seconds (300; with --full 1800)
    #[arg(long, value_name = "SECONDS")]
    time_limit: Option<NonZero<u32>>,
    /// One JSON document
    #[arg(long)]
    json: bool,
    /// A first layer that a processor computes in a blink, and no ceilings: for driving the command without a GPU
    #[arg(long, hide = true)]
    small: bool,
}

/// What was measured.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Format of the document.
    pub schema: u32,
    /// When, UTC.
    pub date: String,
    /// The card.
    pub gpu: Option<GpuFacts>,
    /// The newest CUDA that its driver runs.
    pub driver_cuda: Option<String>,
    /// In the order of the command line.
    pub builds: Vec<Build>,
    /// A framework's own times, `fp32 forward` → milliseconds, for the first layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framework: Option<Own>,
}

/// One build's part.
#[derive(Debug, Serialize)]
pub struct Build {
    /// Its name.
    pub build: String,
    /// Its parts.
    #[serde(flatten)]
    pub id: BuildId,
    /// Whether it computed right.
    #[serde(flatten)]
    pub layer: Layer,
    /// What the card did with it at best.
    pub ceilings: BTreeMap<String, f64>,
    /// How long it took.
    pub seconds: f64,
    /// Every convolution.
    pub rows: Vec<Row>,
    #[serde(skip)]
    stopped: Option<FailedKind>,
}

/// A framework's own figures.
#[derive(Debug, Serialize)]
pub struct Own {
    /// `torch 2.11.0`
    pub name: String,
    /// With which cuDNN.
    pub sentence: String,
    /// Milliseconds.
    pub times: BTreeMap<String, f64>,
}

/// One line of a comparison: the same convolution, type and direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Line<'a> {
    /// What is computed.
    pub shape: &'a Shape,
    /// In which type.
    pub precision: Precision,
    /// In which direction.
    pub direction: Direction,
    /// The best row of each build, through whichever interface.
    pub best: Vec<Option<&'a Row>>,
}

/// Runs the command.
///
/// # Errors
///
/// When a spec matches no installed build, or the page can't be written.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let program = process::current_exe().map_err(IoError::at("find", Path::new("cudnnm")))?;
    let facts = published::facts(ctx)?;
    let thoroughness = match (args.quick, args.full) {
        (true, _) => Thoroughness::Quick,
        (_, true) => Thoroughness::Full,
        (false, false) => Thoroughness::Bench,
    };
    let size = if args.small { Size::Small } else { Size::Usual };
    let mut chosen = Vec::new();
    let flags: Vec<Option<&VersionSpec>> = match args.specs.as_slice() {
        [] => vec![None],
        specs => specs.iter().map(Some).collect(),
    };
    for flag in flags {
        let selected = selected::build(ctx, flag)?;
        let set = active::variables(ctx, &selected)?;
        if !chosen.iter().any(|(build, _)| *build == selected.build) {
            chosen.push((selected.build, set));
        }
    }
    let mut report = Report {
        schema: 1,
        date: now_utc(),
        gpu: None,
        driver_cuda: None,
        builds: Vec::new(),
        framework: None,
    };
    let limit = args
        .time_limit
        .map_or(if args.full { 1800 } else { 300 }, NonZero::get);
    let limit = Duration::from_secs(limit.into());
    for (number, (build, set)) in chosen.iter().enumerate() {
        let progress = Progress::new(
            ctx.output,
            format!("measuring {build} ({} of {})", number + 1, chosen.len()),
            None,
        );
        let compute = computing::compute(
            build,
            thoroughness,
            size,
            test::supported(&facts, build).filter(|_| !args.force),
            test::cores(),
        );
        let launch = Launch {
            program: &program,
            set,
            cwd: &ctx.cwd,
            limit,
            silence: Duration::from_secs(60).min(limit),
        };
        let libraries = files::libraries(ctx, build);
        let told = computing::run(build, &libraries, &compute, &launch);
        drop(progress);
        let rows = computing::rows(&compute, &told);
        let layer = computing::layer(build, &compute, &told, &rows, thoroughness);
        report.driver_cuda = report
            .driver_cuda
            .or(told.driver.map(|cuda| cuda.to_string()));
        report.gpu = report.gpu.or(told.gpu);
        report.builds.push(Build {
            build: build.to_string(),
            id: *build,
            layer,
            ceilings: told.ceilings,
            seconds: told.seconds,
            rows,
            stopped: told.stopped.and_then(|stop| stop.kind),
        });
    }
    if let (Some(name), Some((build, _))) = (args.framework, chosen.first()) {
        let python = framework::python(ctx, args.python.as_deref())?;
        let libraries = files::libraries(ctx, build);
        let run = framework::run(
            ctx,
            name,
            &python,
            &[],
            build,
            &libraries,
            Duration::from_secs(300),
        );
        let version = run.told.as_ref().and_then(|told| told.version.clone());
        report.framework = Some(Own {
            name: format!("{} {}", name.name(), version.unwrap_or_default()),
            sentence: run.sentence,
            times: run.told.map(|told| told.times).unwrap_or_default(),
        });
    }
    if let Some(path) = &args.html {
        let path = ctx.absolute(path);
        replace_file(&path, page::page(&report).as_bytes())?;
        ctx.output.note(format!("wrote {}", path.display()));
    }
    if args.json {
        ctx.output.json(&report);
    } else {
        print(ctx, &report);
    }
    Ok(exit(&report))
}

fn exit(report: &Report) -> Exit {
    let no_gpu = |build: &Build| build.stopped == Some(FailedKind::NoGpu);
    if report.builds.iter().all(no_gpu) {
        return Exit::NoGpu;
    }
    let failed = |build: &Build| build.layer.status >= Status::NotRun;
    if report.builds.iter().any(failed) {
        return Exit::Failed;
    }
    Exit::Done
}

/// The comparison, line by line, of what at least one build computes.
pub fn comparison(report: &Report) -> Vec<Line<'_>> {
    let mut shapes: Vec<&Shape> = Vec::new();
    for row in report.builds.iter().flat_map(|build| &build.rows) {
        if !shapes.contains(&&row.unit.shape) {
            shapes.push(&row.unit.shape);
        }
    }
    let mut lines = Vec::new();
    for shape in shapes {
        for precision in Precision::ALL {
            for direction in Direction::ALL {
                let best: Vec<Option<&Row>> = report
                    .builds
                    .iter()
                    .map(|build| best(&build.rows, shape, precision, direction))
                    .collect();
                if best.iter().any(Option::is_some) {
                    lines.push(Line {
                        shape,
                        precision,
                        direction,
                        best,
                    });
                }
            }
        }
    }
    lines
}

fn best<'a>(
    rows: &'a [Row],
    shape: &Shape,
    precision: Precision,
    direction: Direction,
) -> Option<&'a Row> {
    rows.iter()
        .filter(|row| {
            let unit = &row.unit;
            unit.shape == *shape && unit.precision == precision && unit.direction == direction
        })
        .filter(|row| row.result == Outcomes::Right && row.milliseconds.is_some())
        .min_by(|a, b| {
            f64::total_cmp(
                &a.milliseconds.unwrap_or(f64::MAX),
                &b.milliseconds.unwrap_or(f64::MAX),
            )
        })
}

impl Line<'_> {
    /// The shortest of the times.
    pub fn fastest(&self) -> Option<f64> {
        let times = self
            .best
            .iter()
            .filter_map(|row| row.and_then(|row| row.milliseconds));
        times.min_by(f64::total_cmp)
    }
}

/// For each build how many times as long as the fastest build it takes: the geometric mean over the lines that it has.
pub fn means(lines: &[Line], builds: usize) -> Vec<Option<f64>> {
    (0..builds)
        .map(|number| {
            let logs: Vec<f64> = lines
                .iter()
                .filter_map(|line| Some((line.best[number]?.milliseconds? / line.fastest()?).ln()))
                .collect();
            (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
        })
        .collect()
}

fn print(ctx: &Context, report: &Report) {
    let lines = comparison(report);
    if let Some(gpu) = &report.gpu {
        let driver = report.driver_cuda.as_deref().unwrap_or("?");
        ctx.output
            .line(format!("{} (driver for CUDA {driver}); times of one run, the best algorithm or engine of each build; * the fastest", gpu.name));
    }
    let mut shape = None;
    let mut cells: Vec<Vec<String>> = Vec::new();
    let flush = |cells: &mut Vec<Vec<String>>| {
        for line in table(cells) {
            ctx.output.line(format!("  {line}"));
        }
        cells.clear();
    };
    for line in &lines {
        if shape != Some(line.shape) {
            flush(&mut cells);
            shape = Some(line.shape);
            ctx.output
                .line(format!("{}: {}", line.shape.name, line.shape.convolution));
            let mut head = vec![String::new(), String::new()];
            head.extend(report.builds.iter().map(|build| build.build.clone()));
            cells.push(head);
        }
        let fastest = line.fastest();
        let mut row = vec![
            line.precision.name().to_owned(),
            line.direction.name().to_owned(),
        ];
        row.extend(
            line.best
                .iter()
                .map(|row| match row.and_then(|row| row.milliseconds) {
                    None => "-".to_owned(),
                    Some(time) if Some(time) == fastest => format!("{} *", computing::time(time)),
                    Some(time) => computing::time(time),
                }),
        );
        cells.push(row);
    }
    flush(&mut cells);
    if let Some(own) = &report.framework {
        ctx.output.line(format!("{} ({})", own.name, own.sentence));
        for (what, milliseconds) in &own.times {
            ctx.output
                .line(format!("  {what}: {}", computing::time(*milliseconds)));
        }
    }
    let means = means(&lines, report.builds.len());
    for (build, mean) in report.builds.iter().zip(means) {
        let mean = mean.map_or(String::new(), |mean| {
            format!("; {mean:.2} times as long as the fastest, on average")
        });
        ctx.output.line(format!(
            "{}: {}: {}{mean}",
            build.build,
            build.layer.status.word(),
            build.layer.summary
        ));
        for finding in &build.layer.findings {
            ctx.output
                .line(format!("  {}: {}", finding.status.word(), finding.text));
            if let Some(hint) = &finding.hint {
                ctx.output.line(format!("    hint: {hint}"));
            }
        }
    }
}
