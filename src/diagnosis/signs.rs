//! Error texts that are known, and what they mean.
//!
//! `manifests/errors.toml` holds the patterns. A text either carries its finding with it (the message says it all), or it
//! is a [`Meaning`] that [`super::causes`] weighs together with the other facts. Patterns look for codes, library names
//! and words that no translation changes; where Windows or glibc speak the user's language the prose is not looked at.

use std::collections::BTreeMap;

use regex::Regex;
use serde::Deserialize;

use super::finding::{Certainty, Code, Level};
use super::read::version;
use crate::manifest;
use crate::version::CudnnVersion;

const BUILT_IN: &str = include_str!("../../manifests/errors.toml");

/// What a message means, for messages that need other facts to be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meaning {
    /// cuDNN's Windows dispatcher: `Could not locate {library}`.
    NotLocated,
    /// cuDNN's Windows dispatcher: the file is there, something it needs is not.
    DependencyMissing,
    /// A Windows loader code for a library.
    LoadError,
    /// cuDNN 8 on Linux: `{library}` could not be loaded because `{path}` could not be opened.
    LoadMissing,
    /// A shared object that could not be opened.
    CannotOpen,
    /// A symbol of one cuDNN library is missing in another.
    Undefined,
    /// A program or extension asks for a cuDNN symbol that the loaded one lacks.
    UndefinedInProgram,
    /// cuDNN 9 on Linux: none of the names of `{library}` could be loaded.
    NoneOf,
    /// TensorFlow, CNTK, …: a library was not found; the program goes on without GPU.
    DynamicNotFound,
    /// TensorFlow and XLA: loaded `{runtime}`, compiled with `{compiled}`.
    VersionLoaded,
    /// PyTorch: compiled against `{compiled}`, running with `{runtime}`.
    VersionLinked,
    /// OpenCV: the library reports `{runtime}`, built with `{compiled}`.
    VersionReported,
    /// A Python extension's DLLs were not found.
    DllImport,
    /// A program ended because a DLL was not found.
    ExitNotFound,
    /// ONNX Runtime names the major it wants.
    RequiresMajor,
    /// ONNX Runtime can't use CUDA and does not say why.
    CudaProvider,
    /// CMake tells header version and library that it found.
    CmakeFound,
    /// A `CUDNN_STATUS_…`.
    Status,
    /// pip found no file for a pinned version.
    NoWheel,
    /// A server's refusal.
    HttpStatus,
    /// A file that is cut short.
    CutShort,
    /// A file that should be a link.
    NotALink,
    /// CMake did not find cuDNN, or not its version.
    CmakeCudnn,
    /// The linker does not find `-lcudnn`.
    LinkName,
    /// A message says what cuDNN version is there.
    Tells,
    /// A path that Windows can't open for its length.
    TooLong,
    /// Something was denied.
    Denied,
    /// The consequence of another message.
    FollowUp,
}

/// The known texts.
#[derive(Debug)]
pub struct Texts {
    entries: Vec<(Regex, Entry)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: u32,
    text: Vec<Entry>,
}

/// One known text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// A short name, for tests and for people who read the manifest.
    name: String,
    pattern: String,
    meaning: Option<Meaning>,
    finding: Option<Template>,
    /// Where the text was seen, or who prints it.
    source: String,
}

/// A finding with `{capture}` places.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// Its code.
    pub code: Code,
    /// Its level.
    pub level: Level,
    /// How sure the text alone makes it.
    pub certainty: Certainty,
    /// See [`super::finding::Finding::what`].
    pub what: String,
    /// See [`super::finding::Finding::why`].
    pub why: String,
    /// See [`super::finding::Finding::fix`].
    pub fix: Vec<String>,
}

/// A known text that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sign {
    /// Which one.
    pub name: String,
    /// Who prints it, or where it was seen.
    pub source: String,
    /// What it means, unless it carries its finding.
    pub meaning: Option<Meaning>,
    /// Its finding, with the places not filled yet.
    pub template: Option<Template>,
    /// The line it stands in.
    pub line: String,
    /// From which input.
    pub from: String,
    /// What the pattern caught.
    pub captures: BTreeMap<String, String>,
}

impl Sign {
    /// A capture, if the pattern has it and it took part.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.captures.get(name).map(String::as_str)
    }

    /// A capture as a cuDNN version.
    pub fn version(&self, name: &str) -> Option<CudnnVersion> {
        version::cudnn(self.get(name)?)
    }

    /// A capture as a number.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.get(name)?.parse().ok()
    }

    /// Whether it means this.
    pub fn means(&self, meaning: Meaning) -> bool {
        self.meaning == Some(meaning)
    }

    /// A template's text with its places filled; a place whose capture took no part becomes "it".
    pub fn fill(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                out.push('{');
                rest = after;
                continue;
            };
            out.push_str(self.get(name).unwrap_or("it"));
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

/// More texts than that in one input are the same trouble over and over.
const MOST: usize = 100;

impl Texts {
    /// The texts this program was built with.
    pub fn built_in() -> Self {
        Self::parse(BUILT_IN).expect("the tests read the built-in texts")
    }

    /// Reads a manifest of texts.
    ///
    /// # Errors
    ///
    /// When it is not valid, or of a schema we do not know.
    pub fn parse(text: &str) -> Result<Self, manifest::Error> {
        let malformed = |source| manifest::Error::Malformed {
            name: "errors.toml".to_owned(),
            source: Box::new(source),
        };
        let document: Document = toml::from_str(text).map_err(malformed)?;
        let entries = document
            .text
            .into_iter()
            .map(|entry| {
                let regex = Regex::new(&format!("(?i){}", entry.pattern)).map_err(|error| {
                    malformed(serde::de::Error::custom(format!("{}: {error}", entry.name)))
                })?;
                Ok((regex, entry))
            })
            .collect::<Result<_, manifest::Error>>()?;
        if document.schema == 1 {
            Ok(Self { entries })
        } else {
            Err(malformed(serde::de::Error::custom(format!(
                "schema {} is not 1",
                document.schema
            ))))
        }
    }

    /// The known texts in `text`, in the order in which they stand there. Where two overlap, the one that stands first
    /// in the manifest counts.
    pub fn signs(&self, text: &str, from: &str) -> Vec<Sign> {
        let mut taken: Vec<(usize, usize)> = Vec::new();
        let mut found: Vec<(usize, Sign)> = Vec::new();
        for (regex, entry) in &self.entries {
            for caught in regex.captures_iter(text).take(MOST) {
                let whole = caught.get(0).expect("group 0 is the match").range();
                if taken
                    .iter()
                    .any(|(start, end)| whole.start < *end && *start < whole.end)
                {
                    continue;
                }
                taken.push((whole.start, whole.end));
                let captures: BTreeMap<String, String> = regex
                    .capture_names()
                    .flatten()
                    .filter_map(|name| {
                        Some((name.to_owned(), caught.name(name)?.as_str().to_owned()))
                    })
                    .collect();
                let known = found.iter().any(|(_, sign)| {
                    sign.name == entry.name && sign.captures == captures && sign.from == from
                });
                if known || found.len() >= MOST {
                    continue;
                }
                found.push((
                    whole.start,
                    Sign {
                        name: entry.name.clone(),
                        source: entry.source.clone(),
                        meaning: entry.meaning,
                        template: entry.finding.clone(),
                        line: line_at(text, whole.start),
                        from: from.to_owned(),
                        captures,
                    },
                ));
            }
        }
        found.sort_by_key(|(start, _)| *start);
        found.into_iter().map(|(_, sign)| sign).collect()
    }
}

/// The line around a position, cut to what a person reads.
fn line_at(text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default().trim();
    match line.char_indices().nth(400) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_has_a_meaning_or_a_finding_and_a_source() {
        let texts = Texts::built_in();
        let mut names = Vec::new();
        for (regex, entry) in &texts.entries {
            assert!(
                entry.meaning.is_some() != entry.finding.is_some(),
                "{}: one of both",
                entry.name
            );
            assert!(!entry.source.is_empty(), "{} has no source", entry.name);
            assert!(!names.contains(&entry.name), "{} stands twice", entry.name);
            names.push(entry.name.clone());
            // Every place of a template is a capture of its pattern.
            let known: Vec<&str> = regex.capture_names().flatten().collect();
            let template = entry.finding.iter();
            for text in template.flat_map(|t| t.fix.iter().chain([&t.what, &t.why])) {
                for place in text.split('{').skip(1) {
                    let name = place.split('}').next().unwrap_or_default();
                    assert!(known.contains(&name), "{}: no capture {name}", entry.name);
                }
            }
        }
    }

    #[test]
    fn the_more_special_text_wins_and_order_is_kept() {
        let texts = Texts::built_in();
        let text = "x\nCould not locate cudnn_ops64_9.dll. Please make sure it is in your library path!\nInvalid handle. Cannot load symbol cudnnCreate\n";
        let names: Vec<_> = texts
            .signs(text, "x")
            .into_iter()
            .map(|sign| sign.meaning)
            .collect();
        assert_eq!(names, [Some(Meaning::NotLocated), Some(Meaning::FollowUp)]);
    }

    #[test]
    fn a_place_without_its_capture_reads_as_it() {
        let sign = Sign {
            name: String::new(),
            source: String::new(),
            meaning: None,
            template: None,
            line: String::new(),
            from: String::new(),
            captures: BTreeMap::from([("a".to_owned(), "1".to_owned())]),
        };
        assert_eq!(sign.fill("{a} {b} {"), "1 it {");
    }
}
