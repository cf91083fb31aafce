//! Where each file of a package goes, whatever the package looked like. Pure.
//!
//! NVIDIA has changed the inside of its archives six times (`cuda/lib/x64`, `lib`, `lib/x64`, `bin/x64`, `lib64`, wheels,
//! conda), and people re-pack them with folders of their own around. What never changed are the file names. So a member is
//! placed by its base name alone, from any depth: DLLs into `bin`, import libraries into `lib`, headers into `include`,
//! shared objects into `lib`, the licence beside them. The set of sub-libraries is not known here on purpose.
//!
//! Names come from archives that anybody may have made: [`member_path`] is the one gate they pass.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::companion::CompanionKind;

/// A folder of an installed build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Folder {
    /// DLLs.
    Bin,
    /// Headers.
    Include,
    /// Shared objects, import libraries, static libraries.
    Lib,
    /// The build's own folder: licences.
    Root,
}

/// Where one member goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The folder.
    pub folder: Folder,
    /// The file's name there.
    pub name: String,
}

impl Place {
    fn new(folder: Folder, name: &str) -> Self {
        Self {
            folder,
            name: name.to_owned(),
        }
    }

    /// The path below the build's folder, with `/`.
    pub fn path(&self) -> String {
        match self.folder {
            Folder::Bin => format!("bin/{}", self.name),
            Folder::Include => format!("include/{}", self.name),
            Folder::Lib => format!("lib/{}", self.name),
            Folder::Root => self.name.clone(),
        }
    }

    /// Equal for two places that are one file on Windows.
    pub fn key(&self) -> String {
        self.path().to_lowercase()
    }

    /// Whether it is a library that a program loads: a DLL or a shared object.
    pub fn is_library(&self) -> bool {
        match self.folder {
            Folder::Bin => true,
            Folder::Lib => is_shared_object(&self.name) || self.name.ends_with(".dylib"),
            Folder::Include | Folder::Root => false,
        }
    }
}

/// Where a member of a cuDNN package goes; `None` for what is not cuDNN's.
pub fn place(path: &[String]) -> Option<Place> {
    let name = path.last()?;
    let lower = name.to_lowercase();
    let folder = if lower.starts_with("cudnn") && lower.ends_with(".dll") {
        Folder::Bin
    } else if (lower.starts_with("cudnn") && lower.ends_with(".lib"))
        || (lower.starts_with("libcudnn") && is_unix_library(&lower))
    {
        Folder::Lib
    } else if is_header(path, &lower) {
        Folder::Include
    } else if is_licence(path, &lower) {
        Folder::Root
    } else {
        return None;
    };
    Some(Place::new(folder, name))
}

/// Where a member of a companion's package goes; `None` for what cuDNN has no use for.
pub fn place_companion(kind: CompanionKind, path: &[String]) -> Option<Place> {
    let name = path.last()?;
    let lower = name.to_lowercase();
    let stems: &[&str] = match kind {
        CompanionKind::Cublas => &["cublas64_", "cublaslt64_", "libcublas.", "libcublaslt."],
        CompanionKind::Nvrtc => &[
            "nvrtc64_",
            "nvrtc-builtins64_",
            "libnvrtc.",
            "libnvrtc-builtins.",
        ],
    };
    let headers: &[&str] = match kind {
        CompanionKind::Cublas => &["cublas"],
        CompanionKind::Nvrtc => &["nvrtc"],
    };
    let ours = stems.iter().any(|stem| lower.starts_with(stem));
    let folder = if ours && lower.ends_with(".dll") {
        // `nvrtc64_120_0.alt.dll` is a second, larger compiler that nobody opens by default.
        if lower.contains(".alt.") {
            return None;
        }
        Folder::Bin
    } else if ours && is_shared_object(&lower) && !lower.contains(".alt.") {
        Folder::Lib
    } else if lower.ends_with(".h") && headers.iter().any(|stem| lower.starts_with(stem)) {
        Folder::Include
    } else if is_licence(path, &lower) {
        Folder::Root
    } else {
        return None;
    };
    Some(Place::new(folder, name))
}

/// Whether a member may be an archive with the real package in it, as download sites serve them.
pub fn is_inner_archive(path: &[String]) -> bool {
    const KINDS: [&str; 12] = [
        ".zip", ".rar", ".7z", ".tgz", ".tar.gz", ".tar.xz", ".txz", ".tar.bz2", ".tar.zst",
        ".whl", ".tar", ".conda",
    ];
    let name = path
        .last()
        .map(|name| name.to_lowercase())
        .unwrap_or_default();
    KINDS.iter().any(|kind| name.ends_with(kind))
}

fn is_shared_object(name: &str) -> bool {
    name.ends_with(".so") || name.contains(".so.")
}

fn is_unix_library(lower: &str) -> bool {
    is_shared_object(lower) || lower.ends_with(".a") || lower.ends_with(".dylib")
}

/// `cudnn.h`, `cudnn_ops_v9.h`; not the headers of projects that use cuDNN (`cudnn-wrapper.h` of PyTorch,
/// `cudnn_frontend.h`, `paddle/…/cudnn_helper.h`).
fn is_header(path: &[String], lower: &str) -> bool {
    const OTHERS: [&str; 8] = [
        "torch",
        "paddle",
        "tensorflow",
        "xla",
        "caffe2",
        "mxnet",
        "opencv2",
        "cudnn_frontend",
    ];
    let Some(stem) = lower.strip_suffix(".h") else {
        return false;
    };
    let ours = stem == "cudnn"
        || stem.strip_prefix("cudnn_").is_some_and(|rest| {
            rest.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
    ours && !stem.starts_with("cudnn_frontend")
        && !path.iter().any(|part| OTHERS.contains(&part.as_str()))
}

fn is_licence(path: &[String], lower: &str) -> bool {
    let stem = lower.rsplit_once('.').map_or(lower, |(stem, _)| stem);
    let text = [".txt", ".md", ".pdf", ".rst"]
        .iter()
        .any(|kind| lower.ends_with(kind));
    let named = stem.starts_with("license") || stem.starts_with("nvidia_sla") || stem == "eula";
    // Deeper ones belong to things that are packed with it.
    named && (text || !lower.contains('.')) && path.len() <= 4
}

/// The links that a loader or linker expects beside the shared objects and that are not there yet: name → target.
///
/// `libraries` are the names in `lib` with their SONAME. `libcudnn.so.9.19.0` (SONAME `libcudnn.so.9`) gets
/// `libcudnn.so.9` → `libcudnn.so.9.19.0` and `libcudnn.so` → `libcudnn.so.9`; a wheel's `libcudnn.so.9` gets the latter.
pub fn soname_links(
    libraries: &BTreeMap<String, Option<String>>,
    present: &BTreeSet<String>,
) -> BTreeMap<String, String> {
    let mut links = BTreeMap::new();
    for (name, soname) in libraries {
        let Some(at) = name.find(".so") else { continue };
        let bare = &name[..at + ".so".len()];
        // A SONAME of another library, or with a path in it, is nobody's link.
        let soname = soname
            .as_deref()
            .filter(|soname| soname.starts_with(bare) && !soname.contains(['/', '\\']))
            .unwrap_or(name);
        let free = |wanted: &str| !libraries.contains_key(wanted) && !present.contains(wanted);
        if free(soname) {
            links.insert(soname.to_owned(), name.clone());
        }
        if bare != soname && free(bare) {
            links.insert(bare.to_owned(), soname.to_owned());
        }
    }
    links
}

/// Why a member's name is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsafe {
    /// Nothing, or only dots and slashes.
    Empty,
    /// `..`
    Parent,
    /// `/etc/passwd`
    Absolute,
    /// `C:\…`, `C:…`
    Drive,
    /// `\\server\share`
    Unc,
    /// `NUL`, `con.txt`
    Device,
    /// A character that Windows keeps for itself, or a control character.
    Character,
    /// A dot or blank at the end, which Windows drops.
    TrailingDot,
    /// Longer than any file system takes.
    TooLong,
    /// A link that leads out.
    LinkOut,
}

impl fmt::Display for Unsafe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "an empty name",
            Self::Parent => "a name that leads out with `..`",
            Self::Absolute => "an absolute path",
            Self::Drive => "a path with a drive letter",
            Self::Unc => "a network path",
            Self::Device => "the name of a Windows device",
            Self::Character => "a character that no file name may have on Windows",
            Self::TrailingDot => "a name that ends in a dot or blank, which Windows drops",
            Self::TooLong => "a name longer than any disk takes",
            Self::LinkOut => "a link that leads out of the archive",
        })
    }
}

/// The parts of a member's name. `\` separates as `/` does: old Windows packers write it.
///
/// # Errors
///
/// For every name that could mean a file elsewhere, or another file than it says, on any system.
pub fn member_path(name: &str) -> Result<Vec<String>, Unsafe> {
    if name.starts_with("\\\\") || name.starts_with("//") {
        return Err(Unsafe::Unc);
    }
    if name.starts_with(['/', '\\']) {
        return Err(Unsafe::Absolute);
    }
    let bytes = name.as_bytes();
    if bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' {
        return Err(Unsafe::Drive);
    }
    let mut parts = Vec::new();
    for part in name.split(['/', '\\']) {
        match part {
            "" | "." => continue,
            ".." => return Err(Unsafe::Parent),
            _ => {}
        }
        if part.len() > 255 || parts.len() > 64 {
            return Err(Unsafe::TooLong);
        }
        if part
            .chars()
            .any(|c| c.is_control() || "<>:\"|?*".contains(c))
        {
            return Err(Unsafe::Character);
        }
        if part.ends_with(['.', ' ']) {
            return Err(Unsafe::TrailingDot);
        }
        if is_device(part) {
            return Err(Unsafe::Device);
        }
        parts.push(part.to_owned());
    }
    if parts.is_empty() {
        Err(Unsafe::Empty)
    } else {
        Ok(parts)
    }
}

/// What a link at `link` with this target text points to, as a member's path.
///
/// # Errors
///
/// For a target that is absolute or leads above the archive's top.
pub fn link_target(link: &[String], target: &str) -> Result<Vec<String>, Unsafe> {
    let bytes = target.as_bytes();
    let drive = bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    if target.starts_with(['/', '\\']) || drive {
        return Err(Unsafe::LinkOut);
    }
    let mut path = link[..link.len().saturating_sub(1)].to_vec();
    for part in target.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => drop(path.pop().ok_or(Unsafe::LinkOut)?),
            part => path.push(part.to_owned()),
        }
    }
    if path.is_empty() {
        Err(Unsafe::LinkOut)
    } else {
        Ok(path)
    }
}

/// Windows takes these for devices in every folder and with every extension.
fn is_device(part: &str) -> bool {
    let stem = part
        .split('.')
        .next()
        .unwrap_or(part)
        .trim_end()
        .to_ascii_uppercase();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix).is_some_and(|rest| {
            matches!(
                rest,
                "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³"
            )
        })
    };
    matches!(
        &*stem,
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" | "CLOCK$"
    ) || numbered("COM")
        || numbered("LPT")
}

/// What a package without cuDNN seems to be, from the names in it; for the person who mixed up two downloads.
pub fn seems(names: &[String]) -> Option<&'static str> {
    let any = |wanted: &dyn Fn(&str) -> bool| {
        names.iter().any(|path| {
            wanted(
                &path
                    .rsplit(['/', '\\'])
                    .next()
                    .unwrap_or(path)
                    .to_lowercase(),
            )
        })
    };
    let starts = |stems: &'static [&'static str]| {
        move |name: &str| stems.iter().any(|stem| name.starts_with(stem))
    };
    if any(&starts(&["cudnn_frontend"])) {
        Some("cudnn-frontend, the C++ headers; cuDNN itself is a download of its own")
    } else if any(&starts(&["nvinfer", "libnvinfer"])) {
        Some("TensorRT")
    } else if any(&|name| matches!(name, "nvcc" | "nvcc.exe" | "cuda_runtime.h")) {
        Some("a CUDA toolkit")
    } else if any(&starts(&["torch_cuda", "libtorch"])) {
        Some("PyTorch")
    } else if any(&starts(&["cublas64_", "libcublas.so"])) {
        Some("cuBLAS")
    } else if any(&starts(&["nvrtc64_", "libnvrtc.so"])) {
        Some("NVRTC")
    } else if any(&starts(&["zlibwapi"])) {
        Some("zlib for Windows (zlibwapi.dll)")
    } else if any(&|name| {
        name == "cmakelists.txt"
            || [".c", ".cc", ".cpp", ".cu", ".py"]
                .iter()
                .any(|kind| name.ends_with(kind))
    }) {
        Some("source code")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(path: &str) -> Option<String> {
        place(&member_path(path).unwrap()).map(|place| place.path())
    }

    #[test]
    fn every_generation_of_layout_ends_alike() {
        for (path, expected) in [
            ("cuda/bin/cudnn64_7.dll", Some("bin/cudnn64_7.dll")),
            ("cuda\\cuda\\bin\\cudnn64_8.dll", Some("bin/cudnn64_8.dll")),
            (
                "cudnn-windows-x86_64-9.20/bin/x64/cudnn_graph64_9.dll",
                Some("bin/cudnn_graph64_9.dll"),
            ),
            ("bin/12.9/cudnn64_9.dll", Some("bin/cudnn64_9.dll")),
            ("cuda/lib/x64/cudnn.lib", Some("lib/cudnn.lib")),
            (
                "a/lib/cudnn_ops_infer64_8.lib",
                Some("lib/cudnn_ops_infer64_8.lib"),
            ),
            ("cuda/include/cudnn.h", Some("include/cudnn.h")),
            (
                "nvidia/cudnn/include/cudnn_ops_v9.h",
                Some("include/cudnn_ops_v9.h"),
            ),
            (
                "cuda/lib64/libcudnn.so.8.2.1",
                Some("lib/libcudnn.so.8.2.1"),
            ),
            (
                "cuda/targets/ppc64le-linux/lib/libcudnn_static.a",
                Some("lib/libcudnn_static.a"),
            ),
            ("lib/libcudnn.7.dylib", Some("lib/libcudnn.7.dylib")),
            (
                "cuda/NVIDIA_SLA_cuDNN_Support.txt",
                Some("NVIDIA_SLA_cuDNN_Support.txt"),
            ),
            ("x-archive/LICENSE", Some("LICENSE")),
            ("x.dist-info/licenses/License.txt", Some("License.txt")),
            ("nvidia/cudnn/__init__.py", None),
            ("include/cudnn_frontend.h", None),
            ("torch/include/ATen/cudnn/cudnn-wrapper.h", None),
            (
                "paddle/include/paddle/phi/backends/gpu/cuda/cudnn_helper.h",
                None,
            ),
            ("torch/lib/cudnn64_9.dll", Some("bin/cudnn64_9.dll")),
            ("bin/cublas64_12.dll", None),
            ("a/b/c/d/e/LICENSE", None),
            ("LICENSE.py", None),
        ] {
            assert_eq!(placed(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_companion_takes_its_own_libraries_only() {
        let placed = |kind, path: &str| {
            place_companion(kind, &member_path(path).unwrap()).map(|place| place.path())
        };
        for (kind, path, expected) in [
            (
                CompanionKind::Cublas,
                "nvidia/cublas/lib/libcublasLt.so.12",
                Some("lib/libcublasLt.so.12"),
            ),
            (
                CompanionKind::Cublas,
                "nvidia/cublas/bin/cublas64_12.dll",
                Some("bin/cublas64_12.dll"),
            ),
            (
                CompanionKind::Cublas,
                "nvidia/cublas/lib/libnvblas.so.12",
                None,
            ),
            (
                CompanionKind::Cublas,
                "nvidia/cublas/include/cublas_v2.h",
                Some("include/cublas_v2.h"),
            ),
            (
                CompanionKind::Nvrtc,
                "nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.9",
                Some("lib/libnvrtc-builtins.so.12.9"),
            ),
            (
                CompanionKind::Nvrtc,
                "nvidia/cuda_nvrtc/lib/libnvrtc.alt.so.12",
                None,
            ),
            (
                CompanionKind::Nvrtc,
                "nvidia/cuda_nvrtc/bin/nvrtc64_120_0.dll",
                Some("bin/nvrtc64_120_0.dll"),
            ),
            (
                CompanionKind::Nvrtc,
                "nvidia/cublas/lib/libcublas.so.12",
                None,
            ),
        ] {
            assert_eq!(placed(kind, path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn names_that_could_mean_another_file_are_refused() {
        for (name, why) in [
            ("", Unsafe::Empty),
            ("./", Unsafe::Empty),
            ("../cudnn.h", Unsafe::Parent),
            ("cuda/../../cudnn.h", Unsafe::Parent),
            ("cuda\\..\\cudnn.h", Unsafe::Parent),
            ("/etc/cudnn.h", Unsafe::Absolute),
            ("\\Windows\\cudnn64_8.dll", Unsafe::Absolute),
            ("C:\\Windows\\cudnn64_8.dll", Unsafe::Drive),
            ("c:cudnn64_8.dll", Unsafe::Drive),
            ("\\\\server\\share\\cudnn64_8.dll", Unsafe::Unc),
            ("//server/share/cudnn64_8.dll", Unsafe::Unc),
            ("bin/NUL", Unsafe::Device),
            ("con.txt", Unsafe::Device),
            ("bin/com1.dll", Unsafe::Device),
            ("aux/cudnn.h", Unsafe::Device),
            ("lpt¹", Unsafe::Device),
            ("cudnn.h:stream", Unsafe::Character),
            ("cudnn\u{0}.h", Unsafe::Character),
            ("cudnn\u{1b}[31m.h", Unsafe::Character),
            ("cudnn.h.", Unsafe::TrailingDot),
            ("cudnn.h ", Unsafe::TrailingDot),
        ] {
            assert_eq!(member_path(name), Err(why), "{name:?}");
        }
        assert_eq!(member_path(&"a".repeat(256)), Err(Unsafe::TooLong));
        for name in [
            "console.txt",
            "nullable.h",
            "公司/cudnn.h",
            "a b/[x]/cudnn.h",
            "common/com10",
        ] {
            assert!(member_path(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn links_may_point_inside_only() {
        let link = member_path("cuda/lib64/libcudnn.so").unwrap();
        let target = |text: &str| link_target(&link, text).map(|parts| parts.join("/"));
        assert_eq!(
            target("libcudnn.so.8").as_deref(),
            Ok("cuda/lib64/libcudnn.so.8")
        );
        assert_eq!(
            target("../lib/./libcudnn.so.8").as_deref(),
            Ok("cuda/lib/libcudnn.so.8")
        );
        for text in [
            "/etc/passwd",
            "../../../etc/passwd",
            "C:\\x",
            "\\\\s\\x",
            "../..",
        ] {
            assert_eq!(target(text), Err(Unsafe::LinkOut), "{text}");
        }
    }

    #[test]
    fn missing_links_follow_the_soname() {
        let links = |libraries: &[(&str, Option<&str>)], present: &[&str]| {
            let libraries = libraries
                .iter()
                .map(|(name, soname)| ((*name).to_owned(), soname.map(str::to_owned)))
                .collect();
            let present = present.iter().map(|name| (*name).to_owned()).collect();
            soname_links(&libraries, &present)
                .into_iter()
                .map(|(name, target)| format!("{name}>{target}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            links(&[("libcudnn.so.9.19.0", Some("libcudnn.so.9"))], &[]),
            [
                "libcudnn.so>libcudnn.so.9",
                "libcudnn.so.9>libcudnn.so.9.19.0"
            ]
        );
        assert_eq!(
            links(&[("libcudnn.so.9", Some("libcudnn.so.9"))], &[]),
            ["libcudnn.so>libcudnn.so.9"]
        );
        assert_eq!(
            links(&[("libcudnn.so", Some("libcudnn.so.8"))], &[]),
            ["libcudnn.so.8>libcudnn.so"]
        );
        assert_eq!(links(&[("libcudnn.so.9", None)], &["libcudnn.so"]), [""; 0]);
        assert_eq!(
            links(&[("libcudnn.so.9", Some("../evil.so.9"))], &["libcudnn.so"]),
            [""; 0]
        );
        assert_eq!(links(&[("libcudnn_static.a", None)], &[]), [""; 0]);
    }

    #[test]
    fn a_wrong_download_is_named() {
        let seems = |names: &[&str]| {
            seems(
                &names
                    .iter()
                    .map(|name| (*name).to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(seems(&["TensorRT-8/lib/nvinfer.dll"]), Some("TensorRT"));
        assert_eq!(
            seems(&["cuda_nvcc/nvcc/bin/nvcc.exe"]),
            Some("a CUDA toolkit")
        );
        assert_eq!(seems(&["a/setup.py"]), Some("source code"));
        assert_eq!(seems(&["holiday.jpg"]), None);
    }
}
