//! One attempt to complete a part: what is missing is cut into pieces, and a few connections fetch them.
//!
//! The first connection goes ahead alone. Its answer tells whether the server serves ranges of the same file as before;
//! only then the others start. Meanwhile the calling thread hashes what has arrived from the beginning without a gap, so
//! that the digest is ready when the last byte is.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Condvar, Mutex};

use reqwest::blocking::Response;
use reqwest::header::{self, HeaderName};

use super::client::{pause, text};
use super::credentials::shown;
use super::error::Error;
use super::follower::Follower;
use super::part::{Head, Part};
use super::{Client, Event, Request};

/// Below this one connection does it: setting up more takes longer.
const SEGMENT_FROM: u64 = 64 << 20;
/// What one request of many asks for: small enough that no connection is left with much more to do than the others.
const PIECE: std::ops::RangeInclusive<u64> = 4 << 20..=16 << 20;
/// A file is cut into about so many pieces, within those bounds.
const PIECES: u64 = 16;
/// Connections to one server for one file. More gain little and make servers angry.
const CONNECTIONS: usize = 4;
/// A connection that brought this much was good: its next failure is its first.
const PROGRESS: u64 = 64 << 10;

/// Whether the server is asked for ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Ranges, several at once when the file is large.
    Ranged,
    /// The whole from the beginning: the server can't do ranges right.
    Whole,
}

/// Why an attempt ended before the part was whole.
#[derive(Debug)]
pub(super) enum Stop {
    /// What has arrived does not fit what the server has now; begin anew in this mode.
    StartOver(Mode, &'static str),
    /// It failed.
    Failed(Error),
    /// Another connection failed, and this one was called off.
    CalledOff,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A part that is whole.
#[derive(Debug)]
pub(super) struct Whole {
    /// Of the bytes as they came.
    pub sha256: String,
    /// In bytes, as they came.
    pub size: u64,
    /// The server compressed it on the way although asked not to.
    pub gzip: bool,
}

/// What an answer's headers promise.
struct Judged {
    /// Where its bytes end.
    stop_at: u64,
    /// The length of the whole file.
    total: Option<u64>,
}

struct Shared<'a> {
    client: &'a Client,
    request: &'a Request<'a>,
    part: &'a Part,
    mode: Mode,
    queue: Mutex<VecDeque<(u64, u64)>>,
    called_off: AtomicBool,
    sleep: (Mutex<()>, Condvar),
    gzip: AtomicBool,
    events: Sender<Event>,
}

/// Completes the part.
pub(super) fn complete(
    client: &Client,
    request: &Request<'_>,
    part: &Part,
    mode: Mode,
    listener: &mut dyn FnMut(Event),
) -> Result<Whole, Stop> {
    let (events, inbox) = channel();
    let (opened, first_answer) = channel();
    let shared = Shared {
        client,
        request,
        part,
        mode,
        queue: Mutex::default(),
        called_off: AtomicBool::new(false),
        sleep: Default::default(),
        gzip: AtomicBool::new(false),
        events,
    };
    let total = part.head().total.or(request.size);
    let already = part.done();
    if already.len() > 0 {
        listener(Event::Resumed(already.len()));
    }
    let mut follower = Follower::new(part)?;
    let outcome = if total.is_some_and(|total| part.done().missing(total).is_empty()) {
        Ok(())
    } else {
        std::thread::scope(|scope| {
            let shared = &shared;
            let mut workers = vec![scope.spawn(move || shared.lead(total, &opened))];
            let followed = follower.follow(&inbox, listener, || {
                if first_answer.try_recv().is_ok() {
                    let waiting = shared.queue.lock().expect("no worker panics").len();
                    for _ in 0..waiting.min(CONNECTIONS - 1) {
                        workers.push(scope.spawn(|| shared.work()));
                    }
                }
                workers.iter().all(|worker| worker.is_finished())
            });
            if let Err(error) = followed {
                shared.call_off();
                return Err(Stop::Failed(error));
            }
            let mut outcome = Ok(());
            for worker in workers {
                let ended = worker.join().expect("a transfer worker does not panic");
                // The one that failed matters, not those it called off.
                if let (Ok(()) | Err(Stop::CalledOff), Err(stop)) = (&outcome, ended) {
                    outcome = Err(stop);
                }
            }
            outcome
        })
    };
    for event in inbox.try_iter() {
        listener(event);
    }
    outcome?;
    let (sha256, size) = follower.finish(listener)?;
    let expected = part.head().total;
    if let Some(expected) = expected.filter(|expected| *expected != size) {
        return Err(Error::Truncated {
            url: shown(request.url),
            received: size,
            expected,
        }
        .into());
    }
    Ok(Whole {
        sha256,
        size,
        gzip: shared.gzip.load(Ordering::Relaxed),
    })
}

impl Shared<'_> {
    /// The first connection: finds out what the server can do, fills the queue, then works like the others.
    fn lead(&self, total: Option<u64>, opened: &Sender<()>) -> Result<(), Stop> {
        let done = self.part.done();
        let gaps = total.map(|total| done.missing(total));
        let (start, gap_end) = match gaps.as_deref() {
            Some([first, ..]) => (first.0, Some(first.1)),
            _ => (done.frontier(), None),
        };
        let segmented =
            self.mode == Mode::Ranged && total.is_some_and(|total| total > SEGMENT_FROM);
        if self.mode == Mode::Ranged
            && (segmented || start > 0 || gaps.as_ref().is_some_and(|gaps| gaps.len() > 1))
        {
            let left: u64 = gaps.iter().flatten().map(|(from, to)| to - from).sum();
            let step = if segmented {
                (left / PIECES).clamp(*PIECE.start(), *PIECE.end())
            } else {
                u64::MAX
            };
            let mut pieces = VecDeque::new();
            for (from, to) in gaps.into_iter().flatten() {
                let mut at = from;
                while at < to {
                    let end = at.saturating_add(step).min(to);
                    pieces.push_back((at, end));
                    at = end;
                }
            }
            let first = pieces
                .pop_front()
                .unwrap_or((start, gap_end.unwrap_or(u64::MAX)));
            *self.queue.lock().expect("no worker panics") = pieces;
            return self.guarded(|| {
                self.piece(first.0, first.1, true, Some(opened))?;
                self.take_pieces()
            });
        }
        self.guarded(|| self.piece(0, u64::MAX, false, Some(opened)))
    }

    fn work(&self) -> Result<(), Stop> {
        self.guarded(|| self.take_pieces())
    }

    fn take_pieces(&self) -> Result<(), Stop> {
        loop {
            let next = self.queue.lock().expect("no worker panics").pop_front();
            let Some((start, end)) = next else {
                return Ok(());
            };
            self.piece(start, end, true, None)?;
        }
    }

    /// A worker that fails calls the others off.
    fn guarded(&self, work: impl FnOnce() -> Result<(), Stop>) -> Result<(), Stop> {
        let ended = work();
        if ended.is_err() {
            self.call_off();
        }
        ended
    }

    fn is_called_off(&self) -> bool {
        self.called_off.load(Ordering::Relaxed) || self.client.is_stopped()
    }

    fn call_off(&self) {
        self.called_off.store(true, Ordering::Relaxed);
        let _guard = self.sleep.0.lock().expect("no worker panics");
        self.sleep.1.notify_all();
    }

    /// One piece, with patience.
    fn piece(
        &self,
        start: u64,
        end: u64,
        ranged: bool,
        opened: Option<&Sender<()>>,
    ) -> Result<(), Stop> {
        let mut at = start;
        let mut failures = 0;
        loop {
            let before = at;
            let error = match self.stream(&mut at, end, ranged || before > 0, opened) {
                Err(Stop::Failed(error)) => error,
                other => return other,
            };
            if at - before >= PROGRESS {
                failures = 0;
            }
            if !self.client.tries_again(&error, failures) {
                return Err(error.into());
            }
            if self.mode == Mode::Whole && at > 0 {
                // Without ranges every attempt begins at the beginning.
                self.part.start_over()?;
                at = 0;
            }
            let wait = pause(failures, &error);
            failures += 1;
            let _ = self.events.send(Event::Trouble {
                error: error.to_string(),
                wait,
            });
            let guard = self.sleep.0.lock().expect("no worker panics");
            let _ = self
                .sleep
                .1
                .wait_timeout(guard, wait)
                .expect("no worker panics");
            if self.is_called_off() {
                return Err(Stop::CalledOff);
            }
        }
    }

    /// One request: what it brings is written from `at` on.
    fn stream(
        &self,
        at: &mut u64,
        end: u64,
        ranged: bool,
        opened: Option<&Sender<()>>,
    ) -> Result<(), Stop> {
        let mut headers: Vec<(HeaderName, String)> =
            vec![(header::ACCEPT_ENCODING, "identity".to_owned())];
        let ranged = ranged && self.mode == Mode::Ranged;
        let known = self.part.head();
        if ranged {
            let range = match end {
                u64::MAX => format!("bytes={at}-"),
                _ => format!("bytes={at}-{}", end - 1),
            };
            headers.push((header::RANGE, range));
            if let Some(validator) = known.validator() {
                headers.push((header::IF_RANGE, validator.to_owned()));
            }
        }
        let mut response = match self.client.open(self.request.url, &headers) {
            // Range not satisfiable: the file is shorter than we thought, or the server can't count.
            Err(Error::Status { status: 416, .. }) if ranged => {
                return Err(Stop::StartOver(
                    Mode::Whole,
                    "the server refuses to go on where it broke off",
                ));
            }
            other => other?,
        };
        let Judged { stop_at, total } = self.judge(&response, &known, *at, end, ranged)?;
        let url = self.request.url;
        let mut writer = self.part.writer(*at)?;
        let mut buffer = vec![0; self.client.step()];
        let begin = *at;
        let mut opened = opened;
        loop {
            if self.is_called_off() {
                return Err(Stop::CalledOff);
            }
            let room = usize::try_from(stop_at - *at)
                .unwrap_or(usize::MAX)
                .min(buffer.len());
            if room == 0 {
                return Ok(());
            }
            let count = match response.read(&mut buffer[..room]) {
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.client.broken(url, *at, &error).into()),
            };
            if *at == begin {
                // A login page is not as long as the archive either: say what it is before saying that its size is wrong.
                if begin == 0 {
                    self.refuse_page(&response, &buffer[..count])?;
                }
                self.check_size(total)?;
            }
            // Others start only when real bytes of the right file have come.
            if let Some(opened) = opened.take() {
                let _ = opened.send(());
            }
            if count == 0 {
                if stop_at == u64::MAX {
                    // A body without a length ends where it ends.
                    self.part.set_head(Head {
                        total: Some(*at),
                        ..self.part.head()
                    })?;
                    return Ok(());
                }
                let (received, expected) = (*at, stop_at);
                return Err(Error::Truncated {
                    url: shown(url),
                    received,
                    expected,
                }
                .into());
            }
            writer.write(&buffer[..count])?;
            *at += count as u64;
            if let Some(pause) = self.client.pause_after(count) {
                std::thread::sleep(pause);
            }
            if let Some(limit) = self.request.limit.filter(|limit| *at > *limit) {
                return Err(Error::TooLong {
                    url: shown(url),
                    limit,
                }
                .into());
            }
        }
    }

    /// Checks the answer against what is known and says where its bytes end.
    fn judge(
        &self,
        response: &Response,
        known: &Head,
        at: u64,
        end: u64,
        ranged: bool,
    ) -> Result<Judged, Stop> {
        let headers = response.headers();
        let encoding = text(headers, &header::CONTENT_ENCODING).to_ascii_lowercase();
        let gzip = matches!(encoding.as_str(), "gzip" | "x-gzip");
        if gzip && self.mode == Mode::Ranged {
            // Ranges of a compressed body are ranges of something else.
            return Err(Stop::StartOver(
                Mode::Whole,
                "the server compresses it on the way",
            ));
        }
        self.gzip.store(gzip, Ordering::Relaxed);
        let strong =
            |value: String| (!value.is_empty() && !value.starts_with("W/")).then_some(value);
        let some = |value: String| (!value.is_empty()).then_some(value);
        let mut found = Head::new(
            shown(self.request.url),
            strong(text(headers, &header::ETAG)),
            some(text(headers, &header::LAST_MODIFIED)),
            None,
        );
        let length = text(headers, &header::CONTENT_LENGTH).parse::<u64>().ok();
        let partial = response.status().as_u16() == 206;
        if partial {
            let range = text(headers, &header::CONTENT_RANGE);
            let Some((first, last, total)) = content_range(&range).filter(|_| ranged) else {
                return Err(Stop::StartOver(
                    Mode::Whole,
                    "the server answers with a part it does not name",
                ));
            };
            if first != at || last >= end {
                return Err(Stop::StartOver(
                    Mode::Whole,
                    "the server answers with another part than asked for",
                ));
            }
            found.total = total;
            if known.contradicts(&found) {
                return Err(Stop::StartOver(
                    Mode::Ranged,
                    "the file has changed on the server",
                ));
            }
        } else {
            found.total = length;
            if at > 0 {
                let changed = known.contradicts(&found);
                return Err(if changed {
                    Stop::StartOver(Mode::Ranged, "the file has changed on the server")
                } else {
                    Stop::StartOver(Mode::Whole, "the server can't go on where it broke off")
                });
            }
        }
        // The length of a compressed body says nothing about the file.
        let announced = found.total.filter(|_| !gzip);
        if partial {
            let total = found.total.or(known.total);
            if known.total.is_none() {
                self.part.set_head(found)?;
            }
            // A shorter part than asked for is allowed; the rest is asked for again.
            return Ok(Judged {
                stop_at: end.min(total.unwrap_or(end)),
                total: announced,
            });
        }
        if ranged {
            // The whole came instead of its first piece: take it, and nobody else needs to start.
            self.queue.lock().expect("no worker panics").clear();
        }
        if self.part.standing().done > 0 {
            self.part.start_over()?;
        }
        self.part.set_head(found)?;
        Ok(Judged {
            stop_at: length.unwrap_or(u64::MAX),
            total: announced,
        })
    }

    fn check_size(&self, total: Option<u64>) -> Result<(), Error> {
        let Some(found) = total else { return Ok(()) };
        let url = shown(self.request.url);
        match (self.request.size, self.request.limit) {
            (Some(expected), _) if expected != found => Err(Error::WrongSize {
                url,
                found,
                expected,
            }),
            (_, Some(limit)) if found > limit => Err(Error::TooLong { url, limit }),
            _ => Ok(()),
        }
    }

    /// Where a login or a proxy's notice stands in the way, a web page comes with status 200.
    fn refuse_page(&self, response: &Response, bytes: &[u8]) -> Result<(), Stop> {
        let kind = text(response.headers(), &header::CONTENT_TYPE).to_ascii_lowercase();
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let seems = match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'<') => "web page",
            Some(b'{') if kind.contains("json") => "JSON document",
            _ => return Ok(()),
        };
        Err(Error::LoginPage {
            url: shown(self.request.url),
            seems,
        }
        .into())
    }
}

/// `bytes 0-99/1000` as first, last, total.
fn content_range(text: &str) -> Option<(u64, u64, Option<u64>)> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let total = match total.trim() {
        "*" => None,
        total => Some(total.parse().ok()?),
    };
    let sound = first <= last && total.is_none_or(|total| last < total);
    sound.then_some((first, last, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges_are_read_strictly() {
        assert_eq!(content_range("bytes 0-99/1000"), Some((0, 99, Some(1000))));
        assert_eq!(content_range("bytes 5-5/*"), Some((5, 5, None)));
        for text in [
            "",
            "bytes",
            "bytes 0-99",
            "bytes 9-5/10",
            "bytes 0-10/10",
            "items 0-1/2",
            "bytes */10",
        ] {
            assert_eq!(content_range(text), None, "{text}");
        }
    }
}
