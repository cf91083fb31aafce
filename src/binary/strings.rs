//! The libraries that a library opens by name at run time, found among its strings.
//!
//! cuDNN calls `dlopen("libcublasLt.so.12")`; no table lists that. GPU code and machine code are left out: they are most
//! of the file and hold no names.

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};

use super::{Binary, Error, Source};

const CHUNK: usize = 1 << 20;
/// Longer than any library's file name; chunks overlap by it.
const OVERLAP: usize = 128;
/// Beginnings of the names that matter. Each is followed by more of the name, so that `cublasCreate_v2` is told apart.
const STEMS: &[&[u8]] = &[b"cublas", b"nvrtc", b"zlibwapi"];
/// What the names of cuDNN's own parts have in common.
const PARTS: &[&[u8]] = &[b"cudnn_"];
const DATA_SECTIONS: [&str; 5] = [".rodata", ".data.rel.ro", ".data", ".rdata", "_RDATA"];
/// Without a section table the whole file is searched, up to here.
const MAX_WITHOUT_SECTIONS: u64 = 64 << 20;

/// File names of cuBLAS, NVRTC and zlib libraries in the data of `file`, sorted: `libcublasLt.so.12`, `nvrtc64_%d_0.dll`.
///
/// # Errors
///
/// When reading fails.
pub fn opened_names(file: &mut (impl Read + Seek), binary: &Binary) -> Result<Vec<String>, Error> {
    names(file, binary, STEMS, library_name)
}

/// File names of cuDNN's parts in the data of `file`, sorted, as it opens them: `libcudnn_graph.so`, `cudnn_cnn64_9.dll`. Whole
/// files are searched: ask only the small libraries, which are those that open others.
///
/// # Errors
///
/// When reading fails.
pub fn opened_parts(file: &mut (impl Read + Seek), binary: &Binary) -> Result<Vec<String>, Error> {
    names(file, binary, PARTS, |bytes| {
        let name = std::str::from_utf8(bytes).ok()?;
        let part = name
            .strip_prefix("lib")
            .unwrap_or(name)
            .starts_with("cudnn_");
        (part && (name.ends_with(".so") || name.ends_with(".dll"))).then(|| name.to_owned())
    })
}

fn names(
    file: &mut (impl Read + Seek),
    binary: &Binary,
    stems: &[&[u8]],
    accept: impl Fn(&[u8]) -> Option<String>,
) -> Result<Vec<String>, Error> {
    let source = Source::new(file)?;
    let mut ranges: Vec<(u64, u64)> = binary
        .sections
        .iter()
        .filter(|section| DATA_SECTIONS.contains(&section.name.as_str()))
        .map(|section| (section.offset, section.size))
        .collect();
    if binary.sections.is_empty() {
        ranges.push((0, MAX_WITHOUT_SECTIONS));
    }
    let mut found = BTreeSet::new();
    for (offset, size) in ranges {
        let size = size.min(source.len.saturating_sub(offset));
        source.file.seek(SeekFrom::Start(offset))?;
        search(&mut source.file.take(size), stems, &accept, &mut found)?;
    }
    Ok(found.into_iter().collect())
}

fn search(
    data: &mut impl Read,
    stems: &[&[u8]],
    accept: &impl Fn(&[u8]) -> Option<String>,
    found: &mut BTreeSet<String>,
) -> Result<(), Error> {
    let finders: Vec<_> = stems.iter().map(memchr::memmem::Finder::new).collect();
    let mut buffer = Vec::with_capacity(CHUNK + OVERLAP);
    loop {
        let kept = buffer.len().min(OVERLAP);
        buffer.drain(..buffer.len() - kept);
        let read = data.by_ref().take(CHUNK as u64).read_to_end(&mut buffer)?;
        let last = read < CHUNK;
        for finder in &finders {
            for at in finder.find_iter(&buffer) {
                let Some((start, end)) = name_around(&buffer, at) else {
                    continue;
                };
                // A name that is cut by the chunk's edge lies whole in the chunk before or after.
                let cut = (start == 0 && kept > 0) || (end == buffer.len() && !last);
                if !cut {
                    found.extend(accept(&buffer[start..end]));
                }
            }
        }
        if last {
            return Ok(());
        }
    }
}

/// Where the run of name characters around a stem at `at` begins and ends.
fn name_around(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.%-".contains(byte);
    let start = bytes[..at]
        .iter()
        .rposition(|byte| !part(byte))
        .map_or(0, |before| before + 1);
    let end = bytes[at..]
        .iter()
        .position(|byte| !part(byte))
        .map_or(bytes.len(), |end| at + end);
    (end - start <= OVERLAP).then_some((start, end))
}

fn library_name(bytes: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(bytes).ok()?.trim_end_matches('.');
    let dll = name.ends_with(".dll") && !name.starts_with("lib");
    let shared = name.starts_with("lib") && name.contains(".so.");
    (dll || shared).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_across_the_edge_of_a_chunk_is_found_whole() {
        for before in CHUNK - 40..CHUNK + 4 {
            let mut data = vec![0; before];
            data.extend(b"libcublasLt.so.12\0");
            data.resize(CHUNK * 2, 0);
            let mut found = BTreeSet::new();
            search(&mut &data[..], STEMS, &library_name, &mut found).unwrap();
            assert_eq!(
                found.iter().collect::<Vec<_>>(),
                ["libcublasLt.so.12"],
                "at {before}"
            );
        }
    }
}
