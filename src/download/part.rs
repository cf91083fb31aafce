//! A file that is not whole yet, and the journal of which ranges of it are there.
//!
//! Beside `NAME.part` lies `NAME.part.journal`: one line of JSON that says what is being fetched (address, validators,
//! length), then one line `START END` for each range that has been written, appended right after the bytes. A process
//! that is killed loses nothing but the line it was writing; the digest of the whole decides in the end.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::error::Error;
use crate::error::IoError;

const SCHEMA: u32 = 1;

/// What is being fetched: as long as this stays the same, ranges of several attempts fit together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub schema: u32,
    /// Without credentials and query.
    pub url: String,
    /// A strong `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub last_modified: Option<String>,
    /// Length of the whole.
    pub total: Option<u64>,
}

impl Head {
    pub fn new(
        url: String,
        etag: Option<String>,
        last_modified: Option<String>,
        total: Option<u64>,
    ) -> Self {
        Self {
            schema: SCHEMA,
            url,
            etag,
            last_modified,
            total,
        }
    }

    /// The value for `If-Range`: only a strong validator may stand there.
    pub fn validator(&self) -> Option<&str> {
        self.etag.as_deref().or(self.last_modified.as_deref())
    }

    /// Whether `other` is another file, as far as both tell.
    pub fn contradicts(&self, other: &Self) -> bool {
        fn differ<T: PartialEq>(a: Option<&T>, b: Option<&T>) -> bool {
            matches!((a, b), (Some(a), Some(b)) if a != b)
        }
        differ(self.total.as_ref(), other.total.as_ref())
            || match (&self.etag, &other.etag) {
                (Some(a), Some(b)) => a != b,
                _ => differ(self.last_modified.as_ref(), other.last_modified.as_ref()),
            }
    }
}

/// Half-open ranges, sorted, apart from each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    pub fn add(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let first = self.0.partition_point(|range| range.1 < start);
        let last = self.0.partition_point(|range| range.0 <= end);
        let merged = self.0[first..last].iter().fold((start, end), |all, range| {
            (all.0.min(range.0), all.1.max(range.1))
        });
        self.0.splice(first..last, [merged]);
    }

    /// Up to where everything from the beginning is there.
    pub fn frontier(&self) -> u64 {
        self.0
            .first()
            .filter(|range| range.0 == 0)
            .map_or(0, |range| range.1)
    }

    /// How much is there.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|(start, end)| end - start).sum()
    }

    /// What of `0..total` is not there.
    pub fn missing(&self, total: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut at = 0;
        for &(start, end) in &self.0 {
            if at < start.min(total) {
                gaps.push((at, start.min(total)));
            }
            at = at.max(end);
        }
        if at < total {
            gaps.push((at, total));
        }
        gaps
    }
}

/// The file and its journal.
#[derive(Debug)]
pub(super) struct Part {
    path: PathBuf,
    state: Mutex<State>,
}

/// How far a part is at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    /// Bytes that are there.
    pub done: u64,
    /// Up to where they are there without a gap.
    pub frontier: u64,
    /// Of the whole, where known.
    pub total: Option<u64>,
    /// Counts the times it was begun anew: what was read before is of another file.
    pub generation: u32,
}

#[derive(Debug)]
struct State {
    generation: u32,
    head: Head,
    done: Ranges,
    /// Open for more lines. Closed while another takes its place: not every Windows volume replaces an open file.
    journal: Option<File>,
}

impl State {
    /// Writes the journal anew from what is known.
    fn rewrite_journal(&mut self, part: &Path) -> Result<(), Error> {
        self.journal = None;
        self.journal = Some(begin_journal(&journal_path(part), &self.head, &self.done)?);
        Ok(())
    }
}

impl Part {
    /// Takes up what an earlier process left for this address, or begins anew.
    pub fn open(path: &Path, url: &str) -> Result<Self, Error> {
        let journal_path = journal_path(path);
        let earlier = read_journal(&journal_path, path).filter(|(head, _)| head.url == url);
        let (head, done) = match earlier {
            Some(state) => state,
            None => {
                File::create(path).map_err(IoError::at("create", path))?;
                (
                    Head::new(url.to_owned(), None, None, None),
                    Ranges::default(),
                )
            }
        };
        let journal = Some(begin_journal(&journal_path, &head, &done)?);
        Ok(Self {
            path: path.to_owned(),
            state: Mutex::new(State {
                generation: 0,
                head,
                done,
                journal,
            }),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn head(&self) -> Head {
        self.state().head.clone()
    }

    /// Notes what the server told about the file, and gives it its full length so that a full disk shows at once.
    pub fn set_head(&self, head: Head) -> Result<(), Error> {
        let mut state = self.state();
        if let Some(total) = head.total {
            let file = File::options()
                .write(true)
                .open(&self.path)
                .map_err(IoError::at("open", &self.path))?;
            file.set_len(total)
                .map_err(IoError::at("write", &self.path))?;
        }
        state.head = head;
        state.rewrite_journal(&self.path)
    }

    /// Forgets everything that has arrived.
    pub fn start_over(&self) -> Result<(), Error> {
        let mut state = self.state();
        state.head = Head::new(state.head.url.clone(), None, None, None);
        state.done = Ranges::default();
        state.generation += 1;
        File::create(&self.path).map_err(IoError::at("create", &self.path))?;
        state.rewrite_journal(&self.path)
    }

    pub fn done(&self) -> Ranges {
        self.state().done.clone()
    }

    pub fn standing(&self) -> Standing {
        let state = self.state();
        Standing {
            done: state.done.len(),
            frontier: state.done.frontier(),
            total: state.head.total,
            generation: state.generation,
        }
    }

    /// A writer that goes on at `start`.
    pub fn writer(&self, start: u64) -> Result<Writer<'_>, Error> {
        let mut file = File::options()
            .write(true)
            .open(&self.path)
            .map_err(IoError::at("open", &self.path))?;
        file.seek(SeekFrom::Start(start))
            .map_err(IoError::at("write", &self.path))?;
        Ok(Writer {
            part: self,
            file,
            at: start,
        })
    }

    /// Makes it the whole file `target`.
    pub fn finish(self, target: &Path) -> Result<(), Error> {
        crate::store::rename(&self.path, target).map_err(IoError::at("create", target))?;
        let _ = fs::remove_file(journal_path(&self.path));
        Ok(())
    }

    /// Takes it away.
    pub fn remove(self) {
        let journal = journal_path(&self.path);
        let path = self.path.clone();
        // Windows removes no open file.
        drop(self);
        let _ = fs::remove_file(path);
        let _ = fs::remove_file(journal);
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("nothing panics while it holds a part's state")
    }
}

/// Writes one range of a part from its start on.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    part: &'a Part,
    file: File,
    at: u64,
}

impl Writer<'_> {
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let path = &self.part.path;
        self.file
            .write_all(bytes)
            .map_err(IoError::at("write", path))?;
        let end = self.at + bytes.len() as u64;
        let mut state = self.part.state();
        state.done.add(self.at, end);
        // One write a line: a line is there or it is not.
        let line = format!("{} {end}\n", self.at);
        // Without a journal this range is fetched again after a crash, which is no reason to stop now.
        if let Some(journal) = &mut state.journal {
            journal
                .write_all(line.as_bytes())
                .map_err(IoError::at("write", path))?;
        }
        self.at = end;
        Ok(())
    }
}

fn journal_path(part: &Path) -> PathBuf {
    let mut name = part.as_os_str().to_owned();
    name.push(".journal");
    name.into()
}

/// A new journal that holds the state so far, put in place by one rename, open for more lines.
fn begin_journal(path: &Path, head: &Head, done: &Ranges) -> Result<File, Error> {
    let mut text = serde_json::to_string(head).expect("a head is plain strings and numbers");
    text.push('\n');
    for (start, end) in &done.0 {
        text.push_str(&format!("{start} {end}\n"));
    }
    let fresh = path.with_extension("journal-new");
    fs::write(&fresh, text).map_err(IoError::at("write", &fresh))?;
    crate::store::rename(&fresh, path).map_err(IoError::at("write", path))?;
    let journal = File::options()
        .append(true)
        .open(path)
        .map_err(IoError::at("open", path))?;
    Ok(journal)
}

/// What the journal and the file tell together; `None` when they tell nothing of use.
fn read_journal(path: &Path, part: &Path) -> Option<(Head, Ranges)> {
    let text = fs::read_to_string(path).ok()?;
    let length = fs::metadata(part).ok()?.len();
    let (head, lines) = text.split_once('\n')?;
    let head: Head = serde_json::from_str(head).ok()?;
    if head.schema != SCHEMA {
        return None;
    }
    let mut done = Ranges::default();
    for line in lines.split_inclusive('\n') {
        // What comes after the first torn line was never promised.
        let range = line
            .strip_suffix('\n')
            .and_then(|line| line.split_once(' '))
            .and_then(|(start, end)| Some((start.parse::<u64>().ok()?, end.parse::<u64>().ok()?)));
        let Some((start, end)) = range else { break };
        // A file that is shorter than its journal was damaged by something else than us.
        if start >= end || end > length || head.total.is_some_and(|total| end > total) {
            return None;
        }
        done.add(start, end);
    }
    Some((head, done))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(parts: &[(u64, u64)]) -> Ranges {
        let mut ranges = Ranges::default();
        for (start, end) in parts {
            ranges.add(*start, *end);
        }
        ranges
    }

    #[test]
    fn ranges_merge_and_tell_gaps() {
        for (parts, merged, frontier, gaps) in [
            (&[][..], &[][..], 0, &[(0, 10)][..]),
            (&[(0, 3), (3, 5)], &[(0, 5)], 5, &[(5, 10)]),
            (
                &[(6, 8), (0, 2), (4, 6)],
                &[(0, 2), (4, 8)],
                2,
                &[(2, 4), (8, 10)],
            ),
            (&[(2, 4), (0, 10)], &[(0, 10)], 10, &[]),
            (&[(1, 2), (4, 5), (0, 6)], &[(0, 6)], 6, &[(6, 10)]),
            (&[(3, 3)], &[], 0, &[(0, 10)]),
        ] {
            let ranges = ranges(parts);
            assert_eq!(ranges.0, merged);
            assert_eq!(ranges.frontier(), frontier);
            assert_eq!(ranges.missing(10), gaps);
        }
    }

    #[test]
    fn a_killed_transfer_is_taken_up_where_its_journal_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a [1].whl.part");
        let part = Part::open(&path, "https://h.example/a").unwrap();
        part.set_head(Head {
            total: Some(10),
            etag: Some("\"x\"".to_owned()),
            ..part.head()
        })
        .unwrap();
        part.writer(0).unwrap().write(b"abc").unwrap();
        part.writer(6).unwrap().write(b"gh").unwrap();
        // Killed in the middle of a line.
        part.state()
            .journal
            .as_mut()
            .unwrap()
            .write_all(b"8 1")
            .unwrap();
        drop(part);
        let part = Part::open(&path, "https://h.example/a").unwrap();
        assert_eq!(part.done(), ranges(&[(0, 3), (6, 8)]));
        assert_eq!(part.head().validator(), Some("\"x\""));
        drop(part);
        assert_eq!(
            Part::open(&path, "https://h.example/b").unwrap().done(),
            Ranges::default()
        );
    }

    #[test]
    fn a_part_that_lost_bytes_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.part");
        let part = Part::open(&path, "u").unwrap();
        part.writer(0).unwrap().write(b"abcdef").unwrap();
        drop(part);
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(3)
            .unwrap();
        assert_eq!(Part::open(&path, "u").unwrap().done(), Ranges::default());
    }
}
