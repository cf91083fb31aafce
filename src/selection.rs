//! Which build is in force here, and why.
//!
//! Pure: the flag, the variable, the project file and the default come in as values, the answer carries its reason.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::error::{Exit, Failure};
use crate::project::ProjectFile;
use crate::version::{BuildId, CudaVersion, CudnnVersion, Flavour, ParseError, VersionSpec};

/// The variable that overrules project files.
pub const VARIABLE: &str = "CUDNNM_VERSION";

/// Where a wish came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Reason {
    /// `--cudnn` on the command line.
    Flag,
    /// The variable [`VARIABLE`].
    Variable,
    /// A `.cudnn-version` file.
    Project {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// `cudnnm use --global`.
    Default,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("the flag --cudnn"),
            Self::Variable => write!(f, "the variable {VARIABLE}"),
            Self::Project { path, line } => write!(f, "{}, line {line}", path.display()),
            Self::Default => f.write_str("the global default"),
        }
    }
}

/// A spec and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// What is wanted.
    pub spec: VersionSpec,
    /// Who wants it.
    pub reason: Reason,
}

/// All that can express a wish, strongest first.
#[derive(Debug, Default)]
pub struct Inputs<'a> {
    /// `--cudnn`.
    pub flag: Option<&'a VersionSpec>,
    /// The value of [`VARIABLE`], if set and not empty.
    pub variable: Option<&'a str>,
    /// The nearest project file.
    pub project: Option<&'a ProjectFile>,
    /// The global default.
    pub default: Option<&'a VersionSpec>,
}

/// No build could be selected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No wish anywhere.
    #[error("no cuDNN is selected here")]
    NothingSelected,
    /// The variable holds no spec.
    #[error("the variable {VARIABLE} does not name a cuDNN version")]
    BadVariable(#[source] ParseError),
    /// Nothing installed matches.
    #[error("cuDNN {spec} is not installed (wanted by {reason})")]
    NotInstalled {
        /// What is wanted.
        spec: VersionSpec,
        /// Who wants it.
        reason: Reason,
        /// What is installed instead, newest first.
        installed: Vec<BuildId>,
    },
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::NothingSelected | Self::NotInstalled { .. } => Exit::NotInstalled,
            Self::BadVariable(_) => Exit::Usage,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::NothingSelected => vec![
                "for this project: cudnnm use VERSION".to_owned(),
                "for all projects: cudnnm use --global VERSION".to_owned(),
            ],
            Self::BadVariable(_) => vec![format!(
                "unset {VARIABLE}, or set it to a version like 8.2.1"
            )],
            Self::NotInstalled {
                spec, installed, ..
            } => {
                let mut hints = vec![format!("cudnnm install {}", shell_word(&spec.to_string()))];
                if !installed.is_empty() {
                    let names: Vec<String> =
                        installed.iter().take(5).map(BuildId::to_string).collect();
                    hints.push(format!("installed here: {}", names.join(", ")));
                }
                hints
            }
        }
    }
}

/// The strongest wish.
///
/// # Errors
///
/// When there is none, or the variable holds no spec.
pub fn wish(inputs: &Inputs) -> Result<Wish, Error> {
    if let Some(spec) = inputs.flag {
        return Ok(Wish {
            spec: spec.clone(),
            reason: Reason::Flag,
        });
    }
    if let Some(text) = inputs.variable {
        let spec = text.parse().map_err(Error::BadVariable)?;
        return Ok(Wish {
            spec,
            reason: Reason::Variable,
        });
    }
    if let Some(project) = inputs.project {
        let reason = Reason::Project {
            path: project.path.clone(),
            line: project.line,
        };
        return Ok(Wish {
            spec: project.spec.clone(),
            reason,
        });
    }
    match inputs.default {
        Some(spec) => Ok(Wish {
            spec: spec.clone(),
            reason: Reason::Default,
        }),
        None => Err(Error::NothingSelected),
    }
}

/// The CUDA of this machine, as far as a choice of variant needs it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachineCuda {
    /// The toolkit that is found first.
    pub toolkit: Option<CudaVersion>,
    /// The newest CUDA the driver can run.
    pub driver: Option<CudaVersion>,
}

/// What a choice looks at: installed builds by their names, published ones with what their manifest adds.
pub trait Candidate {
    /// Which build it is.
    fn build(&self) -> BuildId;

    /// The toolkits it is documented for, both ends included; `None` where only its variant tells.
    fn toolkits(&self) -> Option<[CudaVersion; 2]>;
}

impl Candidate for BuildId {
    fn build(&self) -> BuildId {
        *self
    }

    /// NVIDIA's support matrices: up to 8.0 there is an archive for each toolkit, from 8.1 the one named after the
    /// newest CUDA 11 serves 11.0 up to it.
    fn toolkits(&self) -> Option<[CudaVersion; 2]> {
        let variant = self.variant?;
        let shared = variant.major >= 11 && (self.version.major, self.version.minor) >= (8, 1);
        (shared && variant.minor.is_some()).then_some([CudaVersion::new(variant.major, 0), variant])
    }
}

/// The builds of the newest release that `spec` matches: one, or several variants and flavours of it.
///
/// A release is three numbers: 9.15.0 is build 57 for CUDA 12 and build 58 for CUDA 13.
pub fn newest_matching<'a, C: Candidate>(spec: &VersionSpec, candidates: &'a [C]) -> Vec<&'a C> {
    let matching: Vec<&C> = candidates
        .iter()
        .filter(|candidate| spec.matches(&candidate.build()))
        .collect();
    let Some(newest) = matching
        .iter()
        .map(|candidate| candidate.build().version)
        .max()
    else {
        return Vec::new();
    };
    matching
        .into_iter()
        .filter(|candidate| candidate.build().version.same_release(newest))
        .collect()
}

/// Of several builds of one release, the one that fits this machine, with the reason in words for a person.
///
/// The variant comes first (the toolkit's CUDA, else the newest that the driver can run, else the newest of all),
/// then `full` before `jit`, then the newest build; the first of equals. `None` only for no candidates.
pub fn fitting<'a, C: Candidate>(
    candidates: &[&'a C],
    cuda: MachineCuda,
) -> Option<(&'a C, String)> {
    let best = |filter: &dyn Fn(&C, CudaVersion) -> bool| {
        candidates
            .iter()
            .copied()
            .filter(|candidate| {
                candidate
                    .build()
                    .variant
                    .is_some_and(|variant| filter(candidate, variant))
            })
            .rev()
            .max_by_key(|candidate| preference(&candidate.build()))
    };
    if let Some(toolkit) = cuda.toolkit {
        let documented = best(&|candidate, variant| match candidate.toolkits() {
            Some([first, last]) => {
                first <= toolkit && (toolkit <= last || last == CudaVersion::major(toolkit.major))
            }
            None => toolkit.agrees_with(variant),
        });
        if let Some(candidate) = documented {
            return Some((candidate, format!("the CUDA {toolkit} toolkit is here")));
        }
        // A build for an older minor of the same major runs with this toolkit (11.3 with 11.7).
        let major = best(&|_, variant| variant.major == toolkit.major && variant <= toolkit);
        if let Some(candidate) = major {
            return Some((
                candidate,
                format!(
                    "newest for CUDA {} that is not newer than the toolkit, {toolkit}",
                    toolkit.major
                ),
            ));
        }
    }
    if let Some(driver) = cuda.driver {
        // From CUDA 11 on a driver runs every minor of its major ("minor version compatibility").
        let runnable = best(&|_, variant| {
            variant.major < driver.major
                || (variant.major == driver.major
                    && (variant.major >= 11 || variant.minor <= driver.minor))
        });
        if let Some(candidate) = runnable {
            return Some((candidate, format!("the driver runs CUDA up to {driver}")));
        }
    }
    let newest = candidates
        .iter()
        .copied()
        .rev()
        .max_by_key(|candidate| preference(&candidate.build()))?;
    let reason = match (cuda.toolkit, cuda.driver) {
        (None, None) => "no CUDA toolkit and no driver was found here, so the newest".to_owned(),
        _ => "none fits the CUDA found here, so the newest".to_owned(),
    };
    Some((newest, reason))
}

fn preference(
    build: &BuildId,
) -> (
    Option<CudaVersion>,
    std::cmp::Reverse<Flavour>,
    CudnnVersion,
) {
    (
        build.variant,
        std::cmp::Reverse(build.flavour),
        build.version,
    )
}

/// A word as a shell needs it: `>=8.5,<9` would redirect without quotes.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-/=,:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("\"{text}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builds(folders: &[&str]) -> Vec<BuildId> {
        folders
            .iter()
            .map(|name| BuildId::from_folder(name).unwrap())
            .collect()
    }

    #[test]
    fn precedence_is_flag_variable_project_default() {
        let spec = |text: &str| text.parse::<VersionSpec>().unwrap();
        let (flag, default) = (spec("1"), spec("4"));
        let project = ProjectFile {
            path: "p".into(),
            line: 3,
            spec: spec("3"),
            sha256: None,
        };
        let mut inputs = Inputs {
            flag: Some(&flag),
            variable: Some("2"),
            project: Some(&project),
            default: Some(&default),
        };
        let chosen = |inputs: &Inputs| {
            wish(inputs)
                .map(|wish| (wish.spec.to_string(), wish.reason.to_string()))
                .ok()
        };
        assert_eq!(
            chosen(&inputs),
            Some(("1".into(), "the flag --cudnn".into()))
        );
        inputs.flag = None;
        assert_eq!(
            chosen(&inputs),
            Some(("2".into(), "the variable CUDNNM_VERSION".into()))
        );
        inputs.variable = None;
        assert_eq!(chosen(&inputs), Some(("3".into(), "p, line 3".into())));
        inputs.project = None;
        assert_eq!(
            chosen(&inputs),
            Some(("4".into(), "the global default".into()))
        );
        inputs.default = None;
        assert!(matches!(wish(&inputs), Err(Error::NothingSelected)));
        assert!(matches!(
            wish(&Inputs {
                variable: Some("new"),
                ..inputs
            }),
            Err(Error::BadVariable(_))
        ));
    }

    #[test]
    fn the_variant_that_fits_the_machine_is_taken() {
        let old = ["cudnn-8.2.1.32-cuda10.2", "cudnn-8.2.1.32-cuda11.3"];
        let new = [
            "cudnn-9.19.0.56-cuda12",
            "cudnn-9.19.0.56-cuda13",
            "cudnn-9.19.0.56-cuda13-jit",
        ];
        let split = ["cudnn-9.15.0.57-cuda12", "cudnn-9.15.0.58-cuda13"];
        let single = ["cudnn-8.0.5.39-cuda11.0", "cudnn-8.0.5.39-cuda11.1"];
        type Case<'a> = (&'a [&'a str], Option<&'a str>, Option<&'a str>, &'a str);
        let cases: [Case; 14] = [
            (&old, Some("11.0"), None, "8.2.1.32+cuda11.3"),
            (&old, None, Some("11.1"), "8.2.1.32+cuda11.3"),
            (&single, Some("11.0"), None, "8.0.5.39+cuda11.0"),
            (&split, Some("12.6"), None, "9.15.0.57+cuda12"),
            (&split, Some("13.0"), None, "9.15.0.58+cuda13"),
            (&old, Some("11.3"), None, "8.2.1.32+cuda11.3"),
            (&old, Some("10.2"), None, "8.2.1.32+cuda10.2"),
            (&old, Some("11.7"), None, "8.2.1.32+cuda11.3"),
            (&old, None, Some("10.2"), "8.2.1.32+cuda10.2"),
            (&old, None, None, "8.2.1.32+cuda11.3"),
            (&new, Some("12.6"), Some("13.0"), "9.19.0.56+cuda12"),
            (&new, None, Some("12.8"), "9.19.0.56+cuda12"),
            (&new, None, Some("13.0"), "9.19.0.56+cuda13"),
            (&new, Some("11.8"), Some("12.2"), "9.19.0.56+cuda12"),
        ];
        for (folders, toolkit, driver, expected) in cases {
            let builds = builds(folders);
            let candidates = newest_matching(&VersionSpec::latest(), &builds);
            let parse = |text: Option<&str>| text.map(|text| text.parse().unwrap());
            let cuda = MachineCuda {
                toolkit: parse(toolkit),
                driver: parse(driver),
            };
            let (chosen, _) = fitting(&candidates, cuda).unwrap();
            assert_eq!(
                chosen.to_string(),
                expected,
                "toolkit {toolkit:?}, driver {driver:?}"
            );
        }
    }
}
