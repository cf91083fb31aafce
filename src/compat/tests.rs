//! Combinations known from outside this program, each with where it is known from; the manifests must agree.

use super::*;
use crate::manifest::{Releases, Texts};
use crate::version::{Platform, VersionSpec};

fn facts() -> Facts {
    Facts::load(Texts::default()).unwrap()
}

const WINDOWS: Platform = Platform::WindowsX64;
const LINUX: Platform = Platform::LinuxX64;

/// Framework release, platform, the cuDNN it was built with and its CUDA, an accepted and a refused cuDNN.
///
/// Sources: TB = TensorFlow "tested build configurations"; PB = pytorch/builder release branches; PM = the wheel's pinned
/// dependency on the index; RM = pytorch RELEASE.md; ORT = ONNX Runtime CUDA execution provider, requirements; JX = JAX
/// change log; PD = PaddlePaddle install guide; CT = CTranslate2 build scripts; MX = MXNet build scripts; CP = CuPy
/// installation guide.
const FRAMEWORKS: [(&str, Platform, &str, &str, &str, &str); 26] = [
    (
        "torch==1.12.1+cu113",
        WINDOWS,
        "8.3.2",
        "cuda11",
        "8.9.7.29",
        "8.2.1.32",
    ), // PB
    (
        "torch==1.12.1+cu116",
        LINUX,
        "8.3.2",
        "cuda11",
        "8.4.1.50",
        "9.1.0.70",
    ), // PB
    (
        "torch==1.8.1+cu111",
        WINDOWS,
        "8.0.5",
        "cuda11.1",
        "8.1.0.77",
        "7.6.5.32",
    ), // PB
    (
        "torch==1.10.0+cu113",
        LINUX,
        "8.2.0",
        "cuda11",
        "8.2.1.32",
        "8.1.1.33",
    ), // PB
    (
        "torch==1.13.1",
        LINUX,
        "8.5.0",
        "cuda11",
        "8.9.7.29",
        "9.0.0.312",
    ), // PM
    (
        "torch==2.0.1+cu118",
        WINDOWS,
        "8.7.0",
        "cuda11",
        "8.9.7.29",
        "8.6.0.163",
    ), // PB
    (
        "torch==2.1.2",
        LINUX,
        "8.9.2",
        "cuda12",
        "8.9.7.29",
        "8.8.1.3",
    ), // PM
    (
        "torch==2.3.1+cu121",
        WINDOWS,
        "8.9.2",
        "cuda12",
        "8.9.7.29",
        "9.1.0.70",
    ), // PB
    (
        "torch==2.4.1",
        LINUX,
        "9.1.0",
        "cuda12",
        "9.10.2.21",
        "8.9.7.29",
    ), // PM
    (
        "torch==2.4.0+cu124",
        WINDOWS,
        "9.1.0",
        "cuda12",
        "9.5.1.17",
        "9.0.0.312",
    ), // PB
    (
        "torch==2.6.0",
        LINUX,
        "9.1.0",
        "cuda12",
        "9.5.1.17",
        "8.9.7.29",
    ), // PM
    (
        "torch==2.8.0",
        LINUX,
        "9.10.2",
        "cuda12",
        "9.8.0.87",
        "9.7.1.26",
    ), // PM; compiled against 9.8
    (
        "torch==2.11.0",
        LINUX,
        "9.19.0",
        "cuda13",
        "9.20.0.48",
        "9.18.1.3",
    ), // PM
    (
        "tensorflow==2.10.1",
        WINDOWS,
        "8.1",
        "cuda11",
        "8.9.7.29",
        "8.0.5.39",
    ), // TB
    (
        "tensorflow==2.4.0",
        WINDOWS,
        "8.0",
        "cuda11.0",
        "8.2.1.32",
        "7.6.5.32",
    ), // TB
    (
        "tensorflow==2.3.4",
        LINUX,
        "7.6",
        "cuda10.1",
        "7.6.5.32",
        "7.5.1.10",
    ), // TB
    (
        "tensorflow==1.15.5",
        LINUX,
        "7.4",
        "cuda10.0",
        "7.6.5.32",
        "7.3.1.20",
    ), // TB
    (
        "tensorflow==2.15.1",
        LINUX,
        "8.9",
        "cuda12",
        "8.9.7.29",
        "8.8.1.3",
    ), // TB
    (
        "tensorflow[and-cuda]==2.18.0",
        LINUX,
        "9.3",
        "cuda12",
        "9.28.0.42",
        "9.2.1.18",
    ), // TB
    (
        "onnxruntime-gpu==1.16.3",
        WINDOWS,
        "8.5.0",
        "cuda11",
        "8.9.7.29",
        "9.1.0.70",
    ), // ORT
    (
        "onnxruntime-gpu==1.20.1",
        WINDOWS,
        "9",
        "cuda12",
        "9.10.2.21",
        "8.9.7.29",
    ), // ORT
    (
        "jax[cuda12]==0.4.28",
        LINUX,
        "8.9.2",
        "cuda12",
        "8.9.7.29",
        "9.0.0.312",
    ), // JX
    (
        "jax[cuda12]==0.6.0",
        LINUX,
        "9.8.0",
        "cuda12",
        "9.10.2.21",
        "9.7.1.26",
    ), // JX
    (
        "paddlepaddle-gpu==2.6.1",
        WINDOWS,
        "8.9.1",
        "cuda12",
        "8.9.7.29",
        "9.0.0.312",
    ), // PD
    (
        "ctranslate2==4.4.0",
        WINDOWS,
        "8.8.0",
        "cuda12",
        "8.9.7.29",
        "9.1.0.70",
    ), // CT
    (
        "mxnet-cu112==1.9.1",
        LINUX,
        "8.1.1",
        "cuda11",
        "8.9.7.29",
        "7.6.5.32",
    ), // MX
];

#[test]
fn frameworks_get_the_cudnn_they_were_built_with() {
    let facts = facts();
    for (text, platform, cudnn, cuda, accepted, refused) in FRAMEWORKS {
        let found = for_framework(text, platform, &facts).unwrap();
        assert_eq!(found.spec.to_string(), format!("{cudnn}+{cuda}"), "{text}");
        let accepts = found.accepts.expect(text).requirement;
        assert!(
            accepts.matches(accepted.parse().unwrap()),
            "{text} takes {accepted}"
        );
        assert!(
            !accepts.matches(refused.parse().unwrap()),
            "{text} refuses {refused}"
        );
    }
}

#[test]
fn every_recommendation_since_cudnn_7_is_published() {
    let facts = facts();
    let releases = Releases::load(None).unwrap();
    let mut checked = 0;
    for framework in &facts.frameworks {
        let (Some(platform), Some(version)) = (
            framework.platform,
            framework
                .versions
                .to
                .as_ref()
                .or(framework.versions.from.as_ref()),
        ) else {
            continue;
        };
        let text = format!("{}=={version}", framework.name);
        for found in packages(&text, platform, &facts).unwrap_or_default() {
            let crate::version::Requirement::Prefix(numbers) = &found.spec.requirement else {
                panic!("{text}: {} is no prefix", found.spec);
            };
            if numbers[0] < 7 {
                continue;
            }
            let spec = VersionSpec {
                platform: Some(platform),
                ..found.spec.clone()
            };
            // MXNet's scripts name a build 7.6.5.33, and 8.0.4 for CUDA 11.2, that NVIDIA's server never had.
            let there = releases.candidates(&spec).next().is_some();
            assert!(there, "{text} ({:?}) wants {spec}", found.framework.package);
            checked += 1;
        }
    }
    assert!(checked > 250, "only {checked}");
}

#[test]
fn a_framework_without_gpu_or_cudnn_says_so_with_the_way_out() {
    let facts = facts();
    // TensorFlow's install guide: "2.10 was the last release that supported GPU on native Windows".
    let error = for_framework("tensorflow==2.11.0", WINDOWS, &facts).unwrap_err();
    assert_eq!(error.exit(), Exit::Incompatible);
    assert!(
        error
            .hints()
            .join("\n")
            .contains("cudnnm install 8.1+cuda11"),
        "{:?}",
        error.hints()
    );
    assert!(for_framework("tensorflow==2.11.0", LINUX, &facts).is_ok());
    // CuPy's upgrade guide: cuDNN support was removed in v14.
    let error = for_framework("cupy-cuda12x==14.0.0", LINUX, &facts).unwrap_err();
    assert!(matches!(error, Error::NoCudnn { .. }));
    assert!(matches!(
        for_framework("jax==0.4.30", WINDOWS, &facts),
        Err(Error::NoGpuSupport { .. })
    ));
    for (text, exit) in [
        ("flax==0.1", Exit::NotPublished),
        ("torch==0.1", Exit::NotPublished),
        ("torch==new", Exit::Usage),
        ("", Exit::Usage),
        ("../x", Exit::Usage),
    ] {
        assert_eq!(
            for_framework(text, LINUX, &facts).unwrap_err().exit(),
            exit,
            "{text:?}"
        );
    }
}

/// Build, what the machine has, and whether that goes together: `good`, `warn` or a word of the refusal.
///
/// Sources: CN = CUDA release notes, driver table; SM = cuDNN support matrix of that version; FS = kernels found in the
/// libraries; CG = CUDA's list of compute capabilities.
const FITS: [(&str, Platform, &str, &str, &str); 24] = [
    ("8.2.1.32+cuda11.3", WINDOWS, "driver", "465.89", "good"), // CN
    ("8.2.1.32+cuda11.3", WINDOWS, "driver", "452.39", "good"), // CN, minor version compatibility
    ("8.2.1.32+cuda11.3", WINDOWS, "driver", "441.22", "452.39"), // CN
    ("8.2.1.32+cuda11.3", LINUX, "driver", "450.80.02", "good"), // CN
    ("8.2.1.32+cuda10.2", LINUX, "driver", "440.33", "good"),   // CN
    ("8.2.1.32+cuda10.2", LINUX, "driver", "418.39", "440.33"), // CN
    ("8.9.7.29+cuda12", LINUX, "driver", "525.60.13", "good"),  // CN
    ("8.9.7.29+cuda12", LINUX, "driver", "520.61.05", "525.60.13"), // CN
    ("8.9.7.29+cuda12", WINDOWS, "driver", "527.41", "good"),   // CN
    ("8.9.7.29+cuda12", WINDOWS, "driver", "522.06", "527.41"), // CN
    ("9.12.0.46+cuda13", LINUX, "driver", "575.57.08", "580"),  // CN
    ("9.12.0.46+cuda13", LINUX, "driver", "580.65.06", "good"), // CN
    ("7.6.5.32+cuda10.0", WINDOWS, "driver", "411.31", "good"), // CN
    ("9.10.2.21+cuda12", LINUX, "gpu", "GTX 1080 Ti", "good"),  // FS
    (
        "9.11.0.98+cuda12",
        LINUX,
        "gpu",
        "GTX 1080 Ti",
        "from 7.5 on",
    ), // FS
    ("9.11.0.98+cuda12", LINUX, "gpu", "V100", "from 7.5 on"),  // FS
    ("9.11.0.98+cuda12", LINUX, "gpu", "RTX 2080 Ti", "good"),  // FS
    ("8.7.0.84+cuda11", LINUX, "gpu", "Tesla K80", "good"),     // FS
    ("8.8.0.121+cuda11", LINUX, "gpu", "Tesla K80", "from 5.0 on"), // FS
    ("8.2.1.32+cuda10.2", WINDOWS, "gpu", "RTX 3060", "up to 7.5"), // SM
    ("8.2.1.32+cuda11.3", WINDOWS, "gpu", "RTX 3060", "good"),  // SM
    ("8.2.1.32+cuda11.3", WINDOWS, "gpu", "RTX 4090", "warn"),  // SM, CG: 8.9 runs code for 8.6
    ("8.9.7.29+cuda12", WINDOWS, "gpu", "RTX 5090", "up to 9.0"), // SM
    ("9.7.1.26+cuda12", WINDOWS, "gpu", "RTX 5090", "good"),    // FS
];

#[test]
fn builds_are_judged_by_driver_and_gpu() {
    let facts = facts();
    for (build, platform, what, value, expected) in FITS {
        let (version, variant) = build.split_once("+cuda").unwrap();
        let id = BuildId {
            version: version.parse().unwrap(),
            variant: Some(variant.parse().unwrap()),
            flavour: crate::version::Flavour::Full,
            platform,
        };
        let mut machine = Machine::default();
        match what {
            "driver" => machine.driver = Some(value.parse().unwrap()),
            _ => machine.gpus = vec![gpu(value, &facts).unwrap()],
        }
        let found = match judge(&id, &machine, &facts) {
            Fit::Good => "good".to_owned(),
            Fit::Warn(reason) => {
                assert!(!reason.source.is_empty());
                "warn".to_owned()
            }
            Fit::Impossible(reason) => {
                assert!(!reason.source.is_empty());
                reason.text
            }
        };
        assert!(
            found.contains(expected),
            "{build} with {what} {value}: {found}"
        );
    }
}

#[test]
fn the_driver_s_cuda_alone_is_enough_to_judge() {
    let facts = facts();
    let build = |text: &str| BuildId::from_folder(text).unwrap();
    for (folder, driver, impossible) in [
        ("cudnn-9.19.0.56-cuda13", "12.8", true),
        ("cudnn-9.19.0.56-cuda12", "12.0", false),
        ("cudnn-8.2.1.32-cuda11.3", "11.0", false),
        ("cudnn-8.2.1.32-cuda10.2", "10.1", true),
        ("cudnn-8.7.0.84-cuda10", "10.1", true),
        ("cudnn-8.7.0.84-cuda10", "10.2", false),
        ("cudnn-8.2.1", "9.0", false),
    ] {
        let machine = Machine {
            driver_cuda: Some(driver.parse().unwrap()),
            ..Machine::default()
        };
        let found = matches!(judge(&build(folder), &machine, &facts), Fit::Impossible(_));
        assert_eq!(
            found, impossible,
            "{folder} with a driver for CUDA {driver}"
        );
    }
}

#[test]
fn one_able_gpu_among_several_is_enough() {
    let facts = facts();
    let build = BuildId::from_folder("cudnn-9.11.0.98-cuda12").unwrap();
    let machine = |names: &[&str]| Machine {
        gpus: names
            .iter()
            .map(|name| gpu(name, &facts).unwrap())
            .collect(),
        ..Machine::default()
    };
    let mixed = judge(&build, &machine(&["GTX 1080", "RTX 3060"]), &facts);
    assert!(matches!(mixed, Fit::Warn(reason) if reason.text.contains("GTX 1080")));
    let old = judge(&build, &machine(&["GTX 1080", "V100"]), &facts);
    assert!(matches!(old, Fit::Impossible(_)));
    assert_eq!(judge(&build, &machine(&[]), &facts), Fit::Good);
}

#[test]
fn a_faulty_release_is_named() {
    // JAX refuses 9.10.0 at run time (jax_plugins/cuda/__init__.py).
    let build = BuildId::from_folder("cudnn-9.10.0.56-cuda12").unwrap();
    assert!(matches!(
        judge(&build, &Machine::default(), &facts()),
        Fit::Warn(_)
    ));
}

/// What is given, and the newest build that fits; `-` for none.
const ANSWERS: [(&str, &str, &str, &str, &str, &str); 14] = [
    // driver, gpu, cuda, cudnn, framework, newest
    ("", "GTX 1080", "", "", "", "9.10.2.21+cuda12"),
    ("", "Tesla K80", "", "", "", "8.7.0.84+cuda11"),
    ("470.57.02", "", "", "", "", "9.10.2.21+cuda11"),
    ("470.57.02", "RTX 3090", "", "", "", "9.10.2.21+cuda11"),
    ("440.33", "", "", "", "", "8.7.0.84+cuda10"),
    ("", "", "10.1", "", "", "8.0.5.39+cuda10.1"),
    ("", "", "10.2", "", "", "8.7.0.84+cuda10"),
    ("", "GTX 1080", "13.0", "", "", "-"),
    ("470.57.02", "", "12.1", "", "", "-"),
    ("", "", "11.3", "8.2.1", "", "8.2.1.32+cuda11.3"),
    ("", "", "10.2", "8.2.1", "", "8.2.1.32+cuda10.2"),
    ("", "V100", "", "", "torch==2.4.1", "9.10.2.21+cuda12"),
    ("", "V100", "", "", "torch==2.15.0", "-"),
    ("", "", "", "", "tensorflow==2.10.0", "8.9.7.29+cuda11"),
];

#[test]
fn any_two_give_the_rest() {
    let facts = facts();
    let releases = Releases::load(None).unwrap();
    for (driver, gpu_name, cuda, cudnn, framework, newest) in ANSWERS {
        let question = Question {
            driver: driver.parse().ok(),
            gpu: gpu(gpu_name, &facts).ok(),
            cuda: cuda.parse().ok(),
            cudnn: cudnn.parse().ok(),
            framework: packages(framework, LINUX, &facts).unwrap_or_default(),
        };
        let found = answer(&question, LINUX, &releases, &facts);
        let named = found.build.map(|build| VersionSpec {
            platform: None,
            ..build.exact_spec()
        });
        let text = named.map_or("-".to_owned(), |spec| spec.to_string().replace("+full", ""));
        assert_eq!(
            text, newest,
            "{driver} {gpu_name} {cuda} {cudnn} {framework}"
        );
        assert_eq!(found.impossible, newest == "-");
        let reasons: Vec<&Line> = found
            .lines
            .iter()
            .filter(|line| line.about == "build")
            .collect();
        assert!(!reasons.is_empty());
        if newest == "-" {
            assert!(
                reasons
                    .iter()
                    .all(|line| line.level == Level::Fail && !line.source.is_empty())
            );
        }
    }
}
