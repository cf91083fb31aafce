//! What a file of a saved folder is.

use super::super::facts::{Content, View};
use super::super::library;

/// What a file was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Smi,
    Nvcc,
    Header,
    Table,
    Pip,
    Requirements,
    Conda,
    Env,
    Ldconfig,
    Loaded,
    Disks,
    Path,
    Where,
    Listing,
    Framework,
    Python,
    Uname,
    Log,
}

impl Kind {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Smi => "nvidia-smi",
            Self::Nvcc => "nvcc",
            Self::Header => "header",
            Self::Table => "table",
            Self::Pip => "pip",
            Self::Requirements => "requirements",
            Self::Conda => "conda",
            Self::Env => "environment",
            Self::Ldconfig => "ldconfig",
            Self::Loaded => "loaded libraries",
            Self::Disks => "disks",
            Self::Path => "search path",
            Self::Where => "where",
            Self::Listing => "listing",
            Self::Framework => "framework",
            Self::Python => "python",
            Self::Uname => "system",
            Self::Log => "messages",
        }
    }
}

pub fn is_binary(lower: &str, content: &Content) -> bool {
    let base = library::base_name(lower);
    let by_name = base.ends_with(".dll")
        || base.ends_with(".lib")
        || base.ends_with(".a")
        || base.ends_with(".whl")
        || base.ends_with(".zip")
        || base.ends_with(".7z")
        || base.ends_with(".rar")
        || base.ends_with(".tgz")
        || base.ends_with(".conda")
        || base.contains(".tar.")
        || base.ends_with(".so")
        || base.contains(".so.");
    let text_after_all = base.ends_with(".txt") || base.ends_with(".csv") || base.ends_with(".h");
    match content {
        Content::Pe(_)
        | Content::Elf(_)
        | Content::CutShort(_)
        | Content::Zip
        | Content::ZipCutShort
        | Content::Compressed(_) => true,
        _ => by_name && !text_after_all,
    }
}

/// What a text is, by its name where that is plain, else by its content.
pub fn kind_of(lower: &str, text: &str) -> Kind {
    let base = library::base_name(lower);
    let says = |words: &[&str]| words.iter().any(|word| base.contains(word));
    let begins = |words: &[&str]| words.iter().any(|word| base.starts_with(word));
    if base.ends_with(".h") || text.contains("#define CUDNN_MAJOR") {
        return Kind::Header;
    }
    if base.ends_with(".csv") {
        return Kind::Table;
    }
    let table = [
        (
            says(&["nvidia-smi", "nvidia_smi", "smi."]) || begins(&["smi"]),
            Kind::Smi,
        ),
        (says(&["nvcc"]), Kind::Nvcc),
        (says(&["requirement", "constraints"]), Kind::Requirements),
        (
            says(&["conda-list", "conda_list", "conda."]) || begins(&["conda"]),
            Kind::Conda,
        ),
        (
            says(&["freeze", "pip-list", "pip_list"]) || begins(&["pip."]),
            Kind::Pip,
        ),
        (says(&["ldconfig"]) && text.contains(" => "), Kind::Ldconfig),
        (
            says(&[
                "ld-debug", "ld_debug", "maps", "ldd", "loaded", "modules", "lsof",
            ]),
            Kind::Loaded,
        ),
        (begins(&["df.", "df-", "disk"]), Kind::Disks),
        (
            begins(&["env.", "env-", "environment", "printenv", "set."]),
            Kind::Env,
        ),
        (begins(&["where.", "where-", "which."]), Kind::Where),
        (
            begins(&["path", "ld-library-path", "ld_library_path"]),
            Kind::Path,
        ),
        (
            says(&["listing", "present-files", "files."])
                || begins(&["ls.", "ls-", "dir.", "dir-", "tree", "find."]),
            Kind::Listing,
        ),
        (
            begins(&["python.", "python-version", "architecture"]),
            Kind::Python,
        ),
        (
            begins(&[
                "torch.",
                "pytorch.",
                "tensorflow.",
                "tf.",
                "jax.",
                "onnxruntime.",
            ]),
            Kind::Framework,
        ),
        (
            begins(&[
                "uname",
                "systeminfo",
                "os-release",
                "proc-version",
                "ver.",
                "system.",
            ]),
            Kind::Uname,
        ),
        (
            says(&["error", "log", "stderr", "traceback", "output", "message"]),
            Kind::Log,
        ),
    ];
    if let Some((_, kind)) = table.into_iter().find(|(holds, _)| *holds) {
        return kind;
    }
    by_content(text)
}

fn by_content(text: &str) -> Kind {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let most = |test: &dyn Fn(&str) -> bool| {
        !lines.is_empty() && lines.iter().filter(|line| test(line)).count() * 2 > lines.len()
    };
    if text.contains("NVIDIA-SMI") {
        Kind::Smi
    } else if text.contains("Cuda compilation tools") {
        Kind::Nvcc
    } else if text.contains("calling init: ") {
        Kind::Loaded
    } else if most(&|line| line.contains(" => /")) {
        Kind::Ldconfig
    } else if most(&|line| line.contains("==") && !line.contains(' ')) {
        Kind::Pip
    } else if text.contains("# packages in environment at") {
        Kind::Conda
    } else if most(&|line| {
        line.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    }) {
        Kind::Env
    } else if most(&|line| {
        let lower = line.trim().to_ascii_lowercase();
        !lower.contains(": ") && (lower.ends_with(".dll") || lower.contains(".so"))
    }) {
        Kind::Listing
    } else if lines.len() == 1 && (lines[0].matches(";C:\\").count() > 1) {
        Kind::Path
    } else {
        Kind::Log
    }
}

/// Whose environment a file shows, by words in its name.
pub fn view_of(lower: &str) -> View {
    let base = library::base_name(lower);
    let says = |words: &[&str]| {
        base.split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| words.contains(&word))
    };
    if says(&[
        "process", "ide", "pycharm", "vscode", "code", "jupyter", "kernel", "notebook", "child",
        "service", "spyder", "running", "idea", "clion", "daemon", "cron", "sudo",
    ]) {
        View::Process
    } else if says(&[
        "registry", "terminal", "cmd", "shell", "console", "machine", "stored", "new",
    ]) {
        View::Stored
    } else if says(&["before", "old", "backup"]) {
        View::Before
    } else if says(&["after"]) {
        View::After
    } else {
        View::Plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_taken_for_what_it_is() {
        let cases = [
            ("nvidia-smi.txt", "| NVIDIA-SMI 1", Kind::Smi),
            ("out1.txt", "| NVIDIA-SMI 1", Kind::Smi),
            ("a.txt", "torch==2.0\nx==1\n", Kind::Pip),
            ("b.txt", "A=1\nB=2\n", Kind::Env),
            ("c.txt", "cudnn64_8.dll\n", Kind::Listing),
            (
                "d.txt",
                "Traceback (most recent call last):\nImportError: libcudnn.so.8: x\n",
                Kind::Log,
            ),
            ("path-user.txt", "", Kind::Path),
            ("where.cp866.bin", "", Kind::Where),
        ];
        for (name, text, kind) in cases {
            assert_eq!(kind_of(name, text), kind, "{name}");
        }
    }
}
