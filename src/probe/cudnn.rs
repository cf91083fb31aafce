//! What every cuDNN from 7 to 9 has: a version, a handle, statuses.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use libloading::Library;

use super::Error;
use super::driver::functions;
use crate::version::CudnnVersion;

pub(super) type Handle = *mut c_void;

functions! {
    /// The same in the headers of 7.0 to 9.19.
    Functions {
        cudnnCreate(*mut Handle);
        cudnnDestroy(Handle);
    }
}

/// `CUDNN_DATA_FLOAT`, `CUDNN_DATA_HALF`, `CUDNN_DATA_BFLOAT16`
pub(super) const FLOAT: c_int = 0;
pub(super) const HALF: c_int = 2;
pub(super) const BFLOAT16: c_int = 9;
/// `CUDNN_CROSS_CORRELATION`: what every framework calls a convolution.
pub(super) const CROSS_CORRELATION: c_int = 1;

/// `cudnnDataType_t` of a precision.
pub(super) const fn data_type(precision: super::Precision) -> c_int {
    match precision {
        super::Precision::Fp32 | super::Precision::Tf32 => FLOAT,
        super::Precision::Fp16 => HALF,
        super::Precision::Bf16 => BFLOAT16,
    }
}

/// The main library, loaded as the system's loader finds it.
pub(super) struct Cudnn {
    name: String,
    library: Library,
    call: Functions,
    encoded: u64,
    version: CudnnVersion,
    cudart: u64,
    last_error: Option<unsafe extern "system" fn(*mut c_char, usize)>,
}

impl Cudnn {
    /// Loads `name` and asks for its version, which opens the first sub-library.
    pub(super) fn load(name: &str) -> Result<Self, Error> {
        // SAFETY: this is NVIDIA's library; running its initialisers in this process of ours is the purpose.
        let library = unsafe { Library::new(name) }.map_err(|source| Error::NotLoaded {
            library: name.to_owned(),
            source,
        })?;
        // SAFETY: the signatures are those of `cudnn.h`.
        let call = unsafe { Functions::find(&library, name) }?;
        let ask = |symbol: &'static str| {
            // SAFETY: both functions are `size_t (void)` in every `cudnn.h`.
            let function: libloading::Symbol<unsafe extern "system" fn() -> usize> =
                unsafe { library.get(symbol.as_bytes()) }.map_err(|source| Error::Symbol {
                    library: name.to_owned(),
                    symbol,
                    source,
                })?;
            // SAFETY: as above.
            Ok::<_, Error>(unsafe { function() } as u64)
        };
        let encoded = ask("cudnnGetVersion")?;
        let cudart = ask("cudnnGetCudartVersion")?;
        let version = CudnnVersion::from_encoded(encoded).ok_or_else(|| Error::NotACudnn {
            library: name.to_owned(),
            answer: encoded,
        })?;
        // SAFETY: `void (char *, size_t)` in the headers of all versions that have it (8.9.6 and up).
        let last_error = unsafe { library.get(b"cudnnGetLastErrorString") }
            .ok()
            .map(|symbol| *symbol);
        Ok(Self {
            name: name.to_owned(),
            call,
            encoded,
            version,
            cudart,
            last_error,
            library,
        })
    }

    pub(super) fn version(&self) -> CudnnVersion {
        self.version
    }

    /// What `cudnnGetVersion` answered.
    pub(super) fn encoded(&self) -> u64 {
        self.encoded
    }

    /// The CUDA runtime inside, as `cudnnGetCudartVersion` answers: 13010 is 13.1.
    pub(super) fn cudart(&self) -> u64 {
        self.cudart
    }

    pub(super) fn library(&self) -> &Library {
        &self.library
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Turns a status into a result, with the library's own words where it has some.
    pub(super) fn check(&self, call: &'static str, status: c_int) -> Result<(), Error> {
        if status == 0 {
            return Ok(());
        }
        Err(Error::Cudnn {
            call,
            status,
            major: self.version.major,
            words: self.last_words(),
        })
    }

    fn last_words(&self) -> Option<String> {
        let ask = self.last_error?;
        let mut text: [c_char; 1024] = [0; 1024];
        // SAFETY: the buffer has more bytes than we say.
        unsafe { ask(text.as_mut_ptr(), text.len() - 1) };
        // SAFETY: the last byte is out of the library's reach and 0.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy();
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// `cudnnCreate`: here a cuDNN without its cuBLAS aborts, and one on an old driver says so.
    pub(super) fn handle(&self) -> Result<OwnedHandle<'_>, Error> {
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` is a place for a handle.
        self.check("cudnnCreate", unsafe {
            (self.call.cudnnCreate)(&raw mut raw)
        })?;
        Ok(OwnedHandle { cudnn: self, raw })
    }
}

/// A handle that is destroyed with its owner.
pub(super) struct OwnedHandle<'a> {
    cudnn: &'a Cudnn,
    raw: Handle,
}

impl OwnedHandle<'_> {
    pub(super) fn raw(&self) -> Handle {
        self.raw
    }
}

impl Drop for OwnedHandle<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle came from `cudnnCreate` and is destroyed once.
        unsafe { (self.cudnn.call.cudnnDestroy)(self.raw) };
    }
}
