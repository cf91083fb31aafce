//! The environment of the active build on this machine: joins the store, the companions and the prelude for [`environment`].

use std::ffi::OsString;
use std::path::PathBuf;

use super::Error as CommandError;
use super::selected::Selected;
use crate::context::Context;
use crate::environment::{self, Active, Change, Value};
use crate::error::Error;
use crate::host::companions::Surroundings;
use crate::version::Platform;
use crate::{prelude, process, store};

/// The variables that make a child process find the selected build, as changes.
///
/// # Errors
///
/// When the build is damaged or for another platform.
pub fn changes(ctx: &Context, selected: &Selected) -> Result<Vec<Change>, Error> {
    let build = &selected.build;
    if build.platform != Platform::host() {
        let error = CommandError::ForeignPlatform {
            build: build.to_string(),
            platform: build.platform,
        };
        return Err(error.into());
    }
    let folder = ctx.store.build_folder(build);
    if !ctx.store.has(&build.folder()) {
        return Err(store::Error::Incomplete {
            build: build.to_string(),
            path: folder,
        }
        .into());
    }
    let prelude = match prelude::ensure(&ctx.store) {
        Ok(prelude) => Some(prelude),
        Err(error) => {
            ctx.output
                .warning(format!("{error}; Python starts without the prelude"));
            None
        }
    };
    let companions = companion_folders(ctx, selected);
    let active = Active {
        build,
        folder: &folder,
        store: ctx.store.root(),
        companions: &companions,
        prelude: prelude.as_deref(),
    };
    Ok(active.changes(&|name| process::split_list(ctx.env.var(name))))
}

/// The same as pairs for a child process.
///
/// # Errors
///
/// As [`changes`]; also when a path can't stand in a list variable.
pub fn variables(ctx: &Context, selected: &Selected) -> Result<Vec<(OsString, OsString)>, Error> {
    changes(ctx, selected)?
        .into_iter()
        .map(|change| Ok((change.name.into(), value(&change)?)))
        .collect()
}

/// One change's value as the system wants it.
///
/// # Errors
///
/// When a path can't stand in a list variable.
pub fn value(change: &Change) -> Result<OsString, Error> {
    Ok(match &change.value {
        Value::Text(text) => text.into(),
        Value::Path(path) => path.into(),
        Value::List(elements) => process::join_list(change.name, elements)?,
    })
}

/// The build's library folder and those of its companions, in search order.
pub fn library_folders(ctx: &Context, selected: &Selected) -> Vec<PathBuf> {
    let folder = ctx.store.build_folder(&selected.build);
    let own = environment::library_folder(&folder, &selected.build);
    std::iter::once(own)
        .chain(companion_folders(ctx, selected))
        .collect()
}

/// Where the libraries lie that this build needs beside itself. Only folders that have them are named.
fn companion_folders(ctx: &Context, selected: &Selected) -> Vec<PathBuf> {
    let Some(variant) = selected.build.variant else {
        return Vec::new();
    };
    let surroundings = Surroundings {
        env: &ctx.env,
        store: &ctx.store,
        installed: &selected.companions,
        platform: selected.build.platform,
    };
    surroundings.folders(variant.major)
}
