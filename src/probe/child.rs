//! What runs in the child process.

use std::io::Write;
use std::time::Instant;

use libloading::Library;

use super::cudnn::Cudnn;
use super::driver::Gpu;
use super::graph::Graph;
use super::legacy::Legacy;
use super::measure::{self, Bench, Interfaces, Operation};
use super::numbers::Precision;
use super::workload::{Api, Convolution, Direction, Shape, Unit};
use super::{Compute, Effort, Error, Event, GpuFacts, Request, Told, ahead, files};
use crate::version::{CudaVersion, CudnnVersion};

/// Does what is asked and tells it line by line; the last line is [`Event::Done`] or [`Event::Failed`].
pub fn child(request: &Request, out: &mut dyn Write) {
    be_quiet_when_crashing();
    let mut tell = Teller {
        out,
        started: Instant::now(),
    };
    let last = match request.compute.as_ref() {
        None => load_only(request, &mut tell),
        Some(compute) => compute_all(request, compute, &mut tell),
    };
    match last {
        Ok(()) => tell.event(Event::Done),
        Err(error) => {
            // What was loaded until then is often the reason.
            tell.files();
            tell.event(Event::Failed(error.report()));
        }
    }
}

struct Teller<'a> {
    out: &'a mut dyn Write,
    started: Instant,
}

impl Teller<'_> {
    fn event(&mut self, event: Event) {
        let told = Told {
            ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            event,
        };
        let line = serde_json::to_string(&told).expect("events are plain data");
        // The parent has gone when nobody reads; then nobody needs to know.
        let _ = writeln!(self.out, "{line}").and_then(|()| self.out.flush());
    }

    fn stage(&mut self, what: impl Into<String>) {
        self.event(Event::Stage { what: what.into() });
    }

    fn files(&mut self) {
        if let Ok(files) = files::loaded() {
            self.event(Event::Files { files });
        }
    }
}

fn load_only(request: &Request, tell: &mut Teller) -> Result<(), Error> {
    let cudnn = load(request, tell)?;
    let mut parts = Vec::new();
    for part in &request.parts {
        tell.stage(format!("loading {part}"));
        match open_part(part, &cudnn) {
            Ok(library) => {
                tell.event(Event::Part {
                    name: part.clone(),
                    version: part_version(part, &library),
                });
                parts.push(library);
            }
            Err(error) => tell.event(Event::PartMissing {
                name: part.clone(),
                why: super::chain(Some(&error)).unwrap_or_default(),
            }),
        }
    }
    tell.files();
    for stranger in &request.strangers {
        tell.stage(format!("looking for {stranger}"));
        let before = files::loaded().unwrap_or_default();
        match open_part(stranger, &cudnn) {
            Ok(library) => {
                let after = files::loaded().unwrap_or_default();
                let file = after.into_iter().find(|file| !before.contains(file));
                tell.event(Event::Stranger {
                    name: stranger.clone(),
                    version: part_version(stranger, &library),
                    file,
                    why: None,
                });
                parts.push(library);
            }
            // Not there at all is as it should be; there and unable to load is what gets in the way.
            Err(error) => {
                let why = super::chain(Some(&error)).unwrap_or_default();
                if !nowhere(&why) {
                    tell.event(Event::Stranger {
                        name: stranger.clone(),
                        version: None,
                        file: files::path_in(&why),
                        why: Some(why),
                    });
                }
            }
        }
    }
    Ok(())
}

/// Whether the loader says that it found no such file.
fn nowhere(words: &str) -> bool {
    words.contains("No such file or directory") || words.contains("os error 126")
}

/// The constant that every larger part of 8 and 9 exports for the others to compare: `cudnn_graph_version` is 0x091300 in
/// 9.19.0.
fn part_version(part: &str, library: &Library) -> Option<CudnnVersion> {
    let stem = part.strip_prefix("lib").unwrap_or(part);
    let end = stem.find("64_").or_else(|| stem.find(".so"))?;
    let symbol = format!("{}_version", &stem[..end]);
    // SAFETY: the symbol is a constant of 32 bits in every cuDNN that has it (8.9.7, 9.12 to 9.19 looked at).
    let number: libloading::Symbol<*const u32> = unsafe { library.get(symbol.as_bytes()) }.ok()?;
    // SAFETY: as above; the library is loaded.
    let number = unsafe { number.read() };
    CudnnVersion::from_part_constant(number)
}

fn load(request: &Request, tell: &mut Teller) -> Result<Cudnn, Error> {
    tell.stage(format!("loading {}", request.library));
    let cudnn = Cudnn::load(&request.library)?;
    let cudart = u32::try_from(cudnn.cudart()).unwrap_or(0);
    tell.event(Event::Library {
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
    tell.event(Event::Driver { cuda: driver });
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
    let name = gpu.name()?;
    tell.event(Event::Gpu(GpuFacts {
        name: name.clone(),
        capability,
        multiprocessors: gpu.multiprocessors()?,
        memory,
        free,
    }));
    if let Some([lowest, highest]) = compute.supported
        && !(lowest..=highest).contains(&capability)
    {
        return Err(Error::OtherGpu {
            name,
            capability,
            lowest,
            highest,
        });
    }
    tell.stage("creating a cuDNN handle");
    let workers = compute.effort.workers.max(1);
    let handles = (0..workers)
        .map(|_| cudnn.handle())
        .collect::<Result<Vec<_>, _>>()?;
    let asked = |api| compute.units.iter().any(|unit| unit.api == api);
    let interfaces = Interfaces {
        legacy: asked(Api::Legacy)
            .then(|| Legacy::new(&cudnn, handles[0].raw()))
            .transpose()?,
        graphs: if asked(Api::Graph) {
            handles
                .iter()
                .map(|handle| Graph::new(&cudnn, handle.raw(), compute.heuristics))
                .collect::<Result<Vec<_>, _>>()?
        } else {
            Vec::new()
        },
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
    let mut jobs = Vec::new();
    if compute.ceilings {
        tell.stage("measuring a copy");
        tell.event(Event::Ceiling {
            what: "copy".to_owned(),
            per_second: measure::copy_speed(bench.gpu)?,
        });
        jobs.extend(ceilings(compute));
    }
    jobs.extend(compute.units.iter().enumerate().map(|(number, unit)| Job {
        unit: unit.clone(),
        role: Role::Unit(number),
    }));
    jobs.retain(|job| card_has(job.unit.precision, capability.major));
    let without = work(&jobs, compute, &mut bench, tell)?;
    if let Some(shape) = &compute.stand_in {
        let instead: Vec<Job> = without
            .into_iter()
            .map(|number| Job {
                unit: Unit {
                    shape: shape.clone(),
                    ..compute.units[number].clone()
                },
                role: Role::StandIn(number),
            })
            .collect();
        work(&instead, compute, &mut bench, tell)?;
    }
    tell.files();
    Ok(())
}

/// Whether a card of this generation multiplies in that type: bfloat16 and TF32 came with 8.0.
fn card_has(precision: Precision, generation: u32) -> bool {
    generation >= 8 || matches!(precision, Precision::Fp32 | Precision::Fp16)
}

struct Job {
    unit: Unit,
    role: Role,
}

enum Role {
    /// A matrix product: what the same card does in the same minute at best.
    Ceiling,
    /// One of the request's, by its position.
    Unit(usize),
    /// The request's other shape, in the place of a unit that is not offered.
    StandIn(usize),
}

fn ceilings(compute: &Compute) -> Vec<Job> {
    let like = |precision| {
        compute
            .units
            .iter()
            .find(move |unit| unit.precision == precision)
    };
    Precision::ALL
        .into_iter()
        .filter_map(like)
        .map(|like| Job {
            unit: Unit {
                shape: Shape {
                    name: "matrix product".to_owned(),
                    convolution: Convolution::MATRIX_PRODUCT,
                },
                direction: Direction::Forward,
                ..like.clone()
            },
            role: Role::Ceiling,
        })
        .collect()
}

/// Does the jobs and returns the units for which nothing was offered.
fn work(
    jobs: &[Job],
    compute: &Compute,
    bench: &mut Bench,
    tell: &mut Teller,
) -> Result<Vec<usize>, Error> {
    let mut without = Vec::new();
    let mut current: Option<Operation> = None;
    let workers = bench.interfaces.graphs.len();
    // Some more than one for each worker, because they differ in what they cost.
    let batch = if workers > 1 { 3 * workers } else { 1 };
    for jobs in jobs.chunks(batch) {
        let mut ahead = Vec::new();
        if workers > 1 {
            let units: Vec<&Unit> = jobs.iter().map(|job| &job.unit).collect();
            tell.stage(format!(
                "preparing kernels for {} convolutions in {workers} threads",
                units.len()
            ));
            ahead = ahead::prepare(bench.gpu, &bench.interfaces.graphs, &units, bench.effort)?;
        }
        ahead.resize_with(jobs.len(), || None);
        for (job, ahead) in jobs.iter().zip(ahead) {
            let unit = &job.unit;
            if let Role::Unit(number) = job.role {
                tell.event(Event::Begin { unit: number });
            }
            tell.stage(format!("{unit}: preparing numbers"));
            let convolution = unit.shape.convolution;
            let operation = match current.take() {
                Some(it) if it.convolution == convolution && it.precision == unit.precision => it,
                other => {
                    // The old one's memory is free before the new one's is taken.
                    drop(other);
                    if let Role::Ceiling = job.role {
                        Operation::ones(bench.gpu, convolution, unit.precision)?
                    } else {
                        let seed = compute.seed ^ convolution.operations().to_bits();
                        Operation::random(bench, convolution, unit.precision, seed)?
                    }
                }
            };
            let measured = bench.measure(unit, &operation, ahead, &mut |what| tell.stage(what))?;
            current = Some(operation);
            match job.role {
                Role::Ceiling => {
                    if let Some((_, _, milliseconds)) = measured.best() {
                        tell.event(Event::Ceiling {
                            what: unit.precision.name().to_owned(),
                            per_second: convolution.operations() / (milliseconds / 1e3),
                        });
                    }
                }
                Role::Unit(number) => {
                    if measured.nothing_offered() {
                        without.push(number);
                    }
                    tell.event(Event::Unit {
                        unit: number,
                        stand_in: false,
                        measured,
                    });
                }
                Role::StandIn(number) => tell.event(Event::Unit {
                    unit: number,
                    stand_in: true,
                    measured,
                }),
            }
        }
    }
    Ok(without)
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
