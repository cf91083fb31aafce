//! Bad days of the network, one by one: what heals is healed, what does not is named, and nothing wrong is kept.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use cudnnm::download::{self, Client, Error, Event, Fetched, Options, Request};
use cudnnm::error::{Exit, Failure};
use cudnnm::manifest::Digest;
use cudnnm::process::Env;
use cudnnm::settings::Rate;
use sha2::Digest as _;
use tempfile::TempDir;

use crate::server::{Fault, Server};

const PATH: &str = "/files/cudnn.zip";

/// A server with one file, and a folder to fetch it into.
struct Day {
    server: Server,
    folder: TempDir,
    body: Vec<u8>,
    stall: Duration,
    retries: u32,
    limit_rate: Option<Rate>,
    events: Vec<Event>,
}

impl Day {
    fn new(length: usize) -> Self {
        let body = noise(length);
        let server = Server::new();
        server.serve(PATH, body.clone());
        Self {
            server,
            body,
            folder: tempfile::tempdir().unwrap(),
            stall: Duration::from_secs(1),
            retries: 3,
            limit_rate: None,
            events: Vec::new(),
        }
    }

    fn with(self, times: Option<usize>, fault: Fault) -> Self {
        self.server.fault(PATH, times, fault);
        self
    }

    fn client(&self) -> Client {
        let none: [(&str, &str); 0] = [];
        let options = Options::new(&Env::from_pairs(none), None, self.limit_rate);
        Client::new(Options {
            stall: self.stall,
            retries: self.retries,
            ..options
        })
    }

    fn fetch(&mut self) -> Result<Fetched, Error> {
        self.fetch_from(&self.server.url(PATH))
    }

    fn fetch_from(&mut self, url: &str) -> Result<Fetched, Error> {
        let digest = Digest {
            sha256: sha256(&self.body),
            date: Some("2026-01-02".to_owned()),
        };
        let request = Request {
            url: &url.parse().unwrap(),
            folder: self.folder.path(),
            file: "cudnn.zip",
            digests: &[digest],
            size: Some(self.body.len() as u64),
            limit: None,
        };
        let client = self.client();
        let events = &mut self.events;
        download::fetch(&client, &request, &mut |event| events.push(event))
    }

    /// The file came, whole and right.
    #[track_caller]
    fn heals(&mut self) {
        let fetched = self
            .fetch()
            .unwrap_or_else(|error| panic!("{error}: {error:?}"));
        assert_eq!(std::fs::read(&fetched.path).unwrap(), self.body);
        assert_eq!(self.left(), ["cudnn.zip"], "only the file itself stays");
    }

    /// It failed, and says so.
    #[track_caller]
    fn fails(&mut self, exit: Exit, says: &[&str]) -> Error {
        let error = self.fetch().expect_err("a failure");
        let mut text = error.to_string();
        if let Some(source) = std::error::Error::source(&error) {
            text.push_str(&format!(" <- {source}"));
        }
        assert_eq!(error.exit(), exit, "{text}");
        for part in says {
            assert!(text.contains(part), "{text:?} lacks {part:?}");
        }
        error
    }

    fn left(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn ranges(&self) -> Vec<Option<String>> {
        let hits = self.server.hits(PATH);
        hits.iter()
            .map(|hit| hit.headers.get("range").cloned())
            .collect()
    }

    fn started_over(&self) -> bool {
        self.events
            .iter()
            .any(|event| matches!(event, Event::StartedOver(_)))
    }
}

/// Bytes without a pattern, the same each time.
pub fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

pub fn sha256(bytes: &[u8]) -> String {
    sha2::Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn a_good_day_takes_one_request() {
    let mut day = Day::new(300_000);
    day.heals();
    assert_eq!(day.ranges(), [None]);
    // The kept file serves without the network.
    day.heals();
    assert_eq!(day.ranges().len(), 1);
}

#[test]
fn a_reset_goes_on_where_it_broke() {
    let mut day = Day::new(300_000).with(Some(1), Fault::Reset(100_000));
    day.heals();
    assert!(day.server.sent(PATH) < 310_000, "{}", day.server.sent(PATH));
}

#[test]
fn a_truncated_body_goes_on_where_it_ended() {
    let mut day = Day::new(300_000).with(Some(1), Fault::Truncate(100_000));
    day.heals();
    assert_eq!(day.ranges(), [None, Some("bytes=100000-".to_owned())]);
}

#[test]
fn a_body_that_always_ends_early_is_named_and_kept() {
    let mut day = Day::new(300_000).with(None, Fault::Truncate(1000));
    let error = day.fails(Exit::Network, &["broke off after"]);
    assert!(error.hints()[0].contains("goes on from there"));
    assert_eq!(day.left(), ["cudnn.zip.part", "cudnn.zip.part.journal"]);
    let before = day.server.sent(PATH);
    day.server.heal();
    day.heals();
    assert_eq!(
        day.server.sent(PATH) - before,
        300_000 - before,
        "nothing is fetched twice"
    );
}

#[test]
fn a_stall_is_given_up_and_tried_again() {
    let mut day = Day::new(300_000).with(Some(1), Fault::Stall(100_000));
    let started = Instant::now();
    day.heals();
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn an_endless_stall_is_named() {
    let mut day = Day::new(300_000).with(None, Fault::Stall(0));
    day.retries = 1;
    let error = day.fails(
        Exit::Network,
        &["127.0.0.1:", "has sent nothing for 1 seconds"],
    );
    assert!(
        error
            .hints()
            .iter()
            .any(|hint| hint.contains("network-timeout"))
    );
    assert_eq!(
        day.left(),
        Vec::<String>::new(),
        "not one byte came, nothing is left"
    );
}

#[test]
fn a_slow_drip_is_no_stall() {
    // Slower than the timeout as a whole, never in between.
    let mut day = Day::new(30_000).with(None, Fault::Drip(3000, Duration::from_millis(200)));
    day.heals();
    assert_eq!(day.ranges().len(), 1);
}

#[test]
fn a_content_length_too_long_is_a_wrong_size() {
    let mut day = Day::new(300_000).with(None, Fault::LongerLength(5));
    day.fails(
        Exit::BadArchive,
        &["is 300005 bytes long; it should be 300000 bytes"],
    );
    assert_eq!(day.left(), Vec::<String>::new());
}

#[test]
fn a_content_length_too_short_is_a_wrong_size() {
    let mut day = Day::new(300_000).with(None, Fault::ShorterLength(5));
    day.fails(Exit::BadArchive, &["is 299995 bytes long"]);
    assert_eq!(day.left(), Vec::<String>::new());
}

#[test]
fn a_server_that_ignores_range_starts_over() {
    let mut day = Day::new(300_000)
        .with(Some(1), Fault::Truncate(100_000))
        .with(None, Fault::IgnoreRange);
    day.heals();
    assert!(day.started_over());
}

#[test]
fn a_wrong_offset_starts_over_without_ranges() {
    let mut day = Day::new(300_000)
        .with(Some(1), Fault::Truncate(100_000))
        .with(None, Fault::WrongOffset);
    day.heals();
    assert_eq!(day.ranges().last(), Some(&None));
}

#[test]
fn range_not_satisfiable_starts_over_without_ranges() {
    let mut day = Day::new(300_000)
        .with(Some(1), Fault::Truncate(100_000))
        .with(None, Fault::NotSatisfiable);
    day.heals();
    assert_eq!(day.ranges().last(), Some(&None));
}

#[test]
fn a_file_that_changed_between_attempts_is_fetched_anew() {
    let mut day = Day::new(300_000).with(None, Fault::Truncate(1000));
    day.fails(Exit::Network, &[]);
    day.server.heal();
    // Another file of the same length, and the digest that is asked for is the new one's.
    day.body.reverse();
    day.server.serve(PATH, day.body.clone());
    day.heals();
    assert!(day.started_over());
}

#[test]
fn busy_servers_are_asked_again_when_they_say() {
    for (status, after) in [(503, "1"), (429, "1")] {
        let mut day = Day::new(3000).with(Some(1), Fault::Status(status, Some(after)));
        let started = Instant::now();
        day.heals();
        assert!(
            started.elapsed() >= Duration::from_secs(1),
            "Retry-After is honoured"
        );
    }
}

#[test]
fn a_server_that_stays_busy_is_named() {
    let mut day = Day::new(3000).with(None, Fault::Status(503, Some("0")));
    day.fails(
        Exit::Network,
        &["cudnn.zip` answered 503 (Service Unavailable)"],
    );
    assert_eq!(day.ranges().len(), 4, "the first try and three more");
    assert_eq!(day.left(), Vec::<String>::new());
}

#[test]
fn not_found_is_final() {
    let mut day = Day::new(3000).with(None, Fault::Status(404, None));
    day.fails(Exit::Network, &["answered 404 (Not Found)"]);
    assert_eq!(day.ranges().len(), 1);
    assert_eq!(day.left(), Vec::<String>::new());
}

#[test]
fn a_login_page_is_told_from_an_archive() {
    let mut day = Day::new(3000).with(None, Fault::LoginPage);
    // The page is not as long as the archive: say what it is, not that its size is wrong.
    let error = day.fails(
        Exit::Network,
        &["answered with a web page instead of an archive"],
    );
    assert!(error.hints().iter().any(|hint| hint.contains("--from")));
    assert_eq!(day.left(), Vec::<String>::new());
}

#[test]
fn a_wrong_digest_names_both_and_leaves_nothing() {
    let mut day = Day::new(3000);
    let served = day.body.clone();
    day.body[1500] ^= 1;
    let expected = sha256(&day.body);
    day.fails(
        Exit::BadArchive,
        &["cudnn.zip", &sha256(&served), &expected, "of 2026-01-02"],
    );
    assert_eq!(day.left(), Vec::<String>::new());
}

#[test]
fn a_damaged_part_is_fetched_anew() {
    let mut day = Day::new(300_000).with(None, Fault::Truncate(100_000));
    day.retries = 0;
    day.fails(Exit::Network, &[]);
    day.server.heal();
    let part = day.folder.path().join("cudnn.zip.part");
    let mut bytes = std::fs::read(&part).unwrap();
    bytes[5] ^= 1;
    std::fs::write(&part, bytes).unwrap();
    day.heals();
    assert!(day.started_over());
}

#[test]
fn compression_on_the_way_is_taken_off() {
    let mut day = Day::new(300_000).with(None, Fault::Gzip);
    day.heals();
}

#[test]
fn an_archive_that_is_gzip_itself_may_be_called_encoded() {
    // The server labels a `.tgz` "Content-Encoding: gzip": the bytes as they are must match.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, &noise(5000)).unwrap();
    let packed = encoder.finish().unwrap();
    let mut day = Day::new(0);
    day.body = packed;
    // What the fault compresses is what the encoder compressed above: same bytes.
    day.server.serve(PATH, noise(5000));
    day.server.fault(PATH, None, Fault::Gzip);
    day.heals();
}

#[test]
fn redirects_are_followed_but_not_in_circles_and_not_to_other_schemes() {
    let mut day = Day::new(3000);
    day.server
        .fault("/moved", None, Fault::Redirect(PATH.to_owned()));
    let url = day.server.url("/moved");
    day.fetch_from(&url).unwrap();

    let mut day = Day::new(3000).with(None, Fault::Redirect(PATH.to_owned()));
    day.fails(Exit::Network, &["was redirected more than 10 times"]);

    for target in ["ftp://127.0.0.1/x", "file:///etc/passwd"] {
        let mut day = Day::new(3000).with(None, Fault::Redirect(target.to_owned()));
        day.fails(Exit::Network, &["was redirected to", target, "not https"]);
        assert_eq!(day.left(), Vec::<String>::new());
    }
}

#[test]
fn an_unreachable_server_is_named() {
    let mut day = Day::new(10);
    day.retries = 0;
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let error = day
        .fetch_from(&format!("http://127.0.0.1:{port}/x"))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("could not reach `127.0.0.1:{port}`")
    );
    assert_eq!(error.exit(), Exit::Network);
    assert_eq!(day.left(), Vec::<String>::new());
}

#[test]
fn a_port_that_speaks_no_tls_is_named() {
    let mut day = Day::new(10);
    let url = day.server.url(PATH).replace("http://", "https://");
    let error = day.fetch_from(&url).unwrap_err();
    assert!(matches!(error, Error::Tls { .. }), "{error:?}");
    assert!(error.hints()[0].contains("SSL_CERT_FILE"));
}

#[test]
fn logins_go_to_their_server_only_and_are_never_shown() {
    let mut day = Day::new(3000);
    let other = Server::new();
    other.serve("/x", day.body.clone());
    let target = other.url("/x");
    day.server.fault("/moved", None, Fault::Redirect(target));
    let url = day
        .server
        .url("/moved")
        .replace("http://", "http://user:s3cret@");
    day.fetch_from(&url).unwrap();
    assert_eq!(
        day.server.hits("/moved")[0].headers["authorization"],
        "Basic dXNlcjpzM2NyZXQ="
    );
    assert_eq!(other.hits("/x")[0].headers.get("authorization"), None);

    let url = day
        .server
        .url("/nowhere")
        .replace("http://", "http://user:s3cret@");
    std::fs::remove_file(day.folder.path().join("cudnn.zip")).unwrap();
    let error = day.fetch_from(&url).unwrap_err();
    let all = format!("{error} {error:?} {:?}", error.hints());
    assert!(!all.contains("s3cret"), "{all}");
}

#[test]
fn every_request_says_who_asks() {
    let mut day = Day::new(10);
    day.heals();
    let hit = &day.server.hits(PATH)[0];
    assert!(hit.headers["user-agent"].starts_with("cudnnm/"));
    assert_eq!(hit.headers["accept-encoding"], "identity");
}

#[test]
fn a_file_address_is_read_where_it_lies() {
    let mut day = Day::new(1000);
    let elsewhere = tempfile::tempdir().unwrap();
    let path: PathBuf = elsewhere.path().join("包 [1].zip");
    std::fs::write(&path, &day.body).unwrap();
    let url = url::Url::from_file_path(&path).unwrap();
    let fetched = day.fetch_from(url.as_str()).unwrap();
    assert_eq!((fetched.path, fetched.ours), (path.clone(), false));
    std::fs::write(&path, b"other").unwrap();
    assert!(matches!(
        day.fetch_from(url.as_str()),
        Err(Error::WrongDigest { .. })
    ));
    assert!(path.exists(), "a person's file is not ours to remove");
}

const LARGE: usize = 80 << 20;

#[test]
fn a_large_file_comes_in_segments() {
    let mut day = Day::new(LARGE);
    day.heals();
    let ranges = day.ranges();
    assert_eq!(ranges.len(), 16, "sixteen pieces of 5 MiB: {ranges:?}");
    assert_eq!(day.server.sent(PATH), LARGE);
}

#[test]
fn segments_of_a_broken_transfer_go_on_each_where_it_stood() {
    let mut day = Day::new(LARGE).with(None, Fault::Truncate(1 << 20));
    day.retries = 0;
    day.fails(Exit::Network, &[]);
    let before = day.server.sent(PATH);
    assert!(before > 0);
    day.server.heal();
    day.events.clear();
    day.heals();
    let Some(Event::Resumed(kept)) = day.events.first() else {
        panic!("{:?}", day.events.first());
    };
    assert_eq!(
        day.server.sent(PATH) - before,
        LARGE - *kept as usize,
        "only the rest is fetched"
    );
}

#[test]
fn a_large_file_from_a_server_without_ranges_comes_whole() {
    let mut day = Day::new(LARGE).with(None, Fault::IgnoreRange);
    day.heals();
    assert_eq!(day.ranges().len(), 1);
}

#[test]
fn segments_come_through_several_connections_at_once() {
    // Slow enough that all are busy together.
    let drip = Fault::Drip(64 << 10, Duration::from_millis(2));
    let mut day = Day::new(LARGE).with(None, drip);
    day.heals();
    let most = day.server.most_at_once();
    assert!(most > 1, "{most} at once");
}

#[test]
fn a_limited_rate_is_kept_by_all_connections_together() {
    let mut day = Day::new(1_000_000);
    day.limit_rate = Some(Rate(1_000_000));
    let started = Instant::now();
    day.heals();
    let took = started.elapsed();
    assert!(took > Duration::from_millis(900), "{took:?}");
}

#[test]
fn a_name_that_leads_out_of_the_folder_is_refused() {
    let day = Day::new(10);
    for file in ["../x", "/x", "a/b", "a\\b", "c:x", "..", ".", ""] {
        let request = Request {
            url: &day.server.url(PATH).parse().unwrap(),
            folder: day.folder.path(),
            file,
            digests: &[],
            size: None,
            limit: None,
        };
        let error = download::fetch(&day.client(), &request, &mut |_| ()).unwrap_err();
        assert!(
            error.to_string().contains("no plain file name"),
            "{file}: {error}"
        );
    }
    assert_eq!(day.left(), Vec::<String>::new());
}
