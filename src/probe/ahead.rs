//! Candidates of the graph API, prepared by several threads before they are run one after the other.
//!
//! A run-time compiled engine costs a quarter of a second of one core; a `jit` build has no other engines. cuDNN may be used
//! by several threads when each has a handle of its own, and NVRTC compiles in each of them. Nothing runs on the GPU
//! meanwhile, so what is measured later is measured alone.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Error;
use super::driver::Gpu;
use super::graph::Graph;
use super::measure::{Ahead, Effort, Step};
use super::workload::{Api, Unit};

/// A value that one thread makes or uses at a time.
struct Carried<T>(T);

// SAFETY: handles and descriptors of cuDNN belong to no thread; they must only not be used by two at once. Each handle goes
// to one worker, and all workers have ended before what they made is used.
unsafe impl<T> Send for Carried<T> {}

impl<T> Carried<T> {
    fn take(self) -> T {
        self.0
    }
}

/// For each unit what its layouts offer, ready to run; `None` for units of the legacy API, which has nothing to compile.
pub(super) fn prepare<'a>(
    gpu: &Gpu,
    graphs: &'a [Graph<'a>],
    units: &[&Unit],
    effort: Effort,
) -> Result<Vec<Option<Vec<Ahead<'a>>>>, Error> {
    let tasks: Vec<usize> = (0..units.len())
        .filter(|number| units[*number].api == Api::Graph)
        .collect();
    let queue = Mutex::new(tasks.into_iter());
    let next = || queue.lock().map_or(None, |mut queue| queue.next());
    let mut results: Vec<Option<Vec<Ahead<'a>>>> = Vec::new();
    results.resize_with(units.len(), || None);
    std::thread::scope(|scope| {
        let workers: Vec<_> = graphs
            .iter()
            .map(|graph| {
                let graph = Carried(graph);
                let next = &next;
                scope.spawn(move || {
                    let graph = graph.take();
                    gpu.make_current()?;
                    let mut made = Vec::new();
                    while let Some(number) = next() {
                        made.push((number, all_layouts(graph, units[number], effort)));
                    }
                    Ok::<_, Error>(Carried(made))
                })
            })
            .collect();
        for worker in workers {
            let made = worker.join().expect("a worker only calls the library")?;
            for (number, ahead) in made.take() {
                results[number] = Some(ahead);
            }
        }
        Ok(results)
    })
}

fn all_layouts<'a>(graph: &'a Graph<'a>, unit: &Unit, effort: Effort) -> Vec<Ahead<'a>> {
    let deadline = Instant::now() + Duration::from_millis(effort.unit_ms);
    let mut ready = 0;
    let mut all = Vec::new();
    for layout in unit.layouts() {
        if ready >= effort.enough {
            break;
        }
        let problem = graph.problem(
            &unit.shape.convolution,
            unit.precision,
            unit.direction,
            layout,
        );
        let problem = match problem {
            Ok(problem) => problem,
            Err(error) => {
                let step = Step::refused(format!("all, {}", layout.name()), &error);
                all.push(Ahead {
                    layout,
                    steps: vec![step],
                    untried: 0,
                    problem: None,
                });
                continue;
            }
        };
        let mut steps = Vec::new();
        let mut untried = 0;
        for choice in problem.all_choices() {
            if ready >= effort.enough || ready > 0 && Instant::now() >= deadline {
                untried += 1;
                continue;
            }
            let step = problem.ready(&choice);
            ready += usize::from(matches!(step, Step::Ready { .. }));
            steps.push(step);
        }
        all.push(Ahead {
            layout,
            steps,
            untried,
            problem: Some(problem),
        });
    }
    all
}
