//! The driver: its own management library, else `nvidia-smi`, first with a query, then by its banner.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::process::{Command, Stdio};

use libloading::{Library, Symbol};

use crate::diagnosis::facts::{Driver, DriverState, Fact, Facts, Gpu};
use crate::diagnosis::read::{decode, driver as read};
use crate::host::cuda;
use crate::process::Env;
use crate::version::CudaVersion;

/// Fills in driver and GPUs. `CUDNNM_CUDA_DRIVER` overrules what this machine has.
pub fn ask(env: &Env, facts: &mut Facts) {
    if let Some(text) = env.text("CUDNNM_CUDA_DRIVER") {
        let why = format!("CUDNNM_CUDA_DRIVER says {text}");
        facts.driver = Fact::Unknown(why.clone());
        facts.gpus = Fact::Unknown(why);
        return;
    }
    let cuda = cuda::driver(env);
    match nvml(cuda) {
        Answer::Told(driver, gpus) => {
            facts.driver = Fact::Known(vec![driver]);
            facts.gpus = Fact::Known(gpus);
        }
        Answer::Refused(state) => {
            facts.driver = Fact::Known(vec![Driver {
                from: "NVML".to_owned(),
                state,
                version: None,
                cuda: None,
            }]);
            facts.gpus = Fact::Unknown("the driver does not answer".to_owned());
        }
        Answer::Absent => by_program(env, cuda, facts),
    }
}

enum Answer {
    Told(Driver, Vec<Gpu>),
    Refused(DriverState),
    Absent,
}

/// Without the library: ask `nvidia-smi`, which some containers have where they lack the library on the loader's path.
fn by_program(env: &Env, cuda: Option<CudaVersion>, facts: &mut Facts) {
    let Ok(program) = which::which_in("nvidia-smi", env.var("PATH"), ".") else {
        if has_nvidia_device() {
            facts.driver = Fact::Known(vec![Driver {
                from: "system".to_owned(),
                state: DriverState::NoDriver,
                version: None,
                cuda: None,
            }]);
            facts.gpus = Fact::Unknown("no driver is installed".to_owned());
        } else {
            let why = "there is neither NVIDIA's management library nor nvidia-smi".to_owned();
            facts.driver = Fact::Unknown(why.clone());
            facts.gpus = Fact::Unknown(why);
        }
        return;
    };
    // Old drivers refuse a query with a field they do not know.
    let queries = [
        "index,name,driver_version,compute_cap",
        "index,name,driver_version",
    ];
    let mut answer = None;
    for fields in queries {
        let text = run(
            &program,
            &[&format!("--query-gpu={fields}"), "--format=csv,noheader"],
        );
        let smi = read::smi(&text, "nvidia-smi");
        if smi.driver.version.is_some() {
            answer = Some(smi);
            break;
        }
    }
    let mut smi = answer.unwrap_or_else(|| read::smi(&run(&program, &[]), "nvidia-smi"));
    smi.driver.cuda = smi.driver.cuda.or(cuda);
    facts.driver = Fact::Known(vec![smi.driver]);
    facts.gpus = Fact::Known(smi.gpus);
}

/// What the program prints; its messages go to either stream.
fn run(program: &Path, args: &[&str]) -> String {
    let output = Command::new(program)
        .args(args)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) => {
            let mut bytes = output.stdout;
            bytes.extend(output.stderr);
            decode::text(&bytes).text
        }
        Err(_) => String::new(),
    }
}

/// A display adapter of NVIDIA's on the bus, driver or not.
fn has_nvidia_device() -> bool {
    let devices = std::fs::read_dir("/sys/bus/pci/devices");
    devices.into_iter().flatten().flatten().any(|device| {
        let is = |file: &str, start: &str| {
            std::fs::read_to_string(device.path().join(file))
                .is_ok_and(|text| text.starts_with(start))
        };
        is("vendor", "0x10de") && is("class", "0x03")
    })
}

const NVML_SUCCESS: c_int = 0;
const NVML_ERROR_DRIVER_NOT_LOADED: c_int = 9;
const NVML_ERROR_LIB_RM_VERSION_MISMATCH: c_int = 18;
const NVML_ERROR_NO_PERMISSION: c_int = 4;
const NVML_ERROR_UNKNOWN: c_int = 999;

type Device = *mut c_void;

/// Asks `libnvidia-ml.so.1` or `nvml.dll`. Signatures from nvml.h, unchanged since version 1 of the interface.
fn nvml(cuda: Option<CudaVersion>) -> Answer {
    let name = if cfg!(windows) {
        "nvml.dll"
    } else {
        "libnvidia-ml.so.1"
    };
    // SAFETY: the driver's management library; its initialisers are what nvidia-smi runs.
    let Ok(library) = (unsafe { Library::new(name) }) else {
        return Answer::Absent;
    };
    // SAFETY: `nvmlReturn_t nvmlInit_v2(void)` and `nvmlReturn_t nvmlShutdown(void)`.
    let (init, shutdown): (
        Symbol<unsafe extern "C" fn() -> c_int>,
        Symbol<unsafe extern "C" fn() -> c_int>,
    ) = match unsafe {
        (
            library.get(b"nvmlInit_v2\0"),
            library.get(b"nvmlShutdown\0"),
        )
    } {
        (Ok(init), Ok(shutdown)) => (init, shutdown),
        _ => return Answer::Absent,
    };
    // SAFETY: takes nothing and may be called any number of times.
    match unsafe { init() } {
        NVML_SUCCESS => {}
        NVML_ERROR_LIB_RM_VERSION_MISMATCH => {
            return Answer::Refused(DriverState::VersionMismatch);
        }
        NVML_ERROR_DRIVER_NOT_LOADED => return Answer::Refused(DriverState::DriverNotRunning),
        NVML_ERROR_NO_PERMISSION | NVML_ERROR_UNKNOWN => {
            return Answer::Refused(DriverState::ContainerLostDevice);
        }
        _ => return Answer::Refused(DriverState::Unreadable),
    }
    let told = answers(&library, cuda);
    // SAFETY: pairs with the init above.
    unsafe { shutdown() };
    told
}

fn answers(library: &Library, cuda: Option<CudaVersion>) -> Answer {
    // SAFETY: `nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)`.
    let version: Option<Symbol<unsafe extern "C" fn(*mut c_char, c_uint) -> c_int>> =
        unsafe { library.get(b"nvmlSystemGetDriverVersion\0") }.ok();
    let version = version
        .and_then(|ask| {
            text(|buffer, length| {
                // SAFETY: `buffer` has room for `length` characters.
                unsafe { ask(buffer, length) }
            })
        })
        .and_then(|text| read::version_at_start(&text));
    let gpus = devices(library);
    let state = match (&gpus, cuda) {
        (Some(gpus), _) if gpus.is_empty() => DriverState::NoDevices,
        (_, None) => DriverState::NoLibcuda,
        _ => DriverState::Ok,
    };
    Answer::Told(
        Driver {
            from: "NVML".to_owned(),
            state,
            version,
            cuda,
        },
        gpus.unwrap_or_default(),
    )
}

fn devices(library: &Library) -> Option<Vec<Gpu>> {
    type Count<'a> = Symbol<'a, unsafe extern "C" fn(*mut c_uint) -> c_int>;
    type Handle<'a> = Symbol<'a, unsafe extern "C" fn(c_uint, *mut Device) -> c_int>;
    type Name<'a> = Symbol<'a, unsafe extern "C" fn(Device, *mut c_char, c_uint) -> c_int>;
    // SAFETY: `nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *)`,
    // `nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int, nvmlDevice_t *)`,
    // `nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t, char *, unsigned int)`.
    let (count, handle, name): (Count, Handle, Name) = unsafe {
        (
            library.get(b"nvmlDeviceGetCount_v2\0").ok()?,
            library.get(b"nvmlDeviceGetHandleByIndex_v2\0").ok()?,
            library.get(b"nvmlDeviceGetName\0").ok()?,
        )
    };
    // SAFETY: `nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t, int *major, int *minor)`; older drivers
    // lack it.
    let capability: Option<Symbol<unsafe extern "C" fn(Device, *mut c_int, *mut c_int) -> c_int>> =
        unsafe { library.get(b"nvmlDeviceGetCudaComputeCapability\0") }.ok();
    let mut total = 0;
    // SAFETY: `total` is ours to write.
    if unsafe { count(&raw mut total) } != NVML_SUCCESS {
        return None;
    }
    let mut gpus = Vec::new();
    // More than that no machine has; the number came from outside.
    for index in 0..total.min(64) {
        let mut device: Device = std::ptr::null_mut();
        // SAFETY: `device` is ours to write.
        if unsafe { handle(index, &raw mut device) } != NVML_SUCCESS {
            continue;
        }
        let name = text(|buffer, length| {
            // SAFETY: a handle that NVML just gave, and a buffer with room for `length` characters.
            unsafe { name(device, buffer, length) }
        });
        let numbers = capability.as_ref().and_then(|ask| {
            let (mut major, mut minor) = (0, 0);
            // SAFETY: a handle that NVML just gave, and two places that are ours to write.
            let done = unsafe { ask(device, &raw mut major, &raw mut minor) };
            (done == NVML_SUCCESS).then_some((major, minor))
        });
        let known = numbers.and_then(|(major, minor)| {
            Some(u32::try_from(major).ok()? * 10 + u32::try_from(minor).ok()?)
        });
        gpus.push(Gpu {
            name: name.unwrap_or_else(|| format!("GPU {index}")),
            capability: match known {
                Some(capability) => Fact::Known(capability),
                None => Fact::Unknown("this driver does not tell it".to_owned()),
            },
        });
    }
    Some(gpus)
}

/// What a call writes into a buffer of characters.
fn text(call: impl FnOnce(*mut c_char, c_uint) -> c_int) -> Option<String> {
    const LENGTH: usize = 96;
    let mut buffer = [0 as c_char; LENGTH];
    let length = c_uint::try_from(LENGTH - 1).expect("96 fits");
    if call(buffer.as_mut_ptr(), length) != NVML_SUCCESS {
        return None;
    }
    // SAFETY: the last character was never handed out and is still zero, so the text ends inside the buffer.
    let text = unsafe { CStr::from_ptr(buffer.as_ptr()) };
    Some(text.to_string_lossy().into_owned())
}
