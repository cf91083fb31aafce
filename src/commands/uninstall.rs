//! `cudnnm uninstall`: takes builds out of the store.

use super::Error as CommandError;
use super::space::Space;
use crate::companion::CompanionId;
use crate::context::Context;
use crate::error::{Error, Exit};
use crate::output::size;
use crate::store::{self, Contents};
use crate::version::{BuildId, VersionSpec};

/// Remove installed builds
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Builds to remove; one that means several is refused without --all. A companion goes by its folder's name
    #[arg(required = true, value_name = "SPEC")]
    specs: Vec<String>,
    /// Remove every build that matches
    #[arg(long)]
    all: bool,
    /// Remove a companion even though installed builds need it
    #[arg(long)]
    force: bool,
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command. Everything is looked up before anything is removed.
///
/// # Errors
///
/// When a spec means no installed build, or several, or a file is in use.
pub fn run(ctx: &Context, args: &Args) -> Result<Exit, Error> {
    let contents = ctx.store.contents()?;
    let mut doomed: Vec<(String, String)> = Vec::new();
    for text in &args.specs {
        for (name, folder) in meant(&contents, args, text)? {
            if !doomed.iter().any(|(_, other)| *other == folder) {
                doomed.push((name, folder));
            }
        }
    }
    let folders: Vec<String> = contents
        .builds
        .iter()
        .map(BuildId::folder)
        .chain(contents.companions.iter().map(CompanionId::folder))
        .collect();
    let space = Space::of(ctx, folders);
    for (name, folder) in doomed {
        // A damaged build has no readable receipt and must still be removable.
        let bytes = space.bytes(&folder);
        if args.dry_run {
            ctx.output
                .line(format!("would remove {name} ({})", size(bytes)));
            continue;
        }
        ctx.store.remove(&folder)?;
        ctx.output.note(format!("removed {name} ({})", size(bytes)));
    }
    Ok(Exit::Done)
}

fn meant(contents: &Contents, args: &Args, text: &str) -> Result<Vec<(String, String)>, Error> {
    if let Some(companion) = CompanionId::from_folder(text) {
        return match needing(contents, &companion) {
            Some(build) if !args.force => Err(CommandError::CompanionInUse {
                companion: companion.folder(),
                build: build.to_string(),
            }
            .into()),
            _ => Ok(vec![(companion.to_string(), companion.folder())]),
        };
    }
    let by_folder = BuildId::from_folder(text);
    let spec = match by_folder {
        Some(build) => build.exact_spec(),
        None => text.parse::<VersionSpec>().map_err(CommandError::BadSpec)?,
    };
    let matching: Vec<&BuildId> = contents
        .builds
        .iter()
        .filter(|build| spec.matches(build))
        .collect();
    match matching.as_slice() {
        [] => Err(store::Error::NotInstalled {
            build: spec.to_string(),
        }
        .into()),
        several if several.len() > 1 && !args.all => {
            let builds = several.iter().map(ToString::to_string).collect();
            Err(CommandError::Ambiguous {
                spec: spec.to_string(),
                builds,
            }
            .into())
        }
        some => Ok(some
            .iter()
            .map(|build| (build.to_string(), build.folder()))
            .collect()),
    }
}

/// An installed build for which this is the only companion of its kind.
fn needing<'a>(contents: &'a Contents, companion: &CompanionId) -> Option<&'a BuildId> {
    let alternative = contents.companions.iter().any(|other| {
        other != companion
            && (other.kind, other.cuda_major, other.platform)
                == (companion.kind, companion.cuda_major, companion.platform)
    });
    let needs = |build: &&BuildId| {
        build.platform == companion.platform
            && build
                .variant
                .is_some_and(|variant| variant.major == companion.cuda_major)
    };
    if alternative {
        None
    } else {
        contents.builds.iter().find(needs)
    }
}
