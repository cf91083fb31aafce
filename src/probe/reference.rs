//! The CPU's own answer, in 64-bit floats, straight from the definition.
//!
//! Small results are compared element by element. Of large ones (the first layer has 25.7 million outputs, and one element
//! of its filter gradient is a sum of 401 408 products) random runs are: fresh places each time, dozens of runs spread over
//! the whole result, until [`Plan::new`]'s budget of products is spent. That every element was written at all is checked over
//! the whole result elsewhere, by the poison.

use super::numbers::{below, cores};
use super::workload::{Convolution, Direction, Layout, count};

/// Products that one reference may cost: about 20 ms of one core.
const BUDGET: usize = 24_000_000;

/// The operands as they lie in memory.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'a> {
    /// Input images.
    pub input: &'a [f32],
    /// Filters.
    pub filter: &'a [f32],
    /// The gradient that arrives at the output.
    pub gradient: &'a [f32],
}

/// Which places of a result are compared, and what must be there.
#[derive(Debug, Clone)]
pub struct Plan {
    /// First place and length of each run.
    pub runs: Vec<(usize, usize)>,
    /// The right values, run after run.
    pub values: Vec<f64>,
    /// Whether the runs are the whole result.
    pub complete: bool,
}

impl Plan {
    /// Chooses the places and computes what must be there.
    pub fn new(
        convolution: &Convolution,
        direction: Direction,
        layout: Layout,
        operands: Operands,
        seed: u64,
    ) -> Self {
        let sizes = direction.result(convolution);
        let total = count(sizes);
        let affordable = (BUDGET / products(convolution, direction)).max(64);
        let complete = affordable >= total;
        let runs = if complete {
            vec![(0, total)]
        } else {
            let length = (affordable / 64).clamp(4, 256).min(total);
            (0..(affordable / length) as u64)
                .map(|number| (below(seed, number, total - length + 1), length))
                .collect()
        };
        let places: Vec<usize> = runs
            .iter()
            .flat_map(|(first, length)| *first..first + length)
            .collect();
        let mut values = vec![0.0; places.len()];
        let share = places.len().div_ceil(cores()).max(16);
        let task = Task {
            convolution,
            layout,
            operands,
        };
        std::thread::scope(|scope| {
            for (places, values) in places.chunks(share).zip(values.chunks_mut(share)) {
                let task = &task;
                scope.spawn(move || {
                    for (place, value) in places.iter().zip(values) {
                        *value = task.element(direction, layout.coordinates(sizes, *place));
                    }
                });
            }
        });
        Self {
            runs,
            values,
            complete,
        }
    }

    /// ‖found−right‖/‖right‖; infinite when something found is not a number.
    pub fn error(&self, found: &[f64]) -> f64 {
        let (mut difference, mut norm) = (0.0, 0.0);
        for (found, right) in found.iter().zip(&self.values) {
            difference += (found - right) * (found - right);
            norm += right * right;
        }
        let error = (difference / norm).sqrt();
        if error.is_nan() { f64::INFINITY } else { error }
    }
}

/// Products summed up in one element.
fn products(convolution: &Convolution, direction: Direction) -> usize {
    let Convolution {
        batch,
        channels,
        filters,
        window,
        groups,
        ..
    } = *convolution;
    match direction {
        Direction::Forward => channels / groups * window * window,
        Direction::BackwardData => filters / groups * window * window,
        Direction::BackwardFilter => batch * convolution.out_height() * convolution.out_width(),
    }
}

struct Task<'a> {
    convolution: &'a Convolution,
    layout: Layout,
    operands: Operands<'a>,
}

impl Task<'_> {
    fn element(&self, direction: Direction, at: [usize; 4]) -> f64 {
        match direction {
            Direction::Forward => self.forward(at),
            Direction::BackwardData => self.backward_data(at),
            Direction::BackwardFilter => self.backward_filter(at),
        }
    }

    fn input(&self, at: [usize; 4]) -> f64 {
        self.read(self.operands.input, self.convolution.input(), at)
    }

    fn filter(&self, at: [usize; 4]) -> f64 {
        self.read(self.operands.filter, self.convolution.filter(), at)
    }

    fn gradient(&self, at: [usize; 4]) -> f64 {
        self.read(self.operands.gradient, self.convolution.output(), at)
    }

    fn read(&self, tensor: &[f32], sizes: [usize; 4], at: [usize; 4]) -> f64 {
        let strides = self.layout.strides(sizes);
        let place =
            at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2] + at[3] * strides[3];
        f64::from(tensor[place])
    }

    fn forward(&self, [image, filter, row, column]: [usize; 4]) -> f64 {
        let it = self.convolution;
        let depth = it.channels / it.groups;
        let first = filter / (it.filters / it.groups) * depth;
        let mut sum = 0.0;
        for channel in 0..depth {
            for r in 0..it.window {
                for s in 0..it.window {
                    let (y, x) = (row + r, column + s);
                    if let Some((y, x)) = inside(it, y, x) {
                        sum += self.input([image, first + channel, y, x])
                            * self.filter([filter, channel, r, s]);
                    }
                }
            }
        }
        sum
    }

    fn backward_data(&self, [image, channel, row, column]: [usize; 4]) -> f64 {
        let it = self.convolution;
        let depth = it.channels / it.groups;
        let per_group = it.filters / it.groups;
        let group = channel / depth;
        let mut sum = 0.0;
        for filter in group * per_group..(group + 1) * per_group {
            for r in 0..it.window {
                for s in 0..it.window {
                    // The output at (y, x) saw this input element through the tap (r, s).
                    let y = (row + it.padding).checked_sub(r);
                    let x = (column + it.padding).checked_sub(s);
                    if let (Some(y), Some(x)) = (y, x)
                        && y < it.out_height()
                        && x < it.out_width()
                    {
                        sum += self.gradient([image, filter, y, x])
                            * self.filter([filter, channel - group * depth, r, s]);
                    }
                }
            }
        }
        sum
    }

    fn backward_filter(&self, [filter, channel, r, s]: [usize; 4]) -> f64 {
        let it = self.convolution;
        let depth = it.channels / it.groups;
        let seen = filter / (it.filters / it.groups) * depth + channel;
        let mut sum = 0.0;
        for image in 0..it.batch {
            for row in 0..it.out_height() {
                for column in 0..it.out_width() {
                    if let Some((y, x)) = inside(it, row + r, column + s) {
                        sum += self.gradient([image, filter, row, column])
                            * self.input([image, seen, y, x]);
                    }
                }
            }
        }
        sum
    }
}

/// From coordinates that count the padding to those of the image.
fn inside(it: &Convolution, y: usize, x: usize) -> Option<(usize, usize)> {
    let y = y.checked_sub(it.padding).filter(|y| *y < it.height)?;
    let x = x.checked_sub(it.padding).filter(|x| *x < it.width)?;
    Some((y, x))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Convolution = Convolution {
        batch: 2,
        channels: 4,
        height: 5,
        width: 6,
        filters: 6,
        window: 3,
        padding: 1,
        groups: 2,
    };

    fn operands() -> [Vec<f32>; 3] {
        let fill = |seed, sizes| {
            super::super::numbers::random(
                seed,
                count(sizes),
                super::super::numbers::Precision::Fp32,
            )
        };
        [
            fill(1, SMALL.input()),
            fill(2, SMALL.filter()),
            fill(3, SMALL.output()),
        ]
    }

    fn whole(
        direction: Direction,
        layout: Layout,
        convolution: &Convolution,
        data: &[Vec<f32>; 3],
    ) -> Vec<f64> {
        let operands = Operands {
            input: &data[0],
            filter: &data[1],
            gradient: &data[2],
        };
        let plan = Plan::new(convolution, direction, layout, operands, 9);
        assert!(plan.complete);
        plan.values
    }

    #[test]
    fn ones_make_counts() {
        let convolution = Convolution {
            batch: 1,
            channels: 3,
            height: 4,
            width: 4,
            filters: 1,
            window: 3,
            padding: 1,
            groups: 1,
        };
        let data = [vec![1.0; 48], vec![1.0; 27], vec![1.0; 16]];
        let forward = whole(Direction::Forward, Layout::Nchw, &convolution, &data);
        assert_eq!(
            forward[0], 12.0,
            "a corner sees four pixels of three channels"
        );
        assert_eq!(forward[1], 18.0);
        assert_eq!(forward[5], 27.0);
        let filter = whole(Direction::BackwardFilter, Layout::Nchw, &convolution, &data);
        assert_eq!(filter[..5], [9.0, 12.0, 9.0, 12.0, 16.0]);
    }

    /// ⟨conv(x, w), g⟩ = ⟨x, convᵀ(g, w)⟩ = ⟨w, grad(x, g)⟩: each direction is the adjoint of the forward one.
    #[test]
    fn directions_are_adjoint_in_both_layouts() {
        let data = operands();
        let dot =
            |a: &[f64], b: &[f32]| -> f64 { a.iter().zip(b).map(|(a, b)| a * f64::from(*b)).sum() };
        for layout in [Layout::Nchw, Layout::Nhwc] {
            let [forward, back, filter] =
                Direction::ALL.map(|direction| whole(direction, layout, &SMALL, &data));
            let value = dot(&forward, &data[2]);
            assert!((value - dot(&back, &data[0])).abs() < 1e-9, "{layout:?}");
            assert!((value - dot(&filter, &data[1])).abs() < 1e-9, "{layout:?}");
        }
    }

    #[test]
    fn large_results_are_sampled_in_many_places() {
        let first = Convolution::FIRST_LAYER;
        let gradient = vec![0.5; count(first.output())];
        let data = [
            vec![1.0; count(first.input())],
            vec![1.0; count(first.filter())],
        ];
        let operands = Operands {
            input: &data[0],
            filter: &data[1],
            gradient: &gradient,
        };
        let plan = Plan::new(&first, Direction::BackwardData, Layout::Nchw, operands, 5);
        assert!(!plan.complete);
        assert!(plan.runs.len() >= 64);
        assert!(plan.values.iter().all(|value| *value <= 0.5 * 64.0 * 9.0));
        let other = Plan::new(&first, Direction::BackwardData, Layout::Nchw, operands, 6);
        assert_ne!(plan.runs, other.runs);
    }

    #[test]
    fn an_error_that_is_not_a_number_is_infinite() {
        let plan = Plan {
            runs: vec![(0, 2)],
            values: vec![3.0, 4.0],
            complete: true,
        };
        assert_eq!(plan.error(&[3.0, 4.0]), 0.0);
        assert_eq!(plan.error(&[3.0, 9.0]), 1.0);
        assert_eq!(plan.error(&[3.0, f64::NAN]), f64::INFINITY);
        assert_eq!(plan.error(&[f64::INFINITY, 4.0]), f64::INFINITY);
    }
}
