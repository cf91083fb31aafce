//! One HTTP client for everything: the system's certificates and proxy, patience, and no surprises from redirects.
//!
//! It is made at the first request, not before: loading certificates takes longer than most commands.

use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use reqwest::blocking::{Client as Http, Response};
use reqwest::header::{self, HeaderMap, HeaderName};
use url::Url;

use super::credentials::{self, Login, Netrc, shown};
use super::error::{Cause, Error};
use crate::process::Env;
use crate::settings::Rate;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
const STALL: Duration = Duration::from_secs(30);
const RETRIES: u32 = 5;
const MAX_REDIRECTS: usize = 10;
/// The largest index page seen is under 1 MB.
const MAX_DOCUMENT: u64 = 64 << 20;
/// A server that wants us to wait longer than this is as good as down.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(120);

/// How to be a client here.
#[derive(Debug, Clone)]
pub struct Options {
    /// Time without a byte after which a connection counts as dead.
    pub stall: Duration,
    /// How often a failed step is tried again.
    pub retries: u32,
    /// The most that all transfers together take.
    pub limit_rate: Option<Rate>,
    /// A proxy that pip's configuration names; overrules the system's.
    pub proxy: Option<String>,
    /// The proxy that variables or pip's configuration name, without credentials, for messages.
    pub proxy_in_force: Option<String>,
    /// PEM files with certificates to trust beside the system's.
    pub certificates: Vec<PathBuf>,
    /// Where logins may stand.
    pub netrc: Option<PathBuf>,
}

impl Options {
    /// The same with what pip's configuration says about the way to the network.
    pub fn with_pip(mut self, proxy: Option<&str>, certificates: Option<PathBuf>) -> Self {
        if let Some(proxy) = proxy {
            self.proxy = Some(proxy.to_owned());
            self.proxy_in_force = Some(shown_proxy(proxy));
        }
        self.certificates.extend(certificates);
        self
    }

    /// From the variables; `stall` is the setting `network-timeout`, in seconds, and `limit_rate` the one of that name.
    pub fn new(env: &Env, stall: Option<u64>, limit_rate: Option<Rate>) -> Self {
        let number = |name: &str| env.text(name).and_then(|text| text.parse::<u64>().ok());
        let stall = number("CUDNNM_NETWORK_TIMEOUT")
            .or(stall)
            .map(Duration::from_secs);
        let retries = number("CUDNNM_NETWORK_RETRIES").and_then(|count| u32::try_from(count).ok());
        let certificates = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT"]
            .into_iter()
            .filter_map(|name| env.path(name))
            .map(PathBuf::from)
            .collect();
        let proxy_in_force = [
            "HTTPS_PROXY",
            "https_proxy",
            "ALL_PROXY",
            "all_proxy",
            "HTTP_PROXY",
            "http_proxy",
        ]
        .into_iter()
        .find_map(|name| env.text(name))
        .map(shown_proxy);
        let home = env.path("HOME").or_else(|| env.path("USERPROFILE"));
        let netrc = env.path("NETRC").map(PathBuf::from).or_else(|| {
            let home = home?;
            [".netrc", "_netrc"]
                .iter()
                .map(|name| home.join(name))
                .find(|path| path.is_file())
        });
        Self {
            // A second at least: zero would fail before the first byte.
            stall: stall.unwrap_or(STALL).max(Duration::from_secs(1)),
            retries: retries.unwrap_or(RETRIES),
            limit_rate: env
                .text("CUDNNM_LIMIT_RATE")
                .and_then(|text| text.parse().ok())
                .or(limit_rate),
            proxy: None,
            proxy_in_force,
            certificates,
            netrc,
        }
    }
}

fn shown_proxy(address: &str) -> String {
    match address.parse() {
        Ok(url) => shown(&url),
        // `host:port` without a scheme holds a login only before an `@`.
        Err(_) => address.rsplit('@').next().unwrap_or_default().to_owned(),
    }
}

/// The client. Clones share connections and logins.
#[derive(Debug, Clone)]
pub struct Client {
    shared: Arc<Shared>,
    hasty: bool,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    http: OnceLock<Http>,
    netrc: OnceLock<Netrc>,
    /// Logins that stood in addresses, by origin: a mirror's page links to its own files without repeating them.
    logins: Mutex<Vec<(String, Login)>>,
    /// When the bytes that have been taken so far are paid for, under a limited rate.
    paid_until: Mutex<Option<Instant>>,
    stopped: AtomicBool,
}

/// A short document.
#[derive(Debug)]
pub struct Document {
    /// Where it finally was.
    pub url: Url,
    /// `Content-Type` without parameters, lower case.
    pub content_type: String,
    /// Its bytes.
    pub body: Vec<u8>,
}

impl Client {
    /// A client that has done nothing yet.
    pub fn new(options: Options) -> Self {
        let shared = Shared {
            options,
            http: OnceLock::new(),
            netrc: OnceLock::new(),
            logins: Mutex::new(Vec::new()),
            paid_until: Mutex::new(None),
            stopped: AtomicBool::new(false),
        };
        Self {
            shared: Arc::new(shared),
            hasty: false,
        }
    }

    /// The same, but a server that can't be reached is not tried again: another source is waiting.
    pub fn hasty(&self) -> Self {
        Self {
            hasty: true,
            ..self.clone()
        }
    }

    /// Ends every transfer of this client and its clones soon, with [`Error::Stopped`].
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether [`Client::stop`] was called.
    pub(super) fn is_stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::Relaxed)
    }

    /// How much to read at once. Under a limited rate little: a long pause would look like a stall to the server.
    pub(super) fn step(&self) -> usize {
        match self.shared.options.limit_rate {
            Some(_) => 16 << 10,
            None => 256 << 10,
        }
    }

    /// How long to pause after so many bytes so that all connections together keep to the limit.
    pub(super) fn pause_after(&self, bytes: usize) -> Option<Duration> {
        let Rate(rate) = self.shared.options.limit_rate?;
        let cost = Duration::from_secs_f64(bytes as f64 / rate as f64);
        let mut paid = self
            .shared
            .paid_until
            .lock()
            .expect("nothing panics while it holds the account");
        let now = Instant::now();
        let until = paid.unwrap_or(now).max(now) + cost;
        *paid = Some(until);
        Some(until - now)
    }

    /// Whether a step that has failed so often in a row is worth another try.
    pub(super) fn tries_again(&self, error: &Error, failures: u32) -> bool {
        let unreachable = matches!(error, Error::Unreachable { .. });
        error.is_transient()
            && failures < self.shared.options.retries
            && !(self.hasty && unreachable)
    }

    /// Fetches a short document; failures that may pass are tried again.
    ///
    /// # Errors
    ///
    /// When it can't be had.
    pub fn document(&self, url: &Url, accept: &str) -> Result<Document, Error> {
        let mut failures = 0;
        loop {
            match self.try_document(url, accept) {
                Err(error) if self.tries_again(&error, failures) => {
                    std::thread::sleep(pause(failures, &error));
                    failures += 1;
                }
                other => return other,
            }
        }
    }

    fn try_document(&self, url: &Url, accept: &str) -> Result<Document, Error> {
        let mut response = self.open(url, &[(header::ACCEPT, accept.to_owned())])?;
        let mut body = Vec::new();
        let mut limited = (&mut response).take(MAX_DOCUMENT + 1);
        limited
            .read_to_end(&mut body)
            .map_err(|error| self.broken(url, 0, &error))?;
        if body.len() as u64 > MAX_DOCUMENT {
            return Err(Error::TooLong {
                url: shown(url),
                limit: MAX_DOCUMENT,
            });
        }
        Ok(Document {
            url: response.url().clone(),
            content_type: text(response.headers(), &header::CONTENT_TYPE)
                .split(';')
                .next()
                .unwrap_or_default()
                .trim()
                .to_ascii_lowercase(),
            body,
        })
    }

    /// One request, its redirects followed; an answer of 400 and up is an error.
    pub(super) fn open(
        &self,
        start: &Url,
        headers: &[(HeaderName, String)],
    ) -> Result<Response, Error> {
        let http = self.http()?;
        let mut url = start.clone();
        for _ in 0..=MAX_REDIRECTS {
            if !matches!(url.scheme(), "http" | "https") {
                return Err(Error::BadAddress {
                    url: shown(&url),
                    why: format!("cudnnm knows no `{}` addresses", url.scheme()),
                });
            }
            let mut request = http.get(url.clone());
            if let Some(login) = self.login(&url) {
                request = request.basic_auth(login.user, Some(login.password));
            }
            for (name, value) in headers {
                request = request.header(name, value);
            }
            let response = request.send().map_err(|error| self.failed(&url, &error))?;
            let status = response.status();
            if matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
                let target = text(response.headers(), &header::LOCATION);
                let target = url.join(&target).map_err(|_| Error::BadAddress {
                    url: target.clone(),
                    why: format!("`{}` was redirected there", shown(start)),
                })?;
                // A start over http is the person's own choice; from https there is no way down.
                let allowed = target.scheme() == "https"
                    || (target.scheme() == "http" && url.scheme() == "http");
                if !allowed {
                    return Err(Error::RedirectScheme {
                        url: shown(start),
                        to: shown(&target),
                    });
                }
                url = target;
                continue;
            }
            if !status.is_success() {
                return Err(Error::Status {
                    url: shown(&url),
                    status: status.as_u16(),
                    retry_after: retry_after(response.headers(), SystemTime::now()),
                });
            }
            return Ok(response);
        }
        Err(Error::RedirectLoop {
            url: shown(start),
            times: MAX_REDIRECTS,
        })
    }

    /// What a failed read of a body means.
    pub(super) fn broken(&self, url: &Url, received: u64, error: &std::io::Error) -> Error {
        if timed_out(error) {
            return Error::Stalled {
                host: host(url),
                seconds: self.shared.options.stall,
            };
        }
        Error::Interrupted {
            url: shown(url),
            received,
            source: Cause::of(error),
        }
    }

    fn failed(&self, url: &Url, error: &reqwest::Error) -> Error {
        if let Some(tls) = find::<rustls::Error>(error) {
            return Error::Tls {
                host: host(url),
                source: Cause(explain_tls(tls)),
            };
        }
        if error.is_connect() || error.is_dns() {
            return Error::Unreachable {
                host: host(url),
                proxy: self.shared.options.proxy_in_force.clone(),
                source: Cause::of(error),
            };
        }
        if error.is_timeout() {
            return Error::Stalled {
                host: host(url),
                seconds: self.shared.options.stall,
            };
        }
        Error::Interrupted {
            url: shown(url),
            received: 0,
            source: Cause::of(error),
        }
    }

    fn http(&self) -> Result<&Http, Error> {
        if let Some(http) = self.shared.http.get() {
            return Ok(http);
        }
        // Fails only when one is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let setup = |message: &str| {
            let message = message.to_owned();
            move |error: reqwest::Error| Error::Setup {
                message,
                source: Some(Box::new(error)),
            }
        };
        let mut builder = Http::builder()
            .user_agent(concat!("cudnnm/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT.min(self.shared.options.stall))
            // For the blocking client this bounds the wait for headers and for each read, not the whole transfer.
            .timeout(self.shared.options.stall)
            .redirect(reqwest::redirect::Policy::none());
        let mut certificates = Vec::new();
        for path in &self.shared.options.certificates {
            // `SSL_CERT_FILE` of another system's container may name a file that is not here: the platform's remain.
            let Ok(pem) = std::fs::read(path) else {
                continue;
            };
            let bundle = reqwest::Certificate::from_pem_bundle(&pem).map_err(setup(&format!(
                "`{}` holds no certificates",
                path.display()
            )))?;
            certificates.extend(bundle);
        }
        if !certificates.is_empty() {
            builder = builder.tls_certs_merge(certificates);
        }
        if let Some(proxy) = &self.shared.options.proxy {
            let proxy = reqwest::Proxy::all(proxy)
                .map_err(setup("the proxy of pip's configuration is no address"))?
                .no_proxy(reqwest::NoProxy::from_env());
            builder = builder.proxy(proxy);
        }
        let http = builder
            .build()
            .map_err(setup("TLS or the proxy settings"))?;
        Ok(self.shared.http.get_or_init(|| http))
    }

    fn login(&self, url: &Url) -> Option<Login> {
        let origin = url.origin().ascii_serialization();
        let mut logins = self
            .shared
            .logins
            .lock()
            .expect("nothing panics while it holds the logins");
        if let Some(login) = credentials::in_address(url) {
            logins.retain(|(other, _)| *other != origin);
            logins.push((origin, login.clone()));
            return Some(login);
        }
        if let Some((_, login)) = logins.iter().find(|(other, _)| *other == origin) {
            return Some(login.clone());
        }
        drop(logins);
        let path = self.shared.options.netrc.as_ref()?;
        let netrc = self.shared.netrc.get_or_init(|| Netrc::load(path));
        netrc.login(url.host_str()?).cloned()
    }
}

/// The time to wait before attempt `failures + 1`: what the server asked for, else half a second, doubled each time.
pub(super) fn pause(failures: u32, error: &Error) -> Duration {
    match error.retry_after() {
        Some(wanted) => wanted.min(MAX_RETRY_AFTER),
        None => Duration::from_millis(500 << failures.min(5)),
    }
}

/// A header's text; empty when it is absent or no text.
pub(super) fn text(headers: &HeaderMap, name: &HeaderName) -> String {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned()
}

/// Name and port of the server, for messages.
pub(super) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// `Retry-After` in seconds or as a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = text(headers, &header::RETRY_AFTER);
    if let Ok(seconds) = value.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value.trim()).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

fn timed_out(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::TimedOut
        || error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<reqwest::Error>())
            .is_some_and(reqwest::Error::is_timeout)
}

/// Looks through the chain, also into the errors that `io::Error` wraps without naming them its source.
fn find<'a, T: std::error::Error + 'static>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        next = match error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref)
        {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

fn explain_tls(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer) => {
            "its certificate was issued by an authority that this system does not know".to_owned()
        }
        rustls::Error::InvalidMessage(_) => "what answers there does not speak TLS".to_owned(),
        other => other.to_string(),
    }
}
