//! Tar, plain or compressed: a thread decompresses ahead while this one hashes and writes.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::Error;
use super::intake::{CHUNK, Intake, Wanted};
use super::kind::{Compression, is_tar};
use crate::error::IoError;

/// How far the decompressor may run ahead: this many blocks.
const AHEAD: usize = 8;
const BLOCK: usize = 1 << 20;
/// xz threads share so much; an archive of one block is decoded on one thread with its dictionary alone.
const XZ_THREADS_MEMORY: u64 = 48 << 20;
/// `xz -9` needs 65 MB to decode; nothing sensible needs more than this.
const XZ_MOST_MEMORY: u64 = 192 << 20;
/// `zstd --ultra -22` has windows of 128 MB.
const ZSTD_WINDOW_LOG: u32 = 27;

pub fn unpack(
    intake: &Intake,
    path: &Path,
    compression: Compression,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Error> {
    let file = File::open(path).map_err(IoError::at("open", path))?;
    let total = AtomicU64::new(0);
    let (sender, receiver) = sync_channel(AHEAD);
    std::thread::scope(|scope| {
        let total = &total;
        scope.spawn(move || {
            let input = Counted { inner: file, total };
            match decoder(input, compression) {
                Ok(decoder) => pump(decoder, &sender),
                Err(error) => drop(sender.send(Err(error))),
            }
        });
        let stream = Stream {
            receiver,
            block: Vec::new(),
            at: 0,
            progress: &mut || progress(total.load(Ordering::Relaxed)),
        };
        read_tar(intake, stream, compression)
    })?;
    progress(total.load(Ordering::Relaxed));
    Ok(())
}

fn decoder<'a>(
    input: impl Read + Send + 'a,
    compression: Compression,
) -> io::Result<Box<dyn Read + 'a>> {
    let input = BufReader::with_capacity(BLOCK, input);
    Ok(match compression {
        Compression::None => Box::new(input),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
        Compression::Xz => {
            let threads = std::thread::available_parallelism()
                .map_or(1, usize::from)
                .min(16);
            let stream = liblzma::stream::MtStreamBuilder::new()
                .threads(threads as u32)
                .memlimit_threading(XZ_THREADS_MEMORY)
                .memlimit_stop(XZ_MOST_MEMORY)
                .decoder()?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(input, stream))
        }
    })
}

fn pump(mut decoder: Box<dyn Read + '_>, sender: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut block = vec![0; BLOCK];
        let mut filled = 0;
        let outcome = loop {
            match decoder.read(&mut block[filled..]) {
                Ok(0) => break Ok(()),
                Ok(read) => {
                    filled += read;
                    if filled == BLOCK {
                        break Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        block.truncate(filled);
        let last = filled < BLOCK;
        // A closed channel means that the reader has found an error of its own.
        if sender.send(Ok(block)).is_err() {
            return;
        }
        if let Err(error) = outcome {
            drop(sender.send(Err(error)));
            return;
        }
        if last {
            return;
        }
    }
}

/// What the decompressor sends, as a reader.
struct Stream<'a> {
    receiver: Receiver<io::Result<Vec<u8>>>,
    block: Vec<u8>,
    at: usize,
    progress: &'a mut dyn FnMut(),
}

impl Stream<'_> {
    /// The first bytes, without taking them.
    fn head(&mut self) -> io::Result<&[u8]> {
        if self.at == self.block.len() {
            self.next_block()?;
        }
        Ok(&self.block[self.at..])
    }

    fn next_block(&mut self) -> io::Result<bool> {
        (self.progress)();
        match self.receiver.recv() {
            Ok(block) => {
                self.block = block?;
                self.at = 0;
                Ok(!self.block.is_empty())
            }
            Err(_) => Ok(false),
        }
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.block.len() && !self.next_block()? {
            return Ok(0);
        }
        let read = buffer.len().min(self.block.len() - self.at);
        buffer[..read].copy_from_slice(&self.block[self.at..self.at + read]);
        self.at += read;
        Ok(read)
    }
}

fn read_tar(intake: &Intake, mut stream: Stream, compression: Compression) -> Result<(), Error> {
    let damaged = |error| intake.read_error(None, error);
    if compression != Compression::None && !is_tar(stream.head().map_err(damaged)?) {
        // A file that breaks off early is damaged, whatever its beginning looks like.
        io::copy(
            &mut stream.take(AHEAD as u64 * BLOCK as u64),
            &mut io::sink(),
        )
        .map_err(damaged)?;
        return Err(Error::NotAnArchive {
            path: intake.archive().to_owned(),
            seems: "a compressed file, but there is no tar in it".to_owned(),
        });
    }
    let mut tail = Tail {
        inner: stream,
        zeros: 0,
    };
    let mut archive = tar::Archive::new(&mut tail);
    for entry in archive.entries().map_err(damaged)? {
        let entry = entry.map_err(damaged)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let kind = entry.header().entry_type();
        if kind.is_symlink() || kind.is_hard_link() {
            let target = entry.link_name_bytes().unwrap_or_default();
            let target = String::from_utf8_lossy(&target).into_owned();
            intake.offer_link(&name, &target, kind.is_hard_link())?;
        } else if kind.is_dir() {
            intake.offer_folder(&name)?;
        } else if kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse() {
            let wanted = intake.offer(&name)?;
            if !intake.budget().allows(entry.size()) {
                return Err(intake.too_large());
            }
            match wanted {
                // An archive that has the package itself needs no other one inside.
                Wanted::Inner(_) if intake.has_libraries() => {}
                wanted => {
                    let mut content = BufReader::with_capacity(CHUNK, entry);
                    intake.take(wanted, &name, &mut content)?;
                }
            }
        } else {
            // Devices and pipes are nobody's library; their names are checked all the same.
            intake.offer_folder(&name)?;
        }
    }
    // To the end, so that the compressor's own checksum is compared and a cut-off file is noticed.
    io::copy(&mut tail, &mut io::sink()).map_err(damaged)?;
    if tail.zeros < 512 {
        return Err(intake.damaged(None, "the mark at its end is missing"));
    }
    Ok(())
}

/// Remembers whether the stream ended in the zeros that end a tar.
struct Tail<'a> {
    inner: Stream<'a>,
    zeros: usize,
}

impl Read for Tail<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let trailing = buffer[..read]
            .iter()
            .rev()
            .take(1024)
            .take_while(|byte| **byte == 0)
            .count();
        self.zeros = if trailing == read {
            (self.zeros + read).min(1024)
        } else {
            trailing
        };
        Ok(read)
    }
}

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
