//! Layer 3: convolutions on the GPU, in a child that may crash.
//!
//! A child that dies or hangs costs the unit it was at; another one is started for the rest. One that dies while several
//! threads prepare kernels is given a second chance with one thread.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::environment;
use crate::manifest::Capability;
use crate::probe::{
    Api, Candidate, Compute, Direction, Effort, Ending, Event, Failed, FailedKind, GpuFacts, Heard,
    Launch, Measured, Outcome, Precision, ROUNDS_INPUTS, Request, Shape, Unit, fresh_seed,
};
use crate::version::{BuildId, CudaVersion, Flavour};

use super::files::Libraries;
use super::loading;
use super::{Findings, Layer, counted};

/// How much is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thoroughness {
    /// The first layer in every type and direction, with what the library offers first.
    Quick,
    /// All shapes, a dozen candidates each.
    Bench,
    /// All shapes, every algorithm and engine.
    Full,
}

/// How large the first layer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// 8 images of 224x224.
    Usual,
    /// What a processor computes in a blink; no ceilings either.
    Small,
}

/// So many children are started for one build at most.
const MOST_CHILDREN: usize = 5;
/// So many threads prepare kernels at most.
const MOST_WORKERS: usize = 12;
/// A convolution this many times slower than the card allows is on a fall-back path.
const FALL_BACK: f64 = 50.0;
/// Below this, starting a kernel is what is measured. Milliseconds.
const FLOOR_MS: f64 = 0.005;

/// The interfaces that a build has.
pub fn apis(build: &BuildId) -> &'static [Api] {
    match (build.version.major, build.flavour) {
        (..8, _) => &[Api::Legacy],
        (_, Flavour::Jit) => &[Api::Graph],
        (_, Flavour::Full) => &[Api::Legacy, Api::Graph],
    }
}

/// The types that a build knows: TF32 and BF16 came with 8.
fn precisions(build: &BuildId) -> &'static [Precision] {
    match build.version.major {
        ..8 => &[Precision::Fp32, Precision::Fp16],
        _ => &Precision::ALL,
    }
}

/// What the child is asked.
pub fn compute(
    build: &BuildId,
    thoroughness: Thoroughness,
    size: Size,
    supported: Option<[Capability; 2]>,
    cores: usize,
) -> Compute {
    let first = match size {
        Size::Usual => Shape::first_layer(8, 224, 224),
        Size::Small => Shape::first_layer(1, 12, 12),
    };
    let mut shapes = vec![first];
    let troublemakers = Shape::troublemakers();
    let stand_in = troublemakers.last().cloned();
    if thoroughness != Thoroughness::Quick {
        shapes.extend(troublemakers);
    }
    let mut units = Vec::new();
    for shape in &shapes {
        for precision in precisions(build) {
            for api in apis(build) {
                for direction in Direction::ALL {
                    units.push(Unit {
                        api: *api,
                        shape: shape.clone(),
                        precision: *precision,
                        direction,
                    });
                }
            }
        }
    }
    let jit = build.flavour == Flavour::Jit;
    let threads = build.version.major >= 9 && (jit || thoroughness == Thoroughness::Full);
    let effort = Effort {
        workspace: 1 << 30,
        workers: if threads {
            cores.clamp(1, MOST_WORKERS)
        } else {
            1
        },
        ..match thoroughness {
            Thoroughness::Quick => Effort {
                unit_ms: 60,
                timing_ms: 1.0,
                enough: if jit { 1 } else { 2 },
                workspace: 0,
                workers: 0,
            },
            Thoroughness::Bench => Effort {
                // A run-time compiled kernel takes a quarter of a second to prepare; those of a full build are ready.
                unit_ms: if jit { 2500 } else { 400 },
                timing_ms: 2.0,
                enough: 8,
                workspace: 0,
                workers: 0,
            },
            Thoroughness::Full => Effort {
                unit_ms: 20_000,
                timing_ms: 2.0,
                enough: usize::MAX,
                workspace: 0,
                workers: 0,
            },
        }
    };
    Compute {
        units,
        heuristics: build.version.major >= 8,
        ceilings: size == Size::Usual,
        stand_in: stand_in.filter(|_| thoroughness == Thoroughness::Quick),
        supported,
        seed: fresh_seed(),
        effort,
    }
}

/// All that several children told of one build.
#[derive(Debug, Default)]
pub struct Told {
    /// The card.
    pub gpu: Option<GpuFacts>,
    /// The newest CUDA of the driver.
    pub driver: Option<CudaVersion>,
    /// `copy` and precisions → per second.
    pub ceilings: BTreeMap<String, f64>,
    /// By position in the request; the second is the other shape's.
    pub measured: BTreeMap<usize, (Option<Measured>, Option<Measured>)>,
    /// Units at which a child died or hung, with the sentence.
    pub died: BTreeMap<usize, String>,
    /// Why nothing, or nothing further, could be done.
    pub stopped: Option<Stop>,
    /// What should be known beside that.
    pub remarks: Vec<String>,
    /// The libraries in the process.
    pub loaded: Vec<loading::Loaded>,
    /// Seconds, all children together.
    pub seconds: f64,
}

/// Why nothing further could be done.
#[derive(Debug, Clone)]
pub struct Stop {
    /// What kind of reason; `None` when the process died or hung.
    pub kind: Option<FailedKind>,
    /// The sentence.
    pub sentence: String,
    /// What to do.
    pub hint: Option<String>,
}

/// Starts children until every unit has been begun.
pub fn run(build: &BuildId, libraries: &Libraries, compute: &Compute, launch: &Launch) -> Told {
    let started = Instant::now();
    let mut told = Told::default();
    let mut left: Vec<usize> = (0..compute.units.len()).collect();
    let mut effort = compute.effort;
    for child in 0..MOST_CHILDREN {
        let request = Request {
            library: environment::main_library(build),
            parts: Vec::new(),
            strangers: Vec::new(),
            compute: Some(Compute {
                units: left
                    .iter()
                    .map(|unit| compute.units[*unit].clone())
                    .collect(),
                ceilings: compute.ceilings && told.ceilings.is_empty(),
                effort,
                ..compute.clone()
            }),
        };
        let launch = Launch {
            limit: launch
                .limit
                .saturating_sub(started.elapsed())
                .max(Duration::from_secs(1)),
            ..*launch
        };
        let heard = launch.run(&request);
        hear(&heard, &left, libraries, &mut told);
        let sentence = match (&heard.ending, heard.sentence()) {
            (Ending::Done, _) | (_, None) => break,
            (Ending::Failed(failed), Some(sentence)) => {
                told.stopped = Some(stop(failed, sentence, &heard, build));
                break;
            }
            (
                Ending::Died { .. } | Ending::TimedOut | Ending::NotStarted { .. },
                Some(sentence),
            ) => sentence,
        };
        if effort.workers > 1 && matches!(heard.ending, Ending::Died { .. }) {
            effort.workers = 1;
            told.remarks.push(format!(
                "with several threads {sentence}; the rest was done with one"
            ));
            left.retain(|unit| !told.measured.contains_key(unit));
            continue;
        }
        let spent = started.elapsed() >= launch.limit;
        let Some(at) = heard.unfinished().filter(|_| !spent) else {
            told.stopped = Some(Stop {
                kind: None,
                hint: hint_from(&heard.stderr, build),
                sentence,
            });
            break;
        };
        let at = left[at];
        told.died.insert(at, sentence);
        left.retain(|unit| *unit > at);
        if left.is_empty() {
            break;
        }
        if child + 1 == MOST_CHILDREN {
            told.remarks.push(format!(
                "{MOST_CHILDREN} processes ended like this; no further one was started"
            ));
        }
    }
    told.seconds = started.elapsed().as_secs_f64();
    told
}

fn hear(heard: &Heard, units: &[usize], libraries: &Libraries, told: &mut Told) {
    for event in &heard.events {
        match &event.event {
            Event::Driver { cuda } => told.driver = Some(*cuda),
            Event::Gpu(gpu) => told.gpu = Some(gpu.clone()),
            Event::Ceiling { what, per_second } => {
                told.ceilings.insert(what.clone(), *per_second);
            }
            Event::Unit {
                unit,
                stand_in,
                measured,
            } => {
                let entry = told.measured.entry(units[*unit]).or_default();
                let place = if *stand_in {
                    &mut entry.1
                } else {
                    &mut entry.0
                };
                *place = Some(measured.clone());
            }
            _ => {}
        }
    }
    for file in loading::loaded(heard, libraries) {
        if !told.loaded.contains(&file) {
            told.loaded.push(file);
        }
    }
}

fn stop(failed: &Failed, sentence: String, heard: &Heard, build: &BuildId) -> Stop {
    let hint = hint_from(&heard.stderr, build).or_else(|| failed.advice.clone());
    Stop {
        kind: Some(failed.kind),
        sentence,
        hint,
    }
}

/// What cuDNN's own last words lead to.
fn hint_from(words: &str, build: &BuildId) -> Option<String> {
    if words.contains("cublas") || words.contains("nvrtc") {
        return Some(format!("cudnnm install --with-companions {build}"));
    }
    if words.contains("zlibwapi") {
        return Some(
            "cudnn needs zlibwapi.dll (from zlib123dllx64.zip) in a folder on PATH".to_owned(),
        );
    }
    (words.contains("libcudnn_") || words.contains("cudnn_") && words.contains("64_")).then(|| {
        "a part of cuDNN is missing, or was found in another version: the layers above name it"
            .to_owned()
    })
}

/// One convolution in one type, direction and interface.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// What was computed.
    #[serde(flatten)]
    pub unit: Unit,
    /// How it came out.
    pub result: Outcomes,
    /// The best algorithm or engine.
    pub best: Option<String>,
    /// Its time of one run.
    pub milliseconds: Option<f64>,
    /// ‖out−ref‖/‖ref‖ of the best one.
    pub error: Option<f64>,
    /// What share of the card's own speed that is.
    pub share: Option<f64>,
    /// Algorithms and engines that gave right numbers.
    pub right: usize,
    /// Those that gave wrong ones.
    pub wrong: Vec<String>,
    /// Those that failed, with the sentence.
    pub failed: Vec<String>,
    /// Those that were not tried for want of time.
    pub untried: usize,
    /// Why there is no result.
    pub why: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How a row came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcomes {
    /// The numbers agree with the reference.
    Right,
    /// They do not.
    Wrong,
    /// The library has nothing for this.
    NotOffered,
    /// A call failed.
    Failed,
    /// The process died or hung.
    Died,
    /// It did not come to it.
    NotRun,
}

/// The rows of all that was asked, in its order; the other shape's after the one it stands in for.
pub fn rows(compute: &Compute, told: &Told) -> Vec<Row> {
    let generation = told
        .gpu
        .as_ref()
        .map_or(u32::MAX, |gpu| gpu.capability.major);
    let mut rows = Vec::new();
    for (number, unit) in compute.units.iter().enumerate() {
        let precision = unit.precision;
        if generation < 8 && matches!(precision, Precision::Tf32 | Precision::Bf16) {
            continue;
        }
        if let Some(sentence) = told.died.get(&number) {
            rows.push(Row {
                why: Some(sentence.clone()),
                ..empty(unit, Outcomes::Died)
            });
            continue;
        }
        let (first, other) = match told.measured.get(&number) {
            None => (None, None),
            Some((first, other)) => (first.as_ref(), other.as_ref()),
        };
        rows.push(first.map_or_else(
            || empty(unit, Outcomes::NotRun),
            |measured| row(unit, measured),
        ));
        if let (Some(measured), Some(shape)) = (other, &compute.stand_in) {
            let unit = Unit {
                shape: shape.clone(),
                ..unit.clone()
            };
            rows.push(row(&unit, measured));
        }
    }
    shares(&mut rows, &told.ceilings);
    rows
}

fn empty(unit: &Unit, result: Outcomes) -> Row {
    Row {
        unit: unit.clone(),
        result,
        best: None,
        milliseconds: None,
        error: None,
        share: None,
        right: 0,
        wrong: Vec::new(),
        failed: Vec::new(),
        untried: 0,
        why: None,
        hint: None,
    }
}

fn row(unit: &Unit, measured: &Measured) -> Row {
    let mut row = Row {
        untried: measured.untried,
        ..empty(unit, Outcomes::NotOffered)
    };
    for Candidate { name, outcome } in &measured.candidates {
        match outcome {
            Outcome::Right { .. } => row.right += 1,
            Outcome::Wrong {
                error,
                not_finite,
                other_layout,
            } => row
                .wrong
                .push(wrong(name, *error, *not_finite, *other_layout)),
            Outcome::Failed {
                message, advice, ..
            } => {
                if row.failed.is_empty() {
                    row.why = Some(message.clone());
                    row.hint.clone_from(advice);
                }
                row.failed.push(format!("{name}: {message}"));
            }
            Outcome::NotOffered { .. } | Outcome::Skipped { .. } => {}
        }
    }
    if let Some((name, error, milliseconds)) = measured.best() {
        row.best = Some(name.to_owned());
        row.error = Some(error);
        row.milliseconds = Some(milliseconds);
        row.result = Outcomes::Right;
        (row.why, row.hint) = (None, None);
        // What the library names first is what a program gets that does not look further.
        if let Some(Candidate {
            name,
            outcome: Outcome::Wrong { .. },
        }) = measured.candidates.first()
        {
            row.result = Outcomes::Wrong;
            row.why = Some(format!(
                "the library's first choice, {name}, computes something else"
            ));
        }
        return row;
    }
    if let Some(wrong) = row.wrong.first() {
        row.result = Outcomes::Wrong;
        row.why = Some(wrong.clone());
    } else if !row.failed.is_empty() {
        row.result = Outcomes::Failed;
    } else {
        row.why = Some(why_nothing(measured));
    }
    row
}

fn wrong(name: &str, error: Option<f64>, not_finite: usize, other_layout: bool) -> String {
    if other_layout {
        return format!("{name} computes as if the tensors were in the other layout");
    }
    match (error, not_finite) {
        (_, 1..) => format!("{name} left {not_finite} elements unwritten or infinite"),
        (Some(error), 0) => format!("{name} is off by {error:.1e} of the result's size"),
        (None, 0) => format!("{name} gave something that is no number"),
    }
}

/// Why nothing was computed although no call failed.
fn why_nothing(measured: &Measured) -> String {
    let all = |test: &dyn Fn(&Outcome) -> bool| {
        measured
            .candidates
            .iter()
            .all(|candidate| test(&candidate.outcome))
    };
    let no_code = |outcome: &Outcome| matches!(outcome, Outcome::NotOffered { status } if status.ends_with("ARCH_MISMATCH"));
    if !measured.candidates.is_empty() && all(&no_code) {
        return "it has no code for this GPU".to_owned();
    }
    let rounds = measured
        .candidates
        .iter()
        .filter(|candidate| matches!(&candidate.outcome, Outcome::Skipped { why } if why == ROUNDS_INPUTS))
        .count();
    let memory = measured
        .candidates
        .iter()
        .find_map(|candidate| match &candidate.outcome {
            Outcome::Skipped { why } if why.contains("workspace") => Some(why.clone()),
            _ => None,
        });
    match (memory, rounds) {
        (Some(why), _) => why,
        (None, 1..) => "every engine it has for 32-bit floats here rounds to TF32".to_owned(),
        (None, 0) => "not offered by this build".to_owned(),
    }
}

/// Each time as a share of what the card does at best: bounded by its arithmetic or by its memory, whichever is slower.
fn shares(rows: &mut [Row], ceilings: &BTreeMap<String, f64>) {
    let Some(copy) = ceilings.get("copy").copied() else {
        return;
    };
    let rate =
        |row: &Row| Some(row.unit.shape.convolution.operations() / (row.milliseconds? / 1e3));
    // The library's own matrix product may be worse than its convolutions.
    let mut fastest = ceilings.clone();
    for row in rows.iter() {
        if let Some(rate) = rate(row) {
            let entry = fastest
                .entry(row.unit.precision.name().to_owned())
                .or_insert(rate);
            *entry = entry.max(rate);
        }
    }
    for row in rows {
        let Some(milliseconds) = row.milliseconds else {
            continue;
        };
        row.share =
            best_possible(&row.unit, copy, &fastest).map(|best| (best / milliseconds).min(1.0));
    }
}

/// Milliseconds that the card needs at least; `None` for what is too small to say.
fn best_possible(unit: &Unit, copy: f64, ceilings: &BTreeMap<String, f64>) -> Option<f64> {
    let convolution = &unit.shape.convolution;
    let memory = convolution.traffic(unit.precision) / copy;
    let arithmetic = ceilings
        .get(unit.precision.name())
        .map_or(0.0, |rate| convolution.operations() / rate);
    let best = 1e3 * f64::max(memory, arithmetic);
    (best >= FLOOR_MS).then_some(best)
}

/// Judges the rows.
pub fn layer(
    build: &BuildId,
    compute: &Compute,
    told: &Told,
    rows: &[Row],
    thoroughness: Thoroughness,
) -> Layer {
    let mut findings = Findings::default();
    loading::mixture(build, &told.loaded, &mut findings);
    for remark in &told.remarks {
        findings.warn(remark, None);
    }
    if let Some(stop) = &told.stopped {
        if stop.kind == Some(FailedKind::NoGpu) {
            findings.not_run(&stop.sentence, stop.hint.clone());
            let no_driver = told.driver.is_none();
            return findings.layer(if no_driver {
                "no NVIDIA driver"
            } else {
                "no usable NVIDIA GPU"
            });
        }
        findings.fail(&stop.sentence, stop.hint.clone());
    }
    judge(rows, &mut findings);
    nothing_right(build, rows, told, &mut findings);
    slow(rows, told, thoroughness, &mut findings);
    let count = |result| rows.iter().filter(|row| row.result == result).count();
    let right = count(Outcomes::Right);
    let not_offered = count(Outcomes::NotOffered);
    let gpu = told
        .gpu
        .as_ref()
        .map_or(String::new(), |gpu| format!(" on {}", gpu.name));
    if told.measured.is_empty() && told.died.is_empty() {
        return findings.layer("nothing was computed");
    }
    let mut summary = format!(
        "{right} of {} right{gpu}",
        counted(rows.len() - not_offered, "convolution")
    );
    if not_offered > 0 {
        summary += &format!("; {not_offered} more not offered by this build");
    }
    let missing = compute.units.len() > rows.len();
    if missing && told.gpu.is_some() {
        summary += "; TF32 and BF16 need a newer card";
    }
    findings.layer(summary)
}

fn judge(rows: &[Row], findings: &mut Findings) {
    // What goes wrong everywhere in the same way is said once.
    let mut groups: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in rows {
        let why = row.why.as_deref().unwrap_or_default();
        let key = match row.result {
            Outcomes::Wrong => "wrong".to_owned(),
            Outcomes::Failed => why.to_owned(),
            Outcomes::Died => {
                findings.fail(why, None);
                continue;
            }
            Outcomes::Right if !row.wrong.is_empty() => "partly wrong".to_owned(),
            Outcomes::Right | Outcomes::NotOffered | Outcomes::NotRun => continue,
        };
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    for (_, rows) in groups {
        let first = rows[0];
        let what = &first.unit;
        let more = match rows.len() - 1 {
            0 => String::new(),
            more => format!("; the same goes for {}", counted(more, "other convolution")),
        };
        let why = first.why.as_deref().unwrap_or_default();
        match first.result {
            Outcomes::Right => findings.warn(
                format!(
                    "{what}: {} of {} algorithms or engines compute something else: {}{more}",
                    first.wrong.len(),
                    first.wrong.len() + first.right,
                    first.wrong.join("; ")
                ),
                None,
            ),
            Outcomes::Wrong => findings.fail(format!("{what}: wrong numbers: {why}{more}"), None),
            _ => findings.fail(format!("{what}: {why}{more}"), first.hint.clone()),
        }
    }
}

/// An interface with which nothing at all could be computed is broken, whatever each unit says.
fn nothing_right(build: &BuildId, rows: &[Row], told: &Told, findings: &mut Findings) {
    if told.stopped.is_some() {
        return;
    }
    for api in apis(build) {
        let mut of_api = rows.iter().filter(|row| row.unit.api == *api).peekable();
        if of_api.peek().is_some() && of_api.all(|row| row.result == Outcomes::NotOffered) {
            let why = rows
                .iter()
                .find(|row| row.unit.api == *api)
                .and_then(|row| row.why.clone())
                .unwrap_or_default();
            findings.fail(
                format!("the {} API offers no convolution at all: {why}", api.name()),
                None,
            );
        }
    }
}

fn slow(rows: &[Row], told: &Told, thoroughness: Thoroughness, findings: &mut Findings) {
    for row in rows {
        let (Some(share), Some(milliseconds), Some(best)) =
            (row.share, row.milliseconds, &row.best)
        else {
            continue;
        };
        if share * FALL_BACK >= 1.0 {
            continue;
        }
        let hint = (thoroughness == Thoroughness::Quick && row.untried > 0)
            .then(|| "cudnnm test --full tries every engine".to_owned());
        findings.warn(
            format!(
                "{}: {} looks like a fall-back path: {} where {} could do {}",
                row.unit,
                best,
                time(milliseconds),
                told.gpu
                    .as_ref()
                    .map_or("the card", |gpu| gpu.name.as_str()),
                time(milliseconds * share)
            ),
            hint,
        );
    }
}

/// `0.092 ms`, `243 ms`.
pub fn time(milliseconds: f64) -> String {
    if milliseconds < 10.0 {
        format!("{milliseconds:.3} ms")
    } else {
        format!("{milliseconds:.0} ms")
    }
}

/// The table of a report: a line for each interface and type, a column for each direction. Empty when it came to nothing.
pub fn lines(rows: &[Row]) -> Vec<String> {
    if rows.iter().all(|row| row.result == Outcomes::NotRun) {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let mut shapes: Vec<&Shape> = Vec::new();
    for row in rows {
        if !shapes.contains(&&row.unit.shape) {
            shapes.push(&row.unit.shape);
        }
    }
    for shape in shapes {
        lines.push(format!("{}: {}", shape.name, shape.convolution));
        let mut cells = vec![vec![
            String::new(),
            String::new(),
            "forward".to_owned(),
            "backward-data".to_owned(),
            "backward-filter".to_owned(),
        ]];
        for precision in Precision::ALL {
            for api in [Api::Legacy, Api::Graph] {
                let of: Vec<&Row> = rows
                    .iter()
                    .filter(|row| {
                        &row.unit.shape == shape
                            && row.unit.precision == precision
                            && row.unit.api == api
                    })
                    .collect();
                if of.is_empty() {
                    continue;
                }
                let mut line = vec![precision.name().to_owned(), api.name().to_owned()];
                line.extend(Direction::ALL.iter().map(|direction| {
                    let row = of.iter().find(|row| row.unit.direction == *direction);
                    row.map_or(String::new(), |row| cell(row))
                }));
                cells.push(line);
            }
        }
        lines.extend(
            crate::output::table(&cells)
                .into_iter()
                .map(|line| format!("  {line}")),
        );
    }
    lines
}

fn cell(row: &Row) -> String {
    match (row.result, row.milliseconds) {
        (Outcomes::Right, Some(milliseconds)) => match row.share {
            Some(share) => format!("{} ({:.0}%)", time(milliseconds), share * 100.0),
            None => time(milliseconds),
        },
        (Outcomes::NotOffered, _) => "-".to_owned(),
        (Outcomes::NotRun, _) => "not run".to_owned(),
        (Outcomes::Died, _) => "DIED".to_owned(),
        (Outcomes::Wrong, _) => "WRONG".to_owned(),
        (Outcomes::Failed, _) | (Outcomes::Right, None) => "FAILED".to_owned(),
    }
}

/// `a copy 4.05 TB/s, a matrix product 31 (fp32), 195 (tf32) TFLOP/s`.
pub fn ceilings(ceilings: &BTreeMap<String, f64>) -> Option<String> {
    let copy = ceilings.get("copy")?;
    let products: Vec<String> = Precision::ALL
        .iter()
        .filter_map(|precision| {
            let rate = ceilings.get(precision.name())?;
            Some(format!("{} {:.1}", precision.name(), rate / 1e12))
        })
        .collect();
    let mut text = format!("a copy {:.2} TB/s", copy / 1e12);
    if !products.is_empty() {
        text += &format!("; a matrix product, in TFLOP/s: {}", products.join(", "));
    }
    Some(text)
}
