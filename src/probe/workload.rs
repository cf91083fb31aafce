//! What is computed: convolutions of the shapes that users report trouble with.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::numbers::Precision;

/// A two-dimensional convolution, square filter and padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Convolution {
    /// Images.
    pub batch: usize,
    /// Channels of an image.
    pub channels: usize,
    /// Rows of an image.
    pub height: usize,
    /// Columns of an image.
    pub width: usize,
    /// Channels of an output image.
    pub filters: usize,
    /// Rows and columns of a filter.
    pub window: usize,
    /// Zeros around an image.
    pub padding: usize,
    /// Channels are divided into so many groups that know nothing of each other.
    pub groups: usize,
}

impl Convolution {
    /// The one of the first sight: 3 to 64 channels, 3x3, on 8 images of 224x224.
    pub const FIRST_LAYER: Self = Self {
        batch: 8,
        channels: 3,
        height: 224,
        width: 224,
        filters: 64,
        window: 3,
        padding: 1,
        groups: 1,
    };

    /// A matrix product in disguise, large enough to show what the card can do: 16384 x 1024 by 1024 x 1024.
    pub const MATRIX_PRODUCT: Self = Self {
        batch: 16,
        channels: 1024,
        height: 32,
        width: 32,
        filters: 1024,
        window: 1,
        padding: 0,
        groups: 1,
    };

    /// Rows of an output image.
    pub const fn out_height(&self) -> usize {
        self.height + 2 * self.padding + 1 - self.window
    }

    /// Columns of an output image.
    pub const fn out_width(&self) -> usize {
        self.width + 2 * self.padding + 1 - self.window
    }

    /// The input images' sizes: batch, channels, rows, columns.
    pub const fn input(&self) -> [usize; 4] {
        [self.batch, self.channels, self.height, self.width]
    }

    /// The filters' sizes: output channels, input channels of a group, rows, columns.
    pub const fn filter(&self) -> [usize; 4] {
        [
            self.filters,
            self.channels / self.groups,
            self.window,
            self.window,
        ]
    }

    /// The output images' sizes.
    pub const fn output(&self) -> [usize; 4] {
        [
            self.batch,
            self.filters,
            self.out_height(),
            self.out_width(),
        ]
    }

    /// Floating-point operations, multiplications and additions counted apart. All three directions cost the same.
    pub fn operations(&self) -> f64 {
        let [_, depth, rows, columns] = self.filter();
        2.0 * count(self.output()) as f64 * (depth * rows * columns) as f64
    }

    /// Bytes that must be read and written at least.
    pub fn traffic(&self, precision: Precision) -> f64 {
        let elements = count(self.input()) + count(self.filter()) + count(self.output());
        (elements * precision.bytes()) as f64
    }
}

/// How many elements a tensor of these sizes has.
pub const fn count(sizes: [usize; 4]) -> usize {
    sizes[0] * sizes[1] * sizes[2] * sizes[3]
}

/// `3→64 3x3 on 8x3x224x224`, as people write it.
impl fmt::Display for Convolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            batch,
            channels,
            height,
            width,
            filters,
            window,
            groups,
            ..
        } = self;
        write!(f, "{channels}→{filters} {window}x{window}")?;
        if *groups > 1 {
            write!(f, " in {groups} groups")?;
        }
        write!(f, " on {batch}x{channels}x{height}x{width}")
    }
}

/// A convolution with the name it has in reports.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shape {
    /// `first layer`, `depthwise`, …
    pub name: String,
    /// The sizes.
    #[serde(flatten)]
    pub convolution: Convolution,
}

impl Shape {
    /// The first layer on a batch of this size and resolution.
    pub fn first_layer(batch: usize, height: usize, width: usize) -> Self {
        Self {
            name: "first layer".to_owned(),
            convolution: Convolution {
                batch,
                height,
                width,
                ..Convolution::FIRST_LAYER
            },
        }
    }

    /// The shapes that break where the plain one works.
    pub fn troublemakers() -> Vec<Self> {
        let base = Convolution {
            batch: 4,
            channels: 64,
            height: 28,
            width: 28,
            filters: 64,
            window: 3,
            padding: 1,
            groups: 1,
        };
        [
            ("grouped", Convolution { groups: 4, ..base }),
            (
                "1x1",
                Convolution {
                    filters: 128,
                    window: 1,
                    padding: 0,
                    ..base
                },
            ),
            ("depthwise", Convolution { groups: 64, ..base }),
            ("batch 1", Convolution { batch: 1, ..base }),
        ]
        .map(|(name, convolution)| Self {
            name: name.to_owned(),
            convolution,
        })
        .into()
    }
}

/// Which of a convolution's three products is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Output images from input images and filters.
    Forward,
    /// The gradient of the input images.
    BackwardData,
    /// The gradient of the filters.
    BackwardFilter,
}

impl Direction {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Forward, Self::BackwardData, Self::BackwardFilter];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::BackwardData => "backward-data",
            Self::BackwardFilter => "backward-filter",
        }
    }

    /// The sizes of what is computed.
    pub const fn result(self, convolution: &Convolution) -> [usize; 4] {
        match self {
            Self::Forward => convolution.output(),
            Self::BackwardData => convolution.input(),
            Self::BackwardFilter => convolution.filter(),
        }
    }
}

/// The order of a tensor's elements in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Channel by channel.
    Nchw,
    /// All channels of a pixel side by side ("channels last").
    Nhwc,
}

impl Layout {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nchw => "NCHW",
            Self::Nhwc => "NHWC",
        }
    }

    /// Not this one.
    pub const fn other(self) -> Self {
        match self {
            Self::Nchw => Self::Nhwc,
            Self::Nhwc => Self::Nchw,
        }
    }

    /// Distances in memory between neighbours of each of the four dimensions.
    pub const fn strides(self, sizes: [usize; 4]) -> [usize; 4] {
        let [_, channels, rows, columns] = sizes;
        match self {
            Self::Nchw => [channels * rows * columns, rows * columns, columns, 1],
            Self::Nhwc => [channels * rows * columns, 1, columns * channels, channels],
        }
    }

    /// Where the element at a place in memory belongs.
    pub const fn coordinates(self, sizes: [usize; 4], place: usize) -> [usize; 4] {
        let [_, channels, rows, columns] = sizes;
        match self {
            Self::Nchw => [
                place / (channels * rows * columns),
                place / (rows * columns) % channels,
                place / columns % rows,
                place % columns,
            ],
            Self::Nhwc => [
                place / (channels * rows * columns),
                place % channels,
                place / (channels * columns) % rows,
                place / channels % columns,
            ],
        }
    }
}

/// Which of cuDNN's two interfaces is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// `cudnnConvolutionForward` and its kin: 7, 8, 9, not in `jit` builds.
    Legacy,
    /// Operation graphs: from 8 on.
    Graph,
}

impl Api {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Graph => "graph",
        }
    }
}

/// One thing to compute and to judge.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Unit {
    /// Through which interface.
    pub api: Api,
    /// Of which convolution.
    pub shape: Shape,
    /// In which numbers.
    pub precision: Precision,
    /// Which product.
    pub direction: Direction,
}

impl Unit {
    /// In which order the layouts are tried: tensor cores want the channels side by side.
    pub const fn layouts(&self) -> [Layout; 2] {
        match self.precision {
            Precision::Fp32 => [Layout::Nchw, Layout::Nhwc],
            Precision::Tf32 | Precision::Fp16 | Precision::Bf16 => [Layout::Nhwc, Layout::Nchw],
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {} ({} API)",
            self.shape.name,
            self.direction.name(),
            self.precision.name(),
            self.api.name()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_undo_strides() {
        let sizes = [2, 3, 4, 5];
        for layout in [Layout::Nchw, Layout::Nhwc] {
            let strides = layout.strides(sizes);
            for place in 0..count(sizes) {
                let at = layout.coordinates(sizes, place);
                let back: usize = at.iter().zip(strides).map(|(a, b)| a * b).sum();
                assert_eq!(back, place, "{layout:?}");
            }
        }
    }

    #[test]
    fn the_first_layer_is_the_one_the_reports_speak_of() {
        let first = Convolution::FIRST_LAYER;
        assert_eq!(first.output(), [8, 64, 224, 224]);
        assert_eq!(first.operations(), 2.0 * 693_633_024.0);
        assert_eq!(first.to_string(), "3→64 3x3 on 8x3x224x224");
    }
}
