//! The selection in force here, for every command that acts on it: gathers the inputs, asks [`crate::selection`].

use crate::companion::CompanionId;
use crate::context::Context;
use crate::error::Error;
use crate::host;
use crate::project;
use crate::selection::{self, Inputs, VARIABLE, Wish};
use crate::store::Contents;
use crate::version::{BuildId, VersionSpec};

/// An installed build, and why it is this one.
#[derive(Debug, Clone)]
pub struct Selected {
    /// Which.
    pub build: BuildId,
    /// What was wanted, and by whom.
    pub wish: Wish,
    /// Why this variant, where there was a choice.
    pub variant_reason: Option<String>,
    /// The companions in the store, from the same listing.
    pub companions: Vec<CompanionId>,
}

/// What is wanted here; the settings are read only when nothing stronger speaks.
///
/// # Errors
///
/// When nothing is selected, or what selects can't be read.
pub fn wish(ctx: &Context, flag: Option<&VersionSpec>) -> Result<Wish, Error> {
    let variable = ctx.env.text(VARIABLE);
    let stronger = flag.is_some() || variable.is_some();
    let project = if stronger {
        None
    } else {
        project::find(&ctx.cwd)?
    };
    let default = if stronger || project.is_some() {
        None
    } else {
        ctx.settings()?.default
    };
    let inputs = Inputs {
        flag,
        variable,
        project: project.as_ref(),
        default: default.as_ref(),
    };
    Ok(selection::wish(&inputs)?)
}

/// The installed build that meets the wish. CUDA is looked for only when several variants of one version are there.
///
/// # Errors
///
/// When nothing is selected or nothing installed matches.
pub fn build(ctx: &Context, flag: Option<&VersionSpec>) -> Result<Selected, Error> {
    let wish = wish(ctx, flag)?;
    match_installed(ctx, wish)
}

/// As [`build`], for a wish that is known already.
///
/// # Errors
///
/// When nothing installed matches.
pub fn match_installed(ctx: &Context, wish: Wish) -> Result<Selected, Error> {
    let Contents {
        builds: installed,
        companions,
    } = ctx.store.contents()?;
    let candidates = selection::newest_matching(&wish.spec, &installed);
    let (build, variant_reason) = match candidates.as_slice() {
        [] => {
            let Wish { spec, reason } = wish;
            return Err(selection::Error::NotInstalled {
                spec,
                reason,
                installed,
            }
            .into());
        }
        [only] => (**only, None),
        several => {
            let (build, why) = selection::fitting(several, host::cuda::machine(&ctx.env))
                .expect("there are several candidates");
            (*build, Some(why))
        }
    };
    Ok(Selected {
        build,
        wish,
        variant_reason,
        companions,
    })
}
