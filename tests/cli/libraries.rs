//! DLLs and shared objects of a few hundred bytes that say of themselves what real ones say: enough for every reader of
//! tables, nothing that could be loaded.

/// A shared object in the making.
pub struct ElfSample<'a> {
    pub machine: u16,
    pub soname: Option<&'a str>,
    pub needed: Vec<&'a str>,
    pub runpath: Option<&'a str>,
    pub exports: Vec<&'a str>,
    /// The content of `.text`.
    pub code: &'a [u8],
    /// The content of `.rodata`.
    pub data: &'a [u8],
}

impl Default for ElfSample<'_> {
    fn default() -> Self {
        Self {
            machine: 62,
            soname: None,
            needed: Vec::new(),
            runpath: None,
            exports: Vec::new(),
            code: b"",
            data: b"",
        }
    }
}

impl ElfSample<'_> {
    /// The file.
    pub fn build(&self) -> Vec<u8> {
        let mut strings = vec![0];
        let mut string = |text: &str| {
            let at = strings.len() as u64;
            strings.extend(text.as_bytes());
            strings.push(0);
            at
        };
        let mut dynamic: Vec<(u64, u64)> = Vec::new();
        dynamic.extend(self.needed.iter().map(|name| (1, string(name))));
        dynamic.extend(self.soname.map(|name| (14, string(name))));
        dynamic.extend(self.runpath.map(|name| (29, string(name))));
        let names: Vec<u64> = self.exports.iter().map(|name| string(name)).collect();
        const HEADERS: u64 = 64 + 2 * 56;
        let dynamic_size = (dynamic.len() as u64 + 3) * 16;
        let strings_at = HEADERS + dynamic_size;
        dynamic.extend([(5, strings_at), (10, strings.len() as u64), (0, 0)]);
        let symbols_at = strings_at + strings.len() as u64;
        let code_at = symbols_at + 24 * (names.len() as u64 + 1);
        let mut symbols = vec![0; 24];
        for name in names {
            symbols.extend((name as u32).to_le_bytes());
            // A global function in section 3; every function is all of the code.
            symbols.extend([0x12, 0, 3, 0]);
            symbols.extend(code_at.to_le_bytes());
            symbols.extend((self.code.len() as u64).to_le_bytes());
        }
        let data_at = code_at + self.code.len() as u64;
        let names: &[u8] = b"\0.dynstr\0.dynsym\0.text\0.rodata\0.shstrtab\0";
        let names_at = data_at + self.data.len() as u64;
        let sections_at = names_at + names.len() as u64;

        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        put(&mut file, &[3, self.machine]);
        file.extend(1u32.to_le_bytes());
        for value in [0, 64, sections_at] {
            file.extend(value.to_le_bytes());
        }
        file.extend(0u32.to_le_bytes());
        put(&mut file, &[64, 56, 2, 64, 6, 5]);
        for (kind, offset, size) in [(1u32, 0, sections_at), (2, HEADERS, dynamic_size)] {
            file.extend(kind.to_le_bytes());
            file.extend(4u32.to_le_bytes());
            for value in [offset, offset, offset, size, size, 8] {
                file.extend(value.to_le_bytes());
            }
        }
        for (tag, value) in dynamic {
            file.extend(tag.to_le_bytes());
            file.extend(value.to_le_bytes());
        }
        file.extend(&strings);
        file.extend(&symbols);
        file.extend(self.code);
        file.extend(self.data);
        file.extend(names);
        let sections = [
            (0u32, 0u32, 0, 0, 0u32),
            (1, 3, strings_at, strings.len() as u64, 0),
            (9, 11, symbols_at, symbols.len() as u64, 1),
            (17, 1, code_at, self.code.len() as u64, 0),
            (23, 1, data_at, self.data.len() as u64, 0),
            (31, 3, names_at, names.len() as u64, 0),
        ];
        for (name, kind, offset, size, link) in sections {
            file.extend(name.to_le_bytes());
            file.extend(kind.to_le_bytes());
            for value in [0, offset, offset, size] {
                file.extend(value.to_le_bytes());
            }
            file.extend(link.to_le_bytes());
            file.extend([0; 20]);
        }
        file
    }
}

/// A DLL in the making.
pub struct PeSample<'a> {
    pub machine: u16,
    pub file_version: Option<[u16; 4]>,
    pub imports: Vec<&'a str>,
    pub exports: Vec<&'a str>,
    /// What every exported function does.
    pub code: &'a [u8],
    /// Strings in `.rdata`.
    pub data: &'a [u8],
}

impl Default for PeSample<'_> {
    fn default() -> Self {
        Self {
            machine: 0x8664,
            file_version: Some([9, 0, 0, 1]),
            imports: Vec::new(),
            exports: Vec::new(),
            code: b"",
            data: b"",
        }
    }
}

impl PeSample<'_> {
    /// The file.
    pub fn build(&self) -> Vec<u8> {
        // File offset and address are equal, so that tables can point anywhere.
        const TABLES: u32 = 0x400;
        let mut tables = Vec::new();
        let here = |tables: &Vec<u8>| TABLES + tables.len() as u32;
        let string = |tables: &mut Vec<u8>, text: &str| {
            let at = here(tables);
            tables.extend(text.as_bytes());
            tables.push(0);
            at
        };
        let mut directories = [(0u32, 0u32); 16];
        if !self.imports.is_empty() {
            let names: Vec<u32> = self
                .imports
                .iter()
                .map(|name| string(&mut tables, name))
                .collect();
            directories[1] = (here(&tables), 20 * (names.len() as u32 + 1));
            for name in names {
                tables.extend([0; 12]);
                tables.extend(name.to_le_bytes());
                tables.extend([0; 4]);
            }
            tables.extend([0; 20]);
        }
        if !self.exports.is_empty() {
            let names: Vec<u32> = self
                .exports
                .iter()
                .map(|name| string(&mut tables, name))
                .collect();
            let pointers = here(&tables);
            for name in &names {
                tables.extend(name.to_le_bytes());
            }
            let ordinals = here(&tables);
            for ordinal in 0..names.len() as u16 {
                tables.extend(ordinal.to_le_bytes());
            }
            let code = here(&tables);
            tables.extend(self.code);
            tables.extend([0xcc; 8]);
            let functions = here(&tables);
            for _ in &names {
                tables.extend(code.to_le_bytes());
            }
            directories[0] = (here(&tables), 40);
            tables.extend([0; 24]);
            tables.extend((names.len() as u32).to_le_bytes());
            for table in [functions, pointers, ordinals] {
                tables.extend(table.to_le_bytes());
            }
        }
        if let Some(version) = self.file_version {
            let root = here(&tables);
            directories[2] = (root, 0x60);
            // Type 16 → name 1 → language 0x409 → data.
            for (id, next) in [(16u32, 0x8000_0018u32), (1, 0x8000_0030), (0x409, 0x48)] {
                tables.extend([0; 14]);
                tables.extend(1u16.to_le_bytes());
                tables.extend(id.to_le_bytes());
                tables.extend(next.to_le_bytes());
            }
            tables.extend((root + 0x58).to_le_bytes());
            tables.extend(56u32.to_le_bytes());
            tables.extend([0; 8]);
            tables.extend([0; 4]);
            tables.extend(0xfeef_04bdu32.to_le_bytes());
            tables.extend(0x0001_0000u32.to_le_bytes());
            put(
                &mut tables,
                &[version[1], version[0], version[3], version[2]],
            );
            tables.extend([0; 36]);
        }
        tables.extend(self.data);

        let mut file = b"MZ".to_vec();
        file.resize(0x3c, 0);
        file.extend(0x40u32.to_le_bytes());
        file.extend(b"PE\0\0");
        put(&mut file, &[self.machine, 1]);
        file.extend([0; 12]);
        put(&mut file, &[240, 0x2022, 0x20b]);
        file.extend([0; 110]);
        for (address, size) in directories {
            file.extend(address.to_le_bytes());
            file.extend(size.to_le_bytes());
        }
        file.extend(b".rdata\0\0");
        for value in [tables.len() as u32, TABLES, tables.len() as u32, TABLES] {
            file.extend(value.to_le_bytes());
        }
        file.resize(TABLES as usize, 0);
        file.extend(tables);
        file
    }
}

fn put(file: &mut Vec<u8>, values: &[u16]) {
    for value in values {
        file.extend(value.to_le_bytes());
    }
}
