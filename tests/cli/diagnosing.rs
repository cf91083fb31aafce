//! doctor on prepared machines, what it saves, and explain.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sandbox::{Run, Sandbox};

#[cfg(unix)]
use crate::libraries::ElfSample;

fn findings(run: &Run) -> Vec<(String, String)> {
    let report: Value = serde_json::from_str(&run.stdout).expect("one JSON document");
    assert_eq!(report["schema"], 1);
    report["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|finding| {
            let text = |name: &str| finding[name].as_str().expect("text").to_owned();
            (format!("{} {}", text("code"), text("level")), text("what"))
        })
        .collect()
}

fn codes(run: &Run) -> Vec<String> {
    findings(run).into_iter().map(|(code, _)| code).collect()
}

fn write(path: &Path, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().expect("below the sandbox")).unwrap();
    fs::write(path, content).unwrap();
}

#[test]
fn an_empty_machine_has_nothing_wrong() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("system")).unwrap();
    let run = sandbox
        .cudnnm([
            "doctor".as_ref(),
            "--root".as_ref(),
            sandbox.path("system").as_os_str(),
        ])
        .success();
    assert_eq!(run.stdout, "nothing wrong\n");
    assert_eq!(sandbox.store_listing(), Vec::<String>::new());
}

#[test]
fn a_folder_that_is_not_there_is_an_error_and_not_a_healthy_machine() {
    let sandbox = Sandbox::new();
    sandbox
        .cudnnm(["doctor", "--from", "nowhere"])
        .exits(1)
        .says(&["could not read", "nowhere"]);
    sandbox
        .cudnnm(["doctor", "--root", "nowhere"])
        .exits(1)
        .says(&["could not read", "nowhere"]);
}

#[test]
fn a_saved_folder_is_diagnosed_in_words_and_as_json() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("report");
    write(
        &folder.join("error.txt"),
        "Could not locate zlibwapi.dll. Please make sure it is in your library path!\r\n",
    );
    let run = sandbox
        .cudnnm(["doctor".as_ref(), "--from".as_ref(), folder.as_os_str()])
        .exits(1);
    assert!(run.stdout.starts_with("fail ZLIB: "), "{}", run.stdout);
    assert!(
        run.stdout
            .contains("fix: cudnnm install --source pypi 8.9.7"),
        "{}",
        run.stdout
    );
    let run = sandbox
        .cudnnm([
            "doctor".as_ref(),
            "--json".as_ref(),
            "--from".as_ref(),
            folder.as_os_str(),
        ])
        .exits(1);
    assert_eq!(codes(&run), ["ZLIB fail"]);
}

#[test]
fn explain_takes_a_text_a_file_and_standard_input() {
    let sandbox = Sandbox::new();
    let text =
        "ImportError: libcudnn.so.7: cannot open shared object file: No such file or directory";
    write(&sandbox.project().join("message.txt"), text);
    for argument in [text, "message.txt"] {
        let run = sandbox.cudnnm(["explain", argument, "--json"]).exits(1);
        assert_eq!(codes(&run), ["MAJOR fail"], "{argument}");
    }
    let run = sandbox.cudnnm(["explain", "all is well"]).success();
    assert!(
        run.stdout.contains("no message in this text"),
        "{}",
        run.stdout
    );
    // Standard input is empty here.
    sandbox.cudnnm(["explain", "-"]).success();
}

#[cfg(unix)]
#[test]
fn explain_looks_at_what_is_here() {
    let mut sandbox = Sandbox::new();
    let site = sandbox.path("venv/lib/python3.11/site-packages");
    let sample = ElfSample {
        soname: Some("libcudnn.so.9"),
        ..ElfSample::default()
    };
    write(&site.join("nvidia/cudnn/lib/libcudnn.so.9"), sample.build());
    write(
        &site.join("nvidia_cudnn_cu12-9.1.0.70.dist-info/METADATA"),
        "",
    );
    write(&site.join("ctranslate2-4.4.0.dist-info/METADATA"), "");
    sandbox.set("VIRTUAL_ENV", sandbox.path("venv"));
    let message = "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object file: No such file or directory";
    let run = sandbox.cudnnm(["explain", message, "--json"]).exits(1);
    let all = findings(&run);
    assert_eq!(all[0].0, "MAJOR fail", "{all:#?}");
    assert!(all[0].1.contains("ctranslate2 4.4.0"), "{all:#?}");
    assert!(all[0].1.contains("9.1.0"), "{all:#?}");
}

#[test]
fn a_project_whose_version_is_not_installed_is_told_how_to_get_it() {
    let sandbox = Sandbox::new();
    write(&sandbox.project().join(".cudnn-version"), "8.2.1\n");
    let run = sandbox.cudnnm(["doctor", "--json"]).exits(1);
    let all = findings(&run);
    assert_eq!(all[0].0, "NOT-FOUND fail", "{all:?}");
    assert!(all[0].1.contains("8.2.1"), "{all:?}");
}

/// A Linux system in a folder: what the loader's cache holds, and files.
#[cfg(unix)]
struct System {
    sandbox: Sandbox,
}

#[cfg(unix)]
impl System {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        fs::create_dir_all(sandbox.path("system")).unwrap();
        Self { sandbox }
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.sandbox
            .path("system")
            .join(path.trim_start_matches('/'))
    }

    /// A library under its full number, with the short name as a link, as packages install it.
    fn library(&self, folder: &str, version: &str) {
        let major = version.split('.').next().unwrap();
        for part in ["", "_ops"] {
            let short = format!("libcudnn{part}.so.{major}");
            let full = format!("libcudnn{part}.so.{version}");
            let sample = ElfSample {
                soname: Some(&short),
                ..ElfSample::default()
            };
            write(&self.path(&format!("{folder}/{full}")), sample.build());
            std::os::unix::fs::symlink(&full, self.path(&format!("{folder}/{short}"))).unwrap();
        }
    }

    /// NVIDIA's wheel in a virtual environment.
    fn wheel(&self, venv: &str, version: &str) {
        let site = format!("{venv}/lib/python3.11/site-packages");
        let major = version.split('.').next().unwrap();
        let name = format!("libcudnn.so.{major}");
        let sample = ElfSample {
            soname: Some(&name),
            ..ElfSample::default()
        };
        write(
            &self.path(&format!("{site}/nvidia/cudnn/lib/{name}")),
            sample.build(),
        );
        let info = format!("{site}/nvidia_cudnn_cu12-{version}.dist-info/METADATA");
        write(&self.path(&info), "");
    }

    /// The loader's cache, in glibc's own format.
    fn cache(&self, entries: &[(&str, &str)]) {
        const HEADER: usize = 48;
        const ENTRY: usize = 24;
        let mut strings: Vec<u8> = Vec::new();
        let mut table: Vec<u8> = Vec::new();
        let base = HEADER + ENTRY * entries.len();
        for (soname, path) in entries {
            table.extend(0x0303_u32.to_le_bytes());
            for text in [soname, path] {
                table.extend(u32::try_from(base + strings.len()).unwrap().to_le_bytes());
                strings.extend(text.as_bytes());
                strings.push(0);
            }
            table.extend([0; 12]);
        }
        let mut file = b"glibc-ld.so.cache1.1".to_vec();
        file.extend(u32::try_from(entries.len()).unwrap().to_le_bytes());
        file.extend(u32::try_from(strings.len()).unwrap().to_le_bytes());
        file.resize(HEADER, 0);
        file.extend(table);
        file.extend(strings);
        write(&self.path("/etc/ld.so.cache"), file);
    }

    fn doctor(&self, more: &[&str]) -> Run {
        let root = self.sandbox.path("system");
        let mut args = vec!["doctor", "--json", "--root", root.to_str().unwrap()];
        args.extend(more);
        self.sandbox.cudnnm(args)
    }
}

#[cfg(unix)]
#[test]
fn two_system_copies_an_empty_element_and_a_wheel_are_told_apart() {
    let mut system = System::new();
    system.library("/usr/lib/x86_64-linux-gnu", "9.1.0");
    system.library("/opt/cudnn/lib", "9.10.2");
    system.cache(&[
        ("libcudnn.so.9", "/usr/lib/x86_64-linux-gnu/libcudnn.so.9"),
        (
            "libcudnn_ops.so.9",
            "/usr/lib/x86_64-linux-gnu/libcudnn_ops.so.9",
        ),
    ]);
    system.wheel("/home/ann/venv", "9.5.1.17");
    system.sandbox.set("VIRTUAL_ENV", "/home/ann/venv");
    system.sandbox.set("LD_LIBRARY_PATH", "/opt/cudnn/lib:");
    let run = system.doctor(&[]).success();
    let all = findings(&run);
    let told: Vec<&str> = all.iter().map(|(code, _)| code.as_str()).collect();
    assert_eq!(
        told,
        ["SHADOW warn", "SHADOW warn", "PATHSYNTAX warn"],
        "{all:#?}"
    );
    let winner = all
        .iter()
        .find(|(_, what)| what.contains("found first"))
        .expect("the winner is named");
    assert!(
        winner.1.contains("`/opt/cudnn/lib/libcudnn.so.9` (9.10.2"),
        "{winner:?}"
    );
    assert!(
        all.iter().any(|(_, what)| what.contains("9.5.1.17")),
        "{all:#?}"
    );
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let order: Vec<&str> = report["facts"]["libraries"]["known"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|library| library["path"].as_str())
        .filter(|path| path.ends_with("libcudnn.so.9"))
        .collect();
    assert_eq!(
        order,
        [
            "/opt/cudnn/lib/libcudnn.so.9",
            "/usr/lib/x86_64-linux-gnu/libcudnn.so.9",
            "/home/ann/venv/lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn.so.9"
        ]
    );
    // What the advice says: no LD_LIBRARY_PATH.
    system.sandbox.set("LD_LIBRARY_PATH", "");
    assert_eq!(codes(&system.doctor(&[]).success()), Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn what_is_saved_gives_the_same_findings_and_no_names() {
    let mut system = System::new();
    system.library("/usr/lib/x86_64-linux-gnu", "8.9.7");
    system.library("/home/annabel/cudnn/lib", "8.6.0");
    write(
        &system.path("/home/annabel/cudnn/lib/libcudnn_adv_infer.so.8"),
        "",
    );
    system.cache(&[("libcudnn.so.8", "/usr/lib/x86_64-linux-gnu/libcudnn.so.8")]);
    system.sandbox.set("USER", "annabel");
    system
        .sandbox
        .set("LD_LIBRARY_PATH", "/home/annabel/cudnn/lib::");
    let folder = system.sandbox.path("saved");
    let live = system
        .doctor(&["--save", folder.to_str().unwrap()])
        .exits(1);
    let again = system
        .sandbox
        .cudnnm([
            "doctor".as_ref(),
            "--json".as_ref(),
            "--from".as_ref(),
            folder.as_os_str(),
        ])
        .exits(1);
    let expected: Vec<(String, String)> = findings(&live)
        .into_iter()
        .map(|(code, what)| (code, what.replace("annabel", "user1")))
        .collect();
    assert_eq!(
        codes(&live),
        ["CORRUPT fail", "SHADOW warn", "PATHSYNTAX warn"],
        "{expected:#?}"
    );
    assert_eq!(findings(&again), expected);
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("annabel"), "{}: {text}", path.display());
    }
}

#[cfg(unix)]
#[test]
fn healthy_linux_machines_hear_nothing() {
    let machines: [&dyn Fn(&mut System); 5] = [
        &|_| {},
        &|system| {
            system.library("/usr/lib/x86_64-linux-gnu", "9.1.0");
            system.cache(&[("libcudnn.so.9", "/usr/lib/x86_64-linux-gnu/libcudnn.so.9")]);
        },
        &|system| {
            system.wheel("/venv", "9.1.0.70");
            system.sandbox.set("VIRTUAL_ENV", "/venv");
        },
        &|system| {
            system.library("/usr/local/cuda/lib64", "8.9.7");
            system
                .sandbox
                .set("LD_LIBRARY_PATH", "/usr/local/cuda/lib64");
            system.sandbox.set("CUDA_HOME", "/usr/local/cuda");
        },
        &|system| {
            system.library("/usr/lib/x86_64-linux-gnu", "8.9.7");
            system.library("/usr/lib/x86_64-linux-gnu", "9.1.0");
            system.cache(&[
                ("libcudnn.so.8", "/usr/lib/x86_64-linux-gnu/libcudnn.so.8"),
                ("libcudnn.so.9", "/usr/lib/x86_64-linux-gnu/libcudnn.so.9"),
            ]);
            system.sandbox.set("LD_LIBRARY_PATH", "/usr/lib");
        },
    ];
    for (position, prepare) in machines.iter().enumerate() {
        let mut system = System::new();
        prepare(&mut system);
        let run = system.doctor(&[]).success();
        assert_eq!(findings(&run), [], "machine {position}");
    }
}

/// A driver's libraries in a folder: management and CUDA.
#[cfg(target_os = "linux")]
fn driver(folder: &Path, nvml_answers: &str, cuda: Option<u32>) {
    let compile = |name: &str, source: &str| {
        let file = folder.join("driver.c");
        write(&file, source);
        let status = std::process::Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(folder.join(name))
            .arg(&file)
            .status()
            .expect("a C compiler");
        assert!(status.success());
    };
    compile("libnvidia-ml.so.1", nvml_answers);
    if let Some(cuda) = cuda {
        let source = format!("int cuDriverGetVersion(int *v) {{ *v = {cuda}; return 0; }}");
        compile("libcuda.so.1", &source);
    }
}

#[cfg(target_os = "linux")]
const PASCAL: &str = r#"
#include <string.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *b, unsigned n) { strncpy(b, "575.51.03", n); return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)1; return 0; }
int nvmlDeviceGetName(void *d, char *b, unsigned n) { strncpy(b, "NVIDIA GeForce GTX 1080 Ti", n); return 0; }
int nvmlDeviceGetCudaComputeCapability(void *d, int *a, int *b) { *a = 6; *b = 1; return 0; }
"#;

#[cfg(target_os = "linux")]
#[test]
fn the_driver_is_asked_through_its_library() {
    let mut sandbox = Sandbox::new();
    let folder = sandbox.path("driver");
    driver(&folder, PASCAL, Some(12090));
    let site = sandbox.path("venv/lib/python3.11/site-packages");
    write(
        &site.join("nvidia_cudnn_cu12-9.14.0.64.dist-info/METADATA"),
        "",
    );
    sandbox.set("VIRTUAL_ENV", sandbox.path("venv"));
    sandbox.set("LD_LIBRARY_PATH", folder.as_os_str());
    // Empty counts as unset: this machine's own driver is meant, which here is the one above.
    sandbox.set("CUDNNM_CUDA_DRIVER", "");
    let run = sandbox.cudnnm(["doctor", "--json"]).exits(1);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let summary = &report["facts"]["summary"];
    assert_eq!(summary["driver"], "575.51.03");
    assert_eq!(summary["cuda"], "12.9");
    assert_eq!(summary["gpus"][0], "NVIDIA GeForce GTX 1080 Ti (6.1)");
    let all = findings(&run);
    assert_eq!(all[0].0, "GPUARCH fail", "{all:#?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_driver_without_libcuda_or_of_two_versions_is_its_own_state() {
    let machines = [
        (PASCAL, "no-libcuda", "DRIVER fail"),
        (
            "int nvmlInit_v2(void) { return 18; } int nvmlShutdown(void) { return 0; }",
            "version-mismatch",
            "DRIVER fail",
        ),
        (
            "int nvmlInit_v2(void) { return 999; } int nvmlShutdown(void) { return 0; }",
            "container-lost-device",
            "CONTAINER fail",
        ),
    ];
    for (source, state, code) in machines {
        let mut sandbox = Sandbox::new();
        let folder = sandbox.path("driver");
        driver(&folder, source, None);
        sandbox.set("LD_LIBRARY_PATH", folder.as_os_str());
        sandbox.set("CUDNNM_CUDA_DRIVER", "");
        let run = sandbox.cudnnm(["doctor", "--json"]);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let got = &report["facts"]["driver"]["known"][0]["state"];
        // A machine that has a driver of its own finds its libcuda.
        if state == "no-libcuda" && got == "ok" {
            continue;
        }
        assert_eq!(got, state);
        let told = codes(&run.exits(1));
        let in_container = told.first().is_some_and(|first| first == "CONTAINER fail");
        assert!(
            told[0] == code || (state == "no-libcuda" && in_container),
            "{told:?}"
        );
    }
}

#[cfg(windows)]
mod windows {
    use super::*;
    use crate::libraries::PeSample;

    fn dll(version: [u16; 4]) -> Vec<u8> {
        PeSample {
            file_version: Some(version),
            ..PeSample::default()
        }
        .build()
    }

    /// An old DLL in Windows' folder, a toolkit copy on PATH, an odd quote.
    #[test]
    fn a_stale_system_copy_a_toolkit_copy_and_an_odd_quote() {
        let mut sandbox = Sandbox::new();
        let system = sandbox.path("system");
        let windows = system.join("Windows");
        let toolkit = sandbox.path("CUDA").join("bin");
        write(
            &windows.join("System32").join("cudnn64_8.dll"),
            dll([8, 0, 5, 39]),
        );
        write(&toolkit.join("cudnn64_8.dll"), dll([8, 9, 7, 29]));
        sandbox.set("PATH", format!("{};C:\\tools\\odd\"", toolkit.display()));
        let doctor = |sandbox: &Sandbox| {
            sandbox.cudnnm(["doctor", "--json", "--root", system.to_str().unwrap()])
        };
        let run = doctor(&sandbox).exits(1);
        let all = findings(&run);
        assert_eq!(all[0].0, "SYSTEM32 fail", "{all:#?}");
        assert!(
            all[0].1.contains("8.0.5.39") && all[0].1.contains("8.9.7.29"),
            "{all:#?}"
        );
        assert!(
            all.iter()
                .any(|(code, what)| code == "PATHSYNTAX warn" && what.contains("odd\"")),
            "{all:#?}"
        );
        fs::remove_file(windows.join("System32").join("cudnn64_8.dll")).unwrap();
        sandbox.set("PATH", toolkit.as_os_str());
        let run = doctor(&sandbox).success();
        let loud: Vec<String> = codes(&run);
        assert!(
            !loud
                .iter()
                .any(|code| code.starts_with("SYSTEM32") || code.starts_with("PATHSYNTAX")),
            "{loud:?}"
        );
    }
}
