//! Where builds come from: NVIDIA's server, the Python index, a local archive or folder.
//!
//! [`Sources::published`] says what there is, [`Sources::offer`] turns one of those into an address to fetch.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, OnceLock};

use url::Url;

use crate::download::{self, Client, shown};
use crate::error::{Exit, Failure, IoError};
use crate::manifest::{self, Digest, Origin, Release};
use crate::process::Env;
use crate::settings::Rate;
use crate::store::Trust;
use crate::version::{CudnnVersion, Requirement, VersionSpec};

mod html;
pub mod nvidia;
pub mod pip_index;
pub mod pypi;

use pip_index::PythonIndex;
use pypi::Wheel;

pub mod local;

/// A source that can't deliver.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Asked while `--offline`.
    #[error("{what} needs the network, and --offline is set")]
    Offline {
        /// What was wanted.
        what: String,
    },
    /// A file or folder.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The network.
    #[error(transparent)]
    Download(#[from] download::Error),
    /// An address in a configuration that is none.
    #[error("`{address}`, named by {named_by}, is not the address of an index: {why}")]
    BadIndex {
        /// Without its credentials.
        address: String,
        /// Who names it.
        named_by: String,
        /// What is wrong.
        why: String,
    },
    /// Nobody names a Python index.
    #[error(
        "no Python index is known: neither a variable nor a file names one, and there is no pip to ask"
    )]
    NoIndex,
    /// The index lacks a project.
    #[error("the Python index `{index}` has no `{project}`")]
    NoProject {
        /// Which.
        project: String,
        /// Where.
        index: String,
        /// Who names that index.
        named_by: String,
    },
    /// The index has the project, not the file.
    #[error("the Python index has no `{file}`")]
    NoFile {
        /// Which.
        file: String,
    },
    /// What came is no index page.
    #[error("`{url}` is not what it should be: {why}")]
    NotAnIndex {
        /// What was asked for.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// Nobody knows the file's digest.
    #[error("the digest of `{file}` is not known, so it can't be verified")]
    NoDigest {
        /// Which.
        file: String,
    },
    /// No such source.
    #[error("there is no source `{name}`")]
    UnknownSource {
        /// As typed.
        name: String,
    },
}

impl Error {
    /// Whether another source may still deliver.
    pub fn is_about_the_source(&self) -> bool {
        match self {
            Self::Download(error) => error.is_network(),
            Self::NoIndex
            | Self::NoProject { .. }
            | Self::NoFile { .. }
            | Self::NotAnIndex { .. } => true,
            _ => false,
        }
    }
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::Io(error) => error.exit(),
            Self::Download(error) => error.exit(),
            Self::Offline { .. }
            | Self::NoIndex
            | Self::NoProject { .. }
            | Self::NoFile { .. }
            | Self::NotAnIndex { .. } => Exit::Network,
            Self::NoDigest { .. } => Exit::BadArchive,
            Self::BadIndex { .. } => Exit::Failed,
            Self::UnknownSource { .. } => Exit::Usage,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Io(error) => error.hints(),
            Self::Download(error) => error.hints(),
            Self::Offline { .. } => {
                vec!["leave out --offline (and CUDNNM_OFFLINE), or install from a file: cudnnm install --from PATH".to_owned()]
            }
            Self::NoIndex => {
                vec!["install pip, or name an index: cudnnm config pypi-index-url URL".to_owned()]
            }
            Self::NoProject { named_by, .. } => {
                vec![format!(
                    "this index is named by {named_by}; another one: cudnnm config pypi-index-url URL"
                )]
            }
            Self::NoFile { .. } => {
                vec!["a mirror may be behind; what can be had elsewhere: cudnnm list-remote --refresh".to_owned()]
            }
            Self::NotAnIndex { .. } => {
                vec!["a login or a proxy's notice may stand in the way: open the address in a browser to see it".to_owned()]
            }
            Self::NoDigest { .. } => vec![
                "to take what comes and remember its digest: add --trust-on-first-use".to_owned(),
            ],
            Self::UnknownSource { .. } => vec!["sources are nvidia and pypi".to_owned()],
            Self::BadIndex { .. } => Vec::new(),
        }
    }
}

/// Who serves builds over the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// NVIDIA's download server, or a mirror of its tree.
    Nvidia,
    /// The Python index.
    Pypi,
}

impl Server {
    /// The order in which they are asked unless a person says otherwise.
    pub const ORDER: [Self; 2] = [Self::Nvidia, Self::Pypi];

    /// The one that serves a release.
    pub fn of(origin: &Origin) -> Self {
        match origin {
            Origin::Nvidia { .. } => Self::Nvidia,
            Origin::Pypi { .. } => Self::Pypi,
        }
    }

    /// Its name in settings and receipts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nvidia => "nvidia",
            Self::Pypi => "pypi",
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Server {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Self::ORDER
            .into_iter()
            .find(|server| server.name() == text.trim());
        found.ok_or_else(|| Error::UnknownSource {
            name: text.to_owned(),
        })
    }
}

/// A file that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Who serves it.
    pub server: Server,
    /// From where, possibly with credentials.
    pub url: Url,
    /// Its name.
    pub file: String,
    /// Digests of which one must be its; none only when the person trusts on first use.
    pub digests: Vec<Digest>,
    /// In bytes, where known.
    pub size: Option<u64>,
    /// Who vouches for the digests.
    pub trust: Trust,
}

/// The servers, with all that is needed to reach them. Nothing is asked before it is needed.
#[derive(Debug)]
pub struct Sources {
    client: OnceLock<Client>,
    options: download::Options,
    nvidia: Url,
    index: OnceLock<PythonIndex>,
    discover: Discover,
    pages: Mutex<Vec<(String, Vec<Wheel>)>>,
    offline: bool,
}

#[derive(Debug)]
struct Discover {
    env: Env,
    cwd: PathBuf,
    setting: Option<String>,
    cache: PathBuf,
}

/// What [`Sources::new`] needs to know.
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// Variables.
    pub env: &'a Env,
    /// The current folder: uv's project files are looked for from here.
    pub cwd: &'a std::path::Path,
    /// The setting `nvidia-base-url`.
    pub nvidia_base_url: Option<&'a str>,
    /// The setting `pypi-index-url`.
    pub pypi_index_url: Option<&'a str>,
    /// The setting `network-timeout`.
    pub network_timeout: Option<u64>,
    /// The setting `limit-rate`.
    pub limit_rate: Option<Rate>,
    /// A folder for small answers worth remembering.
    pub cache: &'a std::path::Path,
    /// The network is off limits; `file:` addresses are not.
    pub offline: bool,
}

impl Sources {
    /// Looks at variables and settings; touches nothing else.
    ///
    /// # Errors
    ///
    /// When NVIDIA's address is set to something that is none.
    pub fn new(surroundings: &Surroundings<'_>) -> Result<Self, Error> {
        let env = surroundings.env;
        let nvidia = nvidia::base(
            env.text("CUDNNM_NVIDIA_URL")
                .or(surroundings.nvidia_base_url),
        )?;
        Ok(Self {
            client: OnceLock::new(),
            options: download::Options::new(
                env,
                surroundings.network_timeout,
                surroundings.limit_rate,
            ),
            nvidia,
            index: OnceLock::new(),
            discover: Discover {
                env: env.clone(),
                cwd: surroundings.cwd.to_owned(),
                setting: surroundings.pypi_index_url.map(str::to_owned),
                cache: surroundings.cache.join("pip-index.toml"),
            },
            pages: Mutex::default(),
            offline: surroundings.offline,
        })
    }

    /// The client, made with what pip's configuration says about proxy and certificate.
    pub fn client(&self) -> &Client {
        self.client.get_or_init(|| {
            let way = pip_index::way(&self.discover.env);
            Client::new(self.options.clone().with_pip(way.0.as_deref(), way.1))
        })
    }

    /// The Python index in force.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn python_index(&self) -> Result<&PythonIndex, Error> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let Discover {
            env,
            cwd,
            setting,
            cache,
        } = &self.discover;
        let index = pip_index::discover(env, cwd, setting.as_deref(), cache)?;
        Ok(self.index.get_or_init(|| index))
    }

    /// All wheels of a project; a page is fetched once.
    ///
    /// # Errors
    ///
    /// When no index has it.
    pub fn wheels(&self, client: &Client, project: &str) -> Result<Vec<Wheel>, Error> {
        let known = self
            .pages()
            .iter()
            .find(|(name, _)| name == project)
            .map(|(_, wheels)| wheels.clone());
        if let Some(wheels) = known {
            return Ok(wheels);
        }
        let index = self.python_index()?;
        for index in &index.indexes {
            self.allowed(&index.url, || {
                format!("the Python index `{}`", shown(&index.url))
            })?;
        }
        let wheels = pypi::project(client, index, project)?;
        self.pages().push((project.to_owned(), wheels.clone()));
        Ok(wheels)
    }

    fn pages(&self) -> MutexGuard<'_, Vec<(String, Vec<Wheel>)>> {
        self.pages
            .lock()
            .expect("nothing panics while it holds the pages")
    }

    /// Where NVIDIA's tree lies.
    pub fn nvidia(&self) -> &Url {
        &self.nvidia
    }

    /// Turns a release into something to fetch.
    ///
    /// # Errors
    ///
    /// When its server can't be reached or does not have it, or nobody knows its digest and `first_use` is not allowed.
    pub fn offer(
        &self,
        client: &Client,
        release: &Release,
        trust: Trust,
        first_use: bool,
    ) -> Result<Offer, Error> {
        let mut offer = match &release.origin {
            Origin::Nvidia { path } => {
                let url = nvidia::address(&self.nvidia, path)?;
                self.allowed(&url, || format!("`{}`", release.file))?;
                let (digests, size) = (release.digests.clone(), release.size);
                Offer {
                    server: Server::Nvidia,
                    url,
                    file: release.file.clone(),
                    digests,
                    size,
                    trust,
                }
            }
            Origin::Pypi { project } => {
                let wheels = self.wheels(client, project)?;
                let wheel = wheels.iter().find(|wheel| wheel.file == release.file);
                let wheel = wheel.ok_or_else(|| Error::NoFile {
                    file: release.file.clone(),
                })?;
                self.allowed(&wheel.url, || format!("`{}`", release.file))?;
                let mut offer = Offer {
                    server: Server::Pypi,
                    url: wheel.url.clone(),
                    file: wheel.file.clone(),
                    digests: release.digests.clone(),
                    size: release.size.or(wheel.size),
                    trust,
                };
                if offer.digests.is_empty()
                    && let Some(sha256) = &wheel.sha256
                {
                    offer.digests.push(Digest {
                        sha256: sha256.clone(),
                        date: None,
                    });
                    offer.trust = Trust::Index;
                }
                offer
            }
        };
        if offer.digests.is_empty()
            && offer.server == Server::Nvidia
            && offer.url.scheme() != "file"
        {
            // Beside archives of the old tree NVIDIA has put the digest. That it is missing means only that.
            match nvidia::digest_beside(client, &offer.url) {
                Ok(sha256) => {
                    offer.digests.push(Digest { sha256, date: None });
                    offer.trust = Trust::Index;
                }
                Err(Error::NotAnIndex { .. } | Error::Download(download::Error::Status { .. })) => {
                }
                Err(error) => return Err(error),
            }
        }
        if offer.digests.is_empty() {
            if !first_use {
                return Err(Error::NoDigest { file: offer.file });
            }
            offer.trust = Trust::FirstUse;
        }
        Ok(offer)
    }

    fn allowed(&self, url: &Url, what: impl FnOnce() -> String) -> Result<(), Error> {
        if self.offline && url.scheme() != "file" {
            return Err(Error::Offline { what: what() });
        }
        Ok(())
    }

    /// What is published now and matches the spec, from the servers themselves: newer than any list.
    ///
    /// # Errors
    ///
    /// When no server could be asked. Those that could not while others could are told in the second part.
    pub fn published(
        &self,
        spec: &VersionSpec,
        servers: &[Server],
    ) -> Result<(Vec<Release>, Vec<Error>), Error> {
        let mut releases = Vec::new();
        let mut failures = Vec::new();
        for server in servers {
            let found = match server {
                Server::Nvidia => self.published_by_nvidia(spec),
                Server::Pypi => self.published_by_pypi(spec),
            };
            match found {
                Ok(found) => releases.extend(found),
                Err(error) => failures.push(error),
            }
        }
        if failures.len() == servers.len() && !failures.is_empty() {
            return Err(failures.swap_remove(failures.len() - 1));
        }
        Ok((releases, failures))
    }

    /// All that a server publishes, for refreshing what is known. Of NVIDIA's releases only those that `wanted` says yes
    /// to, by label and place from the newest: each is a document of its own.
    ///
    /// # Errors
    ///
    /// When the server can't be asked. Single releases that can't be had are told in the second part.
    pub fn everything(
        &self,
        server: Server,
        wanted: &dyn Fn(CudnnVersion, usize) -> bool,
    ) -> Result<(Vec<Release>, Vec<Error>), Error> {
        if server == Server::Pypi {
            let found = self.published_by_pypi(&VersionSpec::latest())?;
            return Ok((found, Vec::new()));
        }
        self.allowed(&self.nvidia, || "NVIDIA's list of releases".to_owned())?;
        let (mut releases, mut failures) = (Vec::new(), Vec::new());
        for (place, label) in nvidia::labels(self.client(), &self.nvidia)?
            .iter()
            .rev()
            .enumerate()
        {
            if !label.parse().is_ok_and(|version| wanted(version, place)) {
                continue;
            }
            match nvidia::release(self.client(), &self.nvidia, label) {
                Ok(found) => releases.extend(found),
                Err(error) => failures.push(error),
            }
        }
        Ok((releases, failures))
    }

    fn published_by_nvidia(&self, spec: &VersionSpec) -> Result<Vec<Release>, Error> {
        self.allowed(&self.nvidia, || "NVIDIA's list of releases".to_owned())?;
        let client = self.client().hasty();
        let labels = nvidia::labels(&client, &self.nvidia)?;
        let mut releases = Vec::new();
        for label in labels.iter().rev() {
            let Ok(version) = label.parse() else { continue };
            // A four-part wish is met by its release's file; which builds that has shows only inside.
            let wanted = match &spec.requirement {
                Requirement::Prefix(numbers) if numbers.len() == 4 => {
                    Requirement::Prefix(numbers[..3].to_vec()).matches(version)
                }
                requirement => requirement.matches(version),
            };
            if wanted {
                let found = nvidia::release(&client, &self.nvidia, label)?;
                let any = found.iter().any(|release| spec.matches(&release.build()));
                releases.extend(found);
                // The newest that has what is wanted will do; older ones are for those who ask for them.
                if any {
                    break;
                }
            }
        }
        Ok(releases)
    }

    fn published_by_pypi(&self, spec: &VersionSpec) -> Result<Vec<Release>, Error> {
        let mut releases = Vec::new();
        let mut failure = None;
        for (project, cuda_major, flavour) in manifest::pypi::PROJECTS {
            let wanted = spec.variant.is_none_or(|wanted| wanted.major == cuda_major)
                && spec.flavour.is_none_or(|wanted| wanted == flavour);
            if !wanted {
                continue;
            }
            match self.wheels(self.client(), project) {
                Ok(wheels) => releases.extend(pypi::releases(project, &wheels)),
                Err(Error::NoProject { .. }) => {}
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            Some(error) if releases.is_empty() => Err(error),
            _ => Ok(releases),
        }
    }
}
