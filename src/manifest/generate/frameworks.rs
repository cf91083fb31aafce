//! `frameworks.jsonl` to the facts of `frameworks.toml`.

use serde::Deserialize;

use super::{FRAMEWORK_RELEASES, Place, numbers, rows, sources, without_asides};
use crate::companion::Dotted;
use crate::manifest::Error;
use crate::manifest::facts::{Bundled, Confidence, Facts, Framework, Versions};
use crate::version::{CudaVersion, Platform, VersionSpec};

#[derive(Deserialize)]
struct Raw {
    framework: String,
    version: String,
    platform: String,
    variant: Option<String>,
    cuda_build: Option<String>,
    cudnn_build: Option<String>,
    cudnn_min_runtime: Option<String>,
    cudnn_runtime_rule: Option<String>,
    cudnn_pin: Option<String>,
    bundled: String,
    bundle_location: Option<String>,
    #[serde(rename = "override")]
    override_by: Option<String>,
    confidence: Confidence,
    source: String,
    notes: Option<String>,
}

pub fn read(text: &str, facts: &mut Facts) -> Result<(), Error> {
    let mut list: Vec<Framework> = Vec::new();
    for (place, row) in rows::<Raw>(FRAMEWORK_RELEASES, text)? {
        let fact = sources::keys(place, &row.source, &mut facts.sources)?;
        let framework = framework(place, row, fact)?;
        if list.iter().any(|other| same_thing(other, &framework)) {
            return Err(place.bad(format!(
                "{} {} is there twice",
                framework.name, framework.versions
            )));
        }
        list.push(framework);
    }
    facts.frameworks = joined(list);
    Ok(())
}

fn same_thing(a: &Framework, b: &Framework) -> bool {
    (&a.name, &a.versions, a.platform, &a.package) == (&b.name, &b.versions, b.platform, &b.package)
}

fn framework(place: Place, row: Raw, fact: String) -> Result<Framework, Error> {
    let name = match without_asides(&row.framework).as_str() {
        "pytorch" => "torch".to_owned(),
        "jax/jaxlib" => "jax".to_owned(),
        "opencv-dnn" => "opencv".to_owned(),
        other => other.to_owned(),
    };
    let platform = match row.platform.as_str() {
        "any" => None,
        platform => Some(place.parse::<Platform>(platform)?),
    };
    let bundled = bundled(place, &row.bundled)?;
    let cuda = cuda(place, row.cuda_build.as_deref())?;
    let built = built(row.cudnn_build.as_deref());
    let accepts = accepts(&row, built.as_ref());
    let cpu_only = bundled == Bundled::NotUsed
        && cuda.is_empty()
        && (row.variant.as_deref() == Some("cpu-only")
            || row
                .notes
                .as_deref()
                .is_some_and(|note| note.contains("CPU-only")));
    let mut note = row.notes.map(tidy);
    if platform.is_none() && bundled == Bundled::Inherits && note.is_none() {
        note = row.cudnn_pin.clone();
    }
    let pin = row.cudnn_pin;
    Ok(Framework {
        versions: versions(place, &name, &row.version)?,
        name,
        platform,
        package: row.variant.map(|variant| without_feed_name(&variant)),
        cuda,
        built: built.map(spec),
        accepts,
        rule: row.cudnn_runtime_rule,
        pin,
        bundled,
        bundled_at: row.bundle_location.map(|text| text.trim().to_owned()),
        cpu_only,
        override_by: row.override_by.map(tidy),
        note,
        confidence: row.confidence,
        fact,
    })
}

/// The manifest names no host of a package index, and nothing that only the collectors of the facts had.
fn tidy(text: String) -> String {
    text.replace("download.pytorch.org", "PyTorch's own index")
        .replace(" (see loading.md)", "")
        .replace("EXPERIMENT: ", "seen: ")
}

fn without_feed_name(variant: &str) -> String {
    variant
        .replace("onnxruntime-gpu (PyPI default)", "pypi-default")
        .replace(" feed", "-feed")
        .replace(" (", " ")
        .replace(')', "")
}

fn bundled(place: Place, text: &str) -> Result<Bundled, Error> {
    Ok(match text.split(' ').next().unwrap_or_default() {
        "none" => Bundled::None,
        "in-wheel" => Bundled::InWheel,
        "pip-dependency" => Bundled::PipDependency,
        "static" => Bundled::Static,
        "shim-only" => Bundled::ShimOnly,
        "inherits" | "see" => Bundled::Inherits,
        "not-applicable" => Bundled::NotUsed,
        _ => return Err(place.bad(format!("`bundled` is `{text}`, which is unknown"))),
    })
}

/// `1.12.0-1.12.1`, `9.x`, `<4.2`, `<=1.13 (inside pytorch)`, `>=4.10`, `3.0-beta`, `all`.
fn versions(place: Place, name: &str, text: &str) -> Result<Versions, Error> {
    let plain = without_asides(text);
    let dotted = |text: &str| {
        Dotted::parse(text.trim().trim_end_matches(".x"))
            .ok_or_else(|| place.bad(format!("`{text}` is no version")))
    };
    if plain == "all" {
        return Ok(Versions::default());
    }
    if let Some(to) = plain.strip_prefix("<=") {
        return Ok(Versions {
            to: Some(dotted(to)?),
            ..Versions::default()
        });
    }
    if let Some(below) = plain.strip_prefix('<') {
        return Ok(Versions {
            below: Some(dotted(below)?),
            ..Versions::default()
        });
    }
    if let Some(from) = plain.strip_prefix(">=") {
        return Ok(Versions {
            from: Some(dotted(from)?),
            ..Versions::default()
        });
    }
    let (from, to) = plain.split_once('-').unwrap_or((&plain, &plain));
    let to = if to == "beta" { from } else { to };
    let (mut from, mut to) = (dotted(from)?, dotted(to)?);
    if name == "tensorflow" {
        // The tables name the first patch of each minor and mean all of them.
        from = minor_of(&from);
        to = minor_of(&to);
    }
    if from > to {
        return Err(place.bad("a range that ends before it begins"));
    }
    Ok(Versions {
        from: Some(from),
        to: Some(to),
        below: None,
    })
}

fn minor_of(version: &Dotted) -> Dotted {
    let text: Vec<String> = version
        .numbers()
        .iter()
        .take(2)
        .map(u64::to_string)
        .collect();
    Dotted::parse(&text.join(".")).expect("numbers with dots between them")
}

/// `11.3`, `12.x`, `9.0-10.2`, `12.8 then 12.9`: the lowest and the highest, once if they are equal.
fn cuda(place: Place, text: Option<&str>) -> Result<Vec<CudaVersion>, Error> {
    let mut found = numbers(text.unwrap_or_default())
        .into_iter()
        .map(|number| place.parse(number))
        .collect::<Result<Vec<CudaVersion>, _>>()?;
    found.sort();
    found.dedup();
    if found.len() > 2 {
        found.drain(1..found.len() - 1);
    }
    Ok(found)
}

/// The newest cuDNN that is named outside brackets; `8.x` is all of 8.
fn built(text: Option<&str>) -> Option<Vec<u32>> {
    let text = text.filter(|text| !text.starts_with("not used"))?;
    highest(&without_asides(text))
}

fn highest(text: &str) -> Option<Vec<u32>> {
    numbers(text).into_iter().filter_map(parts).max()
}

fn parts(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

fn spec(numbers: Vec<u32>) -> VersionSpec {
    let text: Vec<String> = numbers.iter().map(u32::to_string).collect();
    text.join(".")
        .parse()
        .expect("one to four numbers with dots between them are a spec")
}

/// The run-time rule as a range. Where the documents leave the lower end open, the cuDNN it was built with is taken.
fn accepts(row: &Raw, built: Option<&Vec<u32>>) -> Option<VersionSpec> {
    let range = |low: &[u32], high: &str| {
        let low: Vec<String> = low.iter().map(u32::to_string).collect();
        format!(">={},{high}", low.join(".")).parse().ok()
    };
    let below_next = |major: u32| format!("<{}", major + 1);
    let rule = row.cudnn_runtime_rule.as_deref().unwrap_or_default();
    if let Some(list) = rule.strip_prefix("supported list: ") {
        let major = *built?.first()?;
        let list = list.split(';').next().unwrap_or_default();
        let listed: Vec<Vec<u32>> = numbers(list)
            .into_iter()
            .filter_map(parts)
            .filter(|numbers| numbers.first() == Some(&major))
            .collect();
        let (low, high) = (listed.iter().min()?, listed.iter().max()?);
        let high: Vec<String> = high.iter().map(u32::to_string).collect();
        return range(low, &format!("<={}", high.join(".")));
    }
    let text = row.cudnn_build.as_deref().unwrap_or_default();
    if text.starts_with(">=") && row.cudnn_min_runtime.is_none() {
        let found: Vec<Vec<u32>> = numbers(text).into_iter().filter_map(parts).collect();
        let low = found.first()?;
        // `>=7.5, <9` excludes its end, `>=7.5, 9.x ok` includes it.
        let high = *found.last()?.first()?;
        let high = if text.contains('<') { high - 1 } else { high };
        return range(low, &below_next(high));
    }
    if let Some((low, high)) = text
        .split_once('-')
        .filter(|_| row.cudnn_min_runtime.is_none())
    {
        return range(&highest(low)?, &below_next(*highest(high)?.first()?));
    }
    let minimum = without_asides(row.cudnn_min_runtime.as_deref()?);
    if minimum.starts_with("unknown") {
        let built = built?;
        return range(&built[..built.len().min(2)], &below_next(built[0]));
    }
    let named: Vec<Vec<u32>> = numbers(&minimum).into_iter().filter_map(parts).collect();
    let low = named.iter().min()?;
    let high = *named.iter().max()?.first()?;
    if high < 7 && low.len() > 1 {
        // Before cuDNN 7 the minor had to be equal.
        let same: Vec<String> = low.iter().map(u32::to_string).collect();
        return range(low, &format!("<={}", same.join(".")));
    }
    range(low, &below_next(high))
}

/// Neighbours that differ in nothing but their versions become one entry.
fn joined(list: Vec<Framework>) -> Vec<Framework> {
    let mut joined: Vec<Framework> = Vec::new();
    for framework in list {
        let neighbour = joined.iter_mut().rev().find(|other| {
            other.name == framework.name
                && other.platform == framework.platform
                && other.package == framework.package
        });
        match neighbour {
            Some(other) if follows(other, &framework) => {
                other.versions.to = framework.versions.to;
            }
            _ => joined.push(framework),
        }
    }
    joined
}

fn follows(a: &Framework, b: &Framework) -> bool {
    let same_rest = Framework {
        versions: a.versions.clone(),
        ..b.clone()
    };
    let (Some(to), Some(from)) = (&a.versions.to, &b.versions.from) else {
        return false;
    };
    same_rest == *a && to < from
}
