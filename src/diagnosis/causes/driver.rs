//! The driver: present, running, new enough; what containers and WSL do to it.

use crate::diagnosis::facts::{DriverState, Facts};
use crate::diagnosis::finding::{Certainty, Code, Finding};
use crate::diagnosis::signs::{Meaning, Sign};
use crate::diagnosis::{knowledge, signs_with};
use crate::version::CudaVersion;

pub fn rule(facts: &Facts, findings: &mut Vec<Finding>) {
    states(facts, findings);
    too_old(facts, findings);
    libcuda(facts, findings);
}

fn in_container(facts: &Facts) -> bool {
    facts.container.known() == Some(&true)
}

fn in_wsl(facts: &Facts) -> bool {
    facts.wsl.known() == Some(&true)
}

fn states(facts: &Facts, findings: &mut Vec<Finding>) {
    let answered = facts.drivers().next().is_some();
    for driver in facts.driver.all() {
        let signs: Vec<usize> = facts
            .signs
            .iter()
            .enumerate()
            .filter(|(_, sign)| sign.from == driver.from && sign.name.starts_with("nvml"))
            .map(|(position, _)| position)
            .collect();
        let finding = match driver.state {
            DriverState::NoLibcuda => Some(no_libcuda(facts)),
            DriverState::ContainerLostDevice => Some(
                Finding::fail(
                    Code::Container,
                    "the container has lost its access to the GPU (NVML: Unknown Error)",
                )
                .why("the host reloaded its service manager's device rules (systemd, cgroups) while the container ran")
                .fix("restart the container; to keep it from happening, start it with the devices named: --device /dev/nvidia0 --device /dev/nvidiactl --device /dev/nvidia-uvm"),
            ),
            DriverState::NoDriver => Some(
                Finding::fail(Code::Driver, "this machine has an NVIDIA GPU, but no NVIDIA driver answers")
                    .why("without the driver neither CUDA nor cuDNN can start; the open driver of Linux (nouveau) is not enough")
                    .fix("install the NVIDIA driver, restart, then: nvidia-smi"),
            ),
            DriverState::DriverNotRunning if in_wsl(facts) => Some(wsl_driver(
                "nvidia-smi can't reach the driver from inside WSL",
            )),
            DriverState::DriverNotRunning => Some(
                Finding::fail(Code::Driver, "the NVIDIA driver is installed but does not run")
                    .why("nvidia-smi could not talk to it: the kernel module is not loaded, often after a kernel update or with Secure Boot")
                    .fix("restart; if it stays so, install the NVIDIA driver again, then: nvidia-smi"),
            ),
            DriverState::VersionMismatch => Some(
                Finding::fail(
                    Code::Driver,
                    "the driver's library and its kernel module are of different versions",
                )
                .why("the driver was updated while the old module is still loaded")
                .fix("restart the machine"),
            ),
            DriverState::NoDevices => Some(
                Finding::fail(Code::Driver, "the driver runs but finds no GPU")
                    .why("nvidia-smi says that there are no devices: the card is not seated, disabled, or given to a virtual machine")
                    .fix("nvidia-smi -L    # must list the GPU"),
            ),
            DriverState::Unreadable if !answered && driver.from.contains("smi") => Some(
                Finding::warn(
                    Code::SmiFormat,
                    format!("the output of nvidia-smi in `{}` is of a form that is not known", driver.from),
                )
                .why("so the driver is unknown; this does not mean that there is no GPU")
                .fix("nvidia-smi --query-gpu=name,driver_version --format=csv    # has kept its form"),
            ),
            DriverState::Ok | DriverState::NoTool | DriverState::Unreadable => None,
        };
        findings.extend(finding.map(|finding| finding.explains(signs)));
    }
}

fn no_libcuda(facts: &Facts) -> Finding {
    if in_container(facts) {
        let given = facts
            .variables
            .all()
            .iter()
            .find(|variable| variable.name.contains("NVIDIA_DRIVER_CAPABILITIES"));
        let now = given.map_or_else(
            || "NVIDIA_DRIVER_CAPABILITIES is not set".to_owned(),
            |variable| format!("it is now `{}={}`", variable.name, variable.value),
        );
        return Finding::fail(
            Code::Container,
            "the container has nvidia-smi but not libcuda: CUDA Version is N/A",
        )
        .why(format!(
            "the container runtime mounts libcuda only with the capability \"compute\"; {now}"
        ))
        .fix("docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE");
    }
    if in_wsl(facts) {
        return wsl_driver(
            "nvidia-smi answers in WSL, but libcuda is not found: CUDA Version is N/A",
        );
    }
    Finding::fail(
        Code::Driver,
        "the driver's installation is incomplete: nvidia-smi answers, libcuda is missing (CUDA Version: N/A)",
    )
    .why("\"N/A\" means that the driver library for CUDA could not be loaded; in a container it means that NVIDIA_DRIVER_CAPABILITIES lacks \"compute\"")
    .fix("install the NVIDIA driver again, all of it (Debian and Ubuntu: the package libcuda1 or libnvidia-compute)")
    .fix("in a container: docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE")
}

fn wsl_driver(what: &str) -> Finding {
    Finding::fail(Code::Wsl, what)
        .why("in WSL the driver is the one of Windows, mounted at /usr/lib/wsl/lib; a Linux driver installed inside hides it")
        .fix("remove any NVIDIA driver package inside WSL, and update the driver in Windows")
        .fix("export LD_LIBRARY_PATH=/usr/lib/wsl/lib    # for a program that asks for libcuda.so itself")
        .fix("wsl --shutdown    # in Windows, then open WSL again")
}

/// `libcuda.so` is the driver's own library, whoever asks for it.
fn libcuda(facts: &Facts, findings: &mut Vec<Finding>) {
    for (position, sign) in facts.signs.iter().enumerate() {
        let Some(name) = asked_libcuda(sign) else {
            continue;
        };
        let given_gpu = facts
            .variables
            .all()
            .iter()
            .any(|variable| variable.name.contains("NVIDIA_"));
        let finding = if in_wsl(facts) || (name == "libcuda.so" && !given_gpu) {
            // Without its number it is asked for by cuDNN 8 itself, and on plain Linux the driver always lays that link.
            let certainty = if in_wsl(facts) {
                Certainty::Certain
            } else {
                Certainty::Likely
            };
            wsl_driver(&format!(
                "`{name}` is not on the loader's path, as is usual in WSL"
            ))
            .certainty(certainty)
        } else if in_container(facts) {
            no_libcuda(facts)
        } else {
            Finding::fail(Code::Driver, format!("`{name}`, the driver's library, is not found"))
                .why("it comes with the NVIDIA driver; in a container the runtime mounts it, if it may")
                .fix("nvidia-smi    # does the driver answer?")
                .fix("in a container: docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE")
                .certainty(Certainty::Likely)
        };
        findings.push(finding.explains([position]));
    }
}

fn asked_libcuda(sign: &Sign) -> Option<&str> {
    let name = match sign.meaning? {
        Meaning::LoadMissing => sign.get("path"),
        Meaning::CannotOpen | Meaning::DynamicNotFound => sign.get("library"),
        _ => None,
    }?;
    let base = crate::diagnosis::library::base_name(name);
    matches!(base, "libcuda.so" | "libcuda.so.1").then_some(base)
}

/// The driver against the CUDA that programs here bring.
fn too_old(facts: &Facts, findings: &mut Vec<Finding>) {
    let Some(driver) = facts.main_driver() else {
        return;
    };
    let Some(version) = &driver.version else {
        return;
    };
    let mut wanted: Vec<(CudaVersion, String)> = facts
        .packages
        .all()
        .iter()
        .filter_map(|package| {
            let cuda = knowledge::cuda_of(package)?;
            Some((cuda, format!("{} {}", package.name, package.version)))
        })
        .collect();
    if let Some([major, minor, ..]) = facts.nvcc.known().map(crate::companion::Dotted::numbers)
        && let (Ok(major), Ok(minor)) = (u32::try_from(*major), u32::try_from(*minor))
    {
        wanted.push((CudaVersion::new(major, minor), "nvcc".to_owned()));
    }
    wanted.sort_by_key(|(cuda, _)| std::cmp::Reverse(*cuda));
    let Some((cuda, by, minimum)) = wanted.into_iter().find_map(|(cuda, by)| {
        let minimum = knowledge::minimum_driver(facts, cuda)?;
        (*version < minimum).then_some((cuda, by, minimum))
    }) else {
        return;
    };
    let signs: Vec<usize> = facts
        .signs
        .iter()
        .enumerate()
        .filter(|(_, sign)| {
            sign.name.starts_with("driver-")
                || sign.name == "no-device"
                || sign.name == "cuinit"
                || signs_with(facts, Meaning::Status).any(|(_, other)| other.line == sign.line)
        })
        .map(|(position, _)| position)
        .collect();
    let runs = driver
        .cuda
        .map_or(String::new(), |cuda| format!(" and runs CUDA up to {cuda}"));
    findings.push(
        Finding::fail(
            Code::Driver,
            format!("the driver {version} is too old for CUDA {cuda} ({by}), which needs {minimum} or newer"),
        )
        .why(format!("the driver is {version}{runs}; cuDNN is not reached before the driver fits"))
        .fix("update the NVIDIA driver")
        .fix(format!("or choose builds for an older CUDA: cudnnm compat --driver {version}"))
        .explains(signs),
    );
}
