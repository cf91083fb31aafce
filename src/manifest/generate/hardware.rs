//! `cuda_toolkits.jsonl`, `gpu_archs.jsonl` and `cudnn_support.jsonl` to the facts of `cuda.toml` and `gpus.toml`.

use serde::Deserialize;

use super::{
    CUDA_TOOLKITS, CUDNN_SUPPORT, GPU_ARCHS, Input, Place, numbers, rows, sources, without_asides,
};
use crate::companion::Dotted;
use crate::manifest::Error;
use crate::manifest::facts::{
    Architecture, Broken, Capability, Confidence, Driver, Facts, Support, Toolkit,
};
use crate::version::{CudaVersion, CudnnVersion};

#[derive(Deserialize)]
struct RawToolkit {
    cuda: String,
    release: String,
    version: String,
    toolkit_driver_linux: String,
    toolkit_driver_windows: String,
    compat_min_driver_linux: String,
    compat_min_driver_windows: String,
    minor_version_compatibility: bool,
    source: String,
    notes: Option<String>,
    confidence: Confidence,
}

#[derive(Deserialize)]
struct RawArchitecture {
    compute_capability: String,
    architecture: String,
    first_cuda: String,
    last_cuda: Option<String>,
    first_cudnn: Option<String>,
    last_cudnn: Option<String>,
    gpus: Vec<String>,
    confidence: Confidence,
}

/// What all rows of the architectures come from.
const SURVEY: (&str, &str) = (
    "gpu-survey",
    "kernels found in the wheels of 8.7.0, 8.8.0, 9.10.2 and 9.11.0, NVIDIA's support matrices, CUDA 13 release notes; GPU names and what is older than 8.5 are general knowledge",
);

#[derive(Deserialize)]
struct RawSupport {
    #[serde(rename = "type")]
    kind: String,
    // Rows of type `support`.
    cudnn: Option<String>,
    cuda_variant: Option<String>,
    cuda_min: Option<String>,
    cuda_max: Option<String>,
    sm_supported: Option<String>,
    #[serde(default)]
    sm_elf: Vec<u32>,
    notes: Option<String>,
    source: Option<String>,
    // Rows of type `fact`.
    topic: Option<String>,
    fact: Option<String>,
    evidence: Option<String>,
    confidence: Confidence,
}

pub fn read(input: &Input, facts: &mut Facts) -> Result<(), Error> {
    for (place, row) in rows::<RawToolkit>(CUDA_TOOLKITS, input.cuda_toolkits)? {
        let toolkit = toolkit(place, row, facts)?;
        if facts
            .toolkits
            .iter()
            .any(|other| other.version == toolkit.version)
        {
            return Err(place.bad(format!("CUDA {} is there twice", toolkit.version)));
        }
        facts.toolkits.push(toolkit);
    }
    for (place, row) in rows::<RawArchitecture>(GPU_ARCHS, input.gpu_archs)? {
        let architecture = architecture(place, row)?;
        facts
            .sources
            .insert(SURVEY.0.to_owned(), SURVEY.1.to_owned());
        if facts.architecture(architecture.capability).is_some() {
            return Err(place.bad(format!("{} is there twice", architecture.capability)));
        }
        facts.architectures.push(architecture);
    }
    for (place, row) in rows::<RawSupport>(CUDNN_SUPPORT, input.cudnn_support)? {
        match row.kind.as_str() {
            "support" => facts.support.extend(support(place, row)?),
            // The other facts are about file names and error codes; the rooms that need them know them.
            "fact" if row.topic.as_deref() == Some("bad-versions") => {
                facts.broken.extend(broken(place, &row)?);
            }
            "fact" => {}
            other => return Err(place.bad(format!("the type `{other}` is unknown"))),
        }
    }
    Ok(())
}

fn toolkit(place: Place, row: RawToolkit, facts: &mut Facts) -> Result<Toolkit, Error> {
    let driver = |text: &str| -> Option<Driver> { numbers(text).first()?.parse().ok() };
    let needed =
        |text: &str| driver(text).ok_or_else(|| place.bad(format!("`{text}` is no driver")));
    let linux = needed(&row.toolkit_driver_linux)?;
    // NVIDIA prints no Windows driver for CUDA 13: its toolkit no longer carries one. The branch is the same.
    let branch = row.compat_min_driver_windows.rsplit('R').next();
    let minimum_windows = driver(&row.compat_min_driver_windows)
        .or_else(|| driver(branch?))
        .ok_or_else(|| place.bad("no minimum driver for Windows"))?;
    let mut minimum_linux = needed(&row.compat_min_driver_linux)?;
    let windows = driver(&row.toolkit_driver_windows);
    let mut minimum_windows = minimum_windows;
    // CUDA 11.0 came with an older driver than the one from which minor versions are compatible.
    if linux < minimum_linux {
        minimum_linux = linux.clone();
    }
    if let Some(windows) = windows.as_ref().filter(|driver| **driver < minimum_windows) {
        minimum_windows = windows.clone();
    }
    let version = Dotted::parse(&row.version)
        .ok_or_else(|| place.bad(format!("`{}` is no version", row.version)))?;
    let toolkit = Toolkit {
        version,
        release: row.release,
        linux,
        windows,
        minimum_linux,
        minimum_windows,
        minor_compatible: row.minor_version_compatibility,
        confidence: row.confidence,
        note: row.notes,
        fact: sources::keys(place, &row.source, &mut facts.sources)?,
    };
    if toolkit.cuda() != place.parse::<CudaVersion>(&row.cuda)? {
        return Err(place.bad("`cuda` and `version` differ"));
    }
    Ok(toolkit)
}

fn architecture(place: Place, row: RawArchitecture) -> Result<Architecture, Error> {
    let first_number = |text: &Option<String>| -> Option<Dotted> {
        Dotted::parse(numbers(text.as_deref()?).first()?)
    };
    let mut notes = Vec::new();
    // `8.0-8.7 only for CUDA 10.2` ends at the second number; `Jetson builds` names none and stays a note.
    let last_cudnn = match row.last_cudnn.as_deref() {
        None => None,
        Some(text) => {
            if !text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
            {
                notes.push(format!("last cuDNN: {text}"));
            }
            let plain = without_asides(text);
            let range = plain.split(' ').next().unwrap_or_default();
            numbers(range)
                .last()
                .and_then(|number| Dotted::parse(number))
        }
    };
    if let Some(text) = row
        .first_cudnn
        .as_deref()
        .filter(|text| text.contains(['/', '(']))
    {
        notes.push(format!("first cuDNN: {text}"));
    }
    Ok(Architecture {
        capability: place.parse::<Capability>(&row.compute_capability)?,
        name: row.architecture,
        gpus: row.gpus,
        first_cuda: place.parse(&row.first_cuda)?,
        last_cuda: row
            .last_cuda
            .as_deref()
            .map(|text| place.parse(text))
            .transpose()?,
        first_cudnn: first_number(&row.first_cudnn),
        last_cudnn,
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        confidence: row.confidence,
        fact: SURVEY.0.to_owned(),
    })
}

/// One row can become several: `12.8 (9.7) / 12.9 (9.10)` says that the newest toolkit changes within the range.
fn support(place: Place, row: RawSupport) -> Result<Vec<Support>, Error> {
    let need = |value: Option<String>, name: &str| {
        value.ok_or_else(|| place.bad(format!("`{name}` is missing")))
    };
    let range = without_asides(&need(row.cudnn, "cudnn")?);
    let (first, last) = range.split_once('-').unwrap_or((&range, &range));
    let release = |text: &str| {
        Dotted::parse(text.trim().trim_end_matches(".x"))
            .ok_or_else(|| place.bad(format!("`{text}` is no version")))
    };
    let (first, last) = (release(first)?, release(last)?);
    let variants = need(row.cuda_variant, "cuda_variant")?
        .trim_start_matches("cuda")
        .split('/')
        .map(|variant| place.parse(variant))
        .collect::<Result<Vec<CudaVersion>, _>>()?;
    let first_cuda = place.parse(&need(row.cuda_min, "cuda_min")?)?;
    let sm = need(row.sm_supported, "sm_supported")?;
    // `7.5-12.x` is written by people who expect more of that family.
    let sm = sm.replace(".x", ".1");
    let (low, high) = sm
        .split_once('-')
        .ok_or_else(|| place.bad(format!("`{sm}` is no range")))?;
    let capability = [place.parse(low)?, place.parse(high)?];
    if capability[0] > capability[1] || first > last {
        return Err(place.bad("a range that ends before it begins"));
    }
    let kernels = row
        .sm_elf
        .iter()
        .map(|sm| Capability {
            major: sm / 10,
            minor: sm % 10,
        })
        .collect();
    let whole = Support {
        cudnn: [first.clone(), last.clone()],
        variants,
        first_cuda,
        last_cuda: None,
        capability,
        kernels,
        note: row.notes,
        confidence: row.confidence,
        fact: need(row.source, "source")?,
    };
    let maximum = need(row.cuda_max, "cuda_max")?;
    let steps = steps(place, &maximum)?;
    let Some(steps) = steps else {
        let text = numbers(&maximum);
        let newest = text
            .first()
            .ok_or_else(|| place.bad("`cuda_max` has no number"))?;
        return Ok(vec![Support {
            last_cuda: Some(place.parse(newest)?),
            ..whole
        }]);
    };
    let mut parts = vec![(first, None)];
    for (from, cuda) in steps {
        match parts.last_mut() {
            Some(part) if part.0 >= from || part.0.numbers().starts_with(from.numbers()) => {
                part.1 = Some(cuda);
            }
            _ => parts.push((from, Some(cuda))),
        }
    }
    Ok(parts
        .iter()
        .enumerate()
        .map(|(index, (from, cuda))| Support {
            cudnn: [
                from.clone(),
                parts
                    .get(index + 1)
                    .map_or_else(|| last.clone(), |(next, _)| before(next)),
            ],
            last_cuda: *cuda,
            ..whole.clone()
        })
        .collect())
}

/// `12.8 (9.7) / 12.9 (9.10)` as pairs of "from this cuDNN" and "up to this CUDA"; `None` where no cuDNN is named.
fn steps(place: Place, text: &str) -> Result<Option<Vec<(Dotted, CudaVersion)>>, Error> {
    let mut steps = Vec::new();
    for part in text.split(" / ").flat_map(|part| part.split(" .. ")) {
        let Some((cuda, aside)) = part.split_once('(') else {
            return Ok(None);
        };
        let from = aside.split([' ', ')']).next().and_then(Dotted::parse);
        let Some(from) = from else {
            return Ok(None);
        };
        steps.push((from, place.parse(cuda)?));
    }
    Ok(Some(steps))
}

/// The prefix that covers everything just below `next`: before 9.10 come all of 9.9, before 9.28.1 comes 9.28.0.
fn before(next: &Dotted) -> Dotted {
    let mut numbers = next.numbers().to_vec();
    if let Some(last) = numbers.last_mut() {
        *last = last.saturating_sub(1);
    }
    let text: Vec<String> = numbers.iter().map(u64::to_string).collect();
    Dotted::parse(&text.join(".")).expect("numbers with dots between them")
}

/// `9.10.0: binary-incompatible enum values. …`: the version before the first colon, the reason up to the full stop.
fn broken(place: Place, row: &RawSupport) -> Result<Option<Broken>, Error> {
    let text = row.fact.as_deref().unwrap_or_default();
    let Some((version, rest)) = text.split_once(": ") else {
        return Err(place.bad("a bad version without a reason"));
    };
    let version: CudnnVersion = place.parse(version)?;
    let reason = rest
        .split(". ")
        .next()
        .unwrap_or(rest)
        .trim_end_matches('.');
    Ok(Some(Broken {
        version,
        reason: reason.to_owned(),
        fact: row.evidence.clone().unwrap_or_default(),
    }))
}
