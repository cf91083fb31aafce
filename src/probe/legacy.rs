//! The legacy API: `cudnnConvolutionForward` and its kin, the same from 7 to 9.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::Error;
use super::cudnn::{CROSS_CORRELATION, Cudnn, FLOAT, Handle, data_type};
use super::driver::functions;
use super::measure::{Attempt, Choice, Places, Problem, Step};
use super::numbers::Precision;
use super::workload::{Convolution, Direction, Layout};

type Descriptor = *mut c_void;
type Address = *const c_void;

functions! {
    /// From `cudnn.h` (7), `cudnn_cnn_infer.h`, `cudnn_cnn_train.h` (8), `cudnn_cnn.h` (9).
    Functions {
        cudnnCreateTensorDescriptor(*mut Descriptor);
        cudnnSetTensor4dDescriptor(Descriptor, c_int, c_int, c_int, c_int, c_int, c_int);
        cudnnDestroyTensorDescriptor(Descriptor);
        cudnnCreateFilterDescriptor(*mut Descriptor);
        cudnnSetFilter4dDescriptor(Descriptor, c_int, c_int, c_int, c_int, c_int, c_int);
        cudnnDestroyFilterDescriptor(Descriptor);
        cudnnCreateConvolutionDescriptor(*mut Descriptor);
        cudnnSetConvolution2dDescriptor(
            Descriptor, c_int, c_int, c_int, c_int, c_int, c_int, c_int, c_int
        );
        cudnnSetConvolutionGroupCount(Descriptor, c_int);
        cudnnSetConvolutionMathType(Descriptor, c_int);
        cudnnDestroyConvolutionDescriptor(Descriptor);
        cudnnGetConvolutionForwardWorkspaceSize(
            Handle, Descriptor, Descriptor, Descriptor, Descriptor, c_int, *mut usize
        );
        cudnnGetConvolutionBackwardDataWorkspaceSize(
            Handle, Descriptor, Descriptor, Descriptor, Descriptor, c_int, *mut usize
        );
        cudnnGetConvolutionBackwardFilterWorkspaceSize(
            Handle, Descriptor, Descriptor, Descriptor, Descriptor, c_int, *mut usize
        );
        cudnnConvolutionForward(
            Handle, Address, Descriptor, Address, Descriptor, Address, Descriptor, c_int,
            *mut c_void, usize, Address, Descriptor, *mut c_void
        );
        cudnnConvolutionBackwardData(
            Handle, Address, Descriptor, Address, Descriptor, Address, Descriptor, c_int,
            *mut c_void, usize, Address, Descriptor, *mut c_void
        );
        cudnnConvolutionBackwardFilter(
            Handle, Address, Descriptor, Address, Descriptor, Address, Descriptor, c_int,
            *mut c_void, usize, Address, Descriptor, *mut c_void
        );
    }
}

/// The legacy functions of a loaded cuDNN.
pub(super) struct Legacy<'a> {
    cudnn: &'a Cudnn,
    handle: Handle,
    call: Functions,
}

/// `CUDNN_DEFAULT_MATH`: from 8 on it allows TF32 where the card has it.
const DEFAULT_MATH: c_int = 0;
/// `CUDNN_TENSOR_OP_MATH`
const TENSOR_OP_MATH: c_int = 1;
/// `CUDNN_FMA_MATH`, from 8 on: 32-bit floats are multiplied as such.
const FMA_MATH: c_int = 3;

/// The algorithms by number, with the header's names.
fn algorithms(direction: Direction) -> &'static [&'static str] {
    match direction {
        Direction::Forward => &[
            "IMPLICIT_GEMM",
            "IMPLICIT_PRECOMP_GEMM",
            "GEMM",
            "DIRECT",
            "FFT",
            "FFT_TILING",
            "WINOGRAD",
            "WINOGRAD_NONFUSED",
        ],
        Direction::BackwardData => &[
            "ALGO_0",
            "ALGO_1",
            "FFT",
            "FFT_TILING",
            "WINOGRAD",
            "WINOGRAD_NONFUSED",
        ],
        Direction::BackwardFilter => &[
            "ALGO_0",
            "ALGO_1",
            "FFT",
            "ALGO_3",
            "WINOGRAD",
            "WINOGRAD_NONFUSED",
            "FFT_TILING",
        ],
    }
}

/// The number of an algorithm that is fast and always there, tried first: IMPLICIT_PRECOMP_GEMM and ALGO_1 are the ones that
/// know tensor cores in every version.
const FAVOURITE: usize = 1;

impl<'a> Legacy<'a> {
    pub(super) fn new(cudnn: &'a Cudnn, handle: Handle) -> Result<Self, Error> {
        // SAFETY: the signatures are those of the headers named above.
        let call = unsafe { Functions::find(cudnn.library(), cudnn.name()) }?;
        Ok(Self {
            cudnn,
            handle,
            call,
        })
    }

    /// Describes one convolution in one layout.
    pub(super) fn problem(
        &'a self,
        convolution: &Convolution,
        precision: Precision,
        direction: Direction,
        layout: Layout,
    ) -> Result<LegacyProblem<'a>, Error> {
        let mut problem = LegacyProblem {
            legacy: self,
            direction,
            layout,
            input: Owned::none(self.call.cudnnDestroyTensorDescriptor),
            output: Owned::none(self.call.cudnnDestroyTensorDescriptor),
            filter: Owned::none(self.call.cudnnDestroyFilterDescriptor),
            convolution: Owned::none(self.call.cudnnDestroyConvolutionDescriptor),
        };
        let kind = data_type(precision);
        let format = match layout {
            Layout::Nchw => 0,
            Layout::Nhwc => 1,
        };
        for (slot, [n, c, h, w]) in [
            (&mut problem.input, convolution.input().map(int)),
            (&mut problem.output, convolution.output().map(int)),
        ] {
            // SAFETY: `raw` is a place for a descriptor, and what it holds then is one.
            unsafe {
                self.check(
                    "cudnnCreateTensorDescriptor",
                    (self.call.cudnnCreateTensorDescriptor)(&raw mut slot.raw),
                )?;
                self.check(
                    "cudnnSetTensor4dDescriptor",
                    (self.call.cudnnSetTensor4dDescriptor)(slot.raw, format, kind, n, c, h, w),
                )?;
            }
        }
        let [k, c, r, s] = convolution.filter().map(int);
        let padding = int(convolution.padding);
        // SAFETY: as above.
        unsafe {
            self.check(
                "cudnnCreateFilterDescriptor",
                (self.call.cudnnCreateFilterDescriptor)(&raw mut problem.filter.raw),
            )?;
            self.check(
                "cudnnSetFilter4dDescriptor",
                (self.call.cudnnSetFilter4dDescriptor)(
                    problem.filter.raw,
                    kind,
                    format,
                    k,
                    c,
                    r,
                    s,
                ),
            )?;
            self.check(
                "cudnnCreateConvolutionDescriptor",
                (self.call.cudnnCreateConvolutionDescriptor)(&raw mut problem.convolution.raw),
            )?;
            let descriptor = problem.convolution.raw;
            self.check(
                "cudnnSetConvolution2dDescriptor",
                (self.call.cudnnSetConvolution2dDescriptor)(
                    descriptor,
                    padding,
                    padding,
                    1,
                    1,
                    1,
                    1,
                    CROSS_CORRELATION,
                    FLOAT,
                ),
            )?;
            self.check(
                "cudnnSetConvolutionGroupCount",
                (self.call.cudnnSetConvolutionGroupCount)(descriptor, int(convolution.groups)),
            )?;
            self.check(
                "cudnnSetConvolutionMathType",
                (self.call.cudnnSetConvolutionMathType)(descriptor, self.math(precision)),
            )?;
        }
        Ok(problem)
    }

    fn math(&self, precision: Precision) -> c_int {
        match precision {
            Precision::Fp32 if self.cudnn.version().major >= 8 => FMA_MATH,
            Precision::Fp32 | Precision::Tf32 => DEFAULT_MATH,
            Precision::Fp16 | Precision::Bf16 => TENSOR_OP_MATH,
        }
    }

    fn check(&self, call: &'static str, status: c_int) -> Result<(), Error> {
        self.cudnn.check(call, status)
    }
}

fn int(size: usize) -> c_int {
    c_int::try_from(size).expect("our shapes are small")
}

/// A descriptor that is destroyed with its owner.
struct Owned {
    raw: Descriptor,
    destroy: unsafe extern "system" fn(Descriptor) -> c_int,
}

impl Owned {
    fn none(destroy: unsafe extern "system" fn(Descriptor) -> c_int) -> Self {
        Self {
            raw: ptr::null_mut(),
            destroy,
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: the descriptor came from the matching create function and is destroyed once.
            unsafe { (self.destroy)(self.raw) };
        }
    }
}

/// One convolution, described.
pub(super) struct LegacyProblem<'a> {
    legacy: &'a Legacy<'a>,
    direction: Direction,
    layout: Layout,
    input: Owned,
    output: Owned,
    filter: Owned,
    convolution: Owned,
}

impl Problem for LegacyProblem<'_> {
    fn choices(&self) -> Vec<Choice> {
        let mut choices: Vec<Choice> = algorithms(self.direction)
            .iter()
            .enumerate()
            .map(|(number, name)| Choice {
                number,
                name: format!("algorithm {number} {name}, {}", self.layout.name()),
            })
            .collect();
        choices.sort_by_key(|choice| choice.number != FAVOURITE);
        choices
    }

    fn prepare(&self, choice: &Choice) -> Step<'_> {
        let name = choice.name.clone();
        match self.ready(choice) {
            Ok(attempt) => Step::Ready {
                name,
                attempt: Box::new(attempt),
            },
            Err(error) => Step::refused(name, &error),
        }
    }
}

impl LegacyProblem<'_> {
    fn ready(&self, choice: &Choice) -> Result<LegacyAttempt<'_>, Error> {
        let algorithm = int(choice.number);
        let call = &self.legacy.call;
        let handle = self.legacy.handle;
        let [input, output, filter, convolution] = self.descriptors();
        let mut workspace = 0;
        // SAFETY: the handle and descriptors are alive, `workspace` is a place for a size.
        let (name, status) = unsafe {
            match self.direction {
                Direction::Forward => (
                    "cudnnGetConvolutionForwardWorkspaceSize",
                    (call.cudnnGetConvolutionForwardWorkspaceSize)(
                        handle,
                        input,
                        filter,
                        convolution,
                        output,
                        algorithm,
                        &raw mut workspace,
                    ),
                ),
                Direction::BackwardData => (
                    "cudnnGetConvolutionBackwardDataWorkspaceSize",
                    (call.cudnnGetConvolutionBackwardDataWorkspaceSize)(
                        handle,
                        filter,
                        output,
                        convolution,
                        input,
                        algorithm,
                        &raw mut workspace,
                    ),
                ),
                Direction::BackwardFilter => (
                    "cudnnGetConvolutionBackwardFilterWorkspaceSize",
                    (call.cudnnGetConvolutionBackwardFilterWorkspaceSize)(
                        handle,
                        input,
                        output,
                        convolution,
                        filter,
                        algorithm,
                        &raw mut workspace,
                    ),
                ),
            }
        };
        self.legacy.check(name, status)?;
        Ok(LegacyAttempt {
            problem: self,
            algorithm,
            workspace,
            places: Places::nowhere(),
        })
    }

    fn descriptors(&self) -> [Descriptor; 4] {
        [
            self.input.raw,
            self.output.raw,
            self.filter.raw,
            self.convolution.raw,
        ]
    }
}

struct LegacyAttempt<'a> {
    problem: &'a LegacyProblem<'a>,
    algorithm: c_int,
    workspace: usize,
    places: Places,
}

impl Attempt for LegacyAttempt<'_> {
    fn workspace(&self) -> usize {
        self.workspace
    }

    fn bind(&mut self, places: Places) -> Result<(), Error> {
        self.places = places;
        Ok(())
    }

    fn run(&self) -> Result<(), Error> {
        let places = &self.places;
        let LegacyProblem {
            legacy, direction, ..
        } = self.problem;
        let call = &legacy.call;
        let [input, output, filter, convolution] = self.problem.descriptors();
        // With 32-bit sums both factors are 32-bit floats, whatever the data are.
        let (one, zero) = (1.0_f32, 0.0_f32);
        let (alpha, beta) = ((&raw const one).cast(), (&raw const zero).cast());
        // SAFETY: handle and descriptors are alive; the places hold tensors of the described sizes and a workspace of at
        // least the size that the library asked for.
        let (name, status) = unsafe {
            match direction {
                Direction::Forward => (
                    "cudnnConvolutionForward",
                    (call.cudnnConvolutionForward)(
                        legacy.handle,
                        alpha,
                        input,
                        places.input,
                        filter,
                        places.filter,
                        convolution,
                        self.algorithm,
                        places.workspace,
                        self.workspace,
                        beta,
                        output,
                        places.output,
                    ),
                ),
                Direction::BackwardData => (
                    "cudnnConvolutionBackwardData",
                    (call.cudnnConvolutionBackwardData)(
                        legacy.handle,
                        alpha,
                        filter,
                        places.filter,
                        output,
                        places.output,
                        convolution,
                        self.algorithm,
                        places.workspace,
                        self.workspace,
                        beta,
                        input,
                        places.input,
                    ),
                ),
                Direction::BackwardFilter => (
                    "cudnnConvolutionBackwardFilter",
                    (call.cudnnConvolutionBackwardFilter)(
                        legacy.handle,
                        alpha,
                        input,
                        places.input,
                        output,
                        places.output,
                        convolution,
                        self.algorithm,
                        places.workspace,
                        self.workspace,
                        beta,
                        filter,
                        places.filter,
                    ),
                ),
            }
        };
        legacy.check(name, status)
    }
}
