//! Zip: wheels, `.conda`, `.jar` and NVIDIA's own `.zip`.
//!
//! The zip crate reads the directory and checks it against the local headers (an archive in which the two differ means
//! different things to different programs). Members are then inflated on several threads, largest first: one library is
//! half of all bytes, so it must start at once. Each thread has a file handle and a few hundred kilobytes of buffers.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use flate2::Crc;
use zip::{CompressionMethod, ZipArchive};

use super::Error;
use super::inflate::Inflater;
use super::intake::{CHUNK, Intake, Wanted};
use crate::error::IoError;

/// Beyond three the largest member alone decides (perf notes of the wheel of 9.10.2: 51 % of all bytes).
const MAX_THREADS: usize = 4;

struct Job {
    index: usize,
    name: String,
    wanted: Wanted,
    method: CompressionMethod,
    start: u64,
    packed: u64,
    size: u64,
    crc: u32,
}

pub fn unpack(intake: &Intake, file: &Path, progress: &mut dyn FnMut(u64)) -> Result<(), Error> {
    let (mut jobs, later) = plan(intake, file)?;
    jobs.sort_by_key(|job| std::cmp::Reverse(job.size));
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .clamp(1, MAX_THREADS)
        .min(jobs.len().max(1));
    let total = AtomicU64::new(0);
    let queue: Vec<std::sync::Mutex<Option<Job>>> = jobs
        .into_iter()
        .map(|job| std::sync::Mutex::new(Some(job)))
        .collect();
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let (done, finished) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let done = done.clone();
            let (queue, next, failed, total) = (&queue, &next, &failed, &total);
            scope.spawn(move || {
                let result = work(intake, file, queue, next, failed, total);
                if result.is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
                // Nobody listens any more only when another thread has failed.
                let _ = done.send(result);
            });
        }
        let mut running = threads;
        let mut first = Ok(());
        while running > 0 {
            match finished.recv_timeout(Duration::from_millis(50)) {
                Ok(result) => {
                    running -= 1;
                    first = first.and(result);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                // A worker panicked; the scope passes that on.
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            progress(total.load(Ordering::Relaxed));
        }
        first
    })?;
    // These are compared with what is written now.
    for job in later {
        extract(intake, file, job, &total)?;
    }
    progress(total.load(Ordering::Relaxed));
    Ok(())
}

/// The members that are wanted; second copies of one name apart.
fn plan(intake: &Intake, file: &Path) -> Result<(Vec<Job>, Vec<Job>), Error> {
    let reader = BufReader::new(File::open(file).map_err(IoError::at("open", file))?);
    let mut archive = ZipArchive::new(reader).map_err(|error| zip_error(intake, None, error))?;
    archive
        .validate_header_consistency()
        .map_err(|error| zip_error(intake, None, error))?;
    let (mut jobs, mut later, mut inner) = (Vec::new(), Vec::new(), Vec::new());
    let mut declared = 0u64;
    for index in 0..archive.len() {
        let member = archive
            .by_index_raw(index)
            .map_err(|error| zip_error(intake, None, error))?;
        let name = member
            .name()
            .map(|name| name.into_owned())
            .unwrap_or_else(|_| String::from_utf8_lossy(member.name_raw()).into_owned());
        if member.is_dir() {
            intake.offer_folder(&name)?;
            continue;
        }
        let mut job = Job {
            index,
            wanted: Wanted::No,
            method: member.compression(),
            start: member.data_start().unwrap_or_default(),
            packed: member.compressed_size(),
            size: member.size(),
            crc: member.crc32(),
            name,
        };
        let (encrypted, link) = (member.encrypted(), member.is_symlink());
        drop(member);
        if link {
            let mut content = archive
                .by_index(index)
                .map_err(|error| zip_error(intake, Some(&job.name), error))?;
            let target = intake.read_link(&job.name, &mut content)?;
            intake.offer_link(&job.name, &target, false)?;
            continue;
        }
        job.wanted = intake.offer(&job.name)?;
        if matches!(job.wanted, Wanted::No) {
            continue;
        }
        if encrypted {
            return Err(Error::Encrypted {
                path: intake.archive().to_owned(),
            });
        }
        declared = declared.saturating_add(job.size);
        if !intake.budget().allows(declared) {
            return Err(intake.too_large());
        }
        match &job.wanted {
            Wanted::Inner(_) => inner.push(job),
            Wanted::File(slot) if slot.is_copy() => later.push(job),
            _ => jobs.push(job),
        }
    }
    // An archive that has the package itself is not searched for another one inside.
    if !intake.has_libraries() {
        jobs.append(&mut inner);
    }
    Ok((jobs, later))
}

fn work(
    intake: &Intake,
    file: &Path,
    queue: &[std::sync::Mutex<Option<Job>>],
    next: &AtomicUsize,
    failed: &AtomicBool,
    total: &AtomicU64,
) -> Result<(), Error> {
    while !failed.load(Ordering::Relaxed) {
        let Some(job) = queue.get(next.fetch_add(1, Ordering::Relaxed)) else {
            break;
        };
        let job = job
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take();
        extract(intake, file, job.expect("each index is drawn once"), total)?;
    }
    Ok(())
}

fn extract(intake: &Intake, file: &Path, job: Job, total: &AtomicU64) -> Result<(), Error> {
    let mut input = File::open(file).map_err(IoError::at("open", file))?;
    input
        .seek(SeekFrom::Start(job.start))
        .map_err(IoError::at("read", file))?;
    let counted = Counted {
        inner: input.take(job.packed),
        total,
    };
    let counted = BufReader::with_capacity(CHUNK, counted);
    match job.method {
        CompressionMethod::Stored => {
            let mut content = Checked::new(counted, job.size, job.crc);
            intake.take(job.wanted, &job.name, &mut content)
        }
        CompressionMethod::Deflated => {
            let mut content = Checked::new(Inflater::new(counted), job.size, job.crc);
            intake.take(job.wanted, &job.name, &mut content)
        }
        // Rare methods (Deflate64, bzip2, LZMA, zstd of other packers) are the zip crate's own business.
        _ => {
            let reader = BufReader::new(File::open(file).map_err(IoError::at("open", file))?);
            let mut archive =
                ZipArchive::new(reader).map_err(|error| zip_error(intake, None, error))?;
            let content = archive
                .by_index(job.index)
                .map_err(|error| zip_error(intake, Some(&job.name), error))?;
            let content = BufReader::with_capacity(CHUNK, content);
            let mut content = Checked::new(content, job.size, job.crc);
            intake.take(job.wanted, &job.name, &mut content)?;
            total.fetch_add(job.packed, Ordering::Relaxed);
            Ok(())
        }
    }
}

fn zip_error(intake: &Intake, member: Option<&str>, error: zip::result::ZipError) -> Error {
    use zip::result::ZipError;
    match error {
        ZipError::Io(error) => intake.read_error(member, error),
        ZipError::UnsupportedArchive(what) if what.to_ascii_lowercase().contains("password") => {
            Error::Encrypted {
                path: intake.archive().to_owned(),
            }
        }
        ZipError::InvalidPassword => Error::Encrypted {
            path: intake.archive().to_owned(),
        },
        ZipError::UnsupportedArchive(what) => Error::Unsupported {
            path: intake.archive().to_owned(),
            what: what.to_owned(),
        },
        ZipError::CompressionMethodNotSupported(method) => Error::Unsupported {
            path: intake.archive().to_owned(),
            what: format!("it uses the compression method number {method}"),
        },
        other => intake.damaged(member, other),
    }
}

/// Counts the archive's bytes as they are read.
struct Counted<'a, R> {
    inner: R,
    total: &'a AtomicU64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.total.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Holds a member to the size and checksum that the directory declares.
struct Checked<R> {
    inner: R,
    left: u64,
    crc: Crc,
    expected: u32,
}

impl<R: BufRead> Checked<R> {
    fn new(inner: R, size: u64, expected: u32) -> Self {
        Self {
            inner,
            left: size,
            crc: Crc::new(),
            expected,
        }
    }
}

impl<R: BufRead> BufRead for Checked<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let bad = |what| io::Error::new(io::ErrorKind::InvalidData, what);
        let content = self.inner.fill_buf()?;
        if content.len() as u64 > self.left {
            return Err(bad("it is longer than the directory says"));
        }
        if content.is_empty() && self.left > 0 {
            return Err(bad("it is shorter than the directory says"));
        }
        if content.is_empty() && self.crc.sum() != self.expected {
            return Err(bad("its checksum is wrong"));
        }
        Ok(content)
    }

    fn consume(&mut self, count: usize) {
        // What is consumed was lent before, so it is there without another read.
        if let Ok(content) = self.inner.fill_buf() {
            self.crc.update(&content[..count]);
            self.left -= count as u64;
        }
        self.inner.consume(count);
    }
}

impl<R: BufRead> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}
