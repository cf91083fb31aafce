//! Hashes a part while it grows.
//!
//! Connections write at several places at once; a digest needs the bytes in order. So one thread reads back what has
//! arrived from the beginning without a gap. It comes from the system's cache, and the digest is ready when the last byte is.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::Event;
use super::error::Error;
use super::part::{Part, Standing};
use crate::error::IoError;

/// Hashes a part from its beginning, as far as it is without gaps.
pub(super) struct Follower<'a> {
    part: &'a Part,
    file: File,
    hash: Sha256,
    hashed: u64,
    generation: u32,
    buffer: Vec<u8>,
}

impl<'a> Follower<'a> {
    pub fn new(part: &'a Part) -> Result<Self, Error> {
        let file = File::open(part.path()).map_err(IoError::at("read", part.path()))?;
        Ok(Self {
            part,
            file,
            hash: Sha256::new(),
            hashed: 0,
            generation: 0,
            buffer: vec![0; 1 << 20],
        })
    }

    /// Hears what the workers say and hashes what they bring, until they have ended.
    pub fn follow(
        &mut self,
        inbox: &Receiver<Event>,
        listener: &mut dyn FnMut(Event),
        mut ended: impl FnMut() -> bool,
    ) -> Result<(), Error> {
        while !ended() {
            match inbox.recv_timeout(Duration::from_millis(40)) {
                Ok(event) => listener(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now = self.part.standing();
            listener(Event::Arrived {
                done: now.done,
                total: now.total,
            });
            self.hash_to(now)?;
        }
        Ok(())
    }

    fn hash_to(&mut self, now: Standing) -> Result<(), Error> {
        let Standing {
            frontier,
            generation,
            ..
        } = now;
        if generation != self.generation {
            // The transfer began anew below us.
            self.generation = generation;
            self.hash = Sha256::new();
            self.hashed = 0;
            self.file
                .seek(SeekFrom::Start(0))
                .map_err(IoError::at("read", self.part.path()))?;
        }
        while self.hashed < frontier {
            let room = usize::try_from(frontier - self.hashed)
                .unwrap_or(usize::MAX)
                .min(self.buffer.len());
            let count = self
                .file
                .read(&mut self.buffer[..room])
                .map_err(IoError::at("read", self.part.path()))?;
            if count == 0 {
                break;
            }
            self.hash.update(&self.buffer[..count]);
            self.hashed += count as u64;
        }
        Ok(())
    }

    /// Hashes the rest; digest and length.
    pub fn finish(mut self, listener: &mut dyn FnMut(Event)) -> Result<(String, u64), Error> {
        let now = self.part.standing();
        self.hash_to(now)?;
        listener(Event::Arrived {
            done: now.done,
            total: Some(now.frontier),
        });
        Ok((super::hexadecimal(&self.hash.finalize()), self.hashed))
    }
}
