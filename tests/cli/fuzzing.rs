//! The parsers of `fuzz/` on the corpus that is kept there, and on random mutations of it: always the same ones, so that
//! what fails once fails again. `CUDNNM_TEST_MUTATIONS=1000000` makes it a long run; `cargo fuzz` searches better.

#[path = "../../fuzz/parsers.rs"]
mod parsers;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::libraries::{ElfSample, PeSample};
use crate::packages;

const MUTATIONS: usize = 20_000;
/// These write files, or build large tables: as many would take minutes.
const SLOW: [(&str, usize); 5] = [
    ("doctor", 10),
    ("archive", 100),
    ("manifest", 10),
    ("facts", 10),
    ("receipt", 4),
];

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(name);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut seeds: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    match name {
        "archive" => {
            seeds.push(packages::zip(&packages::windows_8_2_1()));
            seeds.push(packages::zip(&packages::linux_wheel("9.1.0.70", 12)));
            seeds.push(packages::rar5(&packages::windows_8_2_1()));
        }
        "binary" => {
            seeds.push(
                PeSample {
                    file_version: Some([8, 2, 1, 32]),
                    exports: vec!["cudnnCreate"],
                    imports: vec!["KERNEL32.dll"],
                    ..PeSample::default()
                }
                .build(),
            );
            seeds.push(
                ElfSample {
                    soname: Some("libcudnn.so.9"),
                    exports: vec!["cudnnGetVersion"],
                    ..ElfSample::default()
                }
                .build(),
            );
        }
        _ => {}
    }
    assert!(!seeds.is_empty());
    seeds
}

struct Dice(u64);

impl Dice {
    fn next(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }

    fn mutate(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.next(seeds.len())].clone();
        for _ in 0..=self.next(4) {
            let at = self.next(bytes.len() + 1).min(bytes.len());
            let end = (at + self.next(32)).min(bytes.len());
            match self.next(8) {
                0 if at < bytes.len() => bytes[at] ^= 1 << self.next(8),
                1 if at < bytes.len() => {
                    bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'.', b'"', b'9'][self.next(8)]
                }
                2 => drop(bytes.drain(at..end)),
                3 => {
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                4 => {
                    let other = &seeds[self.next(seeds.len())];
                    let from = self.next(other.len());
                    bytes.truncate(at);
                    bytes.extend_from_slice(&other[from..]);
                }
                5 if end - at >= 4 => {
                    let number = [0, 1, u32::MAX, i32::MAX as u32, 0x1_0000][self.next(5)];
                    bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
                }
                6 => {
                    let words: [&[u8]; 6] = [
                        b"..",
                        b"18446744073709551616",
                        b"-1",
                        "\u{feff}".as_bytes(),
                        b"\n",
                        b"\\",
                    ];
                    bytes.splice(at..end, words[self.next(6)].iter().copied());
                }
                _ => bytes.truncate(at),
            }
        }
        bytes
    }
}

#[track_caller]
fn holds(name: &str, parser: fn(&[u8]), bytes: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| parser(bytes))).is_err() {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.crash"));
        fs::write(&file, bytes).unwrap();
        panic!("`{name}` does not hold {}", file.display());
    }
}

fn run(name: &str) {
    let (_, parser) = parsers::PARSERS
        .into_iter()
        .find(|(known, _)| *known == name)
        .unwrap();
    let seeds = corpus(name);
    for seed in &seeds {
        holds(name, parser, seed);
    }
    let wanted = std::env::var("CUDNNM_TEST_MUTATIONS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(MUTATIONS);
    let slower = SLOW
        .iter()
        .find(|(slow, _)| *slow == name)
        .map_or(1, |(_, times)| *times);
    let mut dice = Dice(0x00c0_ffee_0000_0001);
    for _ in 0..wanted / slower {
        holds(name, parser, &dice.mutate(&seeds));
    }
}

macro_rules! holds {
    ($($name:ident)+) => { $(#[test] fn $name() { run(stringify!($name)); })+ };
}

holds! {
    spec version_file manifest facts redistrib index_json index_html member_names archive receipt settings binary doctor
}

#[test]
fn every_parser_has_its_test_and_its_target() {
    let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let mut files: Vec<String> = fs::read_dir(targets)
        .unwrap()
        .map(|entry| {
            entry
                .unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    files.sort();
    let mut names = parsers::PARSERS.map(|(name, _)| name.to_owned());
    names.sort();
    assert_eq!(files, names);
}
