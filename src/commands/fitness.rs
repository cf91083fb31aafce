//! Whether a build fits: this machine (for `install` and `use`) and a framework (for their `--for`).

use super::{Error as CommandError, published};
use crate::compat::{self, Fit, Machine};
use crate::context::Context;
use crate::error::Error;
use crate::host;
use crate::version::{BuildId, Platform, VersionSpec};

/// What a person is told of a build that can't run here.
///
/// # Errors
///
/// [`CommandError::Unfit`], unless `force` makes it a warning.
pub fn check(ctx: &Context, build: &BuildId, force: bool) -> Result<(), Error> {
    if build.platform != Platform::host() {
        return Ok(());
    }
    let machine = Machine {
        driver_cuda: host::cuda::driver(&ctx.env),
        ..Machine::default()
    };
    match compat::judge(build, &machine, &published::facts(ctx)?) {
        Fit::Good => {}
        Fit::Warn(reason) => ctx.output.warning(reason.text),
        Fit::Impossible(reason) if force => ctx
            .output
            .warning(format!("{build} can't run here: {}", reason.text)),
        Fit::Impossible(reason) => {
            return Err(CommandError::Unfit {
                build: build.to_string(),
                reason: reason.text,
                fact: reason.source,
            }
            .into());
        }
    }
    Ok(())
}

/// The spec that a framework's release wants, with the reasons told.
///
/// # Errors
///
/// When nothing is known about it, or it uses no cuDNN there.
pub fn wanted_by(
    ctx: &Context,
    framework: &str,
    platform: Option<Platform>,
) -> Result<VersionSpec, Error> {
    let facts = published::facts(ctx)?;
    let recommendation =
        compat::for_framework(framework, platform.unwrap_or(Platform::host()), &facts)?;
    ctx.output
        .note(format!("{framework} asks for {}", recommendation.spec));
    for reason in &recommendation.reasons {
        ctx.output.note(format!("  {}", reason.text));
    }
    Ok(recommendation.spec)
}
