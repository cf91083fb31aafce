//! The graph ("backend") API, from 8 on and the only one of a `jit` build.
//!
//! A convolution is an operation graph of one operation. Engines that can run it are found in two ways: the heuristics name
//! configurations, best first, and every engine has a number below the graph's engine count. Attribute and descriptor numbers
//! are equal in the headers of 8.9.7 and of 9.10 to 9.19.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::Error;
use super::cudnn::{CROSS_CORRELATION, Cudnn, FLOAT, Handle, data_type};
use super::driver::functions;
use super::measure::{Attempt, Choice, Places, Problem, Step};
use super::numbers::Precision;
use super::workload::{Convolution, Direction, Layout};

type RawDescriptor = *mut c_void;

functions! {
    /// `cudnn_backend.h` (8), `cudnn_graph.h` (9).
    Functions {
        cudnnBackendCreateDescriptor(c_int, *mut RawDescriptor);
        cudnnBackendDestroyDescriptor(RawDescriptor);
        cudnnBackendFinalize(RawDescriptor);
        cudnnBackendSetAttribute(RawDescriptor, c_int, c_int, i64, *const c_void);
        cudnnBackendGetAttribute(RawDescriptor, c_int, c_int, i64, *mut i64, *mut c_void);
        cudnnBackendExecute(Handle, RawDescriptor, RawDescriptor);
    }
}

/// `cudnnBackendAttributeType_t`
mod of_type {
    pub(super) const HANDLE: i32 = 0;
    pub(super) const DATA_TYPE: i32 = 1;
    pub(super) const INT64: i32 = 3;
    pub(super) const FLOAT: i32 = 4;
    pub(super) const VOID_PTR: i32 = 6;
    pub(super) const CONVOLUTION_MODE: i32 = 7;
    pub(super) const HEUR_MODE: i32 = 8;
    pub(super) const NUMERICAL_NOTE: i32 = 11;
    pub(super) const DESCRIPTOR: i32 = 15;
}

/// `cudnnBackendDescriptorType_t`
mod descriptor {
    pub(super) const CONVOLUTION: i32 = 1;
    pub(super) const ENGINE: i32 = 2;
    pub(super) const ENGINE_CONFIG: i32 = 3;
    pub(super) const HEURISTICS: i32 = 4;
    pub(super) const PLAN: i32 = 5;
    pub(super) const FORWARD: i32 = 10;
    pub(super) const BACKWARD_FILTER: i32 = 11;
    pub(super) const BACKWARD_DATA: i32 = 12;
    pub(super) const GRAPH: i32 = 15;
    pub(super) const VARIANT_PACK: i32 = 16;
    pub(super) const TENSOR: i32 = 17;
}

/// `cudnnBackendAttributeName_t`
mod attribute {
    pub(super) const CONVOLUTION_COMP_TYPE: i32 = 100;
    pub(super) const CONVOLUTION_CONV_MODE: i32 = 101;
    pub(super) const CONVOLUTION_DILATIONS: i32 = 102;
    pub(super) const CONVOLUTION_FILTER_STRIDES: i32 = 103;
    pub(super) const CONVOLUTION_POST_PADDINGS: i32 = 104;
    pub(super) const CONVOLUTION_PRE_PADDINGS: i32 = 105;
    pub(super) const CONVOLUTION_SPATIAL_DIMS: i32 = 106;
    pub(super) const HEURISTICS_MODE: i32 = 200;
    pub(super) const HEURISTICS_GRAPH: i32 = 201;
    pub(super) const HEURISTICS_RESULTS: i32 = 202;
    pub(super) const CONFIG_ENGINE: i32 = 300;
    pub(super) const PLAN_HANDLE: i32 = 400;
    pub(super) const PLAN_CONFIG: i32 = 401;
    pub(super) const PLAN_WORKSPACE_SIZE: i32 = 402;
    pub(super) const GRAPH_HANDLE: i32 = 800;
    pub(super) const GRAPH_OPERATIONS: i32 = 801;
    pub(super) const GRAPH_ENGINE_COUNT: i32 = 802;
    pub(super) const TENSOR_ALIGNMENT: i32 = 900;
    pub(super) const TENSOR_DATA_TYPE: i32 = 901;
    pub(super) const TENSOR_DIMENSIONS: i32 = 902;
    pub(super) const TENSOR_STRIDES: i32 = 903;
    pub(super) const TENSOR_ID: i32 = 906;
    pub(super) const PACK_IDS: i32 = 1000;
    pub(super) const PACK_POINTERS: i32 = 1001;
    pub(super) const PACK_WORKSPACE: i32 = 1003;
    pub(super) const ENGINE_GRAPH: i32 = 1300;
    pub(super) const ENGINE_NUMBER: i32 = 1301;
    pub(super) const ENGINE_NUMERICAL_NOTES: i32 = 1303;
}

/// The attributes of the three convolution operations.
struct OperationAttributes {
    descriptor: c_int,
    alpha: c_int,
    beta: c_int,
    convolution: c_int,
    input: c_int,
    filter: c_int,
    output: c_int,
}

const fn operation(direction: Direction) -> OperationAttributes {
    match direction {
        Direction::Forward => OperationAttributes {
            descriptor: descriptor::FORWARD,
            alpha: 700,
            beta: 701,
            convolution: 702,
            filter: 703,
            input: 704,
            output: 705,
        },
        Direction::BackwardData => OperationAttributes {
            descriptor: descriptor::BACKWARD_DATA,
            alpha: 706,
            beta: 707,
            convolution: 708,
            filter: 709,
            input: 710,
            output: 711,
        },
        Direction::BackwardFilter => OperationAttributes {
            descriptor: descriptor::BACKWARD_FILTER,
            alpha: 712,
            beta: 713,
            convolution: 714,
            filter: 715,
            input: 716,
            output: 717,
        },
    }
}

/// `cudnnBackendNumericalNote_t`, those that decide for which precision an engine counts.
const TENSOR_CORE: c_int = 0;
const DOWN_CONVERT_INPUTS: c_int = 1;
const REDUCED_PRECISION_REDUCTION: c_int = 2;

/// Why an engine for 32-bit floats does not count as one: it multiplies in TF32.
pub const ROUNDS_INPUTS: &str = "rounds its inputs to TF32";

/// `cudnnBackendHeurMode_t`: the good guess, and what always works.
const HEURISTICS: [(c_int, &str); 2] = [(3, "heuristics A"), (2, "fallback list")];

/// The tensors' names in a graph.
const INPUT: i64 = 1;
const FILTER: i64 = 2;
const OUTPUT: i64 = 3;

/// The graph functions of a loaded cuDNN.
pub(super) struct Graph<'a> {
    cudnn: &'a Cudnn,
    handle: Handle,
    call: Functions,
    heuristics: bool,
}

impl<'a> Graph<'a> {
    /// `heuristics`: whether they may be asked. They live in a sub-library of their own, which `jit` builds lack; asking there
    /// makes cuDNN look for it everywhere, and find that of another version.
    pub(super) fn new(cudnn: &'a Cudnn, handle: Handle, heuristics: bool) -> Result<Self, Error> {
        // SAFETY: the signatures are those of the headers named above.
        let call = unsafe { Functions::find(cudnn.library(), cudnn.name()) }?;
        Ok(Self {
            cudnn,
            handle,
            call,
            heuristics,
        })
    }

    /// Describes one convolution in one layout.
    pub(super) fn problem(
        &'a self,
        convolution: &Convolution,
        precision: Precision,
        direction: Direction,
        layout: Layout,
    ) -> Result<GraphProblem<'a>, Error> {
        let tensor = |id: i64, sizes: [usize; 4]| {
            let tensor = self.create(descriptor::TENSOR)?;
            tensor.set(
                attribute::TENSOR_DATA_TYPE,
                of_type::DATA_TYPE,
                &[data_type(precision)],
            )?;
            tensor.set(
                attribute::TENSOR_DIMENSIONS,
                of_type::INT64,
                &sizes.map(long),
            )?;
            let strides = layout.strides(sizes).map(long);
            tensor.set(attribute::TENSOR_STRIDES, of_type::INT64, &strides)?;
            tensor.set(attribute::TENSOR_ID, of_type::INT64, &[id])?;
            tensor.set(attribute::TENSOR_ALIGNMENT, of_type::INT64, &[16_i64])?;
            tensor.finalize()?;
            Ok::<_, Error>(tensor)
        };
        let input = tensor(INPUT, convolution.input())?;
        let filter = tensor(FILTER, convolution.filter())?;
        let output = tensor(OUTPUT, convolution.output())?;

        let what = self.create(descriptor::CONVOLUTION)?;
        let padding = [long(convolution.padding); 2];
        what.set(
            attribute::CONVOLUTION_COMP_TYPE,
            of_type::DATA_TYPE,
            &[FLOAT],
        )?;
        what.set(
            attribute::CONVOLUTION_CONV_MODE,
            of_type::CONVOLUTION_MODE,
            &[CROSS_CORRELATION],
        )?;
        what.set(
            attribute::CONVOLUTION_SPATIAL_DIMS,
            of_type::INT64,
            &[2_i64],
        )?;
        for (name, values) in [
            (attribute::CONVOLUTION_DILATIONS, [1; 2]),
            (attribute::CONVOLUTION_FILTER_STRIDES, [1; 2]),
            (attribute::CONVOLUTION_PRE_PADDINGS, padding),
            (attribute::CONVOLUTION_POST_PADDINGS, padding),
        ] {
            what.set(name, of_type::INT64, &values)?;
        }
        what.finalize()?;

        let names = operation(direction);
        let operation = self.create(names.descriptor)?;
        for (name, descriptor) in [
            (names.input, &input),
            (names.filter, &filter),
            (names.output, &output),
            (names.convolution, &what),
        ] {
            operation.set(name, of_type::DESCRIPTOR, &[descriptor.raw])?;
        }
        operation.set(names.alpha, of_type::FLOAT, &[1.0_f32])?;
        operation.set(names.beta, of_type::FLOAT, &[0.0_f32])?;
        operation.finalize()?;

        let graph = self.create(descriptor::GRAPH)?;
        graph.set(attribute::GRAPH_HANDLE, of_type::HANDLE, &[self.handle])?;
        graph.set(
            attribute::GRAPH_OPERATIONS,
            of_type::DESCRIPTOR,
            &[operation.raw],
        )?;
        graph.finalize()?;
        let mut problem = GraphProblem {
            api: self,
            precision,
            layout,
            graph,
            configurations: Vec::new(),
            _parts: [input, filter, output, what, operation],
        };
        problem.find_configurations()?;
        Ok(problem)
    }

    fn create(&'a self, kind: c_int) -> Result<Descriptor<'a>, Error> {
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` is a place for a descriptor.
        let status = unsafe { (self.call.cudnnBackendCreateDescriptor)(kind, &raw mut raw) };
        self.cudnn.check("cudnnBackendCreateDescriptor", status)?;
        Ok(Descriptor { api: self, raw })
    }
}

fn long(size: usize) -> i64 {
    i64::try_from(size).expect("our shapes are small")
}

/// A backend descriptor that is destroyed with its owner.
struct Descriptor<'a> {
    api: &'a Graph<'a>,
    raw: RawDescriptor,
}

impl Descriptor<'_> {
    /// `values` must be of the C type that `of_type` names: `i64` for INT64, `c_int` for enumerations, pointers for the rest.
    fn set<T: Copy>(&self, name: c_int, of_type: c_int, values: &[T]) -> Result<(), Error> {
        // SAFETY: the library reads `values.len()` elements of the named type, which is what the callers in this file pass.
        let status = unsafe {
            (self.api.call.cudnnBackendSetAttribute)(
                self.raw,
                name,
                of_type,
                values.len() as i64,
                values.as_ptr().cast(),
            )
        };
        self.api.cudnn.check("cudnnBackendSetAttribute", status)
    }

    fn finalize(&self) -> Result<(), Error> {
        // SAFETY: the descriptor is alive.
        let status = unsafe { (self.api.call.cudnnBackendFinalize)(self.raw) };
        self.api.cudnn.check("cudnnBackendFinalize", status)
    }

    /// Reads at most `values.len()` elements and returns how many there are.
    fn get<T: Copy>(&self, name: c_int, of_type: c_int, values: &mut [T]) -> Result<usize, Error> {
        let mut count = 0;
        let place = if values.is_empty() {
            ptr::null_mut()
        } else {
            values.as_mut_ptr().cast()
        };
        // SAFETY: the library writes at most `values.len()` elements of the named type, which is what the callers pass.
        let status = unsafe {
            (self.api.call.cudnnBackendGetAttribute)(
                self.raw,
                name,
                of_type,
                values.len() as i64,
                &raw mut count,
                place,
            )
        };
        self.api.cudnn.check("cudnnBackendGetAttribute", status)?;
        Ok(usize::try_from(count).unwrap_or(0))
    }
}

impl Drop for Descriptor<'_> {
    fn drop(&mut self) {
        // SAFETY: the descriptor came from the create function and is destroyed once.
        unsafe { (self.api.call.cudnnBackendDestroyDescriptor)(self.raw) };
    }
}

/// How an engine was found.
enum Configuration<'a> {
    /// The heuristics named it, knobs set.
    Named(Descriptor<'a>),
    /// It has this number; knobs as they are by default.
    Numbered(i64),
}

/// One convolution, described, with all configurations that may run it.
pub(super) struct GraphProblem<'a> {
    api: &'a Graph<'a>,
    precision: Precision,
    layout: Layout,
    graph: Descriptor<'a>,
    configurations: Vec<(String, Configuration<'a>)>,
    _parts: [Descriptor<'a>; 5],
}

impl<'a> GraphProblem<'a> {
    fn find_configurations(&mut self) -> Result<(), Error> {
        if self.api.heuristics {
            for (mode, name) in HEURISTICS {
                // A mode that this version or graph does not know is no reason to give up.
                for (rank, config) in self.ask(mode).unwrap_or_default().into_iter().enumerate() {
                    let name = format!("{name}, rank {}", rank + 1);
                    self.configurations
                        .push((name, Configuration::Named(config)));
                }
            }
        }
        let mut count = [0_i64];
        self.graph
            .get(attribute::GRAPH_ENGINE_COUNT, of_type::INT64, &mut count)?;
        for number in 0..count[0] {
            self.configurations
                .push((format!("engine {number}"), Configuration::Numbered(number)));
        }
        Ok(())
    }

    fn ask(&self, mode: c_int) -> Result<Vec<Descriptor<'a>>, Error> {
        let heuristics = self.api.create(descriptor::HEURISTICS)?;
        heuristics.set(
            attribute::HEURISTICS_GRAPH,
            of_type::DESCRIPTOR,
            &[self.graph.raw],
        )?;
        heuristics.set(attribute::HEURISTICS_MODE, of_type::HEUR_MODE, &[mode])?;
        heuristics.finalize()?;
        let count = heuristics.get::<RawDescriptor>(
            attribute::HEURISTICS_RESULTS,
            of_type::DESCRIPTOR,
            &mut [],
        )?;
        let mut configs = (0..count)
            .map(|_| self.api.create(descriptor::ENGINE_CONFIG))
            .collect::<Result<Vec<_>, _>>()?;
        let mut places: Vec<RawDescriptor> = configs.iter().map(|config| config.raw).collect();
        let written = heuristics.get(
            attribute::HEURISTICS_RESULTS,
            of_type::DESCRIPTOR,
            &mut places,
        )?;
        configs.truncate(written);
        Ok(configs)
    }

    fn engine(&self, number: i64) -> Result<Descriptor<'a>, Error> {
        let engine = self.api.create(descriptor::ENGINE)?;
        engine.set(
            attribute::ENGINE_GRAPH,
            of_type::DESCRIPTOR,
            &[self.graph.raw],
        )?;
        engine.set(attribute::ENGINE_NUMBER, of_type::INT64, &[number])?;
        engine.finalize()?;
        Ok(engine)
    }

    fn number(&self, engine: &Descriptor) -> Result<i64, Error> {
        let mut number = [-1_i64];
        engine.get(attribute::ENGINE_NUMBER, of_type::INT64, &mut number)?;
        Ok(number[0])
    }

    /// Why an engine does not count for our precision, if so.
    fn unsuitable(&self, engine: &Descriptor) -> Result<Option<&'static str>, Error> {
        let mut notes = [-1; 32];
        let count = engine.get(
            attribute::ENGINE_NUMERICAL_NOTES,
            of_type::NUMERICAL_NOTE,
            &mut notes,
        )?;
        let notes = &notes[..count.min(32)];
        let rounds = notes.contains(&TENSOR_CORE) || notes.contains(&DOWN_CONVERT_INPUTS);
        Ok(match self.precision {
            Precision::Fp32 if rounds => Some(ROUNDS_INPUTS),
            Precision::Tf32 if !notes.contains(&TENSOR_CORE) => Some("does not use tensor cores"),
            _ if notes.contains(&REDUCED_PRECISION_REDUCTION) => Some("sums in 16 bits"),
            _ => None,
        })
    }
}

impl Problem for GraphProblem<'_> {
    fn choices(&self) -> Vec<Choice> {
        self.all_choices()
    }

    fn prepare(&self, choice: &Choice) -> Step<'_> {
        self.ready(choice)
    }
}

impl<'a> GraphProblem<'a> {
    /// Configurations that the heuristics name, then every engine that they do not name, in the order of the numbers.
    pub(super) fn all_choices(&self) -> Vec<Choice> {
        let mut seen = Vec::new();
        let mut choices = Vec::new();
        let layout = self.layout.name();
        for (position, (found, configuration)) in self.configurations.iter().enumerate() {
            let name = match configuration {
                Configuration::Named(config) => match self
                    .named_engine(config)
                    .and_then(|engine| self.number(&engine))
                {
                    Ok(number) => {
                        seen.push(number);
                        format!("engine {number} ({found}), {layout}")
                    }
                    Err(_) => format!("{found}, {layout}"),
                },
                Configuration::Numbered(number) if seen.contains(number) => continue,
                Configuration::Numbered(_) => format!("{found}, {layout}"),
            };
            choices.push(Choice {
                number: position,
                name,
            });
        }
        choices
    }

    /// As [`Problem::prepare`]; what comes of it outlives the borrow of the problem, but not the problem.
    pub(super) fn ready(&self, choice: &Choice) -> Step<'a> {
        let name = choice.name.clone();
        match self.plan(choice) {
            Ok(Ok(attempt)) => Step::Ready {
                name,
                attempt: Box::new(attempt),
            },
            Ok(Err(why)) => Step::skipped(name, why),
            Err(error) => Step::refused(name, &error),
        }
    }

    fn named_engine(&self, config: &Descriptor) -> Result<Descriptor<'a>, Error> {
        let engine = self.api.create(descriptor::ENGINE)?;
        config.get(
            attribute::CONFIG_ENGINE,
            of_type::DESCRIPTOR,
            &mut [engine.raw],
        )?;
        Ok(engine)
    }

    fn plan(&self, choice: &Choice) -> Result<Result<GraphAttempt<'a>, &'static str>, Error> {
        let (_, configuration) = &self.configurations[choice.number];
        let mut own = None;
        let config = match configuration {
            Configuration::Named(config) => {
                if let Some(why) = self.unsuitable(&self.named_engine(config)?)? {
                    return Ok(Err(why));
                }
                config.raw
            }
            Configuration::Numbered(number) => {
                let engine = self.engine(*number)?;
                if let Some(why) = self.unsuitable(&engine)? {
                    return Ok(Err(why));
                }
                let config = self.api.create(descriptor::ENGINE_CONFIG)?;
                config.set(attribute::CONFIG_ENGINE, of_type::DESCRIPTOR, &[engine.raw])?;
                config.finalize()?;
                own.insert((config, engine)).0.raw
            }
        };
        let plan = self.api.create(descriptor::PLAN)?;
        plan.set(attribute::PLAN_HANDLE, of_type::HANDLE, &[self.api.handle])?;
        plan.set(attribute::PLAN_CONFIG, of_type::DESCRIPTOR, &[config])?;
        plan.finalize()?;
        let mut workspace = [0_i64];
        plan.get(
            attribute::PLAN_WORKSPACE_SIZE,
            of_type::INT64,
            &mut workspace,
        )?;
        Ok(Ok(GraphAttempt {
            api: self.api,
            plan,
            workspace: usize::try_from(workspace[0]).unwrap_or(0),
            pack: None,
            _config: own,
        }))
    }
}

struct GraphAttempt<'a> {
    api: &'a Graph<'a>,
    plan: Descriptor<'a>,
    workspace: usize,
    pack: Option<Descriptor<'a>>,
    _config: Option<(Descriptor<'a>, Descriptor<'a>)>,
}

impl Attempt for GraphAttempt<'_> {
    fn workspace(&self) -> usize {
        self.workspace
    }

    fn bind(&mut self, places: Places) -> Result<(), Error> {
        let pack = self.api.create(descriptor::VARIANT_PACK)?;
        pack.set(
            attribute::PACK_IDS,
            of_type::INT64,
            &[INPUT, FILTER, OUTPUT],
        )?;
        pack.set(
            attribute::PACK_POINTERS,
            of_type::VOID_PTR,
            &[places.input, places.filter, places.output],
        )?;
        pack.set(
            attribute::PACK_WORKSPACE,
            of_type::VOID_PTR,
            &[places.workspace],
        )?;
        pack.finalize()?;
        self.pack = Some(pack);
        Ok(())
    }

    fn run(&self) -> Result<(), Error> {
        let pack = self.pack.as_ref().expect("bound before it is run");
        // SAFETY: handle, plan and pack are alive; the places hold tensors of the described sizes and a workspace of at least
        // the size that the plan asked for.
        let status = unsafe {
            (self.api.call.cudnnBackendExecute)(self.api.handle, self.plan.raw, pack.raw)
        };
        self.api.cudnn.check("cudnnBackendExecute", status)
    }
}
