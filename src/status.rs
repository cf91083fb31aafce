//! Names for numbers: cuDNN statuses (renumbered in 9), CUDA driver errors, signals, Windows exit codes.
//!
//! A person who searches the web needs the name, and what to do follows from it; the number alone helps nobody.

/// What a cuDNN status means for somebody who tries things out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Done.
    Success,
    /// This algorithm, type or shape is not offered here; others may be.
    NotOffered,
    /// Something beside this library is missing, too old or of another version.
    Surroundings,
    /// It should have worked.
    Failure,
}

/// The name of a cuDNN status, by the numbering of that major version.
///
/// From the headers of 7.6, 8.9.7 and 9.10 to 9.19. Numbers of 9 are sorted by thousands: 1 set-up, 2 parameters, 3 not
/// supported, 4 internal, 5 execution.
#[expect(
    clippy::match_overlapping_arm,
    reason = "a number that has no name still has a family"
)]
pub fn cudnn(status: i32, major: u32) -> &'static str {
    if major < 9 {
        return match status {
            0 => "CUDNN_STATUS_SUCCESS",
            1 => "CUDNN_STATUS_NOT_INITIALIZED",
            2 => "CUDNN_STATUS_ALLOC_FAILED",
            3 => "CUDNN_STATUS_BAD_PARAM",
            4 => "CUDNN_STATUS_INTERNAL_ERROR",
            5 => "CUDNN_STATUS_INVALID_VALUE",
            6 => "CUDNN_STATUS_ARCH_MISMATCH",
            7 => "CUDNN_STATUS_MAPPING_ERROR",
            8 => "CUDNN_STATUS_EXECUTION_FAILED",
            9 => "CUDNN_STATUS_NOT_SUPPORTED",
            10 => "CUDNN_STATUS_LICENSE_ERROR",
            11 => "CUDNN_STATUS_RUNTIME_PREREQUISITE_MISSING",
            12 => "CUDNN_STATUS_RUNTIME_IN_PROGRESS",
            13 => "CUDNN_STATUS_RUNTIME_FP_OVERFLOW",
            14 => "CUDNN_STATUS_VERSION_MISMATCH",
            _ => "an unknown cuDNN status",
        };
    }
    match status {
        0 => "CUDNN_STATUS_SUCCESS",
        1001 => "CUDNN_STATUS_NOT_INITIALIZED",
        1002 => "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
        1003 => "CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH",
        1004 => "CUDNN_STATUS_DEPRECATED",
        1005 => "CUDNN_STATUS_LICENSE_ERROR",
        1006 => "CUDNN_STATUS_RUNTIME_IN_PROGRESS",
        1007 => "CUDNN_STATUS_RUNTIME_FP_OVERFLOW",
        1008 => "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED",
        2000 => "CUDNN_STATUS_BAD_PARAM",
        2001 => "CUDNN_STATUS_INVALID_VALUE",
        2002 => "CUDNN_STATUS_BAD_PARAM_NULL_POINTER",
        2003 => "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER",
        2004 => "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED",
        2005 => "CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND",
        2006 => "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT",
        2007 => "CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH",
        2008 => "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH",
        2009 => "CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES",
        2010 => "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE",
        2011 => "CUDNN_STATUS_BAD_PARAM_CUDA_GRAPH_MISMATCH",
        2012 => "CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE",
        3000 => "CUDNN_STATUS_NOT_SUPPORTED",
        3001 => "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN",
        3002 => "CUDNN_STATUS_NOT_SUPPORTED_SHAPE",
        3003 => "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE",
        3004 => "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT",
        3005 => "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER",
        3006 => "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART",
        3007 => "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH",
        3008 => "CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING",
        3009 => "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE",
        3010 => "CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT",
        3011 => "CUDNN_STATUS_NOT_SUPPORTED_PADDING",
        3012 => "CUDNN_STATUS_NOT_SUPPORTED_BAD_LAUNCH_PARAM",
        3013 => "CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API",
        3014 => "CUDNN_STATUS_NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE",
        4000 => "CUDNN_STATUS_INTERNAL_ERROR",
        4001 => "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED",
        4002 => "CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE",
        4003 => "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED",
        4004 => "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
        4005 => "CUDNN_STATUS_INTERNAL_ERROR_BAD_LAUNCH_PARAM",
        4006 => "CUDNN_STATUS_INTERNAL_ERROR_TEXTURE_CREATION_FAILED",
        5000 => "CUDNN_STATUS_EXECUTION_FAILED",
        5001 => "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER",
        5002 => "CUDNN_STATUS_EXECUTION_FAILED_CUBLAS",
        5003 => "CUDNN_STATUS_EXECUTION_FAILED_CUDART",
        5004 => "CUDNN_STATUS_EXECUTION_FAILED_CURAND",
        1000..=1999 => "an unknown cuDNN status of the set-up family",
        2000..=2999 => "an unknown CUDNN_STATUS_BAD_PARAM",
        3000..=3999 => "an unknown CUDNN_STATUS_NOT_SUPPORTED",
        4000..=4999 => "an unknown CUDNN_STATUS_INTERNAL_ERROR",
        5000..=5999 => "an unknown CUDNN_STATUS_EXECUTION_FAILED",
        _ => "an unknown cuDNN status",
    }
}

/// What a cuDNN status means for somebody who tries things out.
pub fn kind(status: i32, major: u32) -> Kind {
    match (major < 9, status) {
        (_, 0) => Kind::Success,
        (true, 9) => Kind::NotOffered,
        (true, 1 | 6 | 10 | 11 | 14) => Kind::Surroundings,
        (false, 3005..=3009 | 1000..=1999) => Kind::Surroundings,
        (false, 3000..=3999) => Kind::NotOffered,
        _ => Kind::Failure,
    }
}

/// Whether a status says that there is no code for this GPU.
pub fn is_arch_mismatch(status: i32, major: u32) -> bool {
    matches!((major < 9, status), (true, 6) | (false, 3007))
}

/// What to do about a cuDNN status, where something can be done.
pub fn advice(status: i32, major: u32) -> Option<&'static str> {
    let name = cudnn(status, major);
    let advice = match name.strip_prefix("CUDNN_STATUS_")? {
        "NOT_INITIALIZED" => {
            "the driver is too old for this cuDNN's CUDA, the GPU's memory is full, or cuBLAS of the same CUDA major is not found"
        }
        "SUBLIBRARY_VERSION_MISMATCH" | "VERSION_MISMATCH" => {
            "parts of two cuDNN versions are in one process: take the other folder off the loader's path"
        }
        "SUBLIBRARY_LOADING_FAILED" | "NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE" => {
            "a sub-library is missing or can't be loaded: cudnnm verify names it, cudnnm install --force puts it back"
        }
        "RUNTIME_PREREQUISITE_MISSING" | "NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING" => {
            "NVRTC or cuBLASLt of the same CUDA major is not found: cudnnm install --with-companions brings them"
        }
        "INTERNAL_ERROR_COMPILATION_FAILED" => {
            "NVRTC of another CUDA major was found, or it does not know this GPU yet"
        }
        "ARCH_MISMATCH" | "NOT_SUPPORTED_ARCH_MISMATCH" => {
            "this cuDNN has no code for this GPU: cudnnm compat names the versions that have"
        }
        "NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER" | "NOT_SUPPORTED_INCOMPATIBLE_CUDART" => {
            "the driver is too old for this cuDNN's CUDA: update it, or take a build for an older CUDA"
        }
        "ALLOC_FAILED"
        | "INTERNAL_ERROR_HOST_ALLOCATION_FAILED"
        | "INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED" => {
            "memory is full: end other programs that use the GPU, then try again"
        }
        "EXECUTION_FAILED_CUBLAS" => "cuBLAS of another version was found",
        "MAPPING_ERROR" | "EXECUTION_FAILED" | "EXECUTION_FAILED_CUDA_DRIVER" => {
            "a kernel failed: the GPU is newer than this cuDNN, its memory is full, or the driver was reset meanwhile"
        }
        "SERIALIZATION_VERSION_MISMATCH" => "a cached plan is of another version: delete the cache",
        _ => return None,
    };
    Some(advice)
}

/// The name of a CUDA driver error (`CUresult`), of those that a person may meet.
pub fn driver(code: i32) -> &'static str {
    match code {
        0 => "CUDA_SUCCESS",
        1 => "CUDA_ERROR_INVALID_VALUE",
        2 => "CUDA_ERROR_OUT_OF_MEMORY",
        3 => "CUDA_ERROR_NOT_INITIALIZED",
        4 => "CUDA_ERROR_DEINITIALIZED",
        34 => "CUDA_ERROR_STUB_LIBRARY",
        35 => "CUDA_ERROR_INSUFFICIENT_DRIVER",
        46 => "CUDA_ERROR_DEVICE_UNAVAILABLE",
        100 => "CUDA_ERROR_NO_DEVICE",
        101 => "CUDA_ERROR_INVALID_DEVICE",
        102 => "CUDA_ERROR_DEVICE_NOT_LICENSED",
        200 => "CUDA_ERROR_INVALID_IMAGE",
        201 => "CUDA_ERROR_INVALID_CONTEXT",
        209 => "CUDA_ERROR_NO_BINARY_FOR_GPU",
        214 => "CUDA_ERROR_ECC_UNCORRECTABLE",
        218 => "CUDA_ERROR_INVALID_PTX",
        222 => "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        304 => "CUDA_ERROR_OPERATING_SYSTEM",
        700 => "CUDA_ERROR_ILLEGAL_ADDRESS",
        701 => "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        702 => "CUDA_ERROR_LAUNCH_TIMEOUT",
        715 => "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        716 => "CUDA_ERROR_MISALIGNED_ADDRESS",
        719 => "CUDA_ERROR_LAUNCH_FAILED",
        802 => "CUDA_ERROR_SYSTEM_NOT_READY",
        803 => "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        804 => "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        999 => "CUDA_ERROR_UNKNOWN",
        _ => "a CUDA driver error",
    }
}

/// What to do about a CUDA driver error, where something can be done.
pub fn driver_advice(code: i32) -> Option<&'static str> {
    Some(match code {
        2 => "the GPU's memory is full: end other programs that use it, then try again",
        34 => {
            "the libcuda found is the toolkit's stub: take the `stubs` folder off the loader's path"
        }
        35 | 222 => "the driver is too old: update it",
        46 => "another process has the GPU for itself (exclusive compute mode)",
        100 => {
            "no GPU is visible: look at CUDA_VISIBLE_DEVICES, or give the container the GPU (`--gpus all`)"
        }
        209 => "there is no code for this GPU",
        700 | 715 | 716 | 719 => {
            "a kernel crashed; the GPU itself is all right again in a new process"
        }
        702 => "the display driver stopped a kernel that ran too long (TDR)",
        802 => "the fabric manager of this machine's NVSwitch is not running",
        803 => {
            "the driver was updated and its kernel module is still the old one: restart the machine"
        }
        804 => {
            "a forward-compatibility libcuda is on the loader's path that this GPU does not allow"
        }
        _ => return None,
    })
}

/// The name of a Unix signal that ends a process.
pub fn signal(number: i32) -> &'static str {
    match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        31 => "SIGSYS",
        _ => "a signal",
    }
}

/// The name of a Windows exit code that is an `NTSTATUS`: what a crashed process leaves behind.
pub fn ntstatus(code: i32) -> Option<&'static str> {
    Some(match code.cast_unsigned() {
        0xC000_0005 => "STATUS_ACCESS_VIOLATION",
        0xC000_0017 => "STATUS_NO_MEMORY",
        0xC000_001D => "STATUS_ILLEGAL_INSTRUCTION",
        0xC000_007B => "STATUS_INVALID_IMAGE_FORMAT",
        0xC000_0094 => "STATUS_INTEGER_DIVIDE_BY_ZERO",
        0xC000_00FD => "STATUS_STACK_OVERFLOW",
        0xC000_0135 => "STATUS_DLL_NOT_FOUND",
        0xC000_0138 => "STATUS_ORDINAL_NOT_FOUND",
        0xC000_0139 => "STATUS_ENTRYPOINT_NOT_FOUND",
        0xC000_013A => "STATUS_CONTROL_C_EXIT",
        0xC000_0142 => "STATUS_DLL_INIT_FAILED",
        0xC000_0374 => "STATUS_HEAP_CORRUPTION",
        0xC000_0409 => "STATUS_STACK_BUFFER_OVERRUN",
        0xC000_041D => "STATUS_FATAL_USER_CALLBACK_EXCEPTION",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_meaning_has_two_numbers() {
        for (old, new, name) in [
            (1, 1001, "CUDNN_STATUS_NOT_INITIALIZED"),
            (3, 2000, "CUDNN_STATUS_BAD_PARAM"),
            (4, 4000, "CUDNN_STATUS_INTERNAL_ERROR"),
            (8, 5000, "CUDNN_STATUS_EXECUTION_FAILED"),
            (9, 3000, "CUDNN_STATUS_NOT_SUPPORTED"),
        ] {
            assert_eq!(cudnn(old, 8), name);
            assert_eq!(cudnn(old, 7), name);
            assert_eq!(cudnn(new, 9), name);
            assert_eq!(kind(old, 8), kind(new, 9), "{name}");
        }
    }

    #[test]
    fn unknown_numbers_of_9_still_tell_their_family() {
        assert_eq!(cudnn(3099, 9), "an unknown CUDNN_STATUS_NOT_SUPPORTED");
        assert_eq!(kind(3099, 9), Kind::NotOffered);
        assert_eq!(cudnn(77, 8), "an unknown cuDNN status");
        assert_eq!(kind(77, 8), Kind::Failure);
    }

    #[test]
    fn what_can_be_helped_is_told_apart_from_what_is_not_offered() {
        for status in [1002, 1008, 3007, 3008, 3009] {
            assert_eq!(kind(status, 9), Kind::Surroundings);
            assert!(advice(status, 9).is_some(), "{status}");
        }
        assert_eq!(kind(3002, 9), Kind::NotOffered);
        assert_eq!(advice(3002, 9), None);
    }

    #[test]
    fn windows_codes_are_named_whatever_their_sign() {
        assert_eq!(ntstatus(-1_073_741_515), Some("STATUS_DLL_NOT_FOUND"));
        assert_eq!(ntstatus(1), None);
    }
}
