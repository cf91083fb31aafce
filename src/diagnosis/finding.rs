//! What a diagnosis says.

use std::fmt;

use serde::Serialize;

use crate::selection::shell_word;

/// The kinds of trouble that have a name of their own. Their text form is public interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// The processor or system a file was built for is not this one.
    Arch,
    /// A 32-bit file or program where a 64-bit one is needed.
    Bitness,
    /// A program was built or configured without finding cuDNN, or against another one.
    Build,
    /// Built with one cuDNN, running with another, in a way that works.
    BuildRuntimeDiff,
    /// A framework carries a cuDNN of its own and will use that one.
    Bundled,
    /// A download is not what its digest says.
    Checksum,
    /// Something that only happens in containers.
    Container,
    /// A file that is cut short or not what its name says.
    Corrupt,
    /// The disk (or the memory behind it) is full.
    Disk,
    /// A download that failed or brought something else.
    Download,
    /// The NVIDIA driver.
    Driver,
    /// Console text in another encoding than UTF-8.
    Encoding,
    /// A variable such as `CUDA_PATH` holds what it can't hold.
    EnvVar,
    /// The consequence of another message.
    FollowUp,
    /// A framework that can't use this cuDNN or any.
    Framework,
    /// A GPU that this cuDNN does not support.
    GpuArch,
    /// A header of one version, a library of another.
    Header,
    /// The folder on the search path is a level too high.
    Layout,
    /// A library folder for one program that leaks into all.
    Leak,
    /// A path that Windows programs can't open.
    LongPath,
    /// The wanted major version is not the one that is there.
    Major,
    /// Sub-libraries of different versions in one process.
    Mixed,
    /// No wheel for this platform.
    NoWheel,
    /// Nowhere on the search path.
    NotFound,
    /// Characters in a path that break loading.
    PathChars,
    /// The search path is malformed.
    PathSyntax,
    /// Missing rights.
    Perm,
    /// Python's own rules for finding DLLs.
    PyDll,
    /// A file under another version's name.
    Renamed,
    /// A copy earlier in the search order hides the right one.
    Shadow,
    /// The output of `nvidia-smi` is of a form we do not know.
    SmiFormat,
    /// A process with an old copy of the environment.
    StaleEnv,
    /// Links that are missing, broken or turned into files.
    SymLink,
    /// A copy in the Windows system folder.
    System32,
    /// A message that several causes lead to.
    Unknown,
    /// A number of cuDNN 9 that an old program reads wrongly.
    VersionFmt,
    /// Older than the program was built for.
    VersionLow,
    /// Something that only happens in the Windows Subsystem for Linux.
    Wsl,
    /// zlibwapi.dll, which some cuDNN 8 builds for Windows need.
    Zlib,
}

impl Code {
    /// Every code with its text form.
    pub const ALL: [(Self, &'static str); 39] = [
        (Self::Arch, "ARCH"),
        (Self::Bitness, "BITNESS"),
        (Self::Build, "BUILD"),
        (Self::BuildRuntimeDiff, "BUILD-RUNTIME-DIFF"),
        (Self::Bundled, "BUNDLED"),
        (Self::Checksum, "CHECKSUM"),
        (Self::Container, "CONTAINER"),
        (Self::Corrupt, "CORRUPT"),
        (Self::Disk, "DISK"),
        (Self::Download, "DOWNLOAD"),
        (Self::Driver, "DRIVER"),
        (Self::Encoding, "ENCODING"),
        (Self::EnvVar, "ENVVAR"),
        (Self::FollowUp, "FOLLOWUP"),
        (Self::Framework, "FRAMEWORK"),
        (Self::GpuArch, "GPUARCH"),
        (Self::Header, "HEADER"),
        (Self::Layout, "LAYOUT"),
        (Self::Leak, "LEAK"),
        (Self::LongPath, "LONGPATH"),
        (Self::Major, "MAJOR"),
        (Self::Mixed, "MIXED"),
        (Self::NoWheel, "NOWHEEL"),
        (Self::NotFound, "NOT-FOUND"),
        (Self::PathChars, "PATHCHARS"),
        (Self::PathSyntax, "PATHSYNTAX"),
        (Self::Perm, "PERM"),
        (Self::PyDll, "PYDLL"),
        (Self::Renamed, "RENAMED"),
        (Self::Shadow, "SHADOW"),
        (Self::SmiFormat, "SMIFORMAT"),
        (Self::StaleEnv, "STALEENV"),
        (Self::SymLink, "SYMLINK"),
        (Self::System32, "SYSTEM32"),
        (Self::Unknown, "UNKNOWN"),
        (Self::VersionFmt, "VERSIONFMT"),
        (Self::VersionLow, "VERSION-LOW"),
        (Self::Wsl, "WSL"),
        (Self::Zlib, "ZLIB"),
    ];

    /// The text form.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(code, _)| *code == self)
            .map_or("UNKNOWN", |(_, name)| name)
    }

    /// The code of a text form.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(_, text)| *text == name)
            .map(|(code, _)| *code)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> serde::Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| serde::de::Error::custom(format!("no code `{name}`")))
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It does not work, or it is about to fail.
    Fail,
    /// It works here and now, but will hurt.
    Warn,
    /// Looks like trouble and is none.
    Ok,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::Ok => "ok",
        })
    }
}

/// How sure we are that a finding is the cause of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Facts beside the message show it, or the message says it in so many words.
    Certain,
    /// The message alone mostly means this.
    Likely,
    /// One of several things that the message may mean.
    Possible,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What kind of trouble.
    pub code: Code,
    /// How bad.
    pub level: Level,
    /// What is so, in one sentence.
    pub what: String,
    /// Why that is trouble, and how it is known.
    pub why: String,
    /// What to do, one step an entry; most are commands.
    pub fix: Vec<String>,
    /// How sure.
    #[serde(skip)]
    pub certainty: Certainty,
    /// An alternative to another finding about the same message; told after it.
    #[serde(skip)]
    pub second: bool,
    /// The messages (positions in [`super::facts::Facts::signs`]) that it accounts for.
    #[serde(skip)]
    pub explains: Vec<usize>,
}

impl Finding {
    /// A certain finding of that level, to be filled by the other methods.
    pub fn new(code: Code, level: Level, what: impl Into<String>) -> Self {
        Self {
            code,
            level,
            what: what.into(),
            why: String::new(),
            fix: Vec::new(),
            certainty: Certainty::Certain,
            second: false,
            explains: Vec::new(),
        }
    }

    /// It does not work.
    pub fn fail(code: Code, what: impl Into<String>) -> Self {
        Self::new(code, Level::Fail, what)
    }

    /// It will hurt.
    pub fn warn(code: Code, what: impl Into<String>) -> Self {
        Self::new(code, Level::Warn, what)
    }

    /// No trouble.
    pub fn ok(code: Code, what: impl Into<String>) -> Self {
        Self::new(code, Level::Ok, what)
    }

    /// With its reason.
    #[must_use]
    pub fn why(mut self, why: impl Into<String>) -> Self {
        self.why = why.into();
        self
    }

    /// With one more step that helps.
    #[must_use]
    pub fn fix(mut self, step: impl Into<String>) -> Self {
        self.fix.push(step.into());
        self
    }

    /// With the steps that bring a cuDNN and select it: `spec` is what to type.
    ///
    /// NVIDIA gives out versions before 7 behind a login only, so those come from an archive that a person has.
    #[must_use]
    pub fn fix_by_version(self, spec: &str, major: u32) -> Self {
        let word = shell_word(spec);
        let install = if major < 7 {
            format!(
                "cudnnm install --from FILE    # an archive of cuDNN {major} that you have: NVIDIA gives it out behind a login only"
            )
        } else {
            format!("cudnnm install {word}")
        };
        self.fix(install).fix(format!(
            "cudnnm use {word}    # then start the program with: cudnnm exec PROGRAM"
        ))
    }

    /// As one of several possible causes, or the usual one.
    #[must_use]
    pub fn certainty(mut self, certainty: Certainty) -> Self {
        self.certainty = certainty;
        self
    }

    /// As the other thing that a message may mean.
    #[must_use]
    pub fn second(mut self) -> Self {
        self.certainty = Certainty::Possible;
        self.second = true;
        self
    }

    /// As the cause of these messages.
    #[must_use]
    pub fn explains(mut self, signs: impl IntoIterator<Item = usize>) -> Self {
        self.explains.extend(signs);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_name_and_reads_back() {
        for (code, name) in Code::ALL {
            assert_eq!(code.name(), name);
            assert_eq!(Code::from_name(name), Some(code));
        }
        let mut names: Vec<_> = Code::ALL.map(|(_, name)| name).to_vec();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
    }
}
