//! A person's machine in a temporary folder.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A store, a home and a project folder; everything vanishes with it.
pub struct Sandbox {
    temp: TempDir,
    store: PathBuf,
    variables: Vec<(OsString, OsString)>,
}

/// What one run of the program said.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Sandbox {
    /// With a store path that has a blank, brackets and Chinese in it, as users have.
    pub fn new() -> Self {
        let temp = tempfile::Builder::new()
            .prefix("cudnnm 测试 [x] ")
            .tempdir()
            .expect("a temporary folder");
        let store = temp.path().join("ai-libs 库 🧪");
        let sandbox = Self {
            store,
            temp,
            variables: Vec::new(),
        };
        fs::create_dir_all(sandbox.home()).unwrap();
        fs::create_dir_all(sandbox.project()).unwrap();
        sandbox
    }

    /// Where the store is (it need not exist yet).
    pub fn store(&self) -> &Path {
        &self.store
    }

    /// The folder commands start in.
    pub fn project(&self) -> PathBuf {
        self.temp.path().join("project")
    }

    pub fn home(&self) -> PathBuf {
        self.temp.path().join("home")
    }

    /// A path in the sandbox, outside store, home and project.
    pub fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// Sets a variable for all further runs.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.variables.push((name.into(), value.into()));
    }

    /// The program, ready to run in the project folder.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnnm"));
        self.clean(&mut command);
        command
    }

    /// Gives any command the sandbox's folder and variables.
    pub fn clean(&self, command: &mut Command) {
        command
            .current_dir(self.project())
            .env_clear()
            .stdin(Stdio::null());
        // What programs need to start at all; nothing that could lead out of the sandbox.
        for name in [
            "PATH",
            "SystemRoot",
            "TEMP",
            "TMP",
            "WINEPREFIX",
            "WINEDEBUG",
        ] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("HOME", self.home())
            .env("USERPROFILE", self.home())
            .env("CUDNNM_ROOT", &self.store)
            // A machine without CUDA, whatever this one has.
            .env("CUDNNM_CUDA_DRIVER", "none")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
    }

    /// Runs the program in the project folder.
    pub fn cudnnm<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Run {
        self.cudnnm_in(&self.project(), args)
    }

    /// Runs the program in a folder of choice.
    pub fn cudnnm_in<A: AsRef<OsStr>>(
        &self,
        folder: &Path,
        args: impl IntoIterator<Item = A>,
    ) -> Run {
        let mut command = self.command();
        command.current_dir(folder).args(args);
        run(&mut command)
    }

    /// Every path below the store, sorted, with `/`; to show that a failed command left it as it was.
    pub fn store_listing(&self) -> Vec<String> {
        let mut found = Vec::new();
        walk(&self.store, &self.store, &mut found);
        found.sort();
        found
    }
}

/// Runs a command to its end and collects what it said.
pub fn run(command: &mut Command) -> Run {
    let output = command.output().expect("the program starts");
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Run {
    /// The run, if it ended well; panics with all it said otherwise.
    #[track_caller]
    pub fn success(self) -> Self {
        self.exits(0)
    }

    /// The run, if it ended with this code; panics with all it said otherwise.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "\nstdout:\n{}\nstderr:\n{}",
            self.stdout, self.stderr
        );
        self
    }

    /// The run, if stderr holds each text; panics otherwise.
    #[track_caller]
    pub fn says(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(
                self.stderr.contains(text),
                "stderr lacks {text:?}:\n{}",
                self.stderr
            );
        }
        self
    }
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path
            .strip_prefix(root)
            .unwrap()
            .to_string_lossy()
            .replace('\\', "/");
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        found.push(name);
        if is_folder {
            walk(root, &path, found);
        }
    }
}
