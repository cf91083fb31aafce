//! `cudnnm explain`: what an error message means.

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;

use super::{published, report};
use crate::context::Context;
use crate::diagnosis::facts::{Facts, System};
use crate::diagnosis::finding::Finding;
use crate::diagnosis::saved::{self, SavedFile};
use crate::diagnosis::{self, Reference};
use crate::error::{Error, Exit, IoError};
use crate::host::{self, machine::Look};

/// Say what an error message of cuDNN, a loader or a framework means
///
/// What this machine shows (driver, search path, libraries, packages) is looked at as well.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The message, a file that holds it, or - for standard input (the default)
    text: Option<OsString>,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
///
/// When the file or standard input can't be read.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let bytes = match args.text.as_deref() {
        Some(text) if text != "-" => {
            let path = ctx.absolute(text.as_ref());
            if path.is_file() {
                std::fs::read(&path).map_err(IoError::at("read", &path))?
            } else {
                text.as_encoded_bytes().to_vec()
            }
        }
        _ => {
            let mut bytes = Vec::new();
            std::io::stdin()
                .lock()
                .read_to_end(&mut bytes)
                .map_err(IoError::at("read", "standard input".as_ref()))?;
            bytes
        }
    };
    let message = SavedFile {
        name: "error.txt".to_owned(),
        size: bytes.len() as u64,
        bytes,
    };
    let reference = Reference::new(published::facts(ctx)?);
    let mut facts = saved::facts(&[message], &reference);
    let told = diagnosis::diagnose(&facts);
    let here = if cfg!(windows) {
        System::Windows
    } else {
        System::Linux
    };
    // A message of the other system was not made here, so what lies here says nothing about it.
    let findings =
        if !facts.signs.is_empty() && facts.system.known().is_none_or(|system| *system == here) {
            check_here(ctx, &mut facts, &reference);
            let about_message = |finding: &Finding| {
                !finding.explains.is_empty()
                    || told
                        .iter()
                        .any(|other| other.code == finding.code && other.what == finding.what)
            };
            diagnosis::diagnose(&facts)
                .into_iter()
                .filter(about_message)
                .collect()
        } else {
            told
        };
    Ok(report::tell(
        ctx,
        &facts,
        &findings,
        args.json,
        "no message in this text is one that cudnnm knows",
    ))
}

/// Adds what this machine shows to what the message says.
fn check_here(ctx: &Context, facts: &mut Facts, reference: &Reference) {
    let look = Look {
        env: &ctx.env,
        cwd: &ctx.cwd,
        root: Path::new("/"),
        store: ctx.store.root(),
        frameworks: false,
    };
    let live = host::machine::facts(&look, reference);
    facts.system = live.system;
    facts.machine = live.machine;
    if facts.wsl.known().is_none() {
        facts.wsl = live.wsl;
    }
    if facts.container.known().is_none() {
        facts.container = live.container;
    }
    if facts.driver.known().is_none() {
        facts.driver = live.driver;
        facts.gpus = live.gpus;
    }
    facts.toolkits = live.toolkits;
    facts.nvcc = live.nvcc;
    facts.variables = live.variables;
    facts.searches = live.searches;
    facts.libraries = live.libraries;
    facts.files.extend(live.files);
    facts.entries.extend(live.entries);
    facts.binaries.extend(live.binaries);
    facts.packages = live.packages;
    facts.pythons = live.pythons;
    facts.disks = live.disks;
    diagnosis::complete(facts);
}
