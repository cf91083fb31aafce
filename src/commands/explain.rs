//! `cudnnm explain`: what an error message means.

use std::ffi::OsString;
use std::io::Read;

use super::{published, report};
use crate::context::Context;
use crate::diagnosis::saved::{self, SavedFile};
use crate::diagnosis::{self, Reference, read::decode};
use crate::error::{Error, Exit, IoError};

/// Say what an error message of cuDNN, a loader or a framework means
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
    let size = bytes.len() as u64;
    let message = SavedFile {
        name: "error.txt".to_owned(),
        bytes: decode::text(&bytes).text.into_bytes(),
        size,
    };
    let facts = saved::facts(&[message], &Reference::new(published::facts(ctx)?));
    let findings = diagnosis::diagnose(&facts);
    Ok(report::tell(
        ctx,
        &facts,
        &findings,
        args.json,
        "no message in this text is one that cudnnm knows",
    ))
}
