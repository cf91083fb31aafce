//! Writers of the formats that only these tests need.

use std::io::{Cursor, Write};

use super::packages::{Files, zip_with};

pub fn tar(files: &Files) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        append(&mut builder, name, content);
    }
    builder.into_inner().unwrap()
}

/// A regular file under any name, also one that the tar crate would refuse.
pub fn append(builder: &mut tar::Builder<Vec<u8>>, name: &str, content: &[u8]) {
    let mut header = tar::Header::new_old();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    builder.append(&header, content).unwrap();
}

/// A symbolic or hard link under any name to any target.
pub fn append_link(
    builder: &mut tar::Builder<Vec<u8>>,
    kind: tar::EntryType,
    name: &str,
    target: &str,
) {
    let mut header = tar::Header::new_old();
    let old = header.as_old_mut();
    old.name[..name.len()].copy_from_slice(name.as_bytes());
    old.linkname[..target.len()].copy_from_slice(target.as_bytes());
    header.set_entry_type(kind);
    header.set_size(0);
    header.set_cksum();
    builder.append(&header, &b""[..]).unwrap();
}

pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn bz2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// A conda package of the newer format: a zip of two compressed tars.
pub fn conda(files: &Files, index: &str) -> Vec<u8> {
    let info = vec![("info/index.json".to_owned(), index.as_bytes().to_vec())];
    zip_with(
        &vec![
            (
                "metadata.json".to_owned(),
                b"{\"conda_pkg_format_version\": 2}".to_vec(),
            ),
            ("pkg-cudnn-8.2.1.32-0.tar.zst".to_owned(), zst(&tar(files))),
            ("info-cudnn-8.2.1.32-0.tar.zst".to_owned(), zst(&tar(&info))),
        ],
        zip::CompressionMethod::Stored,
    )
}

pub fn seven_zip(files: &Files) -> Vec<u8> {
    let mut writer = sevenz_rust2::ArchiveWriter::new(Cursor::new(Vec::new())).unwrap();
    for (name, content) in files {
        let entry = sevenz_rust2::ArchiveEntry::new_file(name);
        writer
            .push_archive_entry(entry, Some(&content[..]))
            .unwrap();
    }
    writer.finish().unwrap().into_inner()
}
