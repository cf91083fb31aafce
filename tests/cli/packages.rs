//! Packages of cuDNN in the shapes that NVIDIA, the Python index, conda and re-packers give them, with libraries of a few
//! hundred bytes.

use std::io::{Cursor, Write};

use super::libraries::{ElfSample, PeSample};

/// Member name and content.
pub type Files = Vec<(String, Vec<u8>)>;

/// The shape of `cudnn-11.3-windows-x64-v8.2.1.32.zip`: 31 files below `cuda/`.
pub fn windows_8_2_1() -> Files {
    let mut files = Files::new();
    let parts = [
        "",
        "_adv_infer",
        "_adv_train",
        "_cnn_infer",
        "_cnn_train",
        "_ops_infer",
        "_ops_train",
    ];
    for part in parts {
        let opens: &[u8] = match part {
            "_ops_infer" => b"\0cublas64_11.dll\0cublasLt64_11.dll\0nvrtc64_%d_0.dll\0",
            _ => b"",
        };
        let dll = PeSample {
            file_version: Some([8, 2, 1, 32]),
            exports: vec!["cudnnCreate", "cudnnGetVersion"],
            imports: vec!["KERNEL32.dll"],
            data: &[opens, part.as_bytes()].concat(),
            ..PeSample::default()
        };
        files.push((format!("cuda/bin/cudnn{part}64_8.dll"), dll.build()));
        let library = format!("!<arch>\nimport library of cudnn{part}").into_bytes();
        files.push((format!("cuda/lib/x64/cudnn{part}.lib"), library.clone()));
        files.push((format!("cuda/lib/x64/cudnn{part}64_8.lib"), library));
        if !part.is_empty() {
            let header = format!("/* cudnn{part} */\n").into_bytes();
            files.push((format!("cuda/include/cudnn{part}.h"), header));
        }
    }
    files.push((
        "cuda/include/cudnn.h".into(),
        b"#include \"cudnn_version.h\"\n".to_vec(),
    ));
    files.push((
        "cuda/include/cudnn_backend.h".into(),
        b"/* backend */\n".to_vec(),
    ));
    files.push((
        "cuda/include/cudnn_version.h".into(),
        version_header(8, 2, 1),
    ));
    files.push((
        "cuda/NVIDIA_SLA_cuDNN_Support.txt".into(),
        b"LICENSE AGREEMENT\n".to_vec(),
    ));
    assert_eq!(files.len(), 31);
    files
}

/// What each of them must be installed as, with the import libraries a second time.
pub fn windows_8_2_1_installed() -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for (name, _) in windows_8_2_1() {
        let base = name.rsplit('/').next().unwrap();
        if name.contains("/bin/") {
            paths.push(format!("bin/{base}"));
        } else if name.contains("/include/") {
            paths.push(format!("include/{base}"));
        } else if name.contains("/lib/") {
            paths.push(format!("lib/{base}"));
            paths.push(format!("lib/x64/{base}"));
        } else {
            paths.push(base.to_owned());
        }
    }
    paths.sort();
    paths
}

/// The shape of a full Linux wheel: SONAMEs only, no links.
pub fn linux_wheel(version: &str, cuda: u32) -> Files {
    let numbers: Vec<u32> = version
        .split('.')
        .map(|part| part.parse().unwrap())
        .collect();
    let major = numbers[0];
    let opens = format!("\0libcublasLt.so.{cuda}\0");
    let mut files = Files::new();
    for part in [
        "",
        "_adv",
        "_cnn",
        "_engines_precompiled",
        "_engines_runtime_compiled",
        "_graph",
        "_heuristic",
        "_ops",
    ] {
        let name = format!("libcudnn{part}.so.{major}");
        let data = match part {
            "_graph" => "\0libnvrtc.so.%d\0",
            "_ops" => &opens,
            _ => part,
        };
        let library = ElfSample {
            soname: Some(&name),
            exports: vec!["cudnnGetVersion"],
            data: data.as_bytes(),
            ..ElfSample::default()
        };
        files.push((format!("nvidia/cudnn/lib/{name}"), library.build()));
    }
    for name in ["cudnn.h", "cudnn_ops.h"] {
        files.push((format!("nvidia/cudnn/include/{name}"), b"/* */\n".to_vec()));
    }
    let header = version_header(numbers[0], numbers[1], numbers[2]);
    files.push(("nvidia/cudnn/include/cudnn_version.h".into(), header));
    files.push(("nvidia/__init__.py".into(), Vec::new()));
    let info = format!("nvidia_cudnn_cu{cuda}-{version}.dist-info");
    let metadata =
        format!("Metadata-Version: 2.1\nName: nvidia-cudnn-cu{cuda}\nVersion: {version}\n");
    files.push((format!("{info}/METADATA"), metadata.into_bytes()));
    files.push((
        format!("{info}/licenses/License.txt"),
        b"LICENSE AGREEMENT\n".to_vec(),
    ));
    files
}

/// `cudnn_version.h` as NVIDIA writes it.
pub fn version_header(major: u32, minor: u32, patch: u32) -> Vec<u8> {
    format!("#ifndef CUDNN_VERSION_H_\n#define CUDNN_MAJOR {major}\n#define CUDNN_MINOR {minor}\n#define CUDNN_PATCHLEVEL {patch}\n#endif\n")
        .into_bytes()
}

/// The same files in another folder, e.g. `a/b/` for `cuda/`.
pub fn moved(files: Files, from: &str, to: &str) -> Files {
    files
        .into_iter()
        .map(|(name, content)| {
            let rest = name.strip_prefix(from).map(str::to_owned);
            (rest.map_or(name, |rest| format!("{to}{rest}")), content)
        })
        .collect()
}

pub fn zip(files: &Files) -> Vec<u8> {
    zip_with(files, zip::CompressionMethod::Deflated)
}

pub fn zip_with(files: &Files, method: zip::CompressionMethod) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (name, content) in files {
        writer.start_file(name.as_str(), options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A RAR5 whose members are stored, byte by byte as the format's description has it.
pub fn rar5(files: &Files) -> Vec<u8> {
    let mut bytes = b"Rar!\x1a\x07\x01\x00".to_vec();
    rar5_header(&mut bytes, &[1, 0, 0]);
    for (name, content) in files {
        // File header with a data area: attributes, CRC present; no compression; host Windows.
        let mut header = vec![2, 2];
        vint(&mut header, content.len() as u64);
        vint(&mut header, 4);
        vint(&mut header, content.len() as u64);
        vint(&mut header, 0x20);
        header.extend(crc(content).to_le_bytes());
        vint(&mut header, 0);
        vint(&mut header, 0);
        vint(&mut header, name.len() as u64);
        header.extend(name.as_bytes());
        rar5_header(&mut bytes, &header);
        bytes.extend(content);
    }
    rar5_header(&mut bytes, &[5, 0, 0]);
    bytes
}

fn rar5_header(bytes: &mut Vec<u8>, header: &[u8]) {
    let mut sized = Vec::new();
    vint(&mut sized, header.len() as u64);
    sized.extend(header);
    bytes.extend(crc(&sized).to_le_bytes());
    bytes.extend(sized);
}

fn vint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}
