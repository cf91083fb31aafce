//! `cudnnm compat`: what fits what.

use std::io::Read;
use std::path::PathBuf;

use serde::Serialize;

use super::published;
use crate::compat::{self, Answer, Level, Line, Question, requirements};
use crate::context::Context;
use crate::error::{Error, Exit, IoError};
use crate::manifest::Driver;
use crate::output;
use crate::version::{CudaVersion, Platform, VersionSpec};

/// Tell what fits what: any of driver, GPU, CUDA, cuDNN and framework gives the rest
///
/// Each line is followed by the source of the fact. The exit status is 5 when what is given can't go together.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Args {
    /// A driver's version, like 531.14 or 535.104.05
    #[arg(long, value_name = "VERSION")]
    driver: Option<Driver>,
    /// A GPU's name or compute capability, like "RTX 3060" or 8.6
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// A CUDA version, like 11.3 or 12
    #[arg(long, value_name = "VERSION")]
    cuda: Option<CudaVersion>,
    /// A cuDNN, like 8.2.1 or 9+cuda12
    #[arg(long, value_name = "SPEC")]
    cudnn: Option<VersionSpec>,
    /// A framework's release, like torch==2.4.1
    #[arg(long, value_name = "NAME==VERSION")]
    framework: Option<String>,
    /// Which cuDNN each package of a requirements file or `pip freeze` loads, and the conflicts; `-` is stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["driver", "gpu", "cuda", "cudnn", "framework"])]
    requirements: Option<PathBuf>,
    /// For another platform than this one, like windows-x86_64
    #[arg(long)]
    platform: Option<Platform>,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<T> {
    schema: u32,
    platform: Platform,
    #[serde(flatten)]
    content: T,
}

/// Runs the command.
///
/// # Errors
///
/// When something that is given is not known, or a file can't be read.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let platform = args.platform.unwrap_or(Platform::host());
    match &args.requirements {
        Some(file) => run_requirements(ctx, args, file, platform),
        None => run_question(ctx, args, platform),
    }
}

fn run_question(ctx: &Context, args: &Args, platform: Platform) -> Result<Exit, Error> {
    let facts = published::facts(ctx)?;
    let question = Question {
        driver: args.driver.clone(),
        gpu: args
            .gpu
            .as_deref()
            .map(|name| compat::gpu(name, &facts))
            .transpose()?,
        cuda: args.cuda,
        cudnn: args.cudnn.clone(),
        framework: args
            .framework
            .as_deref()
            .map(|text| compat::packages(text, platform, &facts))
            .transpose()?
            .unwrap_or_default(),
    };
    let answer = compat::answer(&question, platform, &published::releases(ctx)?, &facts);
    let exit = if answer.impossible {
        Exit::Incompatible
    } else {
        Exit::Done
    };
    if args.json {
        ctx.output.json(&Document {
            schema: 1,
            platform,
            content: &answer,
        });
        return Ok(exit);
    }
    for line in lines(&answer) {
        ctx.output.line(line);
    }
    Ok(exit)
}

fn lines(answer: &Answer) -> Vec<String> {
    let mut text = Vec::new();
    let mut sources: Vec<&str> = Vec::new();
    let mut last_about = "";
    for Line {
        about,
        level,
        text: words,
        source,
    } in &answer.lines
    {
        let number = match source.as_str() {
            "" => String::new(),
            source => {
                let known = sources.iter().position(|known| *known == source);
                let index = known.unwrap_or_else(|| {
                    sources.push(source);
                    sources.len() - 1
                });
                format!(" [{}]", index + 1)
            }
        };
        let mark = match level {
            Level::Ok => "",
            Level::Warn => "careful: ",
            Level::Fail => "impossible: ",
        };
        let head = if *about == last_about { "" } else { *about };
        last_about = about;
        text.push(format!("{head:<10} {mark}{words}{number}"));
    }
    if !sources.is_empty() {
        text.push(String::new());
    }
    for (index, source) in sources.iter().enumerate() {
        text.push(format!("[{}] {source}", index + 1));
    }
    text
}

fn run_requirements(
    ctx: &Context,
    args: &Args,
    file: &std::path::Path,
    platform: Platform,
) -> Result<Exit, Error> {
    let bytes = if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(IoError::at("read", std::path::Path::new("standard input")))?;
        bytes
    } else {
        let path = ctx.absolute(file);
        std::fs::read(&path).map_err(IoError::at("read", &path))?
    };
    let report = requirements::read(
        &decoded(&bytes),
        platform,
        &published::releases(ctx)?,
        &published::facts(ctx)?,
    );
    let exit = if report.conflicts.is_empty() {
        Exit::Done
    } else {
        Exit::Incompatible
    };
    if args.json {
        ctx.output.json(&Document {
            schema: 1,
            platform,
            content: &report,
        });
        return Ok(exit);
    }
    let rows: Vec<Vec<String>> = report
        .packages
        .iter()
        .map(|package| {
            vec![
                match &package.version {
                    Some(version) => format!("{} {version}", package.name),
                    None => package.name.clone(),
                },
                match package.cudnn_major {
                    Some(major) => format!("cuDNN {major}"),
                    None => "cuDNN ?".to_owned(),
                },
                match package.cuda_major {
                    Some(major) => format!("CUDA {major}"),
                    None => String::new(),
                },
                package.how.clone(),
            ]
        })
        .collect();
    for line in output::table(&rows) {
        ctx.output.line(line);
    }
    for conflict in &report.conflicts {
        ctx.output.line(format!("conflict: {conflict}"));
    }
    if let Some(build) = &report.build {
        ctx.output
            .line(format!("the newest that serves all: {build}"));
    }
    for note in &report.notes {
        ctx.output.note(note);
    }
    if report.packages.is_empty() {
        ctx.output.note("no package in it loads cuDNN");
    }
    Ok(exit)
}

/// `pip freeze > requirements.txt` in PowerShell writes UTF-16.
fn decoded(bytes: &[u8]) -> String {
    let (encoding, marked) =
        encoding_rs::Encoding::for_bom(bytes).map_or((encoding_rs::UTF_8, 0), |found| found);
    encoding
        .decode_without_bom_handling(&bytes[marked..])
        .0
        .into_owned()
}
