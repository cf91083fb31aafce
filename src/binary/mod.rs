//! PE and ELF files, as far as knowing a cuDNN needs them: for which machine, which version, what they import, export,
//! are called and open by name.
//!
//! cuDNN's libraries are up to half a gigabyte, nearly all of it GPU code. So nothing here holds a file in memory: headers
//! and tables are read where they lie, and every count and length that a file claims is bounded. Only 64-bit
//! little-endian ELF is read beyond its header: cuDNN has never been anything else.

use std::collections::BTreeSet;
use std::io::{self, Read, Seek, SeekFrom};

mod elf;
mod pe;
mod strings;

pub use strings::{opened_names, opened_parts};

/// The longest name or string that is believed.
const MAX_STRING: usize = 1024;
/// The most entries of any table that is believed; cuDNN exports some hundred functions.
const MAX_ENTRIES: usize = 65_536;
/// The most code of one function that is read; cuDNN's getters have 200 to 600 bytes.
const MAX_CODE: u64 = 1024;

/// A file that begins like a library but can't be one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading failed.
    #[error("could not read it")]
    Io(#[from] io::Error),
    /// A table points out of the file or makes no sense.
    #[error("its {0} makes no sense")]
    Malformed(&'static str),
}

/// The kinds of library file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Windows.
    Pe,
    /// Linux.
    Elf,
    /// macOS; recognised only.
    MachO,
}

/// The processor that a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// 64-bit Intel and AMD.
    X64,
    /// 64-bit ARM.
    Arm64,
    /// 64-bit little-endian POWER.
    Ppc64le,
    /// 32-bit Intel and AMD.
    X86,
    /// Another one, by the file format's own number.
    Other(u16),
}

/// Where a Linux library has its loader look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchPath {
    /// `DT_RPATH`: before `LD_LIBRARY_PATH`.
    Rpath(String),
    /// `DT_RUNPATH`: after it.
    Runpath(String),
}

/// What one library says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// Of which kind it is.
    pub format: Format,
    /// For which processor.
    pub machine: Machine,
    /// The four numbers of a PE file's version resource.
    pub file_version: Option<[u16; 4]>,
    /// ELF's `DT_SONAME`.
    pub soname: Option<String>,
    /// Libraries that are loaded with it: `DT_NEEDED`, PE imports and delayed imports.
    pub imports: Vec<String>,
    /// ELF's search path.
    pub search_path: Option<SearchPath>,
    sections: Vec<Section>,
    exports: Exports,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Section {
    name: String,
    offset: u64,
    size: u64,
}

/// Where the table of exported names lies; it is read only when asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Exports {
    None,
    Pe(pe::Exports),
    Elf(elf::Exports),
}

/// Reads what a file says of itself; `None` when it is neither PE nor ELF nor Mach-O.
///
/// # Errors
///
/// When reading fails or a table makes no sense.
pub fn read(file: &mut (impl Read + Seek)) -> Result<Option<Binary>, Error> {
    let mut source = Source::new(file)?;
    let magic = match source.bytes(0, 4) {
        Ok(magic) => magic,
        Err(Error::Malformed(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    match &*magic {
        [0x7f, b'E', b'L', b'F'] => elf::read(&mut source).map(Some),
        [b'M', b'Z', ..] => pe::read(&mut source),
        [0xcf, 0xfa, 0xed, 0xfe] => Ok(Some(mach_o(&mut source)?)),
        _ => Ok(None),
    }
}

/// The names of the functions that the library exports, sorted.
///
/// # Errors
///
/// When reading fails or the table makes no sense.
pub fn exports(file: &mut (impl Read + Seek), binary: &Binary) -> Result<Vec<String>, Error> {
    let mut source = Source::new(file)?;
    let names: BTreeSet<String> = match &binary.exports {
        Exports::None => BTreeSet::new(),
        Exports::Pe(exports) => exports.names(&mut source)?.into_iter().collect(),
        Exports::Elf(exports) => exports.names(&mut source)?,
    };
    Ok(names.into_iter().collect())
}

/// The numbers that an exported function of an x86-64 library puts into its result register, in order.
///
/// `cudnnGetVersion` is such a function: what it returns stands in its code, and nowhere else in a Linux library. It can be
/// read without running anything.
///
/// # Errors
///
/// When reading fails or a table makes no sense.
pub fn returned_numbers(
    file: &mut (impl Read + Seek),
    binary: &Binary,
    function: &str,
) -> Result<Vec<u32>, Error> {
    /// `mov eax, imm32`
    const MOV_EAX: u8 = 0xb8;
    let mut source = Source::new(file)?;
    let code = match (&binary.exports, binary.machine) {
        (Exports::Pe(exports), Machine::X64) => exports.code(&mut source, function)?,
        (Exports::Elf(exports), Machine::X64) => exports.code(&mut source, function)?,
        _ => None,
    };
    Ok(code
        .unwrap_or_default()
        .windows(5)
        .filter(|window| window[0] == MOV_EAX)
        .map(|window| u32_at(window, 1))
        .collect())
}

/// The 32-bit constant that a Linux library exports under this name.
///
/// # Errors
///
/// When reading fails or a table makes no sense.
pub fn constant(
    file: &mut (impl Read + Seek),
    binary: &Binary,
    name: &str,
) -> Result<Option<u32>, Error> {
    let Exports::Elf(exports) = &binary.exports else {
        return Ok(None);
    };
    // What lies at the symbol's address is read the same way, be it code or a number.
    let bytes = exports.code(&mut Source::new(file)?, name)?;
    Ok(bytes
        .filter(|bytes| bytes.len() >= 4)
        .map(|bytes| u32_at(&bytes, 0)))
}

/// 64-bit little-endian Mach-O: only the processor is read.
fn mach_o<R: Read + Seek>(source: &mut Source<R>) -> Result<Binary, Error> {
    let machine = match source.u32(4)? {
        0x0100_0007 => Machine::X64,
        0x0100_000c => Machine::Arm64,
        other => Machine::Other(other as u16),
    };
    Ok(Binary {
        format: Format::MachO,
        ..Binary::bare(machine)
    })
}

impl Binary {
    fn bare(machine: Machine) -> Self {
        Self {
            format: Format::Elf,
            machine,
            file_version: None,
            soname: None,
            imports: Vec::new(),
            search_path: None,
            sections: Vec::new(),
            exports: Exports::None,
        }
    }
}

/// A file that is read at given places, never beyond its end.
struct Source<'a, R> {
    file: &'a mut R,
    len: u64,
}

impl<'a, R: Read + Seek> Source<'a, R> {
    fn new(file: &'a mut R) -> io::Result<Self> {
        let len = file.seek(SeekFrom::End(0))?;
        Ok(Self { file, len })
    }

    /// `size` bytes from `offset` on, or [`Error::Malformed`] where the file has fewer.
    fn bytes(&mut self, offset: u64, size: usize) -> Result<Vec<u8>, Error> {
        let end = offset.checked_add(size as u64);
        if end.is_none_or(|end| end > self.len) {
            return Err(Error::Malformed("table of offsets"));
        }
        self.file.seek(SeekFrom::Start(offset))?;
        let mut bytes = vec![0; size];
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn u32(&mut self, offset: u64) -> Result<u32, Error> {
        Ok(u32_at(&self.bytes(offset, 4)?, 0))
    }

    /// A string that ends in NUL.
    fn string(&mut self, offset: u64) -> Result<String, Error> {
        let available = self.len.saturating_sub(offset).min(MAX_STRING as u64);
        let bytes = self.bytes(offset, available as usize)?;
        string_at(&bytes, 0).ok_or(Error::Malformed("string table"))
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

fn string_at(bytes: &[u8], at: usize) -> Option<String> {
    let rest = bytes.get(at..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    String::from_utf8(rest[..end].to_vec()).ok()
}

// The same samples serve the tests that run the program.
#[cfg(test)]
#[path = "../../tests/cli/libraries.rs"]
pub(crate) mod samples;

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::samples::{ElfSample, PeSample};
    use super::*;

    #[test]
    fn a_dll_tells_machine_version_imports_and_exports() {
        let dll = PeSample {
            file_version: Some([8, 2, 1, 32]),
            imports: vec!["KERNEL32.dll", "cudnn_ops_infer64_8.dll"],
            exports: vec!["cudnnCreate", "cudnnGetVersion"],
            ..PeSample::default()
        };
        let mut file = Cursor::new(dll.build());
        let binary = read(&mut file).unwrap().expect("a PE file");
        assert_eq!((binary.format, binary.machine), (Format::Pe, Machine::X64));
        assert_eq!(binary.file_version, Some([8, 2, 1, 32]));
        assert_eq!(binary.imports, ["KERNEL32.dll", "cudnn_ops_infer64_8.dll"]);
        assert_eq!(
            exports(&mut file, &binary).unwrap(),
            ["cudnnCreate", "cudnnGetVersion"]
        );
    }

    #[test]
    fn a_dll_without_version_resource_is_read_too() {
        let mut file = Cursor::new(
            PeSample {
                file_version: None,
                ..PeSample::default()
            }
            .build(),
        );
        assert_eq!(
            read(&mut file).unwrap().expect("a PE file").file_version,
            None
        );
    }

    #[test]
    fn a_shared_object_tells_machine_names_and_search_path() {
        let library = ElfSample {
            soname: Some("libcudnn.so.9"),
            needed: vec!["libdl.so.2", "libc.so.6"],
            runpath: Some("$ORIGIN"),
            exports: vec!["cudnnGetVersion", "cudnnCreate"],
            ..ElfSample::default()
        };
        let mut file = Cursor::new(library.build());
        let binary = read(&mut file).unwrap().expect("an ELF file");
        assert_eq!((binary.format, binary.machine), (Format::Elf, Machine::X64));
        assert_eq!(binary.soname.as_deref(), Some("libcudnn.so.9"));
        assert_eq!(binary.imports, ["libdl.so.2", "libc.so.6"]);
        assert_eq!(
            binary.search_path,
            Some(SearchPath::Runpath("$ORIGIN".into()))
        );
        assert_eq!(
            exports(&mut file, &binary).unwrap(),
            ["cudnnCreate", "cudnnGetVersion"]
        );
    }

    #[test]
    fn what_a_function_returns_is_read_from_its_code() {
        // push rbp; mov edx, 0x10000; mov eax, 91900; pop rbp; ret
        let code = b"\x55\xba\x00\x00\x01\x00\xb8\xfc\x66\x01\x00\x5d\xc3";
        let library = ElfSample {
            exports: vec!["cudnnGetVersion"],
            code,
            ..ElfSample::default()
        };
        let dll = PeSample {
            exports: vec!["cudnnCreate", "cudnnGetVersion"],
            code,
            ..PeSample::default()
        };
        for bytes in [library.build(), dll.build()] {
            let mut file = Cursor::new(bytes);
            let binary = read(&mut file).unwrap().unwrap();
            let numbers = |file: &mut Cursor<Vec<u8>>, name| returned_numbers(file, &binary, name);
            assert_eq!(numbers(&mut file, "cudnnGetVersion").unwrap(), [91900]);
            assert_eq!(numbers(&mut file, "cudnnDestroy").unwrap(), [0; 0]);
        }
    }

    #[test]
    fn names_that_are_opened_at_run_time_are_found_in_the_data_only() {
        let strings =
            b"\0libcublasLt.so.12\0cannot open libcublas.so.12!\0libnvrtc.so.%d\0cublasCreate_v2\0";
        let library = ElfSample {
            data: strings,
            code: b"libcublas.so.10",
            ..ElfSample::default()
        };
        let mut file = Cursor::new(library.build());
        let binary = read(&mut file).unwrap().unwrap();
        assert_eq!(
            opened_names(&mut file, &binary).unwrap(),
            ["libcublas.so.12", "libcublasLt.so.12", "libnvrtc.so.%d"]
        );
        let dll = PeSample {
            data: b"cublasLt64_11.dll\0nvrtc64_%d_0.dll\0zlibwapi.dll\0",
            ..PeSample::default()
        };
        let mut file = Cursor::new(dll.build());
        let binary = read(&mut file).unwrap().unwrap();
        assert_eq!(
            opened_names(&mut file, &binary).unwrap(),
            ["cublasLt64_11.dll", "nvrtc64_%d_0.dll", "zlibwapi.dll"]
        );
    }

    /// Every truncation and every flipped byte must end in an answer, not in a panic or a huge allocation.
    #[test]
    fn damaged_libraries_end_in_an_answer() {
        let pe = PeSample {
            file_version: Some([8, 2, 1, 32]),
            exports: vec!["a"],
            ..PeSample::default()
        };
        let elf = ElfSample {
            soname: Some("libcudnn.so.9"),
            exports: vec!["a"],
            ..ElfSample::default()
        };
        for whole in [pe.build(), elf.build()] {
            for cut in 0..whole.len() {
                look(&whole[..cut]);
            }
            for at in 0..whole.len().min(2048) {
                for value in [0x00, 0x7f, 0xff] {
                    let mut bytes = whole.clone();
                    bytes[at] = value;
                    look(&bytes);
                }
            }
        }
        fn look(bytes: &[u8]) {
            let mut file = Cursor::new(bytes);
            if let Ok(Some(binary)) = read(&mut file) {
                let _ = exports(&mut file, &binary);
                let _ = returned_numbers(&mut file, &binary, "a");
                let _ = opened_names(&mut file, &binary);
            }
        }
    }

    #[test]
    fn other_files_are_no_libraries() {
        for bytes in [
            &b""[..],
            b"PK\x03\x04",
            b"MZ",
            b"MZ but a text",
            b"#!/bin/sh\n",
        ] {
            assert!(
                matches!(read(&mut Cursor::new(bytes)), Ok(None)),
                "{bytes:?}"
            );
        }
    }
}
