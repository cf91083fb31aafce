//! What a child process is told so that it finds exactly the active build.
//!
//! Pure: the build's folder, its companions and the present values come in, the changes come out. Lists stay lists
//! here; `process` joins them, because a separator inside a path can only be refused there.
//!
//! Our folders come first. Empty elements are dropped (an empty element of `LD_LIBRARY_PATH` is the current folder, a
//! way to load anything), doubled ones too, and so is every other build of our own store: after a nested `exec` only
//! the innermost build may be found.

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
        let mut elements = ours.to_vec();
        for element in present {
            let foreign = !element.starts_with(self.store);
            if !element.as_os_str().is_empty() && foreign && !elements.contains(&element) {
                elements.push(element);
            }
        }
        elements
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
