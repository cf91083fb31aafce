//! `test`, `bench`, `bisect`: proof on a fake GPU, and every way in which it fails.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::gpu::{self, PARTS_8, PARTS_9};
use crate::sandbox::{Run, Sandbox};

const NINE: &str = "cudnn-9.1.0.70-cuda12";

fn test(sandbox: &Sandbox, spec: &str) -> Run {
    sandbox.cudnnm(["test", "--small", "--cudnn", spec])
}

#[track_caller]
fn reports(run: &Run, texts: &[&str]) {
    for text in texts {
        assert!(
            run.stdout.contains(text),
            "the report lacks {text:?}:\n{}\n{}",
            run.stdout,
            run.stderr
        );
    }
}

#[test]
fn each_major_is_proven_through_every_api_it_has() {
    for (folder, parts, spec, gpu, count) in [
        (NINE, &PARTS_9[..], "9.1", "capability=90", 24),
        (
            "cudnn-8.9.7.29-cuda12",
            &PARTS_8[..],
            "8.9",
            "capability=80",
            24,
        ),
        // cuDNN 7 has the legacy API only and knows neither TF32 nor BF16.
        (
            "cudnn-7.6.5.32-cuda10.2",
            &[][..],
            "7.6",
            "capability=70",
            6,
        ),
        // A card before Ampere multiplies in neither.
        (NINE, &PARTS_9[..], "9.1", "capability=75", 12),
        (
            "cudnn-9.19.0.56-cuda13-jit",
            &["graph", "heuristic"][..],
            "9.19+jit",
            "capability=90",
            12,
        ),
    ] {
        let mut sandbox = gpu::sandbox();
        sandbox.set("FAKE_CUDA", gpu);
        let root = gpu::build(&sandbox, folder, parts);
        let run = test(&sandbox, spec).exits(0);
        let own = format!("from {}", root.join("lib").display());
        reports(
            &run,
            &[
                "files      ok",
                "loading    ok",
                &own,
                "computing  ok",
                &format!("{count} of {count} convolutions right on Fake GPU"),
            ],
        );
    }
}

#[test]
fn the_document_says_what_the_report_says() {
    let sandbox = gpu::sandbox();
    gpu::build(&sandbox, NINE, &PARTS_9);
    let run = sandbox
        .cudnnm(["test", "--small", "--cudnn", "9.1", "--json"])
        .exits(0);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["schema"], 1);
    assert_eq!(report["ok"], true);
    assert_eq!(report["computing"]["gpu"]["name"], "Fake GPU");
    let rows = report["computing"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 24);
    for row in rows {
        assert_eq!(row["result"], "right", "{row}");
        let bound = if row["precision"] == "bf16" {
            4e-3
        } else {
            1e-3
        };
        assert!(row["error"].as_f64().unwrap() < bound, "{row}");
    }
}

#[test]
fn without_a_driver_the_first_two_layers_are_reported() {
    let sandbox = Sandbox::new();
    gpu::build(&sandbox, NINE, &PARTS_9);
    let run = test(&sandbox, "9.1").exits(9);
    reports(
        &run,
        &[
            "files      ok",
            "loading    ok",
            "computing  not run  no NVIDIA driver",
        ],
    );
}

#[test]
fn a_driver_without_a_gpu_is_no_failure_of_the_build() {
    for (state, name) in [
        ("init=100", "CUDA_ERROR_NO_DEVICE"),
        ("devices=0", "CUDA_ERROR_NO_DEVICE"),
        ("init=999", "CUDA_ERROR_UNKNOWN"),
        ("init=803", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
    ] {
        let mut sandbox = gpu::sandbox();
        sandbox.set("FAKE_CUDA", state);
        gpu::build(&sandbox, NINE, &PARTS_9);
        let run = test(&sandbox, "9.1").exits(9);
        reports(&run, &["computing  not run  no usable NVIDIA GPU", name]);
    }
}

#[test]
fn what_does_not_fit_is_said_before_anything_is_computed() {
    for (state, texts) in [
        (
            "version=11080",
            &[
                "the driver runs CUDA 11.8 at most",
                "built for CUDA 12.1",
                "update the driver to 525",
            ][..],
        ),
        (
            "capability=35",
            &["compute capability 3.5", "made for 5.0 to 9.0"][..],
        ),
        (
            "capability=120",
            &["compute capability 12.0", "made for 5.0 to 9.0"][..],
        ),
    ] {
        let mut sandbox = gpu::sandbox();
        sandbox.set("FAKE_CUDA", state);
        // It would crash if it came to that.
        sandbox.set("FAKE_CUDNN", "create=crash");
        gpu::build(&sandbox, NINE, &PARTS_9);
        let run = test(&sandbox, "9.1").exits(5);
        reports(&run, texts);
        assert!(!run.stdout.contains("SIGSEGV"), "{}", run.stdout);
    }
}

#[test]
fn force_computes_on_a_gpu_that_nobody_promised() {
    let mut sandbox = gpu::sandbox();
    sandbox.set("FAKE_CUDA", "capability=120");
    gpu::build(&sandbox, NINE, &PARTS_9);
    sandbox
        .cudnnm(["test", "--small", "--force", "--cudnn", "9.1"])
        .exits(0);
}

/// A misbehaviour of the fake cuDNN, and what the report must say of it.
const MISBEHAVIOURS: [(&str, &[&str]); 12] = [
    (
        "create=abort",
        &[
            "SIGABRT",
            "while creating a cuDNN handle",
            "Could not load library libcublasLt.so.12",
            "install --with-companions",
        ],
    ),
    (
        "create=1001",
        &["`cudnnCreate` answered 1001 CUDNN_STATUS_NOT_INITIALIZED"],
    ),
    (
        "create=4004",
        &[
            "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
            "memory is full",
        ],
    ),
    (
        "forward=crash",
        &[
            "SIGSEGV",
            "first layer forward fp32 (legacy API)",
            "algorithm 1 IMPLICIT_PRECOMP_GEMM",
        ],
    ),
    (
        "backward-filter=abort",
        &["SIGABRT", "first layer backward-filter fp32 (legacy API)"],
    ),
    (
        "forward=wrong",
        &[
            "first layer forward fp32 (legacy API): wrong numbers",
            "other convolutions",
        ],
    ),
    (
        "backward-data=lazy",
        &["backward-data", "left 1 elements unwritten"],
    ),
    (
        "forward=broken",
        &[
            "CUDA_ERROR_ILLEGAL_ADDRESS",
            "while first layer forward fp32 (legacy API)",
        ],
    ),
    (
        "forward=5000",
        &["`cudnnConvolutionForward` answered 5000 CUDNN_STATUS_EXECUTION_FAILED"],
    ),
    (
        "plan=4001",
        &[
            "INTERNAL_ERROR_COMPILATION_FAILED",
            "NVRTC of another CUDA major",
        ],
    ),
    (
        "plan=3008",
        &[
            "NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING",
            "--with-companions",
        ],
    ),
    (
        "graph=1002",
        &[
            "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
            "two cuDNN versions are in one process",
        ],
    ),
];

#[test]
fn every_misbehaviour_becomes_a_sentence() {
    for (misbehaviour, texts) in MISBEHAVIOURS {
        let mut sandbox = gpu::sandbox();
        sandbox.set("FAKE_CUDNN", misbehaviour);
        gpu::build(&sandbox, NINE, &PARTS_9);
        let run = test(&sandbox, "9.1").exits(1);
        reports(&run, &["computing  FAILED"]);
        reports(&run, texts);
    }
}

#[test]
fn a_crash_costs_only_the_convolution_it_happened_in() {
    let mut sandbox = gpu::sandbox();
    sandbox.set("FAKE_CUDNN", "backward-filter=crash");
    gpu::build(&sandbox, "cudnn-7.6.5.32-cuda10.2", &[]);
    sandbox.set("FAKE_CUDA", "capability=70");
    let run = test(&sandbox, "7.6").exits(1);
    reports(&run, &["4 of 6 convolutions right"]);
}

#[test]
fn a_process_that_dies_in_several_threads_is_tried_with_one() {
    let mut sandbox = gpu::sandbox();
    sandbox.set("FAKE_CUDNN", "threads=crash");
    gpu::build(
        &sandbox,
        "cudnn-9.19.0.56-cuda13-jit",
        &["graph", "heuristic"],
    );
    let run = test(&sandbox, "9.19").exits(0);
    reports(
        &run,
        &["with several threads", "12 of 12 convolutions right"],
    );
}

#[test]
fn a_hang_is_ended() {
    let mut sandbox = gpu::sandbox();
    sandbox.set("FAKE_CUDNN", "forward=hang");
    gpu::build(&sandbox, NINE, &PARTS_9);
    let started = Instant::now();
    let run = sandbox
        .cudnnm(["test", "--small", "--cudnn", "9.1", "--time-limit", "2"])
        .exits(1);
    reports(
        &run,
        &[
            "nothing happened any more",
            "first layer forward fp32 (legacy API)",
        ],
    );
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_full_gpu_is_named() {
    let mut sandbox = gpu::sandbox();
    sandbox.set("FAKE_CUDA", "memory=20000");
    gpu::build(&sandbox, NINE, &PARTS_9);
    let run = test(&sandbox, "9.1").exits(1);
    reports(
        &run,
        &["CUDA_ERROR_OUT_OF_MEMORY", "end other programs that use it"],
    );
}

#[test]
fn every_status_has_its_name_in_the_report() {
    use cudnnm::status;
    let request = |library: &str| {
        format!(
            r#"{{"library":"{library}","compute":{{"units":[],"heuristics":false,"ceilings":false,"stand-in":null,"supported":null,"seed":1,"effort":{{"unit_ms":1,"timing_ms":1,"workspace":1,"enough":1,"workers":1}}}}}}"#
        )
    };
    for (encoded, parts, numbers) in [
        (8907, &PARTS_8[..], (1..=14).collect::<Vec<i32>>()),
        (
            90_100,
            &PARTS_9[..],
            [
                1001..=1008,
                2000..=2012,
                3000..=3014,
                4000..=4006,
                5000..=5004,
            ]
            .into_iter()
            .flatten()
            .collect(),
        ),
    ] {
        let major = if encoded < 10_000 { 8 } else { 9 };
        let mut seen = Vec::new();
        for number in numbers {
            let mut sandbox = gpu::sandbox();
            let folder = sandbox.path("libraries");
            gpu::libraries(&folder, encoded, parts);
            sandbox.set("FAKE_CUDNN", format!("create={number}"));
            let path = std::env::join_paths([folder, gpu::driver()]).unwrap();
            sandbox.set("LD_LIBRARY_PATH", path);
            let run = sandbox
                .cudnnm([
                    "__probe".to_owned(),
                    request(&format!("libcudnn.so.{major}")),
                ])
                .exits(0);
            let name = status::cudnn(number, major);
            assert!(name.starts_with("CUDNN_STATUS_"), "{number} is {name}");
            reports(&run, &[&format!("`cudnnCreate` answered {number} {name}")]);
            assert!(!seen.contains(&name), "{number} has the name of another");
            seen.push(name);
        }
    }
}

#[test]
fn two_cudnns_in_one_process_are_named_with_their_folders() {
    let mut sandbox = gpu::sandbox();
    // A build without heuristics, as a jit one is, and a whole other cuDNN behind it on the loader's path.
    let root = gpu::build(&sandbox, "cudnn-9.19.0.56-cuda13-jit", &["graph"]);
    let other = sandbox.path("other");
    gpu::libraries(&other, 91_400, &PARTS_9);
    let path = std::env::join_paths([other.clone(), gpu::driver()]).unwrap();
    sandbox.set("LD_LIBRARY_PATH", path);
    let run = test(&sandbox, "9.19").exits(1);
    reports(
        &run,
        &[
            "two cuDNNs in one process",
            &root.join("lib").display().to_string(),
            &other.display().to_string(),
            "libcudnn_heuristic.so.9",
        ],
    );
}

/// Does something to the `lib` folder of a build and returns the report.
fn damaged(damage: impl Fn(&Path, &Sandbox)) -> Run {
    let sandbox = Sandbox::new();
    let root = gpu::build(&sandbox, NINE, &PARTS_9);
    damage(&root.join("lib"), &sandbox);
    test(&sandbox, "9.1").exits(1)
}

#[test]
fn a_deleted_part_is_named() {
    let run = damaged(|lib, _| fs::remove_file(lib.join("libcudnn_cnn.so.9")).unwrap());
    reports(
        &run,
        &[
            "lib/libcudnn_cnn.so.9 is missing",
            "loading    FAILED",
            "libcudnn_cnn.so.9 can't be loaded",
            "cudnnm install --force 9.1.0.70+cuda12",
        ],
    );
}

#[test]
fn a_part_of_another_version_is_named_with_both() {
    let run = damaged(|lib, sandbox| {
        let other = sandbox.path("other");
        gpu::libraries(&other, 90_200, &PARTS_9);
        fs::copy(
            other.join("libcudnn_cnn.so.9"),
            lib.join("libcudnn_cnn.so.9"),
        )
        .unwrap();
    });
    reports(
        &run,
        &[
            "libcudnn_cnn.so.9 is of cuDNN 9.2.0, not 9.1.0",
            "they say 9.1.0 and 9.2.0",
        ],
    );
}

#[test]
fn a_truncated_part_is_named() {
    let run = damaged(|lib, _| {
        let file = lib.join("libcudnn_graph.so.9");
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() / 3]).unwrap();
    });
    reports(
        &run,
        &[
            "lib/libcudnn_graph.so.9 has",
            "instead of",
            "loading    FAILED",
        ],
    );
}

#[test]
fn a_32_bit_library_is_named() {
    let run = damaged(|lib, _| {
        let file = lib.join("libcudnn.so.9");
        let mut bytes = fs::read(&file).unwrap();
        (bytes[4], bytes[18]) = (1, 3);
        fs::write(&file, bytes).unwrap();
    });
    reports(
        &run,
        &[
            "libcudnn.so.9 is for 32-bit x86, not for linux-x86_64",
            "wrong ELF class",
        ],
    );
}

#[test]
fn headers_of_another_version_are_named() {
    let run = damaged(|lib, _| {
        let header = lib
            .parent()
            .unwrap()
            .join("include")
            .join("cudnn_version.h");
        let text = "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 2\n#define CUDNN_PATCHLEVEL 0\n";
        fs::write(header, text).unwrap();
    });
    reports(&run, &["the headers are of cuDNN 9.2.0, not 9.1.0"]);
}

#[test]
fn versions_are_compared_side_by_side_and_on_a_page() {
    let sandbox = gpu::sandbox();
    gpu::build(&sandbox, NINE, &PARTS_9);
    gpu::build(&sandbox, "cudnn-8.9.7.29-cuda12", &PARTS_8);
    let page = sandbox.path("bench.html");
    let page = page.to_str().unwrap();
    let run = sandbox
        .cudnnm([
            "bench", "8.9.7", "9.1", "--quick", "--small", "--html", page,
        ])
        .exits(0);
    reports(
        &run,
        &[
            "8.9.7.29+cuda12",
            "9.1.0.70+cuda12",
            "backward-filter",
            " *",
        ],
    );
    let html = fs::read_to_string(page).unwrap();
    assert_eq!(html.matches("class=\"bar ").count(), 24, "{html}");
    assert!(!html.contains("http"), "it needs nothing from elsewhere");
    let run = sandbox
        .cudnnm(["bench", "8.9.7", "9.1", "--quick", "--small", "--json"])
        .exits(0);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["builds"].as_array().unwrap().len(), 2);
}

#[test]
fn a_bench_without_a_gpu_says_so() {
    let sandbox = Sandbox::new();
    gpu::build(&sandbox, NINE, &PARTS_9);
    sandbox.cudnnm(["bench", "9.1", "--small"]).exits(9);
}

/// A `torch` that brings a cuDNN of its own: if none is in the process yet, it loads that one.
const TORCH: &str = r#"
import ctypes, os, types
__version__ = "2.99"
own = os.path.join(os.path.dirname(__file__), "..", "nvidia", "cudnn", "lib", "libcudnn.so.9")
loaded = "libcudnn.so.9" in open("/proc/self/maps").read()
library = ctypes.CDLL("libcudnn.so.9" if loaded else own)
float32 = float16 = bfloat16 = None
def _nothing(*a, **k): raise RuntimeError("this is not a real torch")
randn = _nothing
cuda = types.SimpleNamespace(is_available=lambda: True)
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(version=lambda: library.cudnnGetVersion(), benchmark=False, allow_tf32=False))
"#;

#[test]
fn a_framework_tells_whose_cudnn_it_used_by_itself_and_under_exec() {
    let mut sandbox = gpu::sandbox();
    let root = gpu::build(&sandbox, NINE, &PARTS_9);
    let site = sandbox.path("venv").join("lib").join("site-packages");
    gpu::libraries(
        &site.join("nvidia").join("cudnn").join("lib"),
        91_400,
        &PARTS_9,
    );
    fs::create_dir_all(site.join("torch")).unwrap();
    fs::write(site.join("torch").join("__init__.py"), TORCH).unwrap();
    sandbox.set("PYTHONPATH", &site);
    let run = sandbox.cudnnm(["test", "--small", "--cudnn", "9.1", "--framework", "torch"]);
    let own = format!(
        "under exec: torch used the active 9.1.0 from {}",
        root.join("lib").display()
    );
    reports(
        &run,
        &[
            "by itself: torch used its own 9.14.0 in site-packages, not the active 9.1.0",
            &own,
            "its convolution failed: RuntimeError: this is not a real torch",
        ],
    );
    assert_eq!(run.code, 1);
}

#[test]
fn bisect_finds_the_first_bad_version() {
    let sandbox = Sandbox::new();
    for folder in [
        "cudnn-9.1.0.70-cuda12",
        "cudnn-9.2.0.82-cuda12",
        "cudnn-9.3.0.75-cuda12",
        "cudnn-9.4.0.58-cuda12",
    ] {
        gpu::build(&sandbox, folder, &PARTS_9);
    }
    let good_until =
        |version: &str| format!("case $CUDNNM_ACTIVE in {version}) exit 0 ;; *) exit 3 ;; esac");
    for (range, script, answer) in [
        (
            "9.1..9.4",
            good_until("9.1.*|9.2.*"),
            "9.3.0.75+cuda12 is the first bad version\n",
        ),
        (
            "9.4..9.1",
            good_until("9.4.*"),
            "9.3.0.75+cuda12 is the first bad version\n",
        ),
    ] {
        let run = sandbox
            .cudnnm(["bisect", range, "--", "sh", "-c", &script])
            .exits(0);
        assert_eq!(run.stdout, answer);
    }
    sandbox
        .cudnnm(["bisect", "9.1..9.4", "--", "sh", "-c", "exit 1"])
        .exits(2)
        .says(&["the command fails already with 9.1.0"]);
    sandbox
        .cudnnm(["bisect", "9.1..9.1", "--", "true"])
        .exits(2)
        .says(&["too few versions are installed"]);
}
