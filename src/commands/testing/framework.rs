//! Layer 2 in a framework: what it loads for its first convolution, by itself and as `exec` starts it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::Error;
use crate::probe::files::is_cudnn;
use crate::probe::run_to_end;
use crate::process;
use crate::version::{BuildId, CudnnVersion};

use super::files::Libraries;
use super::{Findings, Layer};

/// The frameworks that can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Framework {
    /// PyTorch
    Torch,
    /// TensorFlow
    Tensorflow,
    /// ONNX Runtime
    Onnxruntime,
    /// JAX
    Jax,
    /// `CuPy`
    Cupy,
    /// `CTranslate2`, as faster-whisper uses it
    Ctranslate2,
}

impl Framework {
    /// The name of its Python module.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Torch => "torch",
            Self::Tensorflow => "tensorflow",
            Self::Onnxruntime => "onnxruntime",
            Self::Jax => "jax",
            Self::Cupy => "cupy",
            Self::Ctranslate2 => "ctranslate2",
        }
    }
}

const SCRIPT: &str = include_str!("framework.py");
const MARK: &str = "CUDNNM-RESULT ";

/// What the script tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Told {
    /// The interpreter.
    pub python: String,
    /// The framework's version.
    pub version: Option<String>,
    /// What the framework says of its cuDNN.
    pub says: Option<serde_json::Value>,
    /// What the dispatcher in the process answers.
    pub answers: Option<u64>,
    /// Where the convolution ran.
    pub convolution: Option<String>,
    /// Why it did not.
    pub trouble: Option<String>,
    /// Whether that is no failure.
    #[serde(default)]
    pub not_run: bool,
    /// The cuDNN files in the process.
    pub files: Vec<PathBuf>,
    /// The framework's own times, in milliseconds.
    pub times: std::collections::BTreeMap<String, f64>,
}

/// One run of the script.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Run {
    /// What it told.
    pub told: Option<Told>,
    /// Why it told nothing.
    pub trouble: Option<String>,
    /// What was used.
    pub used: Used,
    /// The sentence that matters.
    pub sentence: String,
}

/// Whose cuDNN a framework used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Used {
    /// The active build and nothing else.
    Active,
    /// Another one.
    Other,
    /// Parts of both.
    Mixed,
    /// None.
    Nothing,
}

/// The user's interpreter: as named, else `python3` or `python` as a shell would find it.
///
/// # Errors
///
/// When there is none.
pub fn python(ctx: &Context, named: Option<&Path>) -> Result<PathBuf, Error> {
    let path = ctx.env.var("PATH");
    if let Some(named) = named {
        return Ok(process::find_program(named.as_os_str(), path, &ctx.cwd)?);
    }
    let names: [&str; 2] = if cfg!(windows) {
        ["python", "python3"]
    } else {
        ["python3", "python"]
    };
    process::find_program(OsStr::new(names[0]), path, &ctx.cwd)
        .or_else(|error| {
            process::find_program(OsStr::new(names[1]), path, &ctx.cwd).map_err(|_| error)
        })
        .map_err(Error::from)
}

/// Runs the script with these variables beside the present ones.
pub fn run(
    ctx: &Context,
    framework: Framework,
    python: &Path,
    set: &[(OsString, OsString)],
    build: &BuildId,
    libraries: &Libraries,
    limit: Duration,
) -> Run {
    let mut command = Command::new(python);
    command
        .args(["-c", SCRIPT, framework.name()])
        .envs(set.iter().map(|(name, value)| (name, value)))
        .current_dir(&ctx.cwd);
    let ended = run_to_end(command, limit);
    let told = ended.stdout.lines().find_map(|line| {
        let json = line.strip_prefix(MARK)?;
        serde_json::from_str::<Told>(json).ok()
    });
    let trouble = told.is_none().then(|| {
        let words = ended
            .stderr
            .lines()
            .rfind(|line| !line.trim().is_empty())
            .map(|line| format!(": {}", line.trim()));
        format!("{}{}", ended.how, words.unwrap_or_default())
    });
    judge(framework, told, trouble, build, libraries)
}

fn judge(
    framework: Framework,
    told: Option<Told>,
    trouble: Option<String>,
    build: &BuildId,
    libraries: &Libraries,
) -> Run {
    let name = framework.name();
    let Some(found) = &told else {
        let trouble = trouble.unwrap_or_default();
        return Run {
            sentence: format!("{name} told nothing: its Python ended with {trouble}"),
            told,
            trouble: Some(trouble),
            used: Used::Nothing,
        };
    };
    let cudnn: Vec<&PathBuf> = found.files.iter().filter(|file| is_cudnn(file)).collect();
    let (ours, others): (Vec<&PathBuf>, Vec<&PathBuf>) = cudnn.into_iter().partition(|file| {
        dunce::canonicalize(file).is_ok_and(|real| libraries.real.contains(&real))
    });
    let used = match (ours.is_empty(), others.is_empty()) {
        (true, true) => Used::Nothing,
        (false, true) => Used::Active,
        (true, false) => Used::Other,
        (false, false) => Used::Mixed,
    };
    let active = build.version.label();
    let answer = found
        .answers
        .and_then(CudnnVersion::from_encoded)
        .map_or("an unknown cuDNN".to_owned(), |version| version.label());
    let folder = |files: &[&PathBuf]| {
        let folder = files.first().and_then(|file| file.parent());
        folder.map(Path::to_owned).unwrap_or_default()
    };
    let mut sentence = match used {
        Used::Nothing => format!("{name} loaded no cuDNN"),
        Used::Active => format!(
            "{name} used the active {active} from {}",
            folder(&ours).display()
        ),
        Used::Other => {
            let folder = folder(&others);
            let whose = if is_bundled(&folder) {
                format!("its own {answer} in site-packages")
            } else {
                answer
            };
            format!(
                "{name} used {whose}, not the active {active}: {}",
                folder.display()
            )
        }
        Used::Mixed => format!(
            "{name} mixed two cuDNNs: the active {active}, and {} from {}",
            names(&others),
            folder(&others).display()
        ),
    };
    match (&found.convolution, &found.trouble) {
        (Some(_), None) => sentence += "; its convolution ran on the GPU",
        (Some(_), Some(trouble)) => sentence += &format!("; a convolution ran, then {trouble}"),
        (None, Some(trouble)) if found.not_run => {
            sentence += &format!("; no convolution: {trouble}")
        }
        (None, Some(trouble)) => sentence += &format!("; its convolution failed: {trouble}"),
        (None, None) => sentence += "; no convolution was run",
    }
    Run {
        told,
        trouble,
        used,
        sentence,
    }
}

fn is_bundled(folder: &Path) -> bool {
    folder.components().any(|part| {
        matches!(
            part.as_os_str().to_str(),
            Some("site-packages" | "dist-packages")
        )
    })
}

fn names(files: &[&PathBuf]) -> String {
    let names: Vec<String> = files
        .iter()
        .filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()))
        .collect();
    names.join(", ")
}

/// Both runs as a layer: by itself it may do what it likes; under `exec` it must use the active build.
pub fn layer(framework: Framework, alone: &Run, under_exec: &Run) -> Layer {
    let mut findings = Findings::default();
    findings.note(format!("by itself: {}", alone.sentence));
    let text = format!("under exec: {}", under_exec.sentence);
    let told = under_exec.told.as_ref();
    let failed = told.is_none_or(|told| told.trouble.is_some() && !told.not_run);
    match under_exec.used {
        _ if failed => findings.fail(text, None),
        Used::Other | Used::Mixed => findings.fail(text, None),
        Used::Nothing => findings.not_run(text, None),
        Used::Active if told.is_some_and(|told| told.convolution.is_none()) => {
            findings.not_run(text, None);
        }
        Used::Active => findings.note(text),
    }
    let version = told
        .and_then(|told| told.version.clone())
        .map(|version| format!(" {version}"))
        .unwrap_or_default();
    findings.layer(format!("{}{version}", framework.name()))
}
