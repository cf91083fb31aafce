//! The parent's side: start the child, hear every line it says, wait no longer than allowed, and say how it ended.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::{Event, Failed, FailedKind, Request, Told};
use crate::status;

/// How much of what a child writes to stderr is kept, from its end.
const KEPT: usize = 4000;

/// How to start children.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// This program's own file.
    pub program: &'a Path,
    /// Variables that differ from ours.
    pub set: &'a [(OsString, OsString)],
    /// The folder it starts in.
    pub cwd: &'a Path,
    /// After which a child is ended.
    pub limit: Duration,
    /// The longest silence; a child that says nothing for so long hangs.
    pub silence: Duration,
}

/// What a child told, and how it ended.
#[derive(Debug)]
pub struct Heard {
    /// In order.
    pub events: Vec<Told>,
    /// How it ended.
    pub ending: Ending,
    /// The end of what it wrote to stderr.
    pub stderr: String,
    /// How long it ran.
    pub took: Duration,
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It did all it was asked.
    Done,
    /// It said why it could not go on.
    Failed(Failed),
    /// A signal or exception ended it, or it left without a word.
    Died {
        /// `SIGABRT`, `STATUS_ACCESS_VIOLATION (0xC0000005)`, `exit code 3`.
        how: String,
    },
    /// It was ended after the time limit.
    TimedOut,
    /// It could not be started.
    NotStarted {
        /// Why.
        why: String,
    },
}

impl Heard {
    /// What the child was about to do last.
    pub fn last_stage(&self) -> Option<&str> {
        self.events.iter().rev().find_map(|told| match &told.event {
            Event::Stage { what } => Some(what.as_str()),
            _ => None,
        })
    }

    /// The last line on stderr that says something: cuDNN's own words before it aborts.
    pub fn last_words(&self) -> Option<&str> {
        self.stderr
            .lines()
            .map(str::trim)
            .rfind(|line| !line.is_empty())
    }

    /// The unit that was begun and not finished, by its position in the request.
    pub fn unfinished(&self) -> Option<usize> {
        self.events.iter().rev().find_map(|told| match told.event {
            Event::Begin { unit } => Some(Some(unit)),
            Event::Unit { .. } => Some(None),
            _ => None,
        })?
    }

    /// How it ended, as a sentence; `None` when all was done.
    pub fn sentence(&self) -> Option<String> {
        let during = self
            .last_stage()
            .map(|stage| format!(" while {stage}"))
            .unwrap_or_default();
        let words = self
            .last_words()
            .map(|words| format!("; its last words: {words}"))
            .unwrap_or_default();
        Some(match &self.ending {
            Ending::Done => return None,
            Ending::Failed(failed) => {
                let during = match failed.kind {
                    FailedKind::Call => during.as_str(),
                    FailedKind::NoGpu | FailedKind::Incompatible | FailedKind::Load => "",
                };
                let cause = failed.cause.as_ref().map(|cause| format!(": {cause}"));
                format!("{}{during}{}", failed.message, cause.unwrap_or_default())
            }
            Ending::Died { how } => format!("the process died ({how}){during}{words}"),
            Ending::TimedOut => format!(
                "nothing happened any more{during}: ended after {} seconds{words}",
                self.took.as_secs()
            ),
            Ending::NotStarted { why } => format!("the process could not be started: {why}"),
        })
    }
}

impl Launch<'_> {
    /// Runs one child to its end or to the time limit.
    pub fn run(&self, request: &Request) -> Heard {
        let started = Instant::now();
        let request = serde_json::to_string(request).expect("a request is plain data");
        let child = Command::new(self.program)
            .arg("__probe")
            .arg(request)
            .envs(self.set.iter().map(|(name, value)| (name, value)))
            .current_dir(self.cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) => {
                return Heard {
                    events: Vec::new(),
                    ending: Ending::NotStarted {
                        why: error.to_string(),
                    },
                    stderr: String::new(),
                    took: started.elapsed(),
                };
            }
        };
        let stderr = child.stderr.take().map(tail_of);
        let (events, in_time) = self.listen(&mut child, started);
        let status = end(&mut child, in_time);
        let stderr = stderr
            .and_then(|reader| reader.join().ok())
            .unwrap_or_default();
        let last = events.iter().rev().find_map(|told| match &told.event {
            Event::Done => Some(Ending::Done),
            Event::Failed(failed) => Some(Ending::Failed(failed.clone())),
            _ => None,
        });
        // A library that crashes while the process ends has done its work before.
        let ending = match (last, in_time, status) {
            (Some(last), ..) => last,
            (None, false, _) => Ending::TimedOut,
            (None, true, status) => Ending::Died {
                how: status.map_or_else(|| "it can't be ended".to_owned(), how_it_died),
            },
        };
        Heard {
            events,
            ending,
            stderr,
            took: started.elapsed(),
        }
    }

    /// Every event until the child closes its stdout, and whether that was in time.
    fn listen(&self, child: &mut Child, started: Instant) -> (Vec<Told>, bool) {
        let (sender, receiver) = mpsc::channel();
        let Some(stdout) = child.stdout.take() else {
            return (Vec::new(), true);
        };
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { break };
                // What a library prints to stdout is none of ours.
                if let Ok(told) = serde_json::from_str::<Told>(&line)
                    && sender.send(told).is_err()
                {
                    break;
                }
            }
        });
        let mut events = Vec::new();
        loop {
            let left = self.limit.saturating_sub(started.elapsed());
            match receiver.recv_timeout(left.min(self.silence)) {
                Ok(told) => events.push(told),
                Err(RecvTimeoutError::Disconnected) => return (events, true),
                Err(RecvTimeoutError::Timeout) => return (events, false),
            }
        }
    }
}

/// Ends the child if it is still there, and waits for it; `None` when it does not go even then (a driver call that the
/// kernel can't interrupt).
fn end(child: &mut Child, in_time: bool) -> Option<ExitStatus> {
    if !in_time {
        // It may have gone by itself in this very moment.
        let _ = child.kill();
    }
    let patience = Instant::now() + Duration::from_secs(10);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < patience => std::thread::sleep(Duration::from_millis(2)),
            Ok(None) => {
                let _ = child.kill();
                return None;
            }
            Err(_) => return None,
        }
    }
}

/// A program that ran to its end or to a time limit.
#[derive(Debug)]
pub struct Ended {
    /// All it wrote there.
    pub stdout: String,
    /// The end of what it wrote there.
    pub stderr: String,
    /// `exit code 0`, `SIGSEGV`, `the time limit`, why it could not be started.
    pub how: String,
}

/// Runs a program, hears what it says, and ends it after the limit.
pub fn run_to_end(mut command: Command, limit: Duration) -> Ended {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            return Ended {
                stdout: String::new(),
                stderr: String::new(),
                how: error.to_string(),
            };
        }
    };
    let stderr = child.stderr.take().map(tail_of);
    let (sender, receiver) = mpsc::channel();
    if let Some(mut stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut all = Vec::new();
            let _ = stdout.read_to_end(&mut all);
            // Nobody waits any more when the limit was reached.
            let _ = sender.send(String::from_utf8_lossy(&all).into_owned());
        });
    }
    let stdout = receiver.recv_timeout(limit);
    let status = end(&mut child, stdout.is_ok());
    let stderr = stderr
        .and_then(|reader| reader.join().ok())
        .unwrap_or_default();
    Ended {
        how: match (&stdout, status) {
            (Err(_), _) => format!("the time limit of {} seconds", limit.as_secs()),
            (Ok(_), Some(status)) => how_it_died(status),
            (Ok(_), None) => "nothing, for it can't be ended".to_owned(),
        },
        stdout: stdout.unwrap_or_default(),
        stderr,
    }
}

fn tail_of(mut stderr: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = stderr.read(&mut buffer) {
            kept.extend_from_slice(&buffer[..read]);
            let excess = kept.len().saturating_sub(KEPT);
            kept.drain(..excess);
        }
        String::from_utf8_lossy(&kept).into_owned()
    })
}

#[cfg(unix)]
fn how_it_died(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.signal(), status.code()) {
        (Some(number), _) => status::signal(number).to_owned(),
        (None, code) => format!("exit code {}", code.unwrap_or_default()),
    }
}

#[cfg(windows)]
fn how_it_died(status: ExitStatus) -> String {
    let code = status.code().unwrap_or_default();
    match status::ntstatus(code) {
        Some(name) => format!("{name}, {:#010X}", code.cast_unsigned()),
        None => format!("exit code {code}"),
    }
}
