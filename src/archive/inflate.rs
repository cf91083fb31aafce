//! Deflate, at the speed at which libraries of hundreds of megabytes want it.
//!
//! Most of such a file is literals, and `fdeflate` looks up two of them at once: a fifth less time than zlib-rs, in safe
//! code, with a small window. It reads zlib streams only, so each raw stream gets zlib's two-byte header before it and four
//! bytes of a checksum that nobody looks at behind it (a zip has a better one of its own).
//!
//! Whoever reads gets the decoder's own buffer lent ([`BufRead`]): nothing is copied between decoding, hashing and writing.

use std::io::{self, BufRead, Read};

use fdeflate::Decompressor;

use super::intake::CHUNK;

/// How far back deflate may refer.
const WINDOW: usize = 32 << 10;
/// Deflate, window of 32 KiB; the checksum of the header itself is right.
const ZLIB_HEADER: [u8; 2] = [0x78, 0x01];
/// Takes the place of zlib's checksum.
const TRAILER: [u8; 4] = [0; 4];

/// A raw deflate stream, decoded.
pub struct Inflater<R> {
    packed: R,
    decoder: Decompressor,
    begun: bool,
    /// Of the trailer, so much has been given.
    trailed: usize,
    /// The window, then what has been decoded: `from..to` has not been read yet.
    buffer: Vec<u8>,
    from: usize,
    to: usize,
}

impl<R: BufRead> Inflater<R> {
    pub fn new(packed: R) -> Self {
        let mut decoder = Decompressor::new();
        decoder.ignore_adler32();
        Self {
            packed,
            decoder,
            begun: false,
            trailed: 0,
            buffer: vec![0; WINDOW + CHUNK],
            from: 0,
            to: 0,
        }
    }

    /// Decodes until the buffer is full or the stream ends.
    fn refill(&mut self) -> io::Result<()> {
        if self.to > WINDOW {
            self.buffer.copy_within(self.to - WINDOW..self.to, 0);
            self.to = WINDOW;
        }
        self.from = self.to;
        if !self.begun {
            self.begun = true;
            self.decode(&ZLIB_HEADER)?;
        }
        while self.to < self.buffer.len() && !self.decoder.is_done() {
            // Borrowed out of `self` for the call: the decoder and the input are separate fields.
            let packed = self.packed.fill_buf()?;
            if packed.is_empty() {
                let before = self.to;
                self.trailed += self.decode(&TRAILER[self.trailed..])?;
                if self.to == before && !self.decoder.is_done() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                continue;
            }
            let (read, written) = self
                .decoder
                .read(packed, &mut self.buffer, self.to, false)
                .map_err(bad)?;
            self.packed.consume(read);
            self.to += written;
            if read == 0 && written == 0 && !self.decoder.is_done() {
                return Err(bad("it makes no progress"));
            }
        }
        Ok(())
    }

    fn decode(&mut self, packed: &[u8]) -> io::Result<usize> {
        let (read, written) = self
            .decoder
            .read(packed, &mut self.buffer, self.to, false)
            .map_err(bad)?;
        self.to += written;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Inflater<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.from == self.to && !self.decoder.is_done() {
            self.refill()?;
        }
        Ok(&self.buffer[self.from..self.to])
    }

    fn consume(&mut self, count: usize) {
        self.from = (self.from + count).min(self.to);
    }
}

impl<R: BufRead> Read for Inflater<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

fn bad(why: impl std::fmt::Debug + 'static) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("its compressed data is wrong ({why:?})"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Write};

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    fn packed(content: &[u8], level: u32) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(level));
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn inflated(packed: &[u8], portion: usize) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        Inflater::new(BufReader::with_capacity(portion, packed)).read_to_end(&mut content)?;
        Ok(content)
    }

    /// Noise with repetitions near and far, across several buffers.
    fn sample(length: usize) -> Vec<u8> {
        let mut state = 1u32;
        let mut bytes: Vec<u8> = Vec::with_capacity(length);
        while bytes.len() < length {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (byte, back) = ((state >> 24) as u8, (state >> 8) as usize % WINDOW + 1);
            if byte < 32 && back < bytes.len() {
                let from = bytes.len() - back;
                for at in from..from + usize::from(byte) {
                    bytes.push(bytes[at]);
                }
            } else {
                bytes.push(byte & 0x3f);
            }
        }
        bytes.truncate(length);
        bytes
    }

    #[test]
    fn what_was_packed_comes_out_however_it_arrives() {
        for length in [0, 1, 100, WINDOW, CHUNK, CHUNK + WINDOW, CHUNK * 3 + 17] {
            let content = sample(length);
            for level in [0, 1, 6, 9] {
                let packed = packed(&content, level);
                for portion in [13, 4096, CHUNK] {
                    let out = inflated(&packed, portion).unwrap();
                    assert!(
                        out == content,
                        "{length} bytes at level {level} by {portion}"
                    );
                }
            }
        }
        assert_eq!(
            inflated(&packed(&vec![0; 3 << 20], 9), 7).unwrap().len(),
            3 << 20
        );
    }

    #[test]
    fn a_cut_stream_is_an_error_at_every_length() {
        let packed = packed(&sample(3000), 6);
        for length in 0..packed.len() {
            assert!(inflated(&packed[..length], 64).is_err(), "{length}");
        }
    }

    #[test]
    fn bytes_behind_the_end_are_left_alone() {
        let content = sample(3000);
        let mut packed = packed(&content, 6);
        packed.extend([7; 50]);
        assert!(inflated(&packed, 64).unwrap() == content);
    }

    #[test]
    fn damage_never_panics() {
        let good = packed(&sample(3000), 6);
        let mut state = 7u32;
        for _ in 0..3000 {
            let mut bad = good.clone();
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = state as usize % bad.len();
            bad[at] ^= 1 << (state >> 29);
            let _ = inflated(&bad, 100);
        }
    }
}
