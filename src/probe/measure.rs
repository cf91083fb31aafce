//! One unit of work: try what the library offers, check each result, time it, name the best.
//!
//! For each candidate: poison the result, run once, compare with the reference, then time. A candidate that the library says
//! it does not offer is no failure; one that computes something else is.

use std::cell::OnceCell;
use std::ffi::c_void;
use std::ptr;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::Error;
use super::driver::{Gpu, HostBuffer, Memory};
use super::graph::{Graph, GraphProblem};
use super::legacy::Legacy;
use super::numbers::{self, Precision};
use super::reference::{Operands, Plan};
use super::workload::{Api, Convolution, Direction, Layout, Unit, count};
use crate::status;

/// Where the operands lie in the GPU's memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    pub(super) input: *mut c_void,
    pub(super) filter: *mut c_void,
    pub(super) output: *mut c_void,
    pub(super) workspace: *mut c_void,
}

impl Places {
    pub(super) const fn nowhere() -> Self {
        Self {
            input: ptr::null_mut(),
            filter: ptr::null_mut(),
            output: ptr::null_mut(),
            workspace: ptr::null_mut(),
        }
    }
}

/// A convolution that an interface has understood.
pub(super) trait Problem {
    /// Everything that may compute it, the most promising first.
    fn choices(&self) -> Vec<Choice>;
    /// Gets one ready to run, or says why it need not be tried.
    fn prepare(&self, choice: &Choice) -> Step<'_>;
}

/// An algorithm or engine, by its place among those of its problem and by name.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub(super) number: usize,
    pub(super) name: String,
}

/// What a choice became.
pub(super) enum Step<'a> {
    /// It is not tried.
    Settled(Candidate),
    /// It can run.
    Ready {
        name: String,
        attempt: Box<dyn Attempt + 'a>,
    },
}

impl Step<'_> {
    /// A call on the way failed.
    pub(super) fn refused(name: String, error: &Error) -> Self {
        Self::Settled(Candidate {
            name,
            outcome: refused(error),
        })
    }

    /// It is for another precision.
    pub(super) fn skipped(name: String, why: &str) -> Self {
        Self::Settled(Candidate {
            name,
            outcome: Outcome::Skipped {
                why: why.to_owned(),
            },
        })
    }
}

/// The steps of one layout, prepared ahead.
pub(super) struct Ahead<'a> {
    pub(super) layout: Layout,
    pub(super) steps: Vec<Step<'a>>,
    /// How many choices were left when the time was up or enough were ready.
    pub(super) untried: usize,
    /// What the steps were made from; they go before it.
    pub(super) problem: Option<GraphProblem<'a>>,
}

/// Something that can run.
pub(super) trait Attempt {
    /// Bytes it needs beside the operands.
    fn workspace(&self) -> usize;
    /// Tells it where the operands are.
    fn bind(&mut self, places: Places) -> Result<(), Error>;
    /// Starts it.
    fn run(&self) -> Result<(), Error>;
}

/// What became of one candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// `algorithm 1 IMPLICIT_PRECOMP_GEMM, NCHW`, `engine 12 (heuristics A, rank 1), NHWC`.
    pub name: String,
    /// How it went.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// How trying a candidate went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// The numbers agree with the reference.
    Right {
        /// ‖out−ref‖/‖ref‖
        error: f64,
        /// Median of one run, in milliseconds.
        milliseconds: f64,
        /// Bytes of workspace.
        workspace: usize,
    },
    /// The numbers do not.
    Wrong {
        /// ‖out−ref‖/‖ref‖; absent when something was not a number.
        error: Option<f64>,
        /// Elements that were never written, or are infinite.
        not_finite: usize,
        /// Whether the numbers are right for tensors in the other layout: NCHW taken for NHWC, or the reverse.
        other_layout: bool,
    },
    /// The library does not offer it for this shape, type or card.
    NotOffered {
        /// The status, by name.
        status: String,
    },
    /// It is not meant for this precision, or needs too much memory.
    Skipped {
        /// Why.
        why: String,
    },
    /// A call failed.
    Failed {
        /// The whole sentence.
        message: String,
        /// What to do about it.
        advice: Option<String>,
        /// Whether something beside the library is the cause.
        surroundings: bool,
    },
}

/// What became of a unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Every candidate that was looked at.
    pub candidates: Vec<Candidate>,
    /// How many were left when the time was up.
    pub untried: usize,
    /// The position of the fastest right one.
    pub best: Option<usize>,
    /// Whether every element was compared rather than random runs of them.
    pub complete: bool,
}

impl Measured {
    /// Whether the library has nothing for this unit, and says so.
    pub fn nothing_offered(&self) -> bool {
        self.untried == 0
            && self.candidates.iter().all(|candidate| {
                matches!(
                    candidate.outcome,
                    Outcome::NotOffered { .. } | Outcome::Skipped { .. }
                )
            })
    }

    /// The fastest right candidate: its name, error and time.
    pub fn best(&self) -> Option<(&str, f64, f64)> {
        let candidate = self.candidates.get(self.best?)?;
        match candidate.outcome {
            Outcome::Right {
                error,
                milliseconds,
                ..
            } => Some((&candidate.name, error, milliseconds)),
            _ => None,
        }
    }
}

/// How thoroughly candidates are tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// Milliseconds after which a unit takes no further candidate if it has a right one.
    pub unit_ms: u64,
    /// Milliseconds of timed runs for one candidate.
    pub timing_ms: f64,
    /// The most bytes of workspace.
    pub workspace: usize,
    /// So many right candidates end a unit.
    pub enough: usize,
    /// Threads that prepare candidates of the graph API ahead: where kernels are compiled at run time, that is what costs.
    pub workers: usize,
}

/// The operands of one shape in one precision, on both sides.
pub(super) struct Operation<'a> {
    pub(super) convolution: Convolution,
    pub(super) precision: Precision,
    seed: u64,
    /// Input, filter, gradient; absent for a ceiling, which is only timed.
    values: Option<[Vec<f32>; 3]>,
    input: Memory<'a>,
    filter: Memory<'a>,
    gradient: Memory<'a>,
    result: Memory<'a>,
}

impl<'a> Operation<'a> {
    /// Fresh random operands.
    pub(super) fn random(
        bench: &mut Bench<'a>,
        convolution: Convolution,
        precision: Precision,
        seed: u64,
    ) -> Result<Self, Error> {
        let mut operation = Self::allocate(bench.gpu, convolution, precision, seed)?;
        let sizes = [
            convolution.input(),
            convolution.filter(),
            convolution.output(),
        ];
        let mut stream = seed;
        let values = sizes.map(|sizes| {
            stream = stream.wrapping_add(0x632b_e59b_d9b4_e019);
            numbers::random(stream, count(sizes), precision)
        });
        let largest = sizes.map(count).into_iter().max().unwrap_or(0);
        let buffer = bench.host(largest * precision.bytes())?;
        for (values, memory) in
            values
                .iter()
                .zip([&operation.input, &operation.filter, &operation.gradient])
        {
            let bytes = &mut buffer[..values.len() * precision.bytes()];
            precision.encode(values, bytes);
            memory.upload(bytes)?;
        }
        operation.values = Some(values);
        Ok(operation)
    }

    /// All ones, to be timed only.
    pub(super) fn ones(
        gpu: &'a Gpu,
        convolution: Convolution,
        precision: Precision,
    ) -> Result<Self, Error> {
        let operation = Self::allocate(gpu, convolution, precision, 0)?;
        operation.input.fill(precision.ones())?;
        operation.filter.fill(precision.ones())?;
        Ok(operation)
    }

    fn allocate(
        gpu: &'a Gpu,
        convolution: Convolution,
        precision: Precision,
        seed: u64,
    ) -> Result<Self, Error> {
        let memory = |sizes| gpu.allocate(count(sizes) * precision.bytes());
        let results = Direction::ALL.map(|direction| count(direction.result(&convolution)));
        let largest = results.into_iter().max().unwrap_or(0);
        Ok(Self {
            convolution,
            precision,
            seed,
            values: None,
            input: memory(convolution.input())?,
            filter: memory(convolution.filter())?,
            gradient: memory(convolution.output())?,
            result: gpu.allocate(largest * precision.bytes())?,
        })
    }

    fn places(&self, direction: Direction, workspace: *mut c_void) -> Places {
        let [input, filter, output] =
            [&self.input, &self.filter, &self.gradient].map(|memory| memory.pointer());
        let result = self.result.pointer();
        match direction {
            Direction::Forward => Places {
                input,
                filter,
                output: result,
                workspace,
            },
            Direction::BackwardData => Places {
                input: result,
                filter,
                output,
                workspace,
            },
            Direction::BackwardFilter => Places {
                input,
                filter: result,
                output,
                workspace,
            },
        }
    }
}

/// The two interfaces of a loaded cuDNN, as far as it has them.
pub(super) struct Interfaces<'a> {
    pub(super) legacy: Option<Legacy<'a>>,
    /// One for each worker.
    pub(super) graphs: Vec<Graph<'a>>,
}

/// Measures units on one GPU, one after the other.
pub(super) struct Bench<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) interfaces: &'a Interfaces<'a>,
    pub(super) effort: Effort,
    pub(super) workspace: Option<Memory<'a>>,
    pub(super) buffer: Option<HostBuffer<'a>>,
}

/// What a unit's candidates are compared with, in one layout. The reference is computed when the first candidate has run.
struct Check<'o> {
    unit: &'o Unit,
    operation: &'o Operation<'o>,
    layout: Layout,
    plan: OnceCell<Option<Plan>>,
}

impl Check<'_> {
    fn plan(&self) -> Option<&Plan> {
        self.plan
            .get_or_init(|| self.plan_for(self.layout))
            .as_ref()
    }

    /// Whether every element was compared, as far as anything was.
    fn is_complete(&self) -> bool {
        let plan = self.plan.get().and_then(Option::as_ref);
        plan.is_none_or(|plan| plan.complete)
    }

    fn plan_for(&self, layout: Layout) -> Option<Plan> {
        let [input, filter, gradient] = self.operation.values.as_ref()?;
        let operands = Operands {
            input,
            filter,
            gradient,
        };
        Some(Plan::new(
            &self.unit.shape.convolution,
            self.unit.direction,
            layout,
            operands,
            self.operation.seed ^ layout as u64,
        ))
    }
}

/// A unit in the making.
struct Trial {
    measured: Measured,
    best_time: f64,
    right: usize,
    enough: usize,
    deadline: Instant,
}

impl Trial {
    /// Whether no further candidate is wanted.
    fn is_over(&self) -> bool {
        self.right >= self.enough || self.right > 0 && Instant::now() >= self.deadline
    }

    fn add(&mut self, candidate: Candidate) {
        if let Outcome::Right { milliseconds, .. } = candidate.outcome {
            self.right += 1;
            if milliseconds < self.best_time {
                self.best_time = milliseconds;
                self.measured.best = Some(self.measured.candidates.len());
            }
        }
        self.measured.candidates.push(candidate);
    }
}

impl<'a> Bench<'a> {
    /// Tries the candidates of a unit. `stage` hears what is about to be done, for the case that the library ends us.
    ///
    /// # Errors
    ///
    /// When the GPU itself no longer answers; what a candidate does wrong is in the result.
    pub(super) fn measure(
        &mut self,
        unit: &Unit,
        operation: &Operation,
        ahead: Option<Vec<Ahead>>,
        stage: &mut dyn FnMut(&str),
    ) -> Result<Measured, Error> {
        let mut trial = Trial {
            measured: Measured {
                candidates: Vec::new(),
                untried: 0,
                best: None,
                complete: true,
            },
            best_time: f64::INFINITY,
            right: 0,
            enough: self.effort.enough,
            deadline: Instant::now() + Duration::from_millis(self.effort.unit_ms),
        };
        let check = |layout| Check {
            unit,
            operation,
            layout,
            plan: OnceCell::new(),
        };
        if let Some(ahead) = ahead {
            for Ahead {
                layout,
                steps,
                untried,
                problem,
            } in ahead
            {
                let check = check(layout);
                trial.measured.untried += untried;
                for step in steps {
                    self.take(step, &check, &mut trial, stage)?;
                }
                drop(problem);
                trial.measured.complete &= check.is_complete();
            }
            return Ok(trial.measured);
        }
        for layout in unit.layouts() {
            if trial.is_over() {
                break;
            }
            stage(&format!("{unit}, {}: describing it", layout.name()));
            let problem = match self.problem(unit, layout) {
                Ok(problem) => problem,
                Err(error) => {
                    trial.add(Candidate {
                        name: format!("all, {}", layout.name()),
                        outcome: refused(&error),
                    });
                    continue;
                }
            };
            let check = check(layout);
            for choice in problem.choices() {
                if trial.is_over() {
                    trial.measured.untried += 1;
                    continue;
                }
                stage(&format!("{unit}: {}", choice.name));
                self.take(problem.prepare(&choice), &check, &mut trial, stage)?;
            }
            trial.measured.complete &= check.is_complete();
        }
        Ok(trial.measured)
    }

    fn take(
        &mut self,
        step: Step,
        check: &Check,
        trial: &mut Trial,
        stage: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        match step {
            Step::Settled(candidate) => trial.add(candidate),
            Step::Ready { .. } if trial.is_over() => trial.measured.untried += 1,
            Step::Ready { name, attempt } => {
                stage(&format!("{}: running {name}", check.unit));
                let outcome = self.try_one(attempt, check, trial.best_time)?;
                trial.add(Candidate { name, outcome });
            }
        }
        Ok(())
    }

    pub(super) fn problem(
        &self,
        unit: &Unit,
        layout: Layout,
    ) -> Result<Box<dyn Problem + 'a>, Error> {
        let (convolution, precision, direction) =
            (&unit.shape.convolution, unit.precision, unit.direction);
        Ok(match unit.api {
            Api::Legacy => {
                let legacy = self.interfaces.legacy.as_ref();
                let legacy = legacy.expect("no legacy unit is sent to a build without that API");
                Box::new(legacy.problem(convolution, precision, direction, layout)?)
            }
            Api::Graph => {
                let graph = self.interfaces.graphs.first();
                let graph = graph.expect("no graph unit is sent to a build without that API");
                Box::new(graph.problem(convolution, precision, direction, layout)?)
            }
        })
    }

    fn try_one(
        &mut self,
        mut attempt: Box<dyn Attempt + '_>,
        check: &Check,
        best: f64,
    ) -> Result<Outcome, Error> {
        let needed = attempt.workspace();
        if needed > self.effort.workspace {
            return Ok(Outcome::Skipped {
                why: format!("wants {} MB of workspace", needed / 1_000_000),
            });
        }
        let workspace = match self.workspace_of(needed) {
            Ok(workspace) => workspace,
            Err(Error::Driver { code: 2, .. }) => {
                return Ok(Outcome::Skipped {
                    why: format!(
                        "wants {} MB of workspace, which the GPU has not free",
                        needed / 1_000_000
                    ),
                });
            }
            Err(error) => return Err(error),
        };
        let operation = check.operation;
        let direction = check.unit.direction;
        if let Err(error) = attempt.bind(operation.places(direction, workspace)) {
            return Ok(refused(&error));
        }
        operation.result.fill(operation.precision.poison())?;
        let (before, after) = (self.gpu.event()?, self.gpu.event()?);
        before.record()?;
        if let Err(error) = attempt.run() {
            // A kernel that crashed has taken the context with it: then nothing after this can work.
            self.gpu.synchronize()?;
            return Ok(refused(&error));
        }
        after.record()?;
        self.gpu.synchronize()?;
        let first = before.until(&after)?;
        let error = match check.plan() {
            None => 0.0,
            Some(plan) => {
                let error = self.compare(operation, direction, plan)?;
                let not_finite = self.not_finite(operation, direction)?;
                let bound = operation.precision.bound();
                if error > bound || not_finite > 0 {
                    let other_layout = not_finite == 0
                        && check.plan_for(check.layout.other()).is_some_and(|plan| {
                            self.compare(operation, direction, &plan)
                                .is_ok_and(|error| error <= bound)
                        });
                    return Ok(Outcome::Wrong {
                        error: error.is_finite().then_some(error),
                        not_finite,
                        other_layout,
                    });
                }
                error
            }
        };
        Ok(Outcome::Right {
            error,
            milliseconds: self.time(attempt.as_ref(), first, best)?,
            workspace: needed,
        })
    }

    /// The median over batches of runs. A batch is long enough to hide that starting a run takes the CPU some time.
    ///
    /// The very first run took `first`, loading of the kernel included. What is hopelessly behind `best`, or takes so long
    /// that loading does not matter, is not run again and again.
    fn time(&self, attempt: &dyn Attempt, first: f64, best: f64) -> Result<f64, Error> {
        if first > HOPELESS_MS {
            return Ok(first);
        }
        let (before, after) = (self.gpu.event()?, self.gpu.event()?);
        let batch = |runs: usize| {
            before.record()?;
            for _ in 0..runs {
                attempt.run()?;
            }
            after.record()?;
            Ok::<_, Error>(before.until(&after)? / runs as f64)
        };
        let once = batch(1)?.max(1e-3);
        if once > 8.0 * best && once > 1.0 {
            return Ok(once);
        }
        let runs = ((0.3 / once) as usize).clamp(1, 20);
        let batches = ((self.effort.timing_ms / (once * runs as f64)) as usize).clamp(3, 15);
        let mut times = (0..batches)
            .map(|_| batch(runs))
            .collect::<Result<Vec<_>, _>>()?;
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }

    fn workspace_of(&mut self, needed: usize) -> Result<*mut c_void, Error> {
        if needed == 0 {
            return Ok(ptr::null_mut());
        }
        if self
            .workspace
            .as_ref()
            .is_none_or(|memory| memory.bytes() < needed)
        {
            self.workspace = None;
            self.workspace = Some(self.gpu.allocate(needed)?);
        }
        Ok(self
            .workspace
            .as_ref()
            .map_or(ptr::null_mut(), Memory::pointer))
    }

    fn compare(
        &mut self,
        operation: &Operation,
        direction: Direction,
        plan: &Plan,
    ) -> Result<f64, Error> {
        let size = operation.precision.bytes();
        let total = count(direction.result(&operation.convolution)) * size;
        let mut found = Vec::with_capacity(plan.values.len());
        let mut decode = |bytes: &[u8]| {
            let chunks = bytes.chunks_exact(size);
            found.extend(chunks.map(|bytes| operation.precision.decode(bytes)));
        };
        if total <= 1 << 20 {
            let bytes = &mut self.host(total)?[..total];
            operation.result.download(0, bytes)?;
            for (first, length) in &plan.runs {
                decode(&bytes[first * size..(first + length) * size]);
            }
        } else {
            let mut bytes = Vec::new();
            for (first, length) in &plan.runs {
                bytes.resize(length * size, 0);
                operation.result.download(first * size, &mut bytes)?;
                decode(&bytes);
            }
        }
        Ok(plan.error(&found))
    }

    /// How many elements of the whole result are still poison, or infinite.
    fn not_finite(&mut self, operation: &Operation, direction: Direction) -> Result<usize, Error> {
        let total = count(direction.result(&operation.convolution)) * operation.precision.bytes();
        let bytes = &mut self.host(total)?[..total];
        operation.result.download(0, bytes)?;
        Ok(operation.precision.count_not_finite(bytes))
    }

    fn host(&mut self, bytes: usize) -> Result<&mut [u8], Error> {
        if self
            .buffer
            .as_mut()
            .is_none_or(|it| it.bytes_mut().len() < bytes)
        {
            self.buffer = None;
            self.buffer = Some(self.gpu.host_buffer(bytes)?);
        }
        let buffer = self.buffer.as_mut().expect("just made");
        Ok(buffer.bytes_mut())
    }
}

/// Beyond this many milliseconds one run says enough.
const HOPELESS_MS: f64 = 100.0;

/// What an error of the library means for the candidate. That this engine is made for another architecture is no fault of
/// anything while others are for this one.
pub(super) fn refused(error: &Error) -> Outcome {
    if let Error::Cudnn { status, major, .. } = error
        && (status::kind(*status, *major) == status::Kind::NotOffered
            || status::is_arch_mismatch(*status, *major))
    {
        return Outcome::NotOffered {
            status: status::cudnn(*status, *major).to_owned(),
        };
    }
    Outcome::Failed {
        message: error.to_string(),
        advice: error.advice().map(str::to_owned),
        surroundings: matches!(error, Error::Cudnn { status, major, .. }
            if status::kind(*status, *major) == status::Kind::Surroundings),
    }
}

/// Bytes per second of a copy inside the GPU's memory, read and written bytes counted.
pub(super) fn copy_speed(gpu: &Gpu) -> Result<f64, Error> {
    let (free, _) = gpu.memory()?;
    let bytes = (256 << 20).min(free / 8);
    let (from, to) = (gpu.allocate(bytes)?, gpu.allocate(bytes)?);
    from.fill(0)?;
    to.fill(0)?;
    from.copy_to(&to)?;
    let (before, after) = (gpu.event()?, gpu.event()?);
    let mut times = Vec::new();
    for _ in 0..5 {
        before.record()?;
        from.copy_to(&to)?;
        after.record()?;
        times.push(before.until(&after)?);
    }
    times.sort_by(f64::total_cmp);
    Ok(2.0 * bytes as f64 / (times[2] / 1e3))
}
