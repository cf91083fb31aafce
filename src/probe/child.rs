//! What runs in the child process.

use std::io::Write;

use libloading::Library;

use super::cudnn::Cudnn;
use super::driver::Gpu;
use super::graph::Graph;
use super::legacy::Legacy;
use super::measure::{self, Bench, Interfaces, Operation};
use super::numbers::Precision;
use super::workload::{Api, Convolution, Direction, Shape, Unit};
use super::{Compute, Effort, Error, Event, GpuFacts, Request, files};
use crate::version::CudaVersion;

/// Does what is asked and tells it line by line; the last line is [`Event::Done`] or [`Event::Failed`].
pub fn child(request: &Request, out: &mut dyn Write) {
    be_quiet_when_crashing();
    let mut tell = Teller { out };
    let last = match request.compute.as_ref() {
        None => load_only(request, &mut tell),
        Some(compute) => compute_all(request, compute, &mut tell),
    };
    match last {
        Ok(()) => tell.event(&Event::Done),
        Err(error) => tell.event(&Event::Failed(error.report())),
    }
}

struct Teller<'a> {
    out: &'a mut dyn Write,
}

impl Teller<'_> {
    fn event(&mut self, event: &Event) {
        let line = serde_json::to_string(event).expect("events are plain data");
        // The parent has gone when nobody reads; then nobody needs to know.
        let _ = writeln!(self.out, "{line}").and_then(|()| self.out.flush());
    }

    fn stage(&mut self, what: impl Into<String>) {
        self.event(&Event::Stage { what: what.into() });
    }

    fn files(&mut self) {
        if let Ok(files) = files::loaded() {
            self.event(&Event::Files { files });
        }
    }
}

fn load_only(request: &Request, tell: &mut Teller) -> Result<(), Error> {
    let cudnn = load(request, tell)?;
    let mut parts = Vec::new();
    for part in &request.parts {
        tell.stage(format!("loading {part}"));
        match open_part(part, &cudnn) {
            Ok(library) => parts.push(library),
            Err(error) => tell.event(&Event::PartMissing {
                name: part.clone(),
                why: super::chain(Some(&error)).unwrap_or_default(),
            }),
        }
    }
    tell.files();
    Ok(())
}

fn load(request: &Request, tell: &mut Teller) -> Result<Cudnn, Error> {
    tell.stage(format!("loading {}", request.library));
    let cudnn = Cudnn::load(&request.library)?;
    let cudart = u32::try_from(cudnn.cudart()).unwrap_or(0);
    tell.event(&Event::Library {
        version: cudnn.version(),
        encoded: cudnn.encoded(),
        cudart: CudaVersion::new(cudart / 1000, cudart % 1000 / 10),
    });
    Ok(cudnn)
}

/// Opens a part by bare name. On Linux cuDNN 9 asks for the most exact name first, and so do we: a folder that is searched
/// later wins if only it has that name.
fn open_part(part: &str, cudnn: &Cudnn) -> Result<Library, libloading::Error> {
    let version = cudnn.version();
    let short = format!(".so.{}", version.major);
    let names = match part.strip_suffix(&short) {
        Some(stem) if version.major >= 9 => vec![
            format!("{stem}.so.{}", version.label()),
            format!("{stem}.so.{}.{}", version.major, version.minor),
            part.to_owned(),
        ],
        _ => vec![part.to_owned()],
    };
    let mut last = None;
    for name in names {
        // SAFETY: these are parts of NVIDIA's library; running their initialisers here is the purpose.
        match unsafe { Library::new(&name) } {
            Ok(library) => return Ok(library),
            Err(error) => last = Some(error),
        }
    }
    Err(last.expect("there is at least one name"))
}

fn compute_all(request: &Request, compute: &Compute, tell: &mut Teller) -> Result<(), Error> {
    tell.stage("loading the CUDA driver");
    let (mut gpu, driver) = Gpu::load()?;
    tell.event(&Event::Driver { cuda: driver });
    tell.stage("initialising the CUDA driver");
    gpu.start()?;
    let cudnn = load(request, tell)?;
    let cudart = u32::try_from(cudnn.cudart()).unwrap_or(0);
    let cudart = CudaVersion::new(cudart / 1000, cudart % 1000 / 10);
    // From 11 on a driver of the same major is enough; 10.x asks for the exact minor.
    let enough = driver.major > cudart.major
        || driver.major == cudart.major && (cudart.major >= 11 || driver >= cudart);
    if !enough {
        return Err(Error::DriverTooOld { driver, cudart });
    }
    tell.stage("taking the GPU");
    gpu.enter()?;
    let capability = gpu.capability()?;
    let (free, memory) = gpu.memory()?;
    tell.event(&Event::Gpu(GpuFacts {
        name: gpu.name()?,
        capability: format!("{}.{}", capability.major, capability.minor),
        multiprocessors: gpu.multiprocessors()?,
        memory,
        free,
    }));
    tell.stage("creating a cuDNN handle");
    let handle = cudnn.handle()?;
    let asked = |api| compute.units.iter().any(|unit| unit.api == api);
    let interfaces = Interfaces {
        legacy: asked(Api::Legacy)
            .then(|| Legacy::new(&cudnn, handle.raw()))
            .transpose()?,
        graph: asked(Api::Graph)
            .then(|| Graph::new(&cudnn, handle.raw(), compute.heuristics))
            .transpose()?,
    };
    let mut bench = Bench {
        gpu: &gpu,
        interfaces: &interfaces,
        effort: Effort {
            workspace: compute.effort.workspace.min(free / 2),
            ..compute.effort
        },
        workspace: None,
        buffer: None,
    };
    if compute.ceilings {
        ceilings(compute, &mut bench, capability.major, tell)?;
    }
    units(compute, &mut bench, capability.major, tell)?;
    tell.files();
    Ok(())
}

/// Whether a card of this generation multiplies in that type: bfloat16 and TF32 came with 8.0.
fn card_has(precision: Precision, generation: u32) -> bool {
    generation >= 8 || matches!(precision, Precision::Fp32 | Precision::Fp16)
}

fn units(
    compute: &Compute,
    bench: &mut Bench,
    generation: u32,
    tell: &mut Teller,
) -> Result<(), Error> {
    let mut current: Option<Operation> = None;
    for (number, unit) in compute.units.iter().enumerate() {
        if !card_has(unit.precision, generation) {
            continue;
        }
        tell.event(&Event::Begin { unit: number });
        tell.stage(format!("{unit}: preparing numbers"));
        let convolution = unit.shape.convolution;
        let operation = match current.take() {
            Some(it) if it.convolution == convolution && it.precision == unit.precision => it,
            other => {
                // The old one's memory is free before the new one's is taken.
                drop(other);
                let seed = compute.seed ^ convolution.operations().to_bits();
                Operation::random(bench.gpu, convolution, unit.precision, seed)?
            }
        };
        let measured = bench.measure(unit, &operation, &mut |what| tell.stage(what))?;
        tell.event(&Event::Unit {
            unit: number,
            measured,
        });
        current = Some(operation);
    }
    Ok(())
}

/// A copy and matrix products: what the same card does in the same minute at best.
fn ceilings(
    compute: &Compute,
    bench: &mut Bench,
    generation: u32,
    tell: &mut Teller,
) -> Result<(), Error> {
    tell.stage("measuring a copy");
    tell.event(&Event::Ceiling {
        what: "copy".to_owned(),
        per_second: measure::copy_speed(bench.gpu)?,
    });
    let full = bench.effort;
    // A few good guesses are enough; the best of them is the ceiling.
    bench.effort.unit_ms = full.unit_ms.min(60);
    for precision in Precision::ALL {
        let Some(like) = compute.units.iter().find(|unit| unit.precision == precision) else {
            continue;
        };
        if !card_has(precision, generation) {
            continue;
        }
        let convolution = Convolution::MATRIX_PRODUCT;
        let unit = Unit {
            api: like.api,
            shape: Shape {
                name: "matrix product".to_owned(),
                convolution,
            },
            precision,
            direction: Direction::Forward,
        };
        let operation = Operation::ones(bench.gpu, convolution, precision)?;
        let measured = bench.measure(&unit, &operation, &mut |what| tell.stage(what))?;
        if let Some((_, _, milliseconds)) = measured.best() {
            tell.event(&Event::Ceiling {
                what: precision.name().to_owned(),
                per_second: convolution.operations() / (milliseconds / 1e3),
            });
        }
    }
    bench.effort = full;
    Ok(())
}

/// A crash of this process is a result, not an accident: no dialog box, no core file of gigabytes.
#[cfg(unix)]
fn be_quiet_when_crashing() {
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `none` is a complete structure; the call changes only this process.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
}

#[cfg(windows)]
fn be_quiet_when_crashing() {
    use windows_sys::Win32::System::Diagnostics::Debug::{
        SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX, SEM_NOOPENFILEERRORBOX, SetErrorMode,
    };
    // SAFETY: the call takes flags only and changes only this process.
    unsafe {
        SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX)
    };
}
