//! `nvidia-smi` in all its generations, and `nvcc --version`.
//!
//! The banner names driver and CUDA differently over the years: no CUDA before 410, then `CUDA Version`, and from 610 on
//! `KMD Version` and `CUDA UMD Version` (the long form of `-q` was renamed alike). A banner of a form we do not know is
//! [`DriverState::Unreadable`], which says nothing about the machine.

use super::version::dotted_prefix;
use crate::companion::Dotted;
use crate::diagnosis::facts::{Driver, DriverState, Fact, Gpu};
use crate::manifest;
use crate::version::CudaVersion;

/// What `nvidia-smi` said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Smi {
    /// Driver and CUDA.
    pub driver: Driver,
    /// The GPUs it lists.
    pub gpus: Vec<Gpu>,
    /// A Windows driver model stands in it.
    pub windows: bool,
}

/// Reads a banner, `nvidia-smi -q`, `nvidia-smi -L` or `--query-gpu` output, or the message that came instead.
pub fn smi(text: &str, from: &str) -> Smi {
    let reading = |state, version, cuda| Driver {
        from: from.to_owned(),
        state,
        version,
        cuda,
    };
    let version = ["KMD Version", "Driver Version"]
        .iter()
        .find_map(|name| field(text, name))
        .and_then(version_at_start)
        .or_else(|| field(text, "NVIDIA-SMI").and_then(version_at_start));
    let cuda_text = field(text, "CUDA UMD Version").or_else(|| field(text, "CUDA Version"));
    let mut gpus = banner_gpus(text);
    let windows = ["WDDM", "TCC/", "MCDM"]
        .iter()
        .any(|word| text.contains(word));
    if let Some(version) = version {
        let cuda = cuda_text.and_then(cuda_prefix);
        let absent = cuda_text.is_some_and(|text| text.starts_with("N/A"));
        let state = if absent {
            DriverState::NoLibcuda
        } else {
            DriverState::Ok
        };
        return Smi {
            driver: reading(state, Some(version), cuda),
            gpus,
            windows,
        };
    }
    if let Some((queried, version)) = query(text) {
        gpus.extend(queried);
        return Smi {
            driver: reading(DriverState::Ok, version, None),
            gpus,
            windows,
        };
    }
    Smi {
        driver: reading(failure(text), None, None),
        gpus,
        windows,
    }
}

/// The state that a message instead of an answer tells.
fn failure(text: &str) -> DriverState {
    let lower = text.to_ascii_lowercase();
    let says = |words: &str| lower.contains(words);
    if says("driver/library version mismatch") {
        DriverState::VersionMismatch
    } else if says("failed to initialize nvml: unknown error")
        || says("failed to initialize nvml: insufficient permissions")
    {
        DriverState::ContainerLostDevice
    } else if says("couldn't communicate with the nvidia driver")
        || says("driver not loaded")
        || says("driver is not loaded")
        || says("nvml: driver")
    {
        DriverState::DriverNotRunning
    } else if says("no driver is installed for it") {
        DriverState::NoDriver
    } else if says("no devices were found") || says("no devices found") {
        DriverState::NoDevices
    } else if says("not found")
        || says("not recognized")
        || says("no such file")
        || says("cannot find the file")
        || (says("nvidia-smi") && !says("|") && text.lines().count() < 4 && !text.is_ascii())
    {
        // The last one: the same message in another language.
        DriverState::NoTool
    } else {
        DriverState::Unreadable
    }
}

/// The driver version at the beginning of a text, `570.133.20` of `570.133.20  |`; it keeps its spelling.
pub fn version_at_start(text: &str) -> Option<manifest::Driver> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    text[..end].trim_end_matches('.').parse().ok()
}

/// What follows `name` and a colon (or blanks) anywhere in the text.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let after = rest.get(at + name.len()..)?;
        let value = after.trim_start_matches([' ', '\t', ':']);
        if value.len() < after.len() && value.starts_with(|c: char| c.is_ascii_digit() || c == 'N')
        {
            return Some(value);
        }
        rest = after;
    }
    None
}

fn cuda_prefix(text: &str) -> Option<CudaVersion> {
    match *dotted_prefix(text)?.numbers() {
        [major, minor, ..] => Some(CudaVersion::new(
            u32::try_from(major).ok()?,
            u32::try_from(minor).ok()?,
        )),
        _ => None,
    }
}

/// Rows like `|   0  NVIDIA B200    On  |`, and lines of `-L`: `GPU 0: NVIDIA A100 (UUID: …)`.
fn banner_gpus(text: &str) -> Vec<Gpu> {
    let mut found = Vec::new();
    let mut in_processes = false;
    for line in text.lines() {
        let line = line.trim();
        in_processes |= line.starts_with("| Processes");
        if in_processes {
            break;
        }
        if let Some(rest) = line.strip_prefix("GPU ")
            && let Some((index, name)) = rest.split_once(": ")
            && index.bytes().all(|byte| byte.is_ascii_digit())
        {
            let name = name.split(" (UUID").next().unwrap_or(name).trim();
            found.push(gpu(name));
            continue;
        }
        if let Some(name) = line
            .strip_prefix("Product Name")
            .and_then(|rest| rest.trim_start().strip_prefix(':'))
        {
            found.push(gpu(name.trim()));
            continue;
        }
        let Some(cells) = line.strip_prefix('|') else {
            continue;
        };
        let Some((first, rest)) = cells.split_once('|') else {
            continue;
        };
        let first = first.trim();
        // The second cell of a GPU's first row is its bus address; those of other rows are temperatures and memory.
        if !rest.trim_start().contains(':') {
            continue;
        }
        let Some((index, name)) = first.split_once(char::is_whitespace) else {
            continue;
        };
        if index.is_empty() || !index.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let mut name = name.trim();
        for mode in ["On", "Off", "TCC", "WDDM", "MCDM", "N/A"] {
            if let Some(head) = name.strip_suffix(mode)
                && head.ends_with(char::is_whitespace)
            {
                name = head.trim_end();
                break;
            }
        }
        if !name.is_empty() {
            found.push(gpu(name));
        }
    }
    found
}

fn gpu(name: &str) -> Gpu {
    Gpu {
        name: name.to_owned(),
        capability: Fact::Unknown("nvidia-smi's banner does not show it".to_owned()),
    }
}

/// `--query-gpu=…,driver_version,compute_cap --format=csv`, with or without a header line; columns are told by content.
fn query(text: &str) -> Option<(Vec<Gpu>, Option<manifest::Driver>)> {
    let mut gpus = Vec::new();
    let mut driver = None;
    for line in text.lines() {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() < 2 || cells.iter().any(|cell| cell.contains('=')) {
            continue;
        }
        let name = cells.iter().find(|cell| {
            ["NVIDIA", "GeForce", "Tesla", "Quadro", "TITAN", "GRID"]
                .iter()
                .any(|word| cell.starts_with(word))
        });
        let Some(name) = name else { continue };
        let mut capability = Fact::Unknown("this driver does not tell it".to_owned());
        for cell in &cells {
            let Some(dotted) = Dotted::parse(cell) else {
                continue;
            };
            match *dotted.numbers() {
                [major @ 1..=30, minor @ 0..=9] => {
                    capability = Fact::Known(u32::try_from(major * 10 + minor).unwrap_or_default());
                }
                [100..=9999, _] | [100..=9999, _, _] => {
                    driver = version_at_start(cell);
                }
                _ => {}
            }
        }
        gpus.push(Gpu {
            name: (*name).to_owned(),
            capability,
        });
    }
    (!gpus.is_empty()).then_some((gpus, driver))
}

/// The toolkit version of `nvcc --version`, `12.6.77`.
pub fn nvcc(text: &str) -> Option<Dotted> {
    if let Some(version) = text
        .split("release ")
        .nth(1)
        .and_then(|rest| rest.split_once('V'))
        .and_then(|(_, rest)| dotted_prefix(rest))
    {
        return Some(version);
    }
    text.split("release ").nth(1).and_then(dotted_prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str = "\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 612.10                 KMD Version: 612.10        CUDA UMD Version: 13.4     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                Driver-Model   | Bus-Id          Disp.A | Volatile Uncorr. ECC |
|=========================================+========================+======================|
|   0  NVIDIA GeForce RTX 5080      WDDM  |   00000000:01:00.0  On |                  N/A |
|  0%   35C    P8             14W /  360W |    1204MiB /  16303MiB |      2%      Default |
+-----------------------------------------+------------------------+----------------------+
| Processes:                                                                              |
|    0   N/A  N/A            1234    C+G   C:\\a:b.exe                          N/A      |
";

    #[test]
    fn banners_of_every_generation_give_driver_cuda_and_gpus() {
        let old = "| NVIDIA-SMI 384.98                 Driver Version: 384.98                    |\n\
                   |   0  Tesla P100-PCIE...  Off  | 00000000:03:00.0 Off |                    0 |\n";
        let mid =
            "| NVIDIA-SMI 525.60.13    Driver Version: 525.60.13    CUDA Version: 12.0     |\n";
        let cases = [
            (
                NEW,
                Some("612.10"),
                Some("13.4"),
                &["NVIDIA GeForce RTX 5080"][..],
            ),
            (old, Some("384.98"), None, &["Tesla P100-PCIE..."]),
            (mid, Some("525.60.13"), Some("12.0"), &[]),
            (
                "Driver Version                            : 535.54\nCUDA Version                              : 12.2\n",
                Some("535.54"),
                Some("12.2"),
                &[],
            ),
            (
                "KMD Version                               : 611.02\nCUDA UMD Version                          : 13.3\n",
                Some("611.02"),
                Some("13.3"),
                &[],
            ),
            (
                "0, NVIDIA L4, 550.54.15, 8.9\n",
                Some("550.54.15"),
                None,
                &["NVIDIA L4"],
            ),
        ];
        for (text, driver, cuda, gpus) in cases {
            let got = smi(text, "x");
            assert_eq!(got.driver.state, DriverState::Ok, "{text}");
            assert_eq!(got.driver.version.map(|v| v.to_string()).as_deref(), driver);
            assert_eq!(got.driver.cuda.map(|v| v.to_string()).as_deref(), cuda);
            let names: Vec<_> = got.gpus.iter().map(|gpu| gpu.name.as_str()).collect();
            assert_eq!(names, gpus);
        }
        assert!(smi(NEW, "x").windows);
        assert_eq!(
            smi("0, NVIDIA L4, 8.9, 550.1\n", "x").gpus[0].capability,
            Fact::Known(89)
        );
    }

    #[test]
    fn no_answer_is_never_no_gpu() {
        let cases = [
            (
                "NVIDIA-SMI 470.1  Driver Version: 470.1  CUDA Version: N/A |",
                DriverState::NoLibcuda,
            ),
            (
                "Failed to initialize NVML: Driver/library version mismatch",
                DriverState::VersionMismatch,
            ),
            (
                "Failed to initialize NVML: Unknown Error",
                DriverState::ContainerLostDevice,
            ),
            (
                "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
                DriverState::DriverNotRunning,
            ),
            ("No devices were found", DriverState::NoDevices),
            ("zsh: command not found: nvidia-smi", DriverState::NoTool),
            (
                "'nvidia-smi' is not recognized as an internal or external command",
                DriverState::NoTool,
            ),
            (
                "“nvidia-smi” 不是内部或外部命令,也不是可运行的程序\r\n或批处理文件。",
                DriverState::NoTool,
            ),
            (
                "| NVIDIA-SMI next  Something Else: yes |",
                DriverState::Unreadable,
            ),
            ("", DriverState::Unreadable),
        ];
        for (text, state) in cases {
            assert_eq!(smi(text, "x").driver.state, state, "{text}");
        }
    }

    #[test]
    fn nvcc_tells_its_release() {
        for (text, wanted) in [
            (
                "Cuda compilation tools, release 12.4, V12.4.131\r\n",
                Some("12.4.131"),
            ),
            (
                " Cuda compilation tools, release 9.0, V9.0.176",
                Some("9.0.176"),
            ),
            ("Cuda compilation tools, release 7.5", Some("7.5")),
            ("Command 'nvcc' not found, but can be installed with:", None),
        ] {
            assert_eq!(nvcc(text).map(|v| v.to_string()).as_deref(), wanted);
        }
    }
}
