//! The smallest Windows programs and libraries that a loader takes, written byte by byte: under Wine, as on most people's
//! Windows, no compiler is at hand when the tests run.

use std::collections::HashMap;

/// One machine instruction, or a few.
pub enum Code<'a> {
    /// As they are.
    Bytes(&'a [u8]),
    /// `call` of an imported function: library and name.
    Call(&'a str, &'a str),
    /// `jmp` to an imported function.
    Jump(&'a str, &'a str),
    /// `lea rcx, [text]`.
    FirstArgument(&'a str),
    /// `lea rdx, [text]`.
    SecondArgument(&'a str),
}

/// `mov eax, number; ret`.
pub fn answer(number: u32) -> Vec<u8> {
    let mut code = vec![0xb8];
    code.extend(number.to_le_bytes());
    code.push(0xc3);
    code
}

/// A DLL that exports one function.
pub fn library(name: &str, function: &str, code: &[Code]) -> Vec<u8> {
    let mut section = Section::new(code);
    let entry = section.code(code);
    let exports = section.exports(name, function, entry);
    section.image(0x2022, 0, exports)
}

/// A console program.
pub fn program(code: &[Code]) -> Vec<u8> {
    let mut section = Section::new(code);
    let entry = section.code(code);
    section.image(0x0022, entry, (0, 0))
}

/// Where the one section lies in memory.
const BASE: u32 = 0x1000;
const HEADERS: usize = 0x200;

/// Code, imports and exports in one section that may be read, written and executed.
struct Section<'a> {
    bytes: Vec<u8>,
    /// Where the loader writes each imported function's address.
    addresses: HashMap<(&'a str, &'a str), u32>,
    imports: (u32, u32),
}

impl<'a> Section<'a> {
    fn new(code: &[Code<'a>]) -> Self {
        let mut section = Self {
            bytes: Vec::new(),
            addresses: HashMap::new(),
            imports: (0, 0),
        };
        let mut functions: Vec<(&str, &str)> = Vec::new();
        for instruction in code {
            if let Code::Call(library, name) | Code::Jump(library, name) = *instruction
                && !functions.contains(&(library, name))
            {
                functions.push((library, name));
            }
        }
        section.import(&functions);
        section
    }

    fn here(&self) -> u32 {
        BASE + u32::try_from(self.bytes.len()).unwrap()
    }

    fn number(&mut self, number: u32) {
        self.bytes.extend(number.to_le_bytes());
    }

    fn text(&mut self, text: &str) -> u32 {
        let at = self.here();
        self.bytes.extend(text.bytes());
        self.bytes.push(0);
        at
    }

    fn align(&mut self) {
        while !self.bytes.len().is_multiple_of(16) {
            self.bytes.push(0);
        }
    }

    /// One import descriptor a function; the table that asks and the one that is filled are the same.
    fn import(&mut self, functions: &[(&'a str, &'a str)]) {
        let mut descriptors = Vec::new();
        for (library, name) in functions {
            let library_name = self.text(library);
            self.align();
            let hint = self.here();
            self.bytes.extend([0, 0]);
            self.text(name);
            self.align();
            let address = self.here();
            self.bytes.extend(u64::from(hint).to_le_bytes());
            self.bytes.extend([0; 8]);
            self.addresses.insert((library, name), address);
            descriptors.push([0, 0, 0, library_name, address]);
        }
        let start = self.here();
        for number in descriptors.iter().flatten().chain(&[0; 5]) {
            self.number(*number);
        }
        if !functions.is_empty() {
            self.imports = (start, self.here() - start);
        }
    }

    fn code(&mut self, code: &[Code]) -> u32 {
        let texts: Vec<u32> = code
            .iter()
            .map(|instruction| match instruction {
                Code::FirstArgument(text) | Code::SecondArgument(text) => self.text(text),
                _ => 0,
            })
            .collect();
        self.align();
        let entry = self.here();
        for (instruction, text) in code.iter().zip(texts) {
            let (opcode, target): (&[u8], u32) = match instruction {
                Code::Bytes(bytes) => {
                    self.bytes.extend(*bytes);
                    continue;
                }
                Code::Call(library, name) => (&[0xff, 0x15], self.addresses[&(*library, *name)]),
                Code::Jump(library, name) => (&[0xff, 0x25], self.addresses[&(*library, *name)]),
                Code::FirstArgument(_) => (&[0x48, 0x8d, 0x0d], text),
                Code::SecondArgument(_) => (&[0x48, 0x8d, 0x15], text),
            };
            self.bytes.extend(opcode);
            // Relative to the next instruction.
            let next = self.here() + 4;
            self.number(target.wrapping_sub(next));
        }
        entry
    }

    fn exports(&mut self, name: &str, function: &str, entry: u32) -> (u32, u32) {
        let library_name = self.text(name);
        let function_name = self.text(function);
        self.align();
        let start = self.here();
        // Flags, time, version, name, first ordinal, one function, one name, and the three tables behind this.
        let tables = start + 40;
        for number in [
            0,
            0,
            0,
            library_name,
            1,
            1,
            1,
            tables,
            tables + 4,
            tables + 8,
        ] {
            self.number(number);
        }
        self.number(entry);
        self.number(function_name);
        self.number(0);
        (start, self.here() - start)
    }

    fn image(mut self, characteristics: u16, entry: u32, exports: (u32, u32)) -> Vec<u8> {
        // An empty list of relocations: it may be loaded anywhere, and nothing in it minds.
        self.align();
        let relocations = (self.here(), 12);
        for number in [BASE, 12, 0] {
            self.number(number);
        }
        let size = u32::try_from(self.bytes.len()).unwrap();
        self.bytes
            .resize(self.bytes.len().next_multiple_of(HEADERS), 0);
        let on_disk = u32::try_from(self.bytes.len()).unwrap();

        let mut out = Vec::new();
        out.extend(b"MZ");
        out.resize(0x3c, 0);
        out.extend(0x40_u32.to_le_bytes());
        out.extend(b"PE\0\0");
        // x86-64, one section, no symbols, an optional header of 240 bytes.
        for half in [0x8664, 1, 0, 0, 0, 0, 0, 0, 240, characteristics] {
            out.extend(half.to_le_bytes());
        }
        out.extend(0x20b_u16.to_le_bytes());
        out.extend([0, 0]);
        for number in [on_disk, 0, 0, entry, BASE] {
            out.extend(number.to_le_bytes());
        }
        out.extend(0x1_8000_0000_u64.to_le_bytes());
        // Alignment in memory and on disk, system 6.0, image 0.0, subsystem 6.0.
        for number in [BASE, 0x200, 6, 0, 6, 0] {
            out.extend(number.to_le_bytes());
        }
        for number in [BASE + size.next_multiple_of(BASE), 0x200, 0] {
            out.extend(number.to_le_bytes());
        }
        // Console; may be loaded anywhere and runs with data execution prevention.
        for half in [3_u16, 0x140] {
            out.extend(half.to_le_bytes());
        }
        for number in [0x10_0000_u64, 0x1000, 0x10_0000, 0x1000] {
            out.extend(number.to_le_bytes());
        }
        for number in [0, 16] {
            out.extend(u32::to_le_bytes(number));
        }
        let mut directories = [(0, 0); 16];
        directories[0] = exports;
        directories[1] = self.imports;
        directories[5] = relocations;
        for (address, length) in directories {
            out.extend(u32::to_le_bytes(address));
            out.extend(u32::to_le_bytes(length));
        }
        out.extend(b".text\0\0\0");
        for number in [size, BASE, on_disk, 0x200, 0, 0, 0, 0xe000_0060] {
            out.extend(u32::to_le_bytes(number));
        }
        out.resize(HEADERS, 0);
        out.extend(self.bytes);
        out
    }
}
