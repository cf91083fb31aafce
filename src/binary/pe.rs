//! Windows DLLs.

use std::io::{Read, Seek};

use super::{
    Binary, Error, Format, MAX_CODE, MAX_ENTRIES, Machine, Section, Source, u16_at, u32_at,
};

const EXPORT_TABLE: usize = 0;
const IMPORT_TABLE: usize = 1;
const RESOURCE_TABLE: usize = 2;
const DELAY_IMPORT_TABLE: usize = 13;
const RT_VERSION: u32 = 16;
/// `VS_FIXEDFILEINFO.dwSignature`.
const VERSION_SIGNATURE: u32 = 0xfeef_04bd;

/// A section's place in memory and in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    address: u32,
    size: u32,
    offset: u32,
}

pub fn read<R: Read + Seek>(source: &mut Source<R>) -> Result<Option<Binary>, Error> {
    // A DOS program, or a text that begins with MZ, has no PE header where a PE file has one.
    let Ok(header) = source.u32(0x3c) else {
        return Ok(None);
    };
    let header = u64::from(header);
    match source.bytes(header, 4) {
        Ok(signature) if &*signature == b"PE\0\0" => {}
        Err(Error::Io(error)) => return Err(error.into()),
        _ => return Ok(None),
    }
    let coff = source.bytes(header + 4, 20)?;
    let machine = match u16_at(&coff, 0) {
        0x8664 => Machine::X64,
        0xaa64 => Machine::Arm64,
        0x014c => Machine::X86,
        other => Machine::Other(other),
    };
    let optional_size = usize::from(u16_at(&coff, 16));
    let optional = source.bytes(header + 24, optional_size)?;
    let directories = match optional.get(..2).map(|magic| u16_at(magic, 0)) {
        Some(0x10b) => 96,
        Some(0x20b) => 112,
        _ => return Err(Error::Malformed("optional header")),
    };
    let count = usize::from(u16_at(&coff, 2));
    let table = source.bytes(header + 24 + optional_size as u64, count * 40)?;
    let mut sections = Vec::with_capacity(count);
    let mut mapped = Vec::with_capacity(count);
    for entry in table.chunks_exact(40) {
        let name = entry[..8]
            .split(|byte| *byte == 0)
            .next()
            .unwrap_or_default();
        let (virtual_size, address) = (u32_at(entry, 8), u32_at(entry, 12));
        let (raw_size, offset) = (u32_at(entry, 16), u32_at(entry, 20));
        sections.push(Section {
            name: String::from_utf8_lossy(name).into_owned(),
            offset: offset.into(),
            size: raw_size.into(),
        });
        mapped.push(Mapped {
            address,
            size: virtual_size.max(raw_size),
            offset,
        });
    }
    let directory = |index: usize| {
        let at = directories + index * 8;
        let entry = optional.get(at..at + 8)?;
        let (address, size) = (u32_at(entry, 0), u32_at(entry, 4));
        (address != 0 && size != 0).then_some(address)
    };
    let mut binary = Binary {
        format: Format::Pe,
        sections,
        ..Binary::bare(machine)
    };
    if let Some(address) = directory(IMPORT_TABLE) {
        binary.imports = import_names(source, &mapped, address, 20, 12)?;
    }
    if let Some(address) = directory(DELAY_IMPORT_TABLE) {
        binary
            .imports
            .extend(import_names(source, &mapped, address, 32, 4)?);
    }
    if let Some(address) = directory(RESOURCE_TABLE) {
        binary.file_version = file_version(source, &mapped, address)?;
    }
    if let Some(address) = directory(EXPORT_TABLE) {
        let table = source.bytes(place(&mapped, address)?, 40)?;
        let count = u32_at(&table, 24) as usize;
        if count > 0 {
            binary.exports = super::Exports::Pe(Exports {
                names: place(&mapped, u32_at(&table, 32))?,
                ordinals: place(&mapped, u32_at(&table, 36))?,
                functions: place(&mapped, u32_at(&table, 28))?,
                count: count.min(MAX_ENTRIES),
                sections: mapped,
            });
        }
    }
    Ok(Some(binary))
}

/// Where the tables of exports lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exports {
    names: u64,
    ordinals: u64,
    functions: u64,
    count: usize,
    sections: Vec<Mapped>,
}

impl Exports {
    pub fn names<R: Read + Seek>(&self, source: &mut Source<R>) -> Result<Vec<String>, Error> {
        let table = source.bytes(self.names, self.count * 4)?;
        table
            .chunks_exact(4)
            .map(|entry| source.string(place(&self.sections, u32_at(entry, 0))?))
            .collect()
    }

    /// The code of a function, up to the padding behind it.
    pub fn code<R: Read + Seek>(
        &self,
        source: &mut Source<R>,
        function: &str,
    ) -> Result<Option<Vec<u8>>, Error> {
        let names = self.names(source)?;
        let Some(at) = names.iter().position(|name| name == function) else {
            return Ok(None);
        };
        let ordinal = source.bytes(self.ordinals + at as u64 * 2, 2)?;
        let entry = self.functions + u64::from(u16_at(&ordinal, 0)) * 4;
        let start = place(&self.sections, source.u32(entry)?)?;
        let size = MAX_CODE.min(source.len.saturating_sub(start));
        let mut code = source.bytes(start, size as usize)?;
        let end = code.windows(4).position(|window| window == [0xcc; 4]);
        code.truncate(end.unwrap_or(code.len()));
        Ok(Some(code))
    }
}

fn place(sections: &[Mapped], address: u32) -> Result<u64, Error> {
    sections
        .iter()
        .find_map(|section| {
            let inside = address.checked_sub(section.address)?;
            (inside < section.size).then(|| u64::from(section.offset) + u64::from(inside))
        })
        .ok_or(Error::Malformed("address table"))
}

/// Descriptors of `size` bytes with the address of the DLL's name at `name`, up to one that is zero.
fn import_names<R: Read + Seek>(
    source: &mut Source<R>,
    sections: &[Mapped],
    address: u32,
    size: usize,
    name: usize,
) -> Result<Vec<String>, Error> {
    let start = place(sections, address)?;
    let mut names = Vec::new();
    for index in 0..512 {
        let descriptor = source.bytes(start + index * size as u64, size)?;
        let name = u32_at(&descriptor, name);
        if name == 0 {
            break;
        }
        names.push(source.string(place(sections, name)?)?);
    }
    Ok(names)
}

/// Walks type, name and language of the resource tree down to the first version resource.
fn file_version<R: Read + Seek>(
    source: &mut Source<R>,
    sections: &[Mapped],
    address: u32,
) -> Result<Option<[u16; 4]>, Error> {
    let base = place(sections, address)?;
    let Some(names) = child(source, base, 0, Some(RT_VERSION))? else {
        return Ok(None);
    };
    let Some(languages) = child(source, base, names, None)? else {
        return Ok(None);
    };
    let Some(leaf) = child(source, base, languages, None)? else {
        return Ok(None);
    };
    let leaf = source.bytes(base + u64::from(leaf), 8)?;
    let size = (u32_at(&leaf, 4) as usize).min(4096);
    let data = source.bytes(place(sections, u32_at(&leaf, 0))?, size)?;
    let fixed = data
        .windows(16)
        .step_by(4)
        .find(|window| u32_at(window, 0) == VERSION_SIGNATURE);
    Ok(fixed.map(|fixed| {
        [
            u16_at(fixed, 10),
            u16_at(fixed, 8),
            u16_at(fixed, 14),
            u16_at(fixed, 12),
        ]
    }))
}

/// The offset of a resource directory's entry with this number, or of its first entry.
fn child<R: Read + Seek>(
    source: &mut Source<R>,
    base: u64,
    directory: u32,
    id: Option<u32>,
) -> Result<Option<u32>, Error> {
    let start = base + u64::from(directory);
    let header = source.bytes(start, 16)?;
    let count = usize::from(u16_at(&header, 12)) + usize::from(u16_at(&header, 14));
    let entries = source.bytes(start + 16, count.min(4096) * 8)?;
    let found = entries
        .chunks_exact(8)
        .find(|entry| id.is_none_or(|id| u32_at(entry, 0) == id));
    // The top bit tells a directory from a leaf; the levels are fixed, so it says nothing new.
    Ok(found.map(|entry| u32_at(entry, 4) & 0x7fff_ffff))
}
