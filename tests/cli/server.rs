//! A loopback HTTP server that behaves, and misbehaves on request: NVIDIA's tree, a Python index, and bad days.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// One way to misbehave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Send so many bytes of the body, then nothing more, and keep the connection.
    Stall(usize),
    /// Send the body in pieces of so many bytes, with a pause after each.
    Drip(usize, Duration),
    /// Reset the connection after so many bytes of the body.
    Reset(usize),
    /// Close the connection in order after so many bytes of the body.
    Truncate(usize),
    /// Claim so many bytes more than there are.
    LongerLength(usize),
    /// Claim so many bytes less than there are, and send only those.
    ShorterLength(usize),
    /// Answer 200 with everything, whatever range is asked for.
    IgnoreRange,
    /// Answer 206 with bytes from somewhere else.
    WrongOffset,
    /// Answer 416 to every range.
    NotSatisfiable,
    /// Answer this status, with `Retry-After` if given.
    Status(u16, Option<&'static str>),
    /// Redirect to this address.
    Redirect(String),
    /// A web page with status 200.
    LoginPage,
    /// Compress the body although nobody asked.
    Gzip,
}

/// One request that came.
#[derive(Debug, Clone)]
pub struct Hit {
    pub path: String,
    pub headers: BTreeMap<String, String>,
    /// Bytes of the body that were handed to the system.
    pub sent: usize,
}

#[derive(Debug, Clone)]
struct Served {
    body: Arc<Vec<u8>>,
    kind: &'static str,
    etag: String,
}

#[derive(Debug, Default)]
struct State {
    served: BTreeMap<String, Served>,
    /// Path, times left (`None` for ever), fault. The first that is left applies.
    faults: Vec<(String, Option<usize>, Fault)>,
    hits: Vec<Hit>,
    /// Answers in progress now, and the most there ever were.
    open: usize,
    most_open: usize,
    generation: usize,
}

/// The server; its threads end with the process.
pub struct Server {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = shared.clone();
                {
                    let mut state = state.lock().unwrap();
                    state.open += 1;
                    state.most_open = state.most_open.max(state.open);
                }
                std::thread::spawn(move || {
                    let _ = answer(stream, &state);
                    state.lock().unwrap().open -= 1;
                });
            }
        });
        Self { address, state }
    }

    /// The address of a path, which begins with `/`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Serves a body; a body that was served there before gets another ETag.
    pub fn serve(&self, path: &str, body: impl Into<Vec<u8>>) {
        self.serve_as(path, body, "application/octet-stream");
    }

    pub fn serve_as(&self, path: &str, body: impl Into<Vec<u8>>, kind: &'static str) {
        let mut state = self.state.lock().unwrap();
        state.generation += 1;
        let etag = format!("\"v{}\"", state.generation);
        let served = Served {
            body: Arc::new(body.into()),
            kind,
            etag,
        };
        state.served.insert(path.to_owned(), served);
    }

    /// Misbehaves at this path for so many requests, `None` for all.
    pub fn fault(&self, path: &str, times: Option<usize>, fault: Fault) {
        self.state
            .lock()
            .unwrap()
            .faults
            .push((path.to_owned(), times, fault));
    }

    /// Behaves again.
    pub fn heal(&self) {
        self.state.lock().unwrap().faults.clear();
    }

    /// The requests for one path so far.
    pub fn hits(&self, path: &str) -> Vec<Hit> {
        let state = self.state.lock().unwrap();
        state
            .hits
            .iter()
            .filter(|hit| hit.path == path)
            .cloned()
            .collect()
    }

    /// The most answers that were ever in progress at once.
    pub fn most_at_once(&self) -> usize {
        self.state.lock().unwrap().most_open
    }

    /// Bytes of bodies sent for one path so far.
    pub fn sent(&self, path: &str) -> usize {
        self.hits(path).iter().map(|hit| hit.sent).sum()
    }
}

fn answer(mut stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    // Peeked, not read: a connection that is closed with something unread is reset, not ended.
    let mut head = vec![0; 16 << 10];
    let length = loop {
        let count = stream.peek(&mut head)?;
        if count == 0 {
            return Ok(());
        }
        if let Some(end) = head[..count]
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
        {
            break end + 4;
        }
        if head[0] != b'G' {
            // Somebody speaks TLS here.
            return stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let text = String::from_utf8_lossy(&head[..length]).into_owned();
    let mut lines = text.lines();
    let path = lines
        .next()
        .unwrap_or_default()
        .split(' ')
        .nth(1)
        .unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default().to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let (served, fault, hit) = {
        let mut state = state.lock().unwrap();
        let fault = state
            .faults
            .iter_mut()
            .find(|(at, times, _)| *at == path && *times != Some(0));
        let fault = fault.map(|(_, times, fault)| {
            *times = times.map(|times| times - 1);
            fault.clone()
        });
        state.hits.push(Hit {
            path: path.clone(),
            headers: headers.clone(),
            sent: 0,
        });
        (
            state.served.get(&path).cloned(),
            fault,
            state.hits.len() - 1,
        )
    };
    let mut reply = Reply { stream, state, hit };
    if !matches!(fault, Some(Fault::Reset(_))) {
        reply.stream.read_exact(&mut head[..length])?;
    }
    match fault {
        Some(Fault::Status(status, retry_after)) => {
            let retry =
                retry_after.map_or(String::new(), |value| format!("Retry-After: {value}\r\n"));
            return reply.head(
                &format!("{status} Fault"),
                &format!("{retry}Content-Length: 0\r\n"),
            );
        }
        Some(Fault::Redirect(target)) => {
            return reply.head(
                "302 Found",
                &format!("Location: {target}\r\nContent-Length: 0\r\n"),
            );
        }
        Some(Fault::LoginPage) => {
            let page = b"<!DOCTYPE html>\n<html><body><form action=/login>Please log in</form></body></html>";
            reply.head(
                "200 OK",
                &format!(
                    "Content-Type: text/html\r\nContent-Length: {}\r\n",
                    page.len()
                ),
            )?;
            return reply.body(page);
        }
        _ => {}
    }
    let Some(served) = served else {
        return reply.head("404 Not Found", "Content-Length: 0\r\n");
    };
    let range = headers.get("range").filter(|_| {
        // A changed file is sent whole.
        headers
            .get("if-range")
            .is_none_or(|validator| *validator == served.etag)
    });
    if range.is_some() && fault == Some(Fault::NotSatisfiable) {
        return reply.head("416 Range Not Satisfiable", "Content-Length: 0\r\n");
    }
    let total = served.body.len();
    let range = range
        .filter(|_| fault != Some(Fault::IgnoreRange))
        .and_then(|range| {
            let (start, end) = range.strip_prefix("bytes=")?.split_once('-')?;
            let start: usize = start.parse().ok()?;
            let end = end.parse().map_or(total, |end: usize| (end + 1).min(total));
            (start < end).then_some((start, end))
        });
    let kind = served.kind;
    let etag = &served.etag;
    let common = format!("Content-Type: {kind}\r\nETag: {etag}\r\nAccept-Ranges: bytes\r\n");
    let (status, mut body, more) = match range {
        Some((start, end)) => {
            let shift = usize::from(fault == Some(Fault::WrongOffset));
            let (first, last) = (start + shift, end + shift - 1);
            let range = format!("Content-Range: bytes {first}-{last}/{total}\r\n");
            (
                "206 Partial Content",
                served.body[start..end].to_vec(),
                range,
            )
        }
        None => ("200 OK", served.body.to_vec(), String::new()),
    };
    let mut more = more;
    if fault == Some(Fault::Gzip) {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&body)?;
        body = encoder.finish()?;
        more.push_str("Content-Encoding: gzip\r\n");
    }
    let claimed = match fault {
        Some(Fault::LongerLength(by)) => body.len() + by,
        Some(Fault::ShorterLength(by)) => body.len() - by,
        _ => body.len(),
    };
    reply.head(
        status,
        &format!("{common}{more}Content-Length: {claimed}\r\n"),
    )?;
    match fault {
        Some(Fault::Stall(after)) => {
            reply.body(&body[..after.min(body.len())])?;
            // Longer than any patience in the tests.
            std::thread::sleep(Duration::from_secs(15));
            Ok(())
        }
        Some(Fault::Drip(count, pause)) => {
            for piece in body.chunks(count) {
                reply.body(piece)?;
                std::thread::sleep(pause);
            }
            Ok(())
        }
        Some(Fault::Reset(after) | Fault::Truncate(after)) => {
            reply.body(&body[..after.min(body.len())])?;
            // What was sent should arrive before the reset does.
            std::thread::sleep(Duration::from_millis(50));
            Ok(())
        }
        Some(Fault::ShorterLength(_)) => reply.body(&body[..claimed]),
        _ => reply.body(&body),
    }
}

struct Reply<'a> {
    stream: TcpStream,
    state: &'a Mutex<State>,
    hit: usize,
}

impl Reply<'_> {
    fn head(&mut self, status: &str, headers: &str) -> std::io::Result<()> {
        let head = format!("HTTP/1.1 {status}\r\n{headers}Connection: close\r\n\r\n");
        self.stream.write_all(head.as_bytes())
    }

    fn body(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        for piece in bytes.chunks(16 << 10) {
            self.stream.write_all(piece)?;
            self.state.lock().unwrap().hits[self.hit].sent += piece.len();
        }
        Ok(())
    }
}
