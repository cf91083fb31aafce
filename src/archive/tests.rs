//! Every kind and shape of archive, and every hostile one that we could think of.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::binary::samples as libraries;
use crate::layout::Unsafe;

#[path = "../../tests/cli/packages.rs"]
mod packages;

mod formats;

use formats::*;
use packages::*;

/// A folder with an archive in it and an empty target beside it.
struct Bench {
    folder: TempDir,
    archive: PathBuf,
}

impl Bench {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("archive 档 [x] ")
            .tempdir()
            .unwrap();
        let archive = folder.path().join(name);
        fs::write(&archive, bytes).unwrap();
        fs::create_dir(folder.path().join("target")).unwrap();
        Self { folder, archive }
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join("target")
    }

    fn unpack(&self) -> Result<Unpacked, Error> {
        unpack(&self.archive, &self.target(), &mut |_| {})
    }

    /// Unpacks, expects failure, and that nothing appeared beside the target.
    fn refused(&self) -> Error {
        let error = self.unpack().expect_err("it must be refused");
        self.refused_leaves_nothing_outside();
        error
    }

    fn refused_leaves_nothing_outside(&self) {
        let mut beside: Vec<String> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        beside.sort();
        let mut expected = vec![
            self.archive.file_name().unwrap().to_str().unwrap(),
            "target",
        ];
        expected.sort();
        assert_eq!(beside, expected, "nothing may appear outside the target");
        for path in listing(&self.target()) {
            let top = path.split('/').next().unwrap();
            assert!(
                matches!(top, "bin" | "lib" | "include" | "License.txt")
                    || path.starts_with('.')
                    || path.starts_with("NVIDIA"),
                "{path}"
            );
        }
    }
}

fn listing(folder: &Path) -> Vec<String> {
    fn walk(top: &Path, folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                walk(top, &entry.path(), found);
            } else {
                let path = entry.path();
                found.push(
                    path.strip_prefix(top)
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .replace('\\', "/"),
                );
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, folder, &mut found);
    found.sort();
    found
}

fn files(pairs: &[(&str, &[u8])]) -> Files {
    pairs
        .iter()
        .map(|(name, content)| ((*name).to_owned(), content.to_vec()))
        .collect()
}

/// With the platform always, which a build's own name leaves out where it is the running one's.
fn shown(identity: &Identity) -> String {
    let Identity {
        version,
        variant,
        flavour,
        platform,
    } = identity;
    let variant = variant.map(CudaVersion::tag).unwrap_or_default();
    format!("{version} {variant} {flavour} {platform}")
}

/// Links that were made: name and target. Where there are no links they are files of equal content.
fn links(unpacked: &Unpacked) -> Vec<String> {
    if cfg!(unix) {
        let shown = |(name, target): (&String, &String)| format!("{name}>{target}");
        return unpacked.links.iter().map(shown).collect();
    }
    assert!(unpacked.links.is_empty());
    Vec::new()
}

const NAME: &str = "cudnn-11.3-windows-x64-v8.2.1.32.zip";

#[track_caller]
fn is_8_2_1(bench: &Bench, unpacked: &Unpacked, version: &str) {
    assert_eq!(
        shown(&unpacked.identity),
        format!("{version} full windows-x86_64")
    );
    let paths: Vec<String> = unpacked
        .files
        .iter()
        .map(|file| file.path.clone())
        .collect();
    assert_eq!(paths, windows_8_2_1_installed());
    assert_eq!(
        listing(&bench.target()),
        windows_8_2_1_installed(),
        "the disk has what is recorded"
    );
    for file in &unpacked.files {
        let content = fs::read(bench.target().join(&file.path)).unwrap();
        use sha2::Digest;
        assert_eq!(
            intake::hex(&sha2::Sha256::digest(&content)),
            file.sha256,
            "{}",
            file.path
        );
        assert_eq!(content.len() as u64, file.size);
    }
    assert_eq!(
        unpacked.needs,
        ["cublas64_11.dll", "cublasLt64_11.dll", "nvrtc64_112_0.dll"]
    );
    assert!(unpacked.links.is_empty());
}

#[test]
fn the_tree_of_8_2_1_comes_out_alike_from_every_kind_of_archive() {
    let tree = windows_8_2_1();
    let index = r#"{"name":"cudnn","version":"8.2.1.32","build":"cuda11.3_0","subdir":"win-64"}"#;
    let library = moved(windows_8_2_1(), "cuda/", "Library/");
    let archives = [
        (NAME, zip(&tree)),
        ("cudnn-11.3-windows-x64-v8.2.1.32.rar", rar5(&tree)),
        ("cudnn-11.3-windows-x64-v8.2.1.32.7z", seven_zip(&tree)),
        ("cudnn-11.3-windows-x64-v8.2.1.32.tar", tar(&tree)),
        ("cudnn-11.3-windows-x64-v8.2.1.32.tgz", gz(&tar(&tree))),
        ("cudnn-11.3-windows-x64-v8.2.1.32.tar.xz", xz(&tar(&tree))),
        ("cudnn-11.3-windows-x64-v8.2.1.32.tar.bz2", bz2(&tar(&tree))),
        ("cudnn-11.3-windows-x64-v8.2.1.32.tar.zst", zst(&tar(&tree))),
        ("cudnn-8.2.1.32-0.conda", conda(&library, index)),
    ];
    for (name, bytes) in archives {
        let bench = Bench::new(name, &bytes);
        let unpacked = bench
            .unpack()
            .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        is_8_2_1(&bench, &unpacked, "8.2.1.32 cuda11.3");
        assert_eq!(unpacked.remarks, [""; 0], "{name}");
    }
}

#[test]
fn the_content_decides_and_a_wrong_name_is_reported() {
    let bench = Bench::new("cudnn-10.2-linux-x64-v7.6.5.32.tgz", &zip(&windows_8_2_1()));
    let unpacked = bench.unpack().unwrap();
    is_8_2_1(&bench, &unpacked, "8.2.1.32 cuda11");
    assert_eq!(
        unpacked.remarks,
        [
            "its name says linux-x86_64, but its libraries are for windows-x86_64",
            "its name says cuDNN 7.6.5.32, but it is 8.2.1.32",
            "its name says CUDA 10.2, but it was built for CUDA 11",
        ]
    );
}

#[test]
fn folders_around_and_layouts_of_other_years_make_no_difference() {
    for (to, bin) in [
        ("cuda/cuda/", "bin/"),
        ("下载/v8.2.1 [x]/cudnn/", "bin/x64/"),
        ("", ""),
    ] {
        let tree = moved(
            moved(windows_8_2_1(), "cuda/bin/", &format!("{to}{bin}")),
            "cuda/",
            to,
        );
        let bench = Bench::new(NAME, &zip(&tree));
        is_8_2_1(&bench, &bench.unpack().unwrap(), "8.2.1.32 cuda11.3");
    }
    let back: Files = windows_8_2_1()
        .into_iter()
        .map(|(name, content)| (name.replace('/', "\\"), content))
        .collect();
    let bench = Bench::new(NAME, &zip(&back));
    is_8_2_1(&bench, &bench.unpack().unwrap(), "8.2.1.32 cuda11.3");
}

#[test]
fn an_archive_in_the_archive_is_opened() {
    let inner = zip(&windows_8_2_1());
    let outer = files(&[
        ("说明.txt", b"from a download site"),
        ("cudnn/cudnn.zip", &inner),
    ]);
    for bytes in [
        zip(&outer),
        rar5(&outer),
        seven_zip(&outer),
        xz(&tar(&outer)),
    ] {
        let bench = Bench::new(NAME, &bytes);
        is_8_2_1(&bench, &bench.unpack().unwrap(), "8.2.1.32 cuda11.3");
    }
    let twice = files(&[("outer.zip", &zip(&files(&[("inner.zip", &inner)])))]);
    let bench = Bench::new(NAME, &zip(&twice));
    assert!(matches!(bench.refused(), Error::NoCudnn { .. }));
}

#[test]
fn methods_of_other_packers_are_read() {
    use ::zip::CompressionMethod as Method;
    for method in [Method::Stored, Method::Bzip2, Method::Zstd] {
        let bench = Bench::new(NAME, &zip_with(&windows_8_2_1(), method));
        is_8_2_1(&bench, &bench.unpack().unwrap(), "8.2.1.32 cuda11.3");
    }
}

#[test]
fn a_self_extracting_program_is_opened() {
    let mut program = libraries::PeSample::default().build();
    program.extend(seven_zip(&windows_8_2_1()));
    let bench = Bench::new("cudnn_8.2.1_windows.exe", &program);
    is_8_2_1(&bench, &bench.unpack().unwrap(), "8.2.1.32 cuda11");
}

#[test]
fn a_linux_wheel_gets_its_links_and_tells_what_it_needs() {
    let bench = Bench::new("x.whl", &zip(&linux_wheel("9.10.2.21", 12)));
    let unpacked = bench.unpack().unwrap();
    assert_eq!(
        shown(&unpacked.identity),
        "9.10.2.21 cuda12 full linux-x86_64"
    );
    assert_eq!(unpacked.needs, ["libcublasLt.so.12", "libnvrtc.so.12"]);
    let links = links(&unpacked);
    if cfg!(unix) {
        assert_eq!(links.len(), 8);
        assert!(
            links.contains(&"lib/libcudnn.so>libcudnn.so.9".to_owned()),
            "{links:?}"
        );
    }
    assert!(bench.target().join("lib/libcudnn_graph.so").is_file());
    let made = if cfg!(unix) { 0 } else { 8 };
    assert_eq!(unpacked.files.len(), 8 + 3 + 1 + made);
    assert!(unpacked.files.iter().any(|file| file.path == "License.txt"));
}

#[test]
fn a_tar_keeps_its_links_and_gets_the_missing_ones() {
    let library = |soname: &str| {
        libraries::ElfSample {
            soname: Some(soname),
            data: soname.as_bytes(),
            ..Default::default()
        }
        .build()
    };
    let mut builder = ::tar::Builder::new(Vec::new());
    append(
        &mut builder,
        "c/lib/libcudnn.so.8.9.7",
        &library("libcudnn.so.8"),
    );
    append(
        &mut builder,
        "c/lib/libcudnn_ops_infer.so.8.9.7",
        &library("libcudnn_ops_infer.so.8"),
    );
    append(
        &mut builder,
        "c/include/cudnn_version.h",
        &version_header(8, 9, 7),
    );
    append_link(
        &mut builder,
        ::tar::EntryType::Symlink,
        "c/lib/libcudnn.so",
        "libcudnn.so.8",
    );
    append_link(
        &mut builder,
        ::tar::EntryType::Symlink,
        "c/lib/libcudnn.so.8",
        "libcudnn.so.8.9.7",
    );
    append_link(
        &mut builder,
        ::tar::EntryType::Link,
        "c/include/cudnn_version_v8.h",
        "c/include/cudnn_version.h",
    );
    let bench = Bench::new(
        "cudnn-linux-x86_64-8.9.7.29_cuda12-archive.tar.xz",
        &xz(&builder.into_inner().unwrap()),
    );
    let unpacked = bench.unpack().unwrap();
    assert_eq!(
        shown(&unpacked.identity),
        "8.9.7.29 cuda12 full linux-x86_64"
    );
    let expected = [
        ("include/cudnn_version_v8.h", "cudnn_version.h"),
        ("lib/libcudnn.so", "libcudnn.so.8"),
        ("lib/libcudnn.so.8", "libcudnn.so.8.9.7"),
        ("lib/libcudnn_ops_infer.so", "libcudnn_ops_infer.so.8"),
        ("lib/libcudnn_ops_infer.so.8", "libcudnn_ops_infer.so.8.9.7"),
    ];
    if cfg!(unix) {
        let expected = expected.map(|(name, target)| format!("{name}>{target}"));
        assert_eq!(links(&unpacked), expected);
    }
    for (name, target) in expected {
        let link = bench.target().join(name);
        let content = fs::read(&link).unwrap_or_else(|_| panic!("{name} leads to a file"));
        assert_eq!(content, fs::read(link.with_file_name(target)).unwrap());
    }
}

#[test]
fn a_wheel_whose_own_list_disagrees_is_refused() {
    let mut wheel = linux_wheel("9.10.2.21", 12);
    let list =
        "nvidia/cudnn/include/cudnn.h,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n";
    wheel.push((
        "nvidia_cudnn_cu12-9.10.2.21.dist-info/RECORD".into(),
        list.into(),
    ));
    let error = Bench::new("x.whl", &zip(&wheel)).refused();
    assert!(
        matches!(&error, Error::WrongDigest { member, .. } if member.ends_with("cudnn.h")),
        "{error}"
    );
}

#[test]
fn companions_are_unpacked_by_their_kind() {
    let library = |soname: &'static str| {
        libraries::ElfSample {
            soname: Some(soname),
            data: soname.as_bytes(),
            ..Default::default()
        }
        .build()
    };
    let wheel = files(&[
        (
            "nvidia/cublas/lib/libcublas.so.12",
            &library("libcublas.so.12"),
        ),
        (
            "nvidia/cublas/lib/libcublasLt.so.12",
            &library("libcublasLt.so.12"),
        ),
        (
            "nvidia/cublas/lib/libnvblas.so.12",
            &library("libnvblas.so.12"),
        ),
        ("nvidia/cublas/include/cublas_v2.h", b"/* */"),
        (
            "nvidia_cublas_cu12-12.1.3.1.dist-info/METADATA",
            b"Name: nvidia-cublas-cu12\nVersion: 12.1.3.1\n",
        ),
    ]);
    let bench = Bench::new("x.whl", &zip(&wheel));
    let unpacked = unpack_companion(
        &bench.archive,
        &bench.target(),
        CompanionKind::Cublas,
        &mut |_| {},
    )
    .unwrap();
    assert_eq!(unpacked.id.to_string(), "cublas 12.1.3.1+cuda12");
    assert_eq!(unpacked.id.platform, Platform::LinuxX64);
    // Where there are no symbolic links, the bare names are files as well.
    let paths: Vec<&str> = unpacked
        .files
        .iter()
        .map(|file| &*file.path)
        .filter(|path| !path.ends_with(".so"))
        .collect();
    assert_eq!(
        paths,
        [
            "include/cublas_v2.h",
            "lib/libcublas.so.12",
            "lib/libcublasLt.so.12"
        ]
    );
    let wrong = Bench::new("x.whl", &zip(&wheel));
    let error = unpack_companion(
        &wrong.archive,
        &wrong.target(),
        CompanionKind::Nvrtc,
        &mut |_| {},
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("holds no nvrtc; it seems to be cuBLAS"),
        "{error}"
    );
}

// Wrong downloads.

#[test]
fn what_is_no_archive_is_called_by_its_name() {
    for (bytes, expected) in [
        (&b""[..], "it is an empty file"),
        (
            b"<!DOCTYPE html><title>NVIDIA Developer Login</title>",
            "it is a web page, titled `NVIDIA Developer Login`",
        ),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00",
            "it is a Git LFS pointer; the file itself was never fetched",
        ),
        (b"just some words", "it is a text"),
        (
            &libraries::PeSample::default().build(),
            "it is a Windows program or DLL",
        ),
        (
            &gz(b"one file, no tar"),
            "it is a compressed file, but there is no tar in it",
        ),
    ] {
        let error = Bench::new(NAME, bytes).refused();
        assert!(matches!(error, Error::NotAnArchive { .. }));
        assert!(error.to_string().ends_with(expected), "{error}");
    }
}

#[test]
fn an_archive_without_cudnn_is_called_by_its_content() {
    for (member, expected) in [
        (
            "TensorRT-8.6/lib/nvinfer.dll",
            "holds no cuDNN; it seems to be TensorRT",
        ),
        (
            "cuda_nvcc/bin/nvcc.exe",
            "holds no cuDNN; it seems to be a CUDA toolkit",
        ),
        (
            "project-1.0/setup.py",
            "holds no cuDNN; it seems to be source code",
        ),
        ("holiday.jpg", "holds no cuDNN"),
    ] {
        for bytes in [
            zip(&files(&[(member, b"x")])),
            rar5(&files(&[(member, b"x")])),
        ] {
            let error = Bench::new(NAME, &bytes).refused();
            assert!(error.to_string().ends_with(expected), "{error}");
        }
    }
    let headers = files(&[("include/cudnn_version.h", &version_header(9, 1, 0))]);
    let error = Bench::new(NAME, &zip(&headers)).refused();
    assert!(
        error
            .to_string()
            .ends_with("it seems to be only the headers of cuDNN 9.1.0"),
        "{error}"
    );
}

#[test]
fn a_mixture_of_two_versions_is_refused() {
    let mut tree = windows_8_2_1();
    tree.retain(|(name, _)| !name.ends_with("cudnn_version.h"));
    tree.push((
        "cuda/include/cudnn_version.h".into(),
        version_header(8, 9, 7),
    ));
    let error = Bench::new(NAME, &zip(&tree)).refused();
    assert!(
        error
            .to_string()
            .contains("the headers are of cuDNN 8.9.7, `cudnn64_8.dll` is of cuDNN 8.2.1.32"),
        "{error}"
    );
}

// Damage.

#[test]
fn truncated_archives_are_damaged_not_something_else() {
    let tree = windows_8_2_1();
    for (name, bytes) in [
        ("a.zip", zip(&tree)),
        ("a.rar", rar5(&tree)),
        ("a.7z", seven_zip(&tree)),
        ("a.tar", tar(&tree)),
        ("a.tgz", gz(&tar(&tree))),
        ("a.tar.xz", xz(&tar(&tree))),
        ("a.tar.bz2", bz2(&tar(&tree))),
        ("a.tar.zst", zst(&tar(&tree))),
    ] {
        for cut in [bytes.len() / 3, bytes.len() * 2 / 3, bytes.len() - 2] {
            // A tar ends in kilobytes of zeros, of which some may be missing.
            if name == "a.tar" && cut == bytes.len() - 2 {
                continue;
            }
            let error = Bench::new(name, &bytes[..cut]).refused();
            assert!(
                matches!(error, Error::Damaged { .. }),
                "{name} cut at {cut}: {error:?}"
            );
        }
    }
}

#[test]
fn a_changed_byte_is_noticed() {
    let tree = windows_8_2_1();
    for (name, bytes) in [
        ("a.zip", zip(&tree)),
        ("a.rar", rar5(&tree)),
        ("a.7z", seven_zip(&tree)),
        ("a.tgz", gz(&tar(&tree))),
        ("a.tar.xz", xz(&tar(&tree))),
    ] {
        let mut bytes = bytes;
        let at = bytes.len() / 2;
        bytes[at] ^= 0x10;
        let error = Bench::new(name, &bytes).refused();
        assert!(matches!(error, Error::Damaged { .. }), "{name}: {error:?}");
    }
}

#[test]
fn header_and_directory_that_disagree_are_refused() {
    let bytes = zip(&files(&[
        ("bin/cudnn64_8.dll", b"one"),
        ("include/cudnn.h", b"two"),
    ]));
    // The first local header's name, not the directory's.
    let at = 30;
    let mut lying = bytes.clone();
    lying[at..at + 3].copy_from_slice(b"lib");
    assert!(matches!(
        Bench::new(NAME, &lying).refused(),
        Error::Damaged { .. }
    ));
}

#[test]
fn overlapping_members_are_refused() {
    let mut bytes = zip(&files(&[
        ("bin/cudnn64_8.dll", b"one one"),
        ("bin/cudnn64_9.dll", b"one one"),
    ]));
    // The second directory entry points to the first one's data.
    let directory = memchr::memmem::find(&bytes, b"PK\x01\x02").unwrap();
    let second =
        directory + 1 + memchr::memmem::find(&bytes[directory + 1..], b"PK\x01\x02").unwrap();
    bytes[second + 42..second + 46].copy_from_slice(&0u32.to_le_bytes());
    assert!(matches!(
        Bench::new(NAME, &bytes).refused(),
        Error::Damaged { .. }
    ));
}

#[test]
fn duplicate_members_are_refused_unless_they_are_equal() {
    let mut builder = ::tar::Builder::new(Vec::new());
    append(&mut builder, "a/cudnn.h", b"one");
    append(&mut builder, "a/cudnn.h", b"two");
    let error = Bench::new("a.tar", &builder.into_inner().unwrap()).refused();
    assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
    let tree = windows_8_2_1();
    let again = moved(windows_8_2_1(), "cuda/", "copy/");
    let both: Files = tree.into_iter().chain(again).collect();
    for bytes in [zip(&both), rar5(&both), seven_zip(&both), tar(&both)] {
        let bench = Bench::new(NAME, &bytes);
        is_8_2_1(&bench, &bench.unpack().unwrap(), "8.2.1.32 cuda11.3");
    }
}

#[test]
fn names_that_differ_only_in_case_are_refused() {
    let both = files(&[("bin/cudnn64_8.dll", b"one"), ("bin/CUDNN64_8.DLL", b"two")]);
    for bytes in [zip(&both), rar5(&both), seven_zip(&both), tar(&both)] {
        let error = Bench::new(NAME, &bytes).refused();
        assert!(
            error.to_string().ends_with("two different files `bin/cudnn64_8.dll`: `bin/cudnn64_8.dll` and `bin/CUDNN64_8.DLL`"),
            "{error}"
        );
    }
}

// Attacks.

#[test]
fn names_that_lead_out_are_refused_in_every_kind_of_archive() {
    for (name, expected) in [
        ("../cudnn64_8.dll", Unsafe::Parent),
        ("cuda/../../cudnn.h", Unsafe::Parent),
        ("/etc/cudnn.h", Unsafe::Absolute),
        ("C:\\Windows\\System32\\cudnn64_8.dll", Unsafe::Drive),
        ("\\\\server\\share\\cudnn64_8.dll", Unsafe::Unc),
        ("bin/NUL", Unsafe::Device),
        ("con.txt", Unsafe::Device),
        ("include/cudnn.h:stream", Unsafe::Character),
    ] {
        let tree = files(&[(name, b"evil")]);
        for (kind, bytes) in [
            ("zip", zip(&tree)),
            ("rar", rar5(&tree)),
            ("7z", seven_zip(&tree)),
            ("tar", tar(&tree)),
        ] {
            match Bench::new(NAME, &bytes).refused() {
                Error::Unsafe { member, why, .. } => {
                    assert_eq!((&*member, why), (name, expected), "{kind}");
                }
                other => panic!("{name} in a {kind}: {other:?}"),
            }
        }
    }
}

#[test]
fn links_that_lead_out_are_refused() {
    for (kind, name, target) in [
        (
            ::tar::EntryType::Symlink,
            "lib/libcudnn.so",
            "/usr/lib/libcudnn.so",
        ),
        (
            ::tar::EntryType::Symlink,
            "lib/libcudnn.so",
            "../../libcudnn.so",
        ),
        (::tar::EntryType::Symlink, "lib", "/tmp"),
        (::tar::EntryType::Link, "lib/libcudnn.so", "../etc/passwd"),
        (::tar::EntryType::Link, "lib/libcudnn.so", "/etc/passwd"),
    ] {
        let mut builder = ::tar::Builder::new(Vec::new());
        append_link(&mut builder, kind, name, target);
        let error = Bench::new("a.tar", &builder.into_inner().unwrap()).refused();
        assert!(
            matches!(
                error,
                Error::Unsafe {
                    why: Unsafe::LinkOut,
                    ..
                }
            ),
            "{name} → {target}: {error:?}"
        );
    }
}

#[test]
fn links_through_links_lead_nowhere() {
    // A link to a folder, then a file through it: the file goes where its own name says.
    let mut builder = ::tar::Builder::new(Vec::new());
    append_link(
        &mut builder,
        ::tar::EntryType::Symlink,
        "cuda/lib",
        "../outside",
    );
    append(&mut builder, "cuda/lib/libcudnn.so.9", b"evil");
    assert!(
        Bench::new("a.tar", &builder.into_inner().unwrap())
            .unpack()
            .is_err()
    );
    // Two links in a circle.
    let mut builder = ::tar::Builder::new(Vec::new());
    let library = libraries::ElfSample {
        soname: Some("libcudnn.so.9"),
        ..Default::default()
    };
    append(&mut builder, "lib/libcudnn.so.9", &library.build());
    append(
        &mut builder,
        "include/cudnn_version.h",
        &version_header(9, 1, 0),
    );
    append_link(
        &mut builder,
        ::tar::EntryType::Symlink,
        "lib/libcudnn_a.so",
        "libcudnn_b.so",
    );
    append_link(
        &mut builder,
        ::tar::EntryType::Symlink,
        "lib/libcudnn_b.so",
        "libcudnn_a.so",
    );
    let error = Bench::new("a.tar", &builder.into_inner().unwrap()).refused();
    assert!(
        format!("{error:?}").contains("leads back to itself"),
        "{error:?}"
    );
    // To a file that was not taken.
    let mut builder = ::tar::Builder::new(Vec::new());
    append(&mut builder, "lib/libcudnn.so.9", &library.build());
    append(
        &mut builder,
        "include/cudnn_version.h",
        &version_header(9, 1, 0),
    );
    append(&mut builder, "secret", b"secret");
    append_link(
        &mut builder,
        ::tar::EntryType::Symlink,
        "lib/libcudnn_a.so",
        "../secret",
    );
    let error = Bench::new("a.tar", &builder.into_inner().unwrap()).refused();
    assert!(
        format!("{error:?}").contains("which is not there"),
        "{error:?}"
    );
}

#[test]
fn a_zip_that_declares_more_than_any_cudnn_is_refused_before_writing() {
    let mut bytes = zip(&files(&[("bin/cudnn64_8.dll", b"small")]));
    let huge = 3_000_000_000u32.to_le_bytes();
    let directory = memchr::memmem::find(&bytes, b"PK\x01\x02").unwrap();
    bytes[22..26].copy_from_slice(&huge);
    bytes[directory + 24..directory + 28].copy_from_slice(&huge);
    let bench = Bench::new(NAME, &bytes);
    assert!(matches!(bench.refused(), Error::TooLarge { .. }));
    assert_eq!(listing(&bench.target()), [""; 0]);
}

#[test]
fn a_member_longer_than_declared_is_cut_off_at_once() {
    let content = vec![0; 1 << 20];
    let mut bytes = zip(&files(&[("bin/cudnn64_8.dll", &content)]));
    let directory = memchr::memmem::find(&bytes, b"PK\x01\x02").unwrap();
    bytes[22..26].copy_from_slice(&10u32.to_le_bytes());
    bytes[directory + 24..directory + 28].copy_from_slice(&10u32.to_le_bytes());
    let error = Bench::new(NAME, &bytes).refused();
    assert!(
        format!("{error:?}").contains("longer than the directory says"),
        "{error:?}"
    );
}

#[test]
fn what_inflates_beyond_the_limit_is_stopped() {
    let content = vec![0; 4 << 20];
    let tree = files(&[("bin/cudnn64_8.dll", &content)]);
    for (name, bytes) in [
        ("a.zip", zip(&tree)),
        ("a.tgz", gz(&tar(&tree))),
        ("a.7z", seven_zip(&tree)),
        ("a.rar", rar5(&tree)),
    ] {
        let bench = Bench::new(name, &bytes);
        let target = bench.target();
        let intake = Intake::new(
            &bench.archive,
            &target,
            Rule::Cudnn,
            Budget::with_limit(1 << 20),
        );
        let read = read_one(&intake, &bench.archive, &mut |_| {});
        assert!(
            matches!(read, Err(Error::TooLarge { .. })),
            "{name}: {read:?}"
        );
        let written: u64 = listing(&bench.target())
            .iter()
            .map(|path| bench.target().join(path).metadata().unwrap().len())
            .sum();
        assert!(written <= 2 << 20, "{name} wrote {written} bytes");
    }
}

#[test]
fn encrypted_archives_say_so() {
    use ::zip::unstable::write::FileOptionsExt;
    let mut writer = ::zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = ::zip::write::SimpleFileOptions::default()
        .with_deprecated_encryption(b"secret")
        .unwrap();
    writer.start_file("bin/cudnn64_8.dll", options).unwrap();
    std::io::Write::write_all(&mut writer, b"hidden").unwrap();
    let bytes = writer.finish().unwrap().into_inner();
    assert!(matches!(
        Bench::new(NAME, &bytes).refused(),
        Error::Encrypted { .. }
    ));
    for name in ["rar5-psw.rar", "rar5-hpsw.rar", "rar3-comment-psw.rar"] {
        let path = fixture(name);
        let bytes = fs::read(&path).unwrap();
        let error = Bench::new(name, &bytes).refused();
        assert!(
            matches!(error, Error::Encrypted { .. } | Error::NoCudnn { .. }),
            "{name}: {error:?}"
        );
    }
}

/// Archives that WinRAR made: compressed, solid, of the third and the fifth format.
#[test]
fn compressed_rar_archives_are_read_to_their_end() {
    for name in [
        "rar3-subdirs.rar",
        "rar3-solid.rar",
        "rar5-crc.rar",
        "rar5-blake.rar",
        "rar5-solid.rar",
        "rar5-subdirs.rar",
    ] {
        let bytes = fs::read(fixture(name)).unwrap();
        let error = Bench::new(name, &bytes).refused();
        assert!(matches!(error, Error::NoCudnn { .. }), "{name}: {error:?}");
        let mut changed = bytes.clone();
        let at = bytes.len() * 2 / 3;
        changed[at] ^= 0x40;
        let error = Bench::new(name, &changed).refused();
        assert!(
            !matches!(error, Error::NotAnArchive { .. }),
            "{name}: {error:?}"
        );
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// Any damage must end in an answer: no panic, no endless loop, nothing outside the target.
#[test]
fn mutated_archives_end_in_an_answer() {
    let tree = windows_8_2_1();
    let small: Files = tree.into_iter().step_by(6).collect();
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed as usize
    };
    for (name, bytes) in [
        ("a.zip", zip(&small)),
        ("a.rar", rar5(&small)),
        ("b.rar", fs::read(fixture("rar3-subdirs.rar")).unwrap()),
        ("c.rar", fs::read(fixture("rar5-crc.rar")).unwrap()),
        ("d.rar", fs::read(fixture("rar3-solid.rar")).unwrap()),
        ("a.7z", seven_zip(&small)),
        ("a.tar", tar(&small)),
        ("a.tar.xz", xz(&tar(&small))),
        ("a.tar.zst", zst(&tar(&small))),
        ("a.tgz", gz(&tar(&small))),
    ] {
        for _ in 0..60 {
            let mut bytes = bytes.clone();
            for _ in 0..1 + random() % 4 {
                // Headers are at the beginning and the end; half of the changes go there.
                let edge = bytes.len().min(200);
                let at = match random() % 4 {
                    0 => random() % edge,
                    1 => bytes.len() - 1 - random() % edge,
                    _ => random() % bytes.len(),
                };
                bytes[at] = random() as u8;
            }
            let bench = Bench::new(name, &bytes);
            if bench.unpack().is_err() {
                bench.refused_leaves_nothing_outside();
            }
        }
    }
}
