//! Linux shared objects.

use std::collections::BTreeSet;
use std::io::{Read, Seek};

use super::{
    Binary, Error, Format, MAX_CODE, MAX_ENTRIES, Machine, SearchPath, Section, Source, string_at,
    u16_at, u32_at, u64_at,
};

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_STRSZ: u64 = 10;
const DT_SONAME: u64 = 14;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
const SHT_STRTAB: u32 = 3;
const SHT_NOBITS: u32 = 8;
const SHT_DYNSYM: u32 = 11;
/// Dynamic string tables of cuDNN are some tens of kilobytes (C++ libraries elsewhere: a few megabytes).
const MAX_STRING_TABLE: u64 = 64 << 20;

pub fn read<R: Read + Seek>(source: &mut Source<R>) -> Result<Binary, Error> {
    let head = source.bytes(0, 20)?;
    let (wide, little) = (head[4] == 2, head[5] == 1);
    let machine = if little {
        u16_at(&head, 18)
    } else {
        u16_at(&head, 18).swap_bytes()
    };
    let machine = match (machine, little) {
        (62, true) => Machine::X64,
        (183, true) => Machine::Arm64,
        (21, true) => Machine::Ppc64le,
        (3, true) => Machine::X86,
        (other, _) => Machine::Other(other),
    };
    let mut binary = Binary {
        format: Format::Elf,
        ..Binary::bare(machine)
    };
    if !wide || !little {
        return Ok(binary);
    }
    let head = source.bytes(0, 64)?;
    let programs = table(
        source,
        u64_at(&head, 32),
        u16_at(&head, 54),
        u16_at(&head, 56),
        56,
    )?;
    if let Some(dynamic) = programs.iter().find(|entry| u32_at(entry, 0) == PT_DYNAMIC) {
        read_dynamic(source, &programs, dynamic, &mut binary)?;
    }
    // Section headers may have been stripped; all that loading needs has been read already.
    if let Ok(sections) = table(
        source,
        u64_at(&head, 40),
        u16_at(&head, 58),
        u16_at(&head, 60),
        64,
    ) {
        let loads = loads(&programs);
        read_sections(source, &sections, u16_at(&head, 62), &loads, &mut binary);
    }
    Ok(binary)
}

/// Where the table of dynamic symbols lies, and which part of the file is loaded where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exports {
    symbols: (u64, u64),
    strings: (u64, u64),
    loads: Vec<Load>,
}

/// A loaded segment: address, size in the file, offset in the file.
type Load = (u64, u64, u64);

impl Exports {
    pub fn names<R: Read + Seek>(&self, source: &mut Source<R>) -> Result<BTreeSet<String>, Error> {
        Ok(self
            .defined(source)?
            .into_iter()
            .map(|(name, ..)| name)
            .collect())
    }

    /// The code of a function.
    pub fn code<R: Read + Seek>(
        &self,
        source: &mut Source<R>,
        function: &str,
    ) -> Result<Option<Vec<u8>>, Error> {
        let defined = self.defined(source)?;
        let Some((_, address, size)) = defined.into_iter().find(|(name, ..)| name == function)
        else {
            return Ok(None);
        };
        let start = file_offset(&self.loads, address).ok_or(Error::Malformed("symbol table"))?;
        let available = source.len.saturating_sub(start);
        // Hand-written symbols may have no size.
        let size = if size == 0 { MAX_CODE } else { size };
        source
            .bytes(start, size.min(MAX_CODE).min(available) as usize)
            .map(Some)
    }

    /// Name, address and size of each symbol that others can use.
    fn defined<R: Read + Seek>(
        &self,
        source: &mut Source<R>,
    ) -> Result<Vec<(String, u64, u64)>, Error> {
        let count = (self.symbols.1 / 24).min(MAX_ENTRIES as u64) as usize;
        let table = source.bytes(self.symbols.0, count * 24)?;
        let strings = source.bytes(
            self.strings.0,
            self.strings.1.min(MAX_STRING_TABLE) as usize,
        )?;
        Ok(table
            .chunks_exact(24)
            .filter(|symbol| u16_at(symbol, 6) != 0 && symbol[4] >> 4 != 0)
            .filter_map(|symbol| {
                let name = string_at(&strings, u32_at(symbol, 0) as usize)?;
                (!name.is_empty()).then(|| (name, u64_at(symbol, 8), u64_at(symbol, 16)))
            })
            .collect())
    }
}

fn loads(programs: &[Vec<u8>]) -> Vec<Load> {
    programs
        .iter()
        .filter(|entry| u32_at(entry, 0) == PT_LOAD)
        .map(|entry| (u64_at(entry, 16), u64_at(entry, 32), u64_at(entry, 8)))
        .collect()
}

fn file_offset(loads: &[Load], address: u64) -> Option<u64> {
    loads.iter().find_map(|(start, size, offset)| {
        let inside = address.checked_sub(*start)?;
        (inside < *size).then(|| offset.checked_add(inside))?
    })
}

fn table<R: Read + Seek>(
    source: &mut Source<R>,
    offset: u64,
    entry: u16,
    count: u16,
    expected: usize,
) -> Result<Vec<Vec<u8>>, Error> {
    if count == 0 || offset == 0 {
        return Ok(Vec::new());
    }
    if usize::from(entry) != expected {
        return Err(Error::Malformed("table of segments"));
    }
    let bytes = source.bytes(offset, expected * usize::from(count))?;
    Ok(bytes.chunks_exact(expected).map(<[u8]>::to_vec).collect())
}

fn read_dynamic<R: Read + Seek>(
    source: &mut Source<R>,
    programs: &[Vec<u8>],
    dynamic: &[u8],
    binary: &mut Binary,
) -> Result<(), Error> {
    let size = u64_at(dynamic, 32).min(16 * MAX_ENTRIES as u64) as usize;
    let entries = source.bytes(u64_at(dynamic, 8), size / 16 * 16)?;
    let entries: Vec<(u64, u64)> = entries
        .chunks_exact(16)
        .map(|entry| (u64_at(entry, 0), u64_at(entry, 8)))
        .take_while(|(tag, _)| *tag != 0)
        .collect();
    let value = |wanted| {
        entries
            .iter()
            .find(|(tag, _)| *tag == wanted)
            .map(|(_, value)| *value)
    };
    let Some(address) = value(DT_STRTAB) else {
        return Ok(());
    };
    let offset =
        file_offset(&loads(programs), address).ok_or(Error::Malformed("dynamic string table"))?;
    let size = value(DT_STRSZ).unwrap_or(0).min(MAX_STRING_TABLE) as usize;
    let strings = source.bytes(offset, size)?;
    let text = |at: u64| {
        let at = usize::try_from(at).map_err(|_| Error::Malformed("dynamic section"))?;
        string_at(&strings, at).ok_or(Error::Malformed("dynamic section"))
    };
    for (tag, at) in &entries {
        match *tag {
            DT_NEEDED => binary.imports.push(text(*at)?),
            DT_SONAME => binary.soname = Some(text(*at)?),
            DT_RUNPATH => binary.search_path = Some(SearchPath::Runpath(text(*at)?)),
            // Where both are there the loader ignores RPATH.
            DT_RPATH if !matches!(binary.search_path, Some(SearchPath::Runpath(_))) => {
                binary.search_path = Some(SearchPath::Rpath(text(*at)?));
            }
            _ => {}
        }
    }
    Ok(())
}

fn read_sections<R: Read + Seek>(
    source: &mut Source<R>,
    sections: &[Vec<u8>],
    names: u16,
    loads: &[Load],
    binary: &mut Binary,
) {
    let place = |section: &[u8]| (u64_at(section, 24), u64_at(section, 32));
    let names = sections
        .get(usize::from(names))
        .filter(|section| u32_at(section, 4) == SHT_STRTAB)
        .and_then(|section| {
            let (offset, size) = place(section);
            source.bytes(offset, size.min(1 << 20) as usize).ok()
        })
        .unwrap_or_default();
    for section in sections {
        let (offset, size) = place(section);
        match u32_at(section, 4) {
            0 | SHT_NOBITS => continue,
            SHT_DYNSYM => {
                let linked = sections.get(u32_at(section, 40) as usize);
                if let Some(strings) = linked.map(|linked| place(linked)) {
                    binary.exports = super::Exports::Elf(Exports {
                        symbols: (offset, size),
                        strings,
                        loads: loads.to_vec(),
                    });
                }
            }
            _ => {}
        }
        let name = string_at(&names, u32_at(section, 0) as usize).unwrap_or_default();
        binary.sections.push(Section { name, offset, size });
    }
}
