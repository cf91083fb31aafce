//! The CUDA driver, called directly: no CUDA runtime, no toolkit.
//!
//! [`Gpu`] holds the first device's primary context, which is the one cuDNN's own (statically linked) runtime uses.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use libloading::Library;

use super::Error;
use crate::manifest::Capability;
use crate::version::CudaVersion;

/// Declares a table of C functions that are looked up by name in one library.
macro_rules! functions {
    ($(#[$doc:meta])* $table:ident { $($name:ident($($argument:ty),* $(,)?);)* }) => {
        $(#[$doc])*
        #[allow(non_snake_case, reason = "the names are the library's own")]
        pub(super) struct $table {
            $(pub(super) $name: unsafe extern "system" fn($($argument),*) -> ::std::ffi::c_int,)*
        }

        impl $table {
            /// Looks all of them up. The library must stay loaded for as long as the table is used.
            ///
            /// # Safety
            ///
            /// Each function of the library must have the signature that is declared here.
            pub(super) unsafe fn find(library: &::libloading::Library, name: &str) -> Result<Self, $crate::probe::Error> {
                Ok(Self {$(
                    // SAFETY: the caller vouches for the signature.
                    $name: *unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }
                        .map_err(|source| $crate::probe::Error::Symbol {
                            library: name.to_owned(),
                            symbol: stringify!($name),
                            source,
                        })?,
                )*})
            }
        }
    };
}
pub(super) use functions;

type Device = c_int;
type Address = u64;
type Handle = *mut c_void;

functions! {
    /// `cuda.h`, as far as it is needed; names with `_v2` are what the header's macros make of the plain ones.
    Functions {
        cuInit(c_uint);
        cuDriverGetVersion(*mut c_int);
        cuDeviceGetCount(*mut c_int);
        cuDeviceGet(*mut Device, c_int);
        cuDeviceGetName(*mut c_char, c_int, Device);
        cuDeviceGetAttribute(*mut c_int, c_int, Device);
        cuDevicePrimaryCtxRetain(*mut Handle, Device);
        cuCtxSetCurrent(Handle);
        cuCtxSynchronize();
        cuMemGetInfo_v2(*mut usize, *mut usize);
        cuMemAlloc_v2(*mut Address, usize);
        cuMemFree_v2(Address);
        cuMemAllocHost_v2(*mut *mut c_void, usize);
        cuMemFreeHost(*mut c_void);
        cuMemcpyHtoD_v2(Address, *const c_void, usize);
        cuMemcpyDtoH_v2(*mut c_void, Address, usize);
        cuMemcpyDtoDAsync_v2(Address, Address, usize, Handle);
        cuMemsetD32_v2(Address, c_uint, usize);
        cuEventCreate(*mut Handle, c_uint);
        cuEventRecord(Handle, Handle);
        cuEventSynchronize(Handle);
        cuEventElapsedTime(*mut f32, Handle, Handle);
        cuEventDestroy_v2(Handle);
    }
}

/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`
const MULTIPROCESSORS: c_int = 16;
/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`
const CAPABILITY: [c_int; 2] = [75, 76];

/// The driver library's name.
pub(super) const LIBRARY: &str = if cfg!(windows) {
    "nvcuda.dll"
} else {
    "libcuda.so.1"
};

/// The driver, and the first GPU it shows.
pub(super) struct Gpu {
    call: Functions,
    device: Device,
    /// The primary context's address, once it is entered; the driver takes it from any thread.
    context: usize,
    _library: Library,
}

fn check(call: &'static str, code: c_int) -> Result<(), Error> {
    if code == 0 {
        Ok(())
    } else {
        Err(Error::Driver { call, code })
    }
}

/// `call!(self, cuInit(0))`: calls a function of the table and turns its answer into a result.
macro_rules! call {
    ($gpu:expr, $name:ident($($argument:expr),*)) => {
        // SAFETY: the signature is that of `cuda.h`; every pointer comes from a place of ours that outlives the call, and
        // device addresses come from `cuMemAlloc`.
        check(stringify!($name), unsafe { ($gpu.$name)($($argument),*) })
    };
}

impl Gpu {
    /// Loads the driver and asks what CUDA it can run, before anything else is done.
    pub(super) fn load() -> Result<(Self, CudaVersion), Error> {
        // SAFETY: this is the driver's own library, whose initialisers every CUDA program runs.
        let library = unsafe { Library::new(LIBRARY) }.map_err(|source| Error::NoDriver {
            library: LIBRARY,
            source,
        })?;
        // SAFETY: the signatures are those of `cuda.h`, unchanged since CUDA 4.
        let call = unsafe { Functions::find(&library, LIBRARY) }?;
        let mut number = 0;
        call!(call, cuDriverGetVersion(&raw mut number))?;
        let number = u32::try_from(number).unwrap_or(0);
        let gpu = Self {
            call,
            device: 0,
            context: 0,
            _library: library,
        };
        Ok((gpu, CudaVersion::new(number / 1000, number % 1000 / 10)))
    }

    /// Initialises the driver and takes the first device.
    pub(super) fn start(&mut self) -> Result<(), Error> {
        call!(self.call, cuInit(0))?;
        let mut count = 0;
        call!(self.call, cuDeviceGetCount(&raw mut count))?;
        if count == 0 {
            return Err(Error::Driver {
                call: "cuDeviceGetCount",
                code: 100,
            });
        }
        call!(self.call, cuDeviceGet(&raw mut self.device, 0))
    }

    /// Makes the device's primary context current, which is when its memory is first used.
    pub(super) fn enter(&mut self) -> Result<(), Error> {
        let mut context: Handle = ptr::null_mut();
        call!(
            self.call,
            cuDevicePrimaryCtxRetain(&raw mut context, self.device)
        )?;
        self.context = context.expose_provenance();
        self.make_current()
    }

    /// The same for another thread.
    pub(super) fn make_current(&self) -> Result<(), Error> {
        let context = ptr::with_exposed_provenance_mut(self.context);
        call!(self.call, cuCtxSetCurrent(context))
    }

    pub(super) fn name(&self) -> Result<String, Error> {
        let mut text: [c_char; 256] = [0; 256];
        call!(
            self.call,
            cuDeviceGetName(text.as_mut_ptr(), 255, self.device)
        )?;
        // SAFETY: the last of the 256 bytes was never written and is 0.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) };
        Ok(text.to_string_lossy().into_owned())
    }

    pub(super) fn capability(&self) -> Result<Capability, Error> {
        Ok(Capability {
            major: self.attribute(CAPABILITY[0])?,
            minor: self.attribute(CAPABILITY[1])?,
        })
    }

    pub(super) fn multiprocessors(&self) -> Result<u32, Error> {
        self.attribute(MULTIPROCESSORS)
    }

    fn attribute(&self, which: c_int) -> Result<u32, Error> {
        let mut value = 0;
        call!(
            self.call,
            cuDeviceGetAttribute(&raw mut value, which, self.device)
        )?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// Free and total bytes.
    pub(super) fn memory(&self) -> Result<(usize, usize), Error> {
        let (mut free, mut total) = (0, 0);
        call!(self.call, cuMemGetInfo_v2(&raw mut free, &raw mut total))?;
        Ok((free, total))
    }

    /// Waits for all that was started; an earlier kernel's failure shows here.
    pub(super) fn synchronize(&self) -> Result<(), Error> {
        call!(self.call, cuCtxSynchronize())
    }

    pub(super) fn allocate(&self, bytes: usize) -> Result<Memory<'_>, Error> {
        // Kernels may write whole words, and poison is written four bytes at a time.
        let bytes = bytes.next_multiple_of(256).max(256);
        let mut address = 0;
        call!(self.call, cuMemAlloc_v2(&raw mut address, bytes))?;
        Ok(Memory {
            gpu: self,
            address,
            bytes,
        })
    }

    /// Host memory that the GPU reads and writes at full speed.
    pub(super) fn host_buffer(&self, bytes: usize) -> Result<HostBuffer<'_>, Error> {
        let mut start = ptr::null_mut();
        call!(self.call, cuMemAllocHost_v2(&raw mut start, bytes.max(1)))?;
        Ok(HostBuffer {
            gpu: self,
            start: start.cast(),
            bytes,
        })
    }

    pub(super) fn event(&self) -> Result<Event<'_>, Error> {
        let mut event = ptr::null_mut();
        call!(self.call, cuEventCreate(&raw mut event, 0))?;
        Ok(Event { gpu: self, event })
    }
}

/// Memory of the GPU.
pub(super) struct Memory<'a> {
    gpu: &'a Gpu,
    address: Address,
    bytes: usize,
}

impl Memory<'_> {
    /// What cuDNN takes as `void *`.
    pub(super) fn pointer(&self) -> *mut c_void {
        ptr::with_exposed_provenance_mut(self.address as usize)
    }

    /// Its size.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Fills it with one pattern of four bytes.
    pub(super) fn fill(&self, pattern: u32) -> Result<(), Error> {
        call!(
            self.gpu.call,
            cuMemsetD32_v2(self.address, pattern, self.bytes / 4)
        )
    }

    pub(super) fn upload(&self, bytes: &[u8]) -> Result<(), Error> {
        assert!(bytes.len() <= self.bytes, "uploads fit their memory");
        call!(
            self.gpu.call,
            cuMemcpyHtoD_v2(self.address, bytes.as_ptr().cast(), bytes.len())
        )
    }

    /// Copies a part that begins `first` bytes in.
    pub(super) fn download(&self, first: usize, bytes: &mut [u8]) -> Result<(), Error> {
        assert!(
            first + bytes.len() <= self.bytes,
            "downloads lie in their memory"
        );
        call!(
            self.gpu.call,
            cuMemcpyDtoH_v2(
                bytes.as_mut_ptr().cast(),
                self.address + first as u64,
                bytes.len()
            )
        )
    }

    /// Starts a copy of all that fits into `to`.
    pub(super) fn copy_to(&self, to: &Memory) -> Result<(), Error> {
        call!(
            self.gpu.call,
            cuMemcpyDtoDAsync_v2(
                to.address,
                self.address,
                self.bytes.min(to.bytes),
                ptr::null_mut()
            )
        )
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // A context that a kernel has broken answers with that kernel's error; there is nothing left to do about it.
        let _ = call!(self.gpu.call, cuMemFree_v2(self.address));
    }
}

/// Page-locked memory of the host.
pub(super) struct HostBuffer<'a> {
    gpu: &'a Gpu,
    start: *mut u8,
    bytes: usize,
}

impl HostBuffer<'_> {
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the driver gave us so many bytes, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}

impl Drop for HostBuffer<'_> {
    fn drop(&mut self) {
        let _ = call!(self.gpu.call, cuMemFreeHost(self.start.cast()));
    }
}

/// A mark in the GPU's order of work.
pub(super) struct Event<'a> {
    gpu: &'a Gpu,
    event: Handle,
}

impl Event<'_> {
    pub(super) fn record(&self) -> Result<(), Error> {
        call!(self.gpu.call, cuEventRecord(self.event, ptr::null_mut()))
    }

    /// Milliseconds from `self` to `later`, once both have come to pass.
    pub(super) fn until(&self, later: &Event) -> Result<f64, Error> {
        call!(self.gpu.call, cuEventSynchronize(later.event))?;
        let mut milliseconds = 0.0;
        call!(
            self.gpu.call,
            cuEventElapsedTime(&raw mut milliseconds, self.event, later.event)
        )?;
        Ok(f64::from(milliseconds))
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        let _ = call!(self.gpu.call, cuEventDestroy_v2(self.event));
    }
}
