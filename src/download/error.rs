//! What can go wrong on the way, each told apart: a login page is not a broken line, and neither is a wrong digest.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Exit, Failure, IoError};
use crate::manifest::Digest;
use crate::output;

/// A transfer that failed. Addresses in it are without credentials and queries.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder of ours.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Not an address that can be fetched.
    #[error("`{url}` can't be fetched: {why}")]
    BadAddress {
        /// As given.
        url: String,
        /// Why not.
        why: String,
    },
    /// The network stack could not be set up.
    #[error("could not prepare the network: {message}")]
    Setup {
        /// Of which part.
        message: String,
        /// Why.
        source: Option<Box<reqwest::Error>>,
    },
    /// No connection came about.
    #[error("could not reach `{host}`")]
    Unreachable {
        /// The server's name and port.
        host: String,
        /// A proxy was asked to connect.
        proxy: Option<String>,
        /// Why.
        source: Cause,
    },
    /// A connection came about, a trusted one did not.
    #[error("the connection to `{host}` can't be trusted")]
    Tls {
        /// The server's name and port.
        host: String,
        /// Why.
        source: Cause,
    },
    /// The server said no.
    #[error("`{url}` answered {status}{}", reason(*status))]
    Status {
        /// What was asked for.
        url: String,
        /// The HTTP status.
        status: u16,
        /// When the server wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// Redirected in circles.
    #[error("`{url}` was redirected more than {times} times")]
    RedirectLoop {
        /// Where it began.
        url: String,
        /// The limit.
        times: usize,
    },
    /// Redirected to where we don't go.
    #[error("`{url}` was redirected to `{to}`, which is not https")]
    RedirectScheme {
        /// Where it began.
        url: String,
        /// The target.
        to: String,
    },
    /// A web page in place of an archive.
    #[error("`{url}` answered with a {seems} instead of an archive")]
    LoginPage {
        /// What was asked for.
        url: String,
        /// `web page`, `JSON document`.
        seems: &'static str,
    },
    /// The line broke.
    #[error("the transfer of `{url}` broke off after {}", output::size(*received))]
    Interrupted {
        /// What was asked for.
        url: String,
        /// How much had arrived.
        received: u64,
        /// Why.
        source: Cause,
    },
    /// The body ended before its end.
    #[error("`{url}` ended after {} of {}", bytes(*received), bytes(*expected))]
    Truncated {
        /// What was asked for.
        url: String,
        /// How much came.
        received: u64,
        /// How much should have come.
        expected: u64,
    },
    /// Nothing came for too long.
    #[error("`{host}` has sent nothing for {} seconds", seconds.as_secs())]
    Stalled {
        /// The server's name and port.
        host: String,
        /// How long we waited.
        seconds: Duration,
    },
    /// Another size than the manifest says.
    #[error("`{url}` is {} long; it should be {}", bytes(*found), bytes(*expected))]
    WrongSize {
        /// What was asked for.
        url: String,
        /// By the server.
        found: u64,
        /// By the manifest or index.
        expected: u64,
    },
    /// Other bytes than the manifest says.
    #[error(
        "`{file}` is not the file it should be: its SHA-256 is {found}, expected {}",
        known(expected)
    )]
    WrongDigest {
        /// Its name.
        file: String,
        /// What came.
        found: String,
        /// What would be right.
        expected: Vec<Digest>,
    },
    /// The file changed again and again while it was fetched.
    #[error("`{url}` keeps changing while it is being fetched")]
    Changing {
        /// What was asked for.
        url: String,
    },
    /// A document that is far too long.
    #[error("`{url}` is longer than {}", output::size(*limit))]
    TooLong {
        /// What was asked for.
        url: String,
        /// What would do.
        limit: u64,
    },
    /// The command has failed elsewhere and called this transfer off.
    #[error("the transfer was called off")]
    Stopped,
    /// It would not fit.
    #[error("`{file}` needs {} to be fetched and unpacked, and only {} are free on the disk of `{}`", output::size(*needed), output::size(*free), folder.display())]
    NoSpace {
        /// Its name.
        file: String,
        /// Its size.
        needed: u64,
        /// What is left.
        free: u64,
        /// Where.
        folder: PathBuf,
    },
}

/// What the network stack said, as text: its own types stay in this room.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Cause(pub(super) String);

impl Cause {
    /// The innermost causes that say something: the outer ones only repeat the address.
    pub(super) fn of(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut lines: Vec<String> = Vec::new();
        let mut next = Some(error);
        while let Some(error) = next {
            lines.push(error.to_string());
            next = error.source();
        }
        // "client error (Connect)" and "error sending request for url (…)" tell nothing that our own message does not.
        let telling = |line: &String| {
            !line.starts_with("client error (")
                && !line.starts_with("error sending request")
                && !line.starts_with("error decoding response body")
                && !line.starts_with("request or response body error")
        };
        let mut told: Vec<String> = lines.iter().filter(|line| telling(line)).cloned().collect();
        told.dedup();
        // An outer line often ends with the inner one's words.
        let kept: Vec<String> = told
            .iter()
            .enumerate()
            .filter(|(position, line)| {
                told.get(position + 1)
                    .is_none_or(|inner| !line.ends_with(inner.as_str()))
            })
            .map(|(_, line)| line.clone())
            .collect();
        Self(if kept.is_empty() {
            lines.pop().unwrap_or_default()
        } else {
            kept.join(": ")
        })
    }
}

impl Error {
    /// Whether trying again may help.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Interrupted { .. }
            | Self::Truncated { .. }
            | Self::Stalled { .. } => true,
            Self::Status { status, .. } => {
                matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
            }
            _ => false,
        }
    }

    /// Whether this is about the server or the way to it, so that another source may still deliver.
    pub fn is_network(&self) -> bool {
        self.exit() == Exit::Network
    }

    /// How long the server asks us to wait.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

impl Failure for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::Io(error) => error.exit(),
            Self::BadAddress { .. } | Self::Setup { .. } | Self::NoSpace { .. } | Self::Stopped => {
                Exit::Failed
            }
            Self::WrongSize { .. } | Self::WrongDigest { .. } => Exit::BadArchive,
            Self::Unreachable { .. }
            | Self::Tls { .. }
            | Self::Status { .. }
            | Self::RedirectLoop { .. }
            | Self::RedirectScheme { .. }
            | Self::LoginPage { .. }
            | Self::Interrupted { .. }
            | Self::Truncated { .. }
            | Self::Stalled { .. }
            | Self::Changing { .. }
            | Self::TooLong { .. } => Exit::Network,
        }
    }

    fn hints(&self) -> Vec<String> {
        let hints: &[&str] = match self {
            Self::Io(error) => return error.hints(),
            Self::Unreachable {
                proxy: Some(proxy), ..
            } => {
                return vec![format!(
                    "the proxy in force is `{proxy}` (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, or the system's); NO_PROXY names hosts to reach without it"
                )];
            }
            Self::Unreachable { .. } => &[
                "behind a proxy, set HTTPS_PROXY=http://PROXY:PORT",
                "with the archive at hand: cudnnm install --from PATH",
            ],
            Self::Tls { .. } => &[
                "where a company's proxy opens connections, name its certificate: SSL_CERT_FILE=PATH",
            ],
            Self::Status {
                status: 401 | 403, ..
            } => &[
                "if the server wants a login, put it into ~/.netrc or into the address (https://USER:PASSWORD@HOST/…)",
            ],
            Self::Status { status: 407, .. } => {
                &["the proxy wants a login: HTTPS_PROXY=http://USER:PASSWORD@PROXY:PORT"]
            }
            Self::Status {
                status: 429 | 500..,
                ..
            } => &[
                "the server is overloaded or broken; what has arrived is kept, so try again later",
            ],
            Self::LoginPage { .. } => &[
                "a login or a proxy's notice stands in the way: open the address in a browser to see it",
                "with the archive at hand: cudnnm install --from PATH",
            ],
            Self::Interrupted { .. } | Self::Truncated { .. } => {
                &["what has arrived is kept: the same command goes on from there"]
            }
            Self::Stalled { .. } => &[
                "what has arrived is kept: the same command goes on from there",
                "to wait longer: cudnnm config network-timeout 120",
            ],
            Self::WrongDigest { .. } | Self::WrongSize { .. } => &[
                "a proxy or mirror may have changed it; the file was removed",
                "if NVIDIA has re-released it, the list may be behind: cudnnm manifest update",
            ],
            Self::NoSpace { .. } => &[
                "what the store can give back: cudnnm prune --dry-run",
                "or put the store elsewhere: set CUDNNM_ROOT to a folder on a larger disk",
            ],
            _ => &[],
        };
        hints.iter().map(|hint| (*hint).to_owned()).collect()
    }
}

fn reason(status: u16) -> String {
    reqwest::StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .map_or(String::new(), |reason| format!(" ({reason})"))
}

fn bytes(count: u64) -> String {
    format!("{count} bytes")
}

fn known(digests: &[Digest]) -> String {
    let all: Vec<String> = digests
        .iter()
        .map(|digest| match &digest.date {
            Some(date) => format!("{} (of {date})", digest.sha256),
            None => digest.sha256.clone(),
        })
        .collect();
    all.join(" or ")
}
