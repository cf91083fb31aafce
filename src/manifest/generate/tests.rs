use super::*;
use crate::manifest::{Texts, check_facts, check_releases};
use crate::version::VersionSpec;

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// A row of the catalogue; `more` overrides and adds fields.
fn published(more: &str) -> String {
    let mut row: serde_json::Value = serde_json::from_str(
        r#"{"cudnn": "8.2.1.32", "cuda": "11.3", "cuda_range": "11.0-11.3", "platform": "windows-x86_64",
            "file": "cudnn-11.3-windows-x64-v8.2.1.32.zip",
            "url": "https://developer.download.nvidia.com/compute/redist/cudnn/v8.2.1/cudnn-11.3-windows-x64-v8.2.1.32.zip",
            "digest_kind": null, "digest": null, "size": null, "archive": "zip", "component": "cudnn",
            "status": "listed", "source": "conda-forge/cudnn-feedstock recipe/meta.yaml; spack/spack-packages x"}"#,
    )
    .unwrap();
    let more: serde_json::Value = serde_json::from_str(more).unwrap();
    for (key, value) in more.as_object().unwrap() {
        row[key] = value.clone();
    }
    row.to_string()
}

/// A wheel's row.
fn wheel(file: &str, digest: &str) -> String {
    published(&format!(
        r#"{{"cudnn": "8.5.0.96", "cuda": "cuda11", "cuda_range": null, "platform": "linux-x86_64", "file": "{file}",
            "url": "pypi:nvidia-cudnn-cu11/{file}", "digest_kind": "sha256", "digest": "{digest}", "size": 557141533,
            "archive": "whl", "uploaded": "2022-09-21T21:55:09Z", "source": "PyPI simple index, project x"}}"#
    ))
}

const TOOLKITS: &str = r#"
{"cuda": "13.1", "release": "13.1 GA", "version": "13.1.0", "toolkit_driver_linux": ">=590.44.01", "toolkit_driver_windows": "N/A", "compat_min_driver_linux": ">=580", "compat_min_driver_windows": "not published ('N/A'); branch R580 or newer", "minor_version_compatibility": true, "source": "NVIDIA CUDA Toolkit release notes, x; 13.3/13.4 rows from y", "confidence": "high"}
{"cuda": "11.0", "release": "11.0 GA", "version": "11.0.2", "toolkit_driver_linux": ">=450.51.05", "toolkit_driver_windows": ">=451.48", "compat_min_driver_linux": ">=450.80.02", "compat_min_driver_windows": ">=452.39", "minor_version_compatibility": true, "source": "NVIDIA CUDA Toolkit release notes", "confidence": "high"}
"#;

const SUPPORT: &str = r#"
{"type": "support", "cudnn": "9.7.0-9.10.2", "cuda_variant": "cuda12", "cuda_min": "12.0", "cuda_max": "12.8 (9.7) / 12.9 (9.10)", "sm_supported": "5.0-12.x", "sm_elf": [50, 120], "confidence": "high", "source": "NVIDIA support matrix 9.10.2"}
{"type": "support", "cudnn": "8.9.3-8.9.7", "cuda_variant": "cuda12", "cuda_min": "12.0", "cuda_max": "12.2 (matrix); works to 12.9", "sm_supported": "5.0-9.0", "confidence": "high", "source": "NVIDIA support matrix 8.9.6"}
{"type": "support", "cudnn": "8.0.0-8.0.1 (preview)", "cuda_variant": "cuda10.1/10.2", "cuda_min": "10.1", "cuda_max": "10.2", "sm_supported": "3.0-7.5", "confidence": "high", "source": "NVIDIA support matrix 8.0.3"}
{"type": "fact", "topic": "bad-versions", "fact": "9.10.0: binary-incompatible enum values. More.", "evidence": "JAX", "confidence": "high"}
{"type": "fact", "topic": "header", "fact": "x", "evidence": "y", "confidence": "high"}
"#;

const ARCHITECTURES: &str = r#"
{"compute_capability": "3.0", "architecture": "Kepler", "first_cuda": "5.0", "last_cuda": "10.2", "first_cudnn": "1", "last_cudnn": "8.0-8.7 only for CUDA 10.2", "gpus": ["GTX 680"], "confidence": "medium", "source": "x"}
{"compute_capability": "5.3", "architecture": "Maxwell", "first_cuda": "7.0", "first_cudnn": "4", "last_cudnn": "Jetson builds", "gpus": ["Jetson Nano"], "confidence": "medium", "source": "x"}
"#;

fn framework(more: &str) -> String {
    let mut row: serde_json::Value = serde_json::from_str(
        r#"{"framework": "pytorch", "version": "1.12.0-1.12.1", "platform": "windows-x86_64", "variant": "cu113",
            "cuda_build": "11.3", "cudnn_build": "8.3.2.44", "cudnn_min_runtime": "8.3", "bundled": "in-wheel",
            "confidence": "high", "source": "pytorch/builder x"}"#,
    )
    .unwrap();
    let more: serde_json::Value = serde_json::from_str(more).unwrap();
    for (key, value) in more.as_object().unwrap() {
        row[key] = value.clone();
    }
    row.to_string()
}

fn from_catalogue(rows: &[String]) -> Result<Generated, Error> {
    generate(&Input {
        catalogue: &rows.join("\n"),
        cuda_toolkits: TOOLKITS,
        cudnn_support: SUPPORT,
        gpu_archs: ARCHITECTURES,
        frameworks: &framework("{}"),
    })
}

fn one_framework(more: &str) -> Result<crate::manifest::Framework, Error> {
    let mut facts = Facts::default();
    frameworks::read(&framework(more), &mut facts)?;
    Ok(facts.frameworks.remove(0))
}

#[test]
fn what_is_written_reads_back_and_is_the_same_every_time() {
    let rows = [
        published(&format!(
            r#"{{"digest_kind": "sha256", "digest": "{A}", "size": 7}}"#
        )),
        wheel(
            "nvidia_cudnn_cu11-8.5.0.96-py3-none-manylinux1_x86_64.whl",
            A,
        ),
        wheel(
            "nvidia_cudnn_cu11-8.5.0.96-2-py3-none-manylinux1_x86_64.whl",
            B,
        ),
        wheel("nvidia_cudnn_cu11-9.0.0.dev1-py3-none-win_amd64.whl", A),
        published(r#"{"url": "conda:conda-forge/win-64/x.tar.bz2"}"#),
        published(r#"{"status": "inferred"}"#),
    ];
    let generated = from_catalogue(&rows).unwrap();
    check_releases(&generated.releases, false).unwrap();
    check_facts(&generated.facts).unwrap();
    let names: Vec<&str> = generated
        .releases
        .all()
        .iter()
        .map(|r| r.file.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "nvidia_cudnn_cu11-8.5.0.96-2-py3-none-manylinux1_x86_64.whl",
            "cudnn-11.3-windows-x64-v8.2.1.32.zip"
        ]
    );
    let left_out: usize = generated.left_out.iter().map(|(_, count)| count).sum();
    assert_eq!(left_out, 4);

    let [(_, releases), (_, cuda), (_, gpus), (_, frameworks)] = generated.files();
    let read = Releases::parse("releases.toml", &releases).unwrap();
    assert_eq!(read.all(), generated.releases.all());
    let facts = Facts::parse(Texts {
        cuda: Some(&cuda),
        gpus: Some(&gpus),
        frameworks: Some(&frameworks),
    })
    .unwrap();
    assert_eq!(facts.toolkits, generated.facts.toolkits);
    assert_eq!(facts.support, generated.facts.support);
    assert_eq!(facts.frameworks, generated.facts.frameworks);

    let mut turned = rows.to_vec();
    turned.reverse();
    let again = from_catalogue(&turned).unwrap();
    assert_eq!(
        again.files(),
        generated.files(),
        "the order of the input does not matter"
    );
}

#[test]
fn rows_that_contradict_themselves_or_each_other_are_refused_with_their_line() {
    let good = published(&format!(r#"{{"digest_kind": "sha256", "digest": "{A}"}}"#));
    for (bad, problem) in [
        (good.clone(), "the same file as line 1"),
        (
            published(r#"{"digest_kind": "sha256", "digest": "abc"}"#),
            "no SHA-256",
        ),
        (
            published(r#"{"digest_kind": "crc32", "digest": "abc"}"#),
            "digest kind",
        ),
        (published(r#"{"cudnn": "8.2.1"}"#), "fourth number"),
        (published(r#"{"cudnn": "8.x"}"#), "not valid"),
        (
            published(r#"{"cuda_range": "11.3-11.0"}"#),
            "ends before it begins",
        ),
        (published(r#"{"cuda_range": "10.0-10.2"}"#), "another major"),
        (published(r#"{"platform": "plan9"}"#), "platforms are"),
        (published(r#"{"component": "cudnn_samples"}"#), "component"),
        (published(r#"{"source": "a friend"}"#), "has no key"),
        (
            published(r#"{"url": "https://example.org/x.zip"}"#),
            "not on NVIDIA's server",
        ),
        (published(r#"{"file": "other.zip"}"#), "differ"),
        ("{".to_owned(), "EOF"),
    ] {
        let error = from_catalogue(&[good.clone(), bad.clone()]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("`catalogue.jsonl`, line 2") && text.contains(problem),
            "{bad}: {text}"
        );
    }
}

#[test]
fn one_digest_for_two_builds_is_found() {
    let row = |file: &str, cuda: &str| {
        published(&format!(
            r#"{{"digest_kind": "sha256", "digest": "{A}", "cuda": "{cuda}", "file": "{file}", "cuda_range": null,
                "url": "https://developer.download.nvidia.com/compute/{file}"}}"#
        ))
    };
    let generated = from_catalogue(&[row("a.zip", "11.3"), row("b.zip", "10.2")]).unwrap();
    let error = check_releases(&generated.releases, false).unwrap_err();
    assert!(error.to_string().contains("one digest"), "{error}");
    let complete = check_releases(&generated.releases, true);
    assert!(complete.is_err());
}

#[test]
fn words_in_hardware_facts_become_numbers() {
    let facts = from_catalogue(&[]).unwrap().facts;
    let [new, old] = facts.toolkits.as_slice() else {
        panic!("{:?}", facts.toolkits);
    };
    assert_eq!(new.minimum_windows.to_string(), "580");
    assert_eq!(new.windows, None);
    assert_eq!(new.linux.to_string(), "590.44.01");
    assert_eq!(
        old.minimum_linux.to_string(),
        "450.51.05",
        "its own driver is older"
    );

    let ranges: Vec<String> = facts
        .support
        .iter()
        .map(|support| {
            let [first, last] = &support.cudnn;
            let cuda = support
                .last_cuda
                .map_or("-".to_owned(), |cuda| cuda.to_string());
            format!("{first}..{last} {cuda} {}", support.capability[1])
        })
        .collect();
    assert_eq!(
        ranges,
        [
            "9.10..9.10.2 12.9 12.1",
            "9.7.0..9.9 12.8 12.1",
            "8.9.3..8.9.7 12.2 9.0",
            "8.0.0..8.0.1 10.2 7.5"
        ]
    );
    assert!(facts.support[1].covers("9.9.0.52".parse().unwrap()));
    assert!(!facts.support[1].covers("9.10.0.56".parse().unwrap()));
    assert_eq!(
        facts.architectures[0]
            .last_cudnn
            .as_ref()
            .map(ToString::to_string)
            .as_deref(),
        Some("8.7")
    );
    assert_eq!(facts.architectures[1].last_cudnn, None);
    assert_eq!(facts.broken[0].reason, "binary-incompatible enum values");
}

#[test]
fn the_run_time_rules_of_frameworks_become_ranges() {
    for (more, built, accepts) in [
        ("{}", "8.3.2.44", ">=8.3,<9"),
        (
            r#"{"cudnn_min_runtime": "unknown, <= 8.5", "cudnn_build": "8.5.0.96"}"#,
            "8.5.0.96",
            ">=8.5,<9",
        ),
        (
            r#"{"cudnn_min_runtime": "9.5 (or lower: x 1.2)", "cudnn_build": "9.5.0.50"}"#,
            "9.5.0.50",
            ">=9.5,<10",
        ),
        (
            r#"{"cudnn_min_runtime": "8.x", "cudnn_build": "8.x"}"#,
            "8",
            ">=8,<9",
        ),
        (
            r#"{"cudnn_min_runtime": "7 or 8", "cudnn_build": "7 (cu10x) / 8 (cu11x)"}"#,
            "8",
            ">=7,<9",
        ),
        (
            r#"{"cudnn_min_runtime": "8.2 (cudnn82) / 8.0.5 (cudnn805)", "cudnn_build": "8.2 or 8.0.5"}"#,
            "8.2",
            ">=8.0.5,<9",
        ),
        (
            r#"{"cudnn_min_runtime": "5.1", "cudnn_build": "5.1"}"#,
            "5.1",
            ">=5.1,<=5.1",
        ),
        (
            r#"{"cudnn_min_runtime": "7.6", "cudnn_build": "8.2.4 (10.2-11.5), 7.6.5",
                "cudnn_runtime_rule": "supported list: 7.6, 8.0-8.2; binary needs 9"}"#,
            "8.2.4",
            ">=8.0,<=8.2",
        ),
        (
            r#"{"cudnn_min_runtime": null, "cudnn_build": ">=7.5, <9"}"#,
            "9",
            ">=7.5,<9",
        ),
        (
            r#"{"cudnn_min_runtime": null, "cudnn_build": ">=7.5, 9.x ok"}"#,
            "9",
            ">=7.5,<10",
        ),
        (
            r#"{"cudnn_min_runtime": null, "cudnn_build": "5-7"}"#,
            "7",
            ">=5,<8",
        ),
    ] {
        let found = one_framework(more).unwrap();
        let text = |spec: &Option<VersionSpec>| spec.as_ref().map(ToString::to_string);
        assert_eq!(text(&found.built).as_deref(), Some(built), "{more}");
        assert_eq!(text(&found.accepts).as_deref(), Some(accepts), "{more}");
    }
}

#[test]
fn framework_versions_are_read_as_people_write_them() {
    for (version, inside, outside) in [
        ("1.12.0-1.12.1", "1.12.1", "1.13.0"),
        ("9.x", "9.6.0", "10.0.0"),
        ("<4.2", "4.1.2", "4.2.0"),
        ("<=1.13 (inside pytorch)", "1.13.1", "2.0.0"),
        (">=4.10", "5.0", "4.9"),
        ("3.0-beta", "3.0.0", "3.1.0"),
        ("1.21-1.26", "1.26.3", "1.27.0"),
    ] {
        let found = one_framework(&format!(r#"{{"version": "{version}"}}"#)).unwrap();
        let contains = |text: &str| {
            found
                .versions
                .contains(&crate::companion::Dotted::parse(text).unwrap())
        };
        assert!(
            contains(inside) && !contains(outside),
            "{version}: {}",
            found.versions
        );
    }
    assert!(one_framework(r#"{"version": "soon"}"#).is_err());
    assert!(one_framework(r#"{"bundled": "perhaps"}"#).is_err());
}

#[test]
fn the_built_in_manifests_are_the_generator_s_and_make_sense() {
    let releases = Releases::load(None).unwrap();
    check_releases(&releases, true).unwrap();
    assert_eq!(
        releases.render(),
        include_str!("../../../manifests/releases.toml")
    );
    let facts = Facts::load(Texts::default()).unwrap();
    check_facts(&facts).unwrap();
    assert_eq!(
        facts.render(CUDA),
        include_str!("../../../manifests/cuda.toml")
    );
    assert_eq!(
        facts.render(GPUS),
        include_str!("../../../manifests/gpus.toml")
    );
    assert_eq!(
        facts.render(FRAMEWORKS),
        include_str!("../../../manifests/frameworks.toml")
    );
}
