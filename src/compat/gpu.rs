//! GPUs by the names people and `nvidia-smi` give them.

use std::fmt;

use super::Error;
use crate::manifest::{Capability, Facts};

/// A GPU, as far as cuDNN cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// `NVIDIA GeForce RTX 3060`, where known.
    pub name: Option<String>,
    /// `8.6`
    pub capability: Capability,
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => f.write_str(name),
            None => f.write_str("the GPU"),
        }
    }
}

/// The GPU of a name (`RTX 4090`, `Tesla V100-SXM2-16GB`) or compute capability (`8.6`, `sm_86`).
///
/// # Errors
///
/// [`Error::UnknownGpu`].
pub fn gpu(text: &str, facts: &Facts) -> Result<Gpu, Error> {
    if let Some(capability) = capability(text.trim()) {
        return Ok(Gpu {
            name: None,
            capability,
        });
    }
    let words = words(text);
    let mut best: Option<(usize, Capability)> = None;
    for architecture in &facts.architectures {
        for pattern in &architecture.gpus {
            let matched = matched_words(pattern, &words);
            if matched > best.map_or(0, |(count, _)| count) {
                best = Some((matched, architecture.capability));
            }
        }
    }
    match best {
        Some((_, capability)) => Ok(Gpu {
            name: Some(text.trim().to_owned()),
            capability,
        }),
        None => Err(Error::UnknownGpu {
            name: text.trim().to_owned(),
        }),
    }
}

fn capability(text: &str) -> Option<Capability> {
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = lower
        .strip_prefix("sm_")
        .or_else(|| lower.strip_prefix("sm"))
    {
        let number: u32 = digits
            .parse()
            .ok()
            .filter(|number| (10..1000).contains(number))?;
        return Some(Capability {
            major: number / 10,
            minor: number % 10,
        });
    }
    lower.parse().ok()
}

/// `GeForce RTX3060 Ti` as `GEFORCE RTX 3060 TI`: upper case, and the series apart from the number.
fn words(text: &str) -> Vec<String> {
    let upper = text.to_ascii_uppercase();
    let mut found = Vec::new();
    for word in upper.split(|c: char| !c.is_ascii_alphanumeric()) {
        let series = ["GTX", "RTX", "GT"].into_iter().find(|series| {
            word.strip_prefix(series)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        });
        match series {
            Some(series) => found.extend([series.to_owned(), word[series.len()..].to_owned()]),
            None if word.is_empty() => {}
            None => found.push(word.to_owned()),
        }
    }
    found
}

/// How many words of the input a manifest's pattern accounts for; 0 for no match.
///
/// `RTX 2060-2080 Ti` is a range behind a series, `GTX 960/970/980/Titan X` a list behind one, `GB10 / DGX Spark` two names.
fn matched_words(pattern: &str, input: &[String]) -> usize {
    let pattern = pattern.split(" (").next().unwrap_or(pattern);
    pattern
        .split(" / ")
        .map(|name| match name.split_once(' ') {
            Some((series, rest)) if rest.contains(['/', '-']) => rest
                .split('/')
                .map(|item| after_series(series, item, input))
                .max()
                .unwrap_or(0),
            _ => consecutive(&words(name), input),
        })
        .max()
        .unwrap_or(0)
}

fn after_series(series: &str, item: &str, input: &[String]) -> usize {
    let number = |word: &str| -> Option<u32> {
        let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    let bounds = match item.split_once('-') {
        Some((first, last)) => number(first).zip(number(last)),
        None => number(item).map(|only| (only, only)),
    };
    let Some((first, last)) = bounds else {
        // `Titan X` in the list behind `GTX` is a name of its own, with or without the series.
        let whole = words(&format!("{series} {item}"));
        return consecutive(&whole, input).max(consecutive(&words(item), input));
    };
    let series = series.to_ascii_uppercase();
    let found = input.windows(2).any(|pair| {
        pair[0] == series && number(&pair[1]).is_some_and(|number| (first..=last).contains(&number))
    });
    if found { 2 } else { 0 }
}

fn consecutive(name: &[String], input: &[String]) -> usize {
    let found = !name.is_empty() && input.windows(name.len()).any(|window| window == name);
    if found { name.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_people_and_nvidia_smi_write_them() {
        let facts = Facts::load(Default::default()).unwrap();
        for (name, expected) in [
            ("RTX 4090", "8.9"),
            ("NVIDIA GeForce RTX 3060 Laptop GPU", "8.6"),
            ("rtx3060ti", "8.6"),
            ("GeForce GTX 1080 Ti", "6.1"),
            ("gtx 1660 super", "7.5"),
            ("GTX 970", "5.2"),
            ("GeForce GTX TITAN X", "5.2"),
            ("NVIDIA TITAN V", "7.0"),
            ("Tesla V100-SXM2-16GB", "7.0"),
            ("Tesla T4", "7.5"),
            ("Quadro RTX 6000", "7.5"),
            ("NVIDIA A100-SXM4-80GB", "8.0"),
            ("NVIDIA RTX A6000", "8.6"),
            ("NVIDIA H200", "9.0"),
            ("NVIDIA GeForce RTX 5090", "12.0"),
            ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "12.0"),
            ("Tesla K80", "3.7"),
            ("8.6", "8.6"),
            ("sm_120", "12.0"),
        ] {
            let found = gpu(name, &facts).map(|gpu| gpu.capability.to_string());
            assert_eq!(found.ok().as_deref(), Some(expected), "{name}");
        }
        for name in [
            "",
            "Radeon RX 7900",
            "RTX",
            "RTX 9999",
            "Iris Xe",
            "8",
            "sm_",
        ] {
            assert!(gpu(name, &facts).is_err(), "{name}");
        }
    }
}
