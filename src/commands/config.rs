//! `cudnnm config`: shows and changes settings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::context::Context;
use crate::error::{Error, Exit};
use crate::output::table;
use crate::settings::Settings;

/// Show all settings, show one, or set one
#[derive(Debug, clap::Args)]
#[command(after_help = "Settings:\n  \
    default           the version for projects that name none\n  \
    sources           the order in which sources are asked: nvidia,pypi\n  \
    nvidia-base-url   the address under which NVIDIA's compute/ tree is found, for mirrors\n  \
    pypi-index-url    a Python index to use instead of the one pip uses\n  \
    keep-archives     keep archives after installing: true or false\n  \
    network-timeout   seconds without a byte after which a transfer is tried again\n  \
    accept-license    NVIDIA's licence has been accepted: true or false")]
pub struct Args {
    /// The setting
    key: Option<String>,
    /// Its new value
    value: Option<String>,
    /// Back to the default
    #[arg(long, conflicts_with = "value", requires = "key")]
    unset: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    schema: u32,
    path: PathBuf,
    settings: BTreeMap<&'static str, Option<String>>,
}

/// Runs the command.
///
/// # Errors
///
/// For an unknown setting or a bad value, or when the file can't be read or written.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let path = ctx.store.settings_file();
    let settings = ctx.settings()?;
    let Some(key) = &args.key else {
        let values: BTreeMap<&str, Option<String>> = Settings::KEYS
            .iter()
            .map(|key| (*key, settings.value(key)))
            .collect();
        if args.json {
            ctx.output.json(&Report {
                schema: 1,
                path,
                settings: values,
            });
        } else {
            let shown =
                |value: &Option<String>| value.clone().unwrap_or_else(|| "(default)".to_owned());
            let rows: Vec<Vec<String>> = values
                .iter()
                .map(|(key, value)| vec![(*key).to_owned(), shown(value)])
                .collect();
            for line in table(&rows) {
                ctx.output.line(line);
            }
        }
        return Ok(Exit::Done);
    };
    if args.value.is_some() || args.unset {
        settings.with(key, args.value.as_deref())?.save(&path)?;
    } else {
        // Checks the name; changes nothing.
        settings.with(key, settings.value(key).as_deref())?;
        if let Some(value) = settings.value(key) {
            ctx.output.line(value);
        }
    }
    Ok(Exit::Done)
}
