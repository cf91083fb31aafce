//! Getting builds into the store, for every command that does: `install`, `use --install`, `exec --install`.
//!
//! First a [`Plan`]: which build, from where, why. Then [`Session::carry_out`]: one process at a time per build, fetch,
//! verify, unpack beside the target, check that inside is what was promised, one rename. Nothing else is shared with
//! other processes, and nothing is left behind that the next command would trip over.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use super::published;
use super::selected::{self, Selected};
use crate::context::Context;
use crate::download;
use crate::error::Error;
use crate::host;
use crate::manifest::{self, Release, Releases};
use crate::progress::Bars;
use crate::selection::{self, Wish};
use crate::settings::Settings;
use crate::sources::{self, Offer, Server, Sources};
use crate::store::{Lock, Store, Trust};
use crate::version::{BuildId, VersionSpec};

mod acquire;
mod companions;
mod local;
mod report;

pub use acquire::{Installed, Origin};
pub use companions::InstalledCompanion;
pub use local::{Claim, FromPath};
pub use report::{CompanionEntry, Entry, Report};

/// Somebody else's download may take long; its owner is alive as long as the lock is held.
const PATIENCE: Duration = Duration::from_secs(3600);

const LICENSE: &str = "https://docs.nvidia.com/deeplearning/cudnn/latest/reference/eula.html";

/// What a person asked for beside the spec.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only from here.
    pub source: Option<Server>,
    /// Ask the servers for newer versions even when a known one matches.
    pub refresh: bool,
    /// Install again what is there.
    pub force: bool,
    /// Take a file whose digest nobody knows.
    pub trust_on_first_use: bool,
    /// Keep the archive.
    pub keep_archive: bool,
    /// The licence is known.
    pub accept_license: bool,
}

/// One build to install, complete: nothing is decided after this.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What was asked for.
    pub spec: VersionSpec,
    /// Which build that is.
    pub build: BuildId,
    /// Why this variant, where there was a choice.
    pub variant_reason: Option<String>,
    /// The files that hold it, the preferred first, and who vouches for their digests.
    pub files: Vec<(Release, Trust)>,
    /// Where it goes.
    pub folder: PathBuf,
    /// It is there already; one of an equal build counts.
    pub present: Option<BuildId>,
}

/// One command's dealings with sources and store.
#[derive(Debug)]
pub struct Session<'a> {
    ctx: &'a Context,
    options: Options,
    settings: Settings,
    servers: Vec<Server>,
    sources: Sources,
    known: Releases,
    bars: Bars,
    found: Mutex<Vec<Release>>,
    licence_named: AtomicBool,
    /// Servers that could not be reached: not tried again by this command while another has the build.
    down: Mutex<Vec<Server>>,
}

/// The installed build that meets the wish; installed first if there is none.
///
/// # Errors
///
/// When it can't be installed.
pub fn match_or_install(ctx: &Context, wish: Wish) -> Result<Selected, Error> {
    let again = wish.clone();
    match selected::match_installed(ctx, wish) {
        Err(Error::Selection(selection::Error::NotInstalled { spec, .. })) => {
            let session = Session::new(ctx, Options::default())?;
            let plan = session.plan(&spec)?;
            session.tell(&plan);
            let installed = session.carry_out(&plan)?;
            session.tell_missing(&installed)?;
            selected::match_installed(ctx, again)
        }
        other => other,
    }
}

impl<'a> Session<'a> {
    /// Reads settings and manifest; no network yet. Clears away what dead processes have left.
    ///
    /// # Errors
    ///
    /// When they can't be read.
    pub fn new(ctx: &'a Context, options: Options) -> Result<Self, Error> {
        let settings = ctx.settings()?;
        let servers = published::servers(options.source, &settings)?;
        let sources = published::sources(ctx, &settings)?;
        ctx.store.sweep();
        Ok(Self {
            ctx,
            options,
            settings,
            servers,
            sources,
            known: published::releases(ctx)?,
            bars: Bars::new(ctx.output),
            found: Mutex::default(),
            licence_named: AtomicBool::new(false),
            down: Mutex::default(),
        })
    }

    /// Decides what the spec means. The servers are asked only when no known version matches, or with `refresh`.
    ///
    /// # Errors
    ///
    /// When nothing that is published matches.
    pub fn plan(&self, spec: &VersionSpec) -> Result<Plan, Error> {
        if self.options.refresh {
            self.look_for_newer(spec)?;
        }
        match self.plan_from_known(spec) {
            Err(manifest::Error::UnknownVersion { .. } | manifest::Error::NotLikeThis { .. })
                if !self.options.refresh && !self.ctx.offline =>
            {
                if let Err(error) = self.look_for_newer(spec) {
                    let told = told(&error);
                    self.bars
                        .note(format!("could not look for newer versions: {told}"));
                }
                Ok(self.plan_from_known(spec)?)
            }
            other => Ok(other?),
        }
    }

    fn look_for_newer(&self, spec: &VersionSpec) -> Result<(), sources::Error> {
        let (releases, failures) = self.sources.published(spec, &self.servers)?;
        for failure in failures {
            let told = told(&failure);
            self.bars.note(format!(
                "could not look for newer versions everywhere: {told}"
            ));
        }
        let mut found = lock(&self.found);
        for release in releases {
            if !self
                .known
                .all()
                .iter()
                .chain(found.iter())
                .any(|other| same_file(other, &release))
            {
                found.push(release);
            }
        }
        Ok(())
    }

    fn plan_from_known(&self, spec: &VersionSpec) -> Result<Plan, manifest::Error> {
        let found = lock(&self.found);
        let both;
        let releases = if found.is_empty() {
            &self.known
        } else {
            let list = self
                .known
                .all()
                .iter()
                .chain(found.iter())
                .cloned()
                .collect();
            both = Releases::new(list, self.known.sources().clone());
            &both
        };
        let order: Vec<&str> = self.servers.iter().map(|server| server.name()).collect();
        let choice = releases.choose(spec, host::cuda::machine(&self.ctx.env), &order)?;
        let trust = |release: &Release| {
            let known = self
                .known
                .all()
                .iter()
                .any(|other| same_file(other, release));
            if known { Trust::Manifest } else { Trust::Index }
        };
        let files: Vec<(Release, Trust)> = choice
            .files
            .iter()
            .map(|release| ((*release).clone(), trust(release)))
            .collect();
        let build = files
            .first()
            .expect("a choice has at least one file")
            .0
            .build();
        let store = &self.ctx.store;
        let present = files
            .iter()
            .map(|(release, _)| release.build())
            .find(|build| store.has(&build.folder()));
        Ok(Plan {
            spec: spec.clone(),
            build,
            variant_reason: choice.variant_reason,
            files,
            folder: store.build_folder(&build),
            present,
        })
    }

    /// Says something without tearing a progress bar.
    pub fn note(&self, text: impl std::fmt::Display) {
        self.bars.note(text);
    }

    /// The store it installs into.
    pub fn store(&self) -> &Store {
        &self.ctx.store
    }

    /// Says in a line or two what is going to happen.
    pub fn tell(&self, plan: &Plan) {
        let output = &self.bars;
        if let Some(reason) = &plan.variant_reason {
            let variant = plan
                .build
                .variant
                .map_or_else(String::new, |variant| format!(" {}", variant.tag()));
            output.note(format!(
                "{}: variant{variant}, because {reason}",
                plan.build
            ));
        }
        let silent = self.options.accept_license
            || self.settings.accept_license
            || self.ctx.env.switch("CUDNNM_ACCEPT_LICENSE");
        if !silent && !self.licence_named.swap(true, Ordering::Relaxed) {
            output.note(format!(
                "cuDNN comes under NVIDIA's licence, which installing it accepts: {LICENSE}"
            ));
        }
    }

    fn fetch_any(&self, plan: &Plan) -> Result<(download::Fetched, Lock, Offer, BuildId), Error> {
        let usable: Vec<&(Release, Trust)> = {
            let down = lock(&self.down);
            let up = |file: &&(Release, Trust)| !down.contains(&Server::of(&file.0.origin));
            let up: Vec<_> = plan.files.iter().filter(up).collect();
            if up.is_empty() {
                plan.files.iter().collect()
            } else {
                up
            }
        };
        let mut queue = usable.into_iter().peekable();
        while let Some((release, trust)) = queue.next() {
            let client = self.sources.client();
            let client = if queue.peek().is_some() {
                client.hasty()
            } else {
                client.clone()
            };
            let error = match self.fetch(&client, release, *trust) {
                Ok((fetched, lock, offer)) => return Ok((fetched, lock, offer, release.build())),
                Err(error) => error,
            };
            let Some((next, _)) = queue.peek().filter(|_| about_the_source(&error)) else {
                return Err(error);
            };
            let server = Server::of(&release.origin);
            if matches!(
                unreachable(&error),
                Some(download::Error::Unreachable { .. })
            ) {
                lock(&self.down).push(server);
            }
            let other = Server::of(&next.origin);
            let told = told(&error);
            self.bars.note(format!(
                "{told}; trying {other}, which has {} as well",
                next.build()
            ));
        }
        unreachable!("a plan has at least one file, and the last one returns")
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .expect("nothing panics while it holds one of these")
}

fn same_file(a: &Release, b: &Release) -> bool {
    (&a.origin, &a.file) == (&b.origin, &b.file)
}

fn about_the_source(error: &Error) -> bool {
    match error {
        Error::Source(error) => error.is_about_the_source(),
        Error::Download(error) => error.is_network(),
        _ => false,
    }
}

fn unreachable(error: &Error) -> Option<&download::Error> {
    match error {
        Error::Source(sources::Error::Download(error)) | Error::Download(error) => Some(error),
        _ => None,
    }
}

/// An error and its causes in one line, for a note: the command goes on.
pub(super) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!(" ({inner})"));
        cause = inner.source();
    }
    text
}
