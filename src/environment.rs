//! What a child process is told so that it finds exactly the active build.
//!
//! Pure: the build's folder, its companions and the present values come in, the changes come out. Lists stay lists
//! here; `process` joins them, because a separator inside a path can only be refused there.
//!
//! Our folders come first. Empty elements are dropped (an empty element of `LD_LIBRARY_PATH` is the current folder, a
//! way to load anything), doubled ones too, and so is every other build of our own store: after a nested `exec` only
//! the innermost build may be found. A folder that by its name holds nothing but another cuDNN goes as well: see
//! `shadows`. All this is decided from the text of the paths; a launch reads no folder for it.

use std::path::{Path, PathBuf};

use crate::version::BuildId;

/// A value for one variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Plain text.
    Text(String),
    /// One path.
    Path(PathBuf),
    /// Paths, joined by the platform's separator.
    List(Vec<PathBuf>),
}

/// One variable of the child that differs from ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its name.
    pub name: &'static str,
    /// What it becomes.
    pub value: Value,
}

/// What the changes are made from.
#[derive(Debug, Clone, Copy)]
pub struct Active<'a> {
    /// The build.
    pub build: &'a BuildId,
    /// Its folder.
    pub folder: &'a Path,
    /// The store's root.
    pub store: &'a Path,
    /// Folders of the libraries it needs beside itself, in search order.
    pub companions: &'a [PathBuf],
    /// The folder with our `sitecustomize.py`; `None` where it could not be written.
    pub prelude: Option<&'a Path>,
}

/// The variable that names the active build for programs and for the prelude.
pub const ACTIVE: &str = "CUDNNM_ACTIVE";

/// The variable that tells the prelude where the active build is.
pub const ACTIVE_PATH: &str = "CUDNNM_ACTIVE_PATH";

/// The variable that tells the prelude on Windows which folders Python must look for DLLs in.
pub const ACTIVE_DLLS: &str = "CUDNNM_ACTIVE_DLLS";

impl Active<'_> {
    /// The folder that the loader must search: `bin` on Windows, `lib` elsewhere.
    pub fn library_folder(&self) -> PathBuf {
        library_folder(self.folder, self.build)
    }

    /// All changes. `list` gives the present elements of a list variable, empty elements included.
    pub fn changes(&self, list: &dyn Fn(&str) -> Vec<PathBuf>) -> Vec<Change> {
        let windows = self.build.platform.is_windows();
        let include = self.folder.join("include");
        let lib = self.folder.join("lib");
        let libraries: Vec<PathBuf> = std::iter::once(self.library_folder())
            .chain(self.companions.iter().cloned())
            .collect();
        let (loader, compiler_include, compiler_lib) = if windows {
            ("PATH", "INCLUDE", "LIB")
        } else {
            ("LD_LIBRARY_PATH", "CPATH", "LIBRARY_PATH")
        };

        let path = |name, value: &Path| Change {
            name,
            value: Value::Path(value.to_owned()),
        };
        let mut changes = vec![
            Change {
                name: loader,
                value: Value::List(self.in_front(&libraries, list(loader))),
            },
            Change {
                name: compiler_include,
                value: Value::List(
                    self.in_front(std::slice::from_ref(&include), list(compiler_include)),
                ),
            },
            Change {
                name: compiler_lib,
                value: Value::List(self.in_front(std::slice::from_ref(&lib), list(compiler_lib))),
            },
            // What CMake's FindCUDNN modules and the setup.py files of the field look at; none agrees with another.
            path("CUDNN_PATH", self.folder),
            path("CUDNN_HOME", self.folder),
            path("CUDNN_ROOT", self.folder),
            path("CUDNN_ROOT_DIR", self.folder),
            path("CUDNN_INCLUDE_DIR", &include),
            path("CUDNN_LIBRARY", &lib),
            path(ACTIVE_PATH, self.folder),
            Change {
                name: ACTIVE,
                value: Value::Text(self.build.to_string()),
            },
        ];
        if windows {
            changes.push(Change {
                name: ACTIVE_DLLS,
                value: Value::List(libraries),
            });
        }
        if let Some(prelude) = self.prelude {
            let value = Value::List(self.in_front(&[prelude.to_owned()], list("PYTHONPATH")));
            changes.push(Change {
                name: "PYTHONPATH",
                value,
            });
        }
        changes
    }

    fn in_front(&self, ours: &[PathBuf], present: Vec<PathBuf>) -> Vec<PathBuf> {
        let windows = self.build.platform.is_windows();
        let store = folded(self.store, windows);
        let mut elements = ours.to_vec();
        let mut seen: Vec<PathBuf> = ours.iter().map(|path| folded(path, windows)).collect();
        for element in present {
            let key = folded(&element, windows);
            let dropped = element.as_os_str().is_empty()
                || key.starts_with(&store)
                || seen.contains(&key)
                || shadows(&element, self.build.version.major);
            if !dropped {
                elements.push(element);
                seen.push(key);
            }
        }
        elements
    }
}

/// Whether a folder holds, by its name alone, another cuDNN that could slip into a process of this major: NVIDIA's own
/// installation `NVIDIA\\CUDNN\\v9.3\\bin\\12.6`, or a wheel's `nvidia/cudnn/lib`.
///
/// It would stand behind ours and so lose every name that ours has. But cuDNN 9.20 to 9.22 open parts by name that they
/// do not bring (`cudnn_engines_tensor_ir`), and `jit` builds lack most: those names would be found there, of another
/// version, which ends in `CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH` at the first convolution (pytorch#188892). A folder
/// of another major has other file names and stays; a toolkit's `bin` stays, because more than cuDNN is in it.
fn shadows(folder: &Path, major: u32) -> bool {
    let names: Vec<String> = folder
        .components()
        .map(|part| part.as_os_str().to_string_lossy().to_ascii_lowercase())
        .collect();
    let Some(at) = names
        .windows(2)
        .position(|pair| pair[0] == "nvidia" && pair[1] == "cudnn")
    else {
        return false;
    };
    let other_major = names.get(at + 2).is_some_and(|name| {
        let number = name.strip_prefix('v').and_then(|v| v.split('.').next());
        number.is_some_and(|number| number.parse::<u32>().is_ok_and(|number| number != major))
    });
    !other_major
}

/// A path as the platform compares it. Windows ignores case; ASCII is enough to find the same folder written twice, and
/// for other letters a double costs nothing but its place.
fn folded(path: &Path, windows: bool) -> PathBuf {
    match path.to_str() {
        Some(text) if windows => PathBuf::from(text.to_ascii_lowercase()),
        _ => path.to_owned(),
    }
}

/// `bin` for a Windows build, `lib` for any other.
pub fn library_folder(folder: &Path, build: &BuildId) -> PathBuf {
    folder.join(if build.platform.is_windows() {
        "bin"
    } else {
        "lib"
    })
}

/// The file by which programs open this cuDNN: `cudnn64_9.dll`, `libcudnn.so.9`.
pub fn main_library(build: &BuildId) -> String {
    let major = build.version.major;
    if build.platform.is_windows() {
        format!("cudnn64_{major}.dll")
    } else {
        format!("libcudnn.so.{major}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(folder: &str, present: &[(&str, &[&str])], name: &str) -> Option<Value> {
        let build = BuildId::from_folder(folder).unwrap();
        let root = Path::new("/store").join(folder);
        let active = Active {
            build: &build,
            folder: &root,
            store: Path::new("/store"),
            companions: &[PathBuf::from("/store/cublas-12.1-cuda12/lib")],
            prelude: Some(Path::new("/store/.cudnnm/preludes/1")),
        };
        let list = |name: &str| {
            let found = present.iter().find(|(other, _)| *other == name);
            found.map_or(Vec::new(), |(_, elements)| {
                elements.iter().map(PathBuf::from).collect()
            })
        };
        active
            .changes(&list)
            .into_iter()
            .find(|change| change.name == name)
            .map(|change| change.value)
    }

    fn paths(elements: &[&str]) -> Option<Value> {
        Some(Value::List(elements.iter().map(PathBuf::from).collect()))
    }

    const LINUX: &str = "cudnn-8.9.7.29-cuda12";
    const LIB: &str = "/store/cudnn-8.9.7.29-cuda12/lib";

    #[test]
    #[cfg(target_os = "linux")]
    fn the_build_comes_first_then_its_companions_then_the_rest() {
        const CUBLAS: &str = "/store/cublas-12.1-cuda12/lib";
        let cases: [(&[&str], &[&str]); 4] = [
            (&[], &[LIB, CUBLAS]),
            (
                &["/decoy", "/usr/lib"],
                &[LIB, CUBLAS, "/decoy", "/usr/lib"],
            ),
            (&["", "/a", "", "/a", ""], &[LIB, CUBLAS, "/a"]),
            (
                &["/store/cudnn-9.1.0.70-cuda12/lib", LIB, "/storeroom"],
                &[LIB, CUBLAS, "/storeroom"],
            ),
        ];
        for (present, expected) in cases {
            assert_eq!(
                value(LINUX, &[("LD_LIBRARY_PATH", present)], "LD_LIBRARY_PATH"),
                paths(expected)
            );
        }
    }

    #[test]
    fn a_windows_build_goes_onto_the_program_path() {
        let folder = if cfg!(windows) {
            "cudnn-8.9.7.29-cuda12"
        } else {
            "cudnn-8.9.7.29-cuda12-windows-x86_64"
        };
        let Some(Value::List(elements)) = value(folder, &[("PATH", &["/tools"])], "PATH") else {
            panic!("a list")
        };
        assert_eq!(elements[0], Path::new("/store").join(folder).join("bin"));
        assert_eq!(elements[2], Path::new("/tools"));
        assert_eq!(value(folder, &[], "LD_LIBRARY_PATH"), None);
        let Some(Value::List(for_python)) = value(folder, &[], ACTIVE_DLLS) else {
            panic!("a list")
        };
        assert_eq!(for_python, elements[..2]);
    }

    #[test]
    fn another_cudnn_of_the_same_major_leaves_the_path() {
        let cases = [
            ("/Program Files/NVIDIA/CUDNN/v9.3/bin/12.6", 9, true),
            ("/program files/nvidia/cudnn/v9.3/bin", 9, true),
            ("/Program Files/NVIDIA/CUDNN/v8.9/bin", 9, false),
            ("/Program Files/NVIDIA/CUDNN/v10.0/bin", 10, true),
            (
                "/venv/lib/python3.11/site-packages/nvidia/cudnn/lib",
                8,
                true,
            ),
            (
                "/venv/lib/python3.11/site-packages/nvidia/cublas/lib",
                8,
                false,
            ),
            (
                "/Program Files/NVIDIA GPU Computing Toolkit/CUDA/v12.6/bin",
                9,
                false,
            ),
            ("/opt/cudnn/lib", 9, false),
            ("/nvidia", 9, false),
        ];
        for (folder, major, expected) in cases {
            assert_eq!(shadows(Path::new(folder), major), expected, "{folder}");
        }
    }

    #[test]
    fn windows_paths_are_one_whatever_their_case() {
        let folder = if cfg!(windows) {
            "cudnn-8.9.7.29-cuda12"
        } else {
            "cudnn-8.9.7.29-cuda12-windows-x86_64"
        };
        let present = [
            "/Tools",
            "/tools",
            "/TOOLS/",
            "/STORE/cudnn-9.1.0.70-cuda12/bin",
        ];
        let Some(Value::List(elements)) = value(folder, &[("PATH", &present)], "PATH") else {
            panic!("a list")
        };
        assert_eq!(elements[2..], [PathBuf::from("/Tools")]);
    }

    #[test]
    fn build_systems_find_headers_and_libraries() {
        assert_eq!(
            value(LINUX, &[], "CUDNN_LIBRARY"),
            Some(Value::Path(LIB.into()))
        );
        assert_eq!(
            value(LINUX, &[], ACTIVE),
            Some(Value::Text("8.9.7.29+cuda12".into()))
        );
        let nested = value(
            LINUX,
            &[("PYTHONPATH", &["/store/.cudnnm/preludes/1", "/mine"])],
            "PYTHONPATH",
        );
        assert_eq!(nested, paths(&["/store/.cudnnm/preludes/1", "/mine"]));
    }
}
