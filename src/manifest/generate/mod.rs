//! From raw facts (one JSON object a line) to the manifest files, the same bytes every time.
//!
//! The raw facts were gathered from many places, with words for people in them: `8.2.4 (10.2-11.5), 8.0.5 (10.1)`. Here
//! they are read, checked against each other and put into types; what can't be understood is an error with its line,
//! never a guess. `cudnnm manifest generate` does the reading and writing of files.

use serde::de::DeserializeOwned;

use super::{CUDA, Error, FRAMEWORKS, Facts, GPUS, RELEASES, Releases};

mod frameworks;
mod hardware;
mod releases;
mod sources;

/// The input files' texts.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Every published file.
    pub catalogue: &'a str,
    /// Toolkits and drivers.
    pub cuda_toolkits: &'a str,
    /// Which cuDNN supports which GPUs and toolkits.
    pub cudnn_support: &'a str,
    /// GPU architectures.
    pub gpu_archs: &'a str,
    /// Framework releases.
    pub frameworks: &'a str,
}

/// The names of the input files, in the order of [`Input`].
pub const INPUT_FILES: [&str; 5] = [
    CATALOGUE,
    CUDA_TOOLKITS,
    CUDNN_SUPPORT,
    GPU_ARCHS,
    FRAMEWORK_RELEASES,
];

const CATALOGUE: &str = "catalogue.jsonl";
const CUDA_TOOLKITS: &str = "cuda_toolkits.jsonl";
const CUDNN_SUPPORT: &str = "cudnn_support.jsonl";
const GPU_ARCHS: &str = "gpu_archs.jsonl";
const FRAMEWORK_RELEASES: &str = "frameworks.jsonl";

/// What came out.
#[derive(Debug)]
pub struct Generated {
    /// What is in `releases.toml`.
    pub releases: Releases,
    /// What is in the three other files.
    pub facts: Facts,
    /// Rows of the catalogue that were left out, by reason.
    pub left_out: Vec<(&'static str, usize)>,
}

impl Generated {
    /// The files by name.
    pub fn files(&self) -> [(&'static str, String); 4] {
        [
            (RELEASES, self.releases.render()),
            (CUDA, self.facts.render(CUDA)),
            (GPUS, self.facts.render(GPUS)),
            (FRAMEWORKS, self.facts.render(FRAMEWORKS)),
        ]
    }
}

/// Reads the raw facts.
///
/// # Errors
///
/// [`Error::BadFact`] for the first line that can't be understood or contradicts another.
pub fn generate(input: &Input) -> Result<Generated, Error> {
    let (releases, left_out) = releases::read(input.catalogue)?;
    let mut facts = Facts::default();
    hardware::read(input, &mut facts)?;
    frameworks::read(input.frameworks, &mut facts)?;
    // Through the text and back: what is in memory is exactly what a reader of the files gets.
    let texts = [CUDA, GPUS, FRAMEWORKS].map(|name| facts.render(name));
    let facts = Facts::parse(super::Texts {
        cuda: Some(&texts[0]),
        gpus: Some(&texts[1]),
        frameworks: Some(&texts[2]),
    })?;
    Ok(Generated {
        releases,
        facts,
        left_out,
    })
}

/// Where a row stands, for messages.
#[derive(Debug, Clone, Copy)]
struct Place {
    name: &'static str,
    line: usize,
}

impl Place {
    fn bad(self, problem: impl Into<String>) -> Error {
        Error::BadFact {
            name: self.name.to_owned(),
            line: self.line,
            problem: problem.into(),
        }
    }

    /// Parses one value, naming the place when it can't be.
    fn parse<T: std::str::FromStr>(self, text: &str) -> Result<T, Error>
    where
        T::Err: std::fmt::Display,
    {
        text.trim()
            .parse()
            .map_err(|error: T::Err| self.bad(format!("{error} (in `{text}`)")))
    }
}

fn rows<T: DeserializeOwned>(name: &'static str, text: &str) -> Result<Vec<(Place, T)>, Error> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            let place = Place {
                name,
                line: index + 1,
            };
            let row = serde_json::from_str(line).map_err(|error| place.bad(error.to_string()))?;
            Ok((place, row))
        })
        .collect()
}

/// The dotted numbers in a text, in order: `8.2.4 (10.2-11.5), 8.0.5` gives `8.2.4`, `10.2`, `11.5`, `8.0.5`.
///
/// Digits that continue a word (`cu113`, `cudnn82`) are no numbers.
fn numbers(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let starts = bytes[at].is_ascii_digit()
            && (at == 0 || !(bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'#'));
        if !starts {
            at += 1;
            continue;
        }
        let mut end = at;
        while end < bytes.len()
            && (bytes[end].is_ascii_digit()
                || (bytes[end] == b'.' && bytes.get(end + 1).is_some_and(u8::is_ascii_digit)))
        {
            end += 1;
        }
        found.push(&text[at..end]);
        at = end;
    }
    found
}

/// The text without what stands in round brackets.
fn without_asides(text: &str) -> String {
    let mut depth = 0usize;
    let mut plain = String::new();
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain.trim().to_owned()
}

#[cfg(test)]
mod tests;
