//! The names of cuDNN's files, taken apart.

use super::facts::System;
use crate::version::CudnnVersion;

/// What a file name says. What the file *is* may differ: see the finding RENAMED.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LibraryName {
    /// The name itself, lower case for a DLL.
    pub base: String,
    /// Whether it is one of cuDNN's files at all.
    pub is_cudnn: bool,
    /// The system it is for.
    pub system: Option<System>,
    /// `ops_infer` of `cudnn_ops_infer64_8.dll`; `None` for the main library.
    pub part: Option<String>,
    /// 8 of `cudnn64_8.dll`, `libcudnn.so.8`, `libcudnn.so.8.9.7`.
    pub major: Option<u32>,
    /// 8.9.7 of `libcudnn.so.8.9.7`.
    pub full: Option<CudnnVersion>,
}

impl LibraryName {
    /// Of a path or a bare name, in either system's spelling.
    pub fn of(path: &str) -> Self {
        let base = base_name(path);
        let lower = base.to_ascii_lowercase();
        dll(&lower).or_else(|| shared_object(base)).unwrap_or(Self {
            base: if lower.ends_with(".dll") {
                lower
            } else {
                base.to_owned()
            },
            ..Self::default()
        })
    }

    /// The main library, the one that programs ask for.
    pub fn is_main(&self) -> bool {
        self.is_cudnn && self.part.is_none()
    }

    /// The name under which a loader looks for it: `libcudnn.so.8` for `libcudnn.so.8.9.7`.
    pub fn soname(&self) -> String {
        match (self.system, self.major) {
            (Some(System::Linux), Some(major)) => match &self.part {
                Some(part) => format!("libcudnn_{part}.so.{major}"),
                None => format!("libcudnn.so.{major}"),
            },
            _ => self.base.clone(),
        }
    }
}

/// The last component of a path in either system's spelling.
pub fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// All but the last component; empty for a bare name.
pub fn folder(path: &str) -> &str {
    match path.rfind(['/', '\\']) {
        Some(0) => &path[..1],
        Some(end) => &path[..end],
        None => "",
    }
}

/// The major in which alone a sub-library of that name exists: the `_infer` and `_train` split is cuDNN 8's, the graph
/// and engine libraries came with 9.
pub fn major_of_part(part: &str) -> Option<u32> {
    if part.ends_with("_infer") || part.ends_with("_train") {
        Some(8)
    } else if ["graph", "heuristic", "ext"].contains(&part) || part.starts_with("engines") {
        Some(9)
    } else {
        None
    }
}

fn dll(lower: &str) -> Option<LibraryName> {
    let stem = lower.strip_suffix(".dll")?.strip_prefix("cudnn")?;
    let (part, number) = stem.split_once("64_")?;
    let part = match part {
        "" => None,
        part => Some(part.strip_prefix('_')?.to_owned()),
    };
    Some(LibraryName {
        base: lower.to_owned(),
        is_cudnn: true,
        system: Some(System::Windows),
        part,
        major: number
            .parse()
            .ok()
            .filter(|major: &u32| (1..100).contains(major)),
        full: None,
    })
}

fn shared_object(base: &str) -> Option<LibraryName> {
    let (stem, version) = base.split_once(".so")?;
    let stem = stem.strip_prefix("libcudnn")?;
    // auditwheel writes a hash into the name: `libcudnn-a1b2c3d4.so.9.1.0`.
    let stem = stem.split('-').next().unwrap_or(stem);
    let part = match stem {
        "" => None,
        part => Some(part.strip_prefix('_')?.to_owned()),
    };
    let version = match version {
        "" => "",
        version => version.strip_prefix('.')?,
    };
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().ok());
    let major = numbers.next().flatten();
    Some(LibraryName {
        base: base.to_owned(),
        is_cudnn: true,
        system: Some(System::Linux),
        part,
        major,
        full: version.parse().ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_systems_are_taken_apart() {
        let cases = [
            (r"C:\x\cudnn64_8.dll", true, None, Some(8)),
            ("CUDNN_OPS_INFER64_8.DLL", true, Some("ops_infer"), Some(8)),
            ("/usr/lib/libcudnn.so.9", true, None, Some(9)),
            ("libcudnn_graph.so.9.20.0", true, Some("graph"), Some(9)),
            ("libcudnn.so", true, None, None),
            ("libcudnn-a1b2c3d4.so.9.1.0", true, None, Some(9)),
            ("zlibwapi.dll", false, None, None),
            ("cudnn.lib", false, None, None),
            ("", false, None, None),
            ("cudnn64_.dll", true, None, None),
        ];
        for (path, is_cudnn, part, major) in cases {
            let name = LibraryName::of(path);
            assert_eq!(name.is_cudnn, is_cudnn, "{path}");
            assert_eq!(name.part.as_deref(), part, "{path}");
            assert_eq!(name.major, major, "{path}");
        }
        assert_eq!(
            LibraryName::of("libcudnn.so.8.9.7").soname(),
            "libcudnn.so.8"
        );
        assert_eq!(
            LibraryName::of("libcudnn.so.8.9.7").full,
            Some(CudnnVersion::new(8, 9, 7))
        );
    }
}
