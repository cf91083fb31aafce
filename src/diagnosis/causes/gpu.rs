//! GPUs that a cuDNN has no code for.

use crate::diagnosis::facts::{Facts, Gpu, capability_text};
use crate::diagnosis::finding::{Code, Finding};
use crate::diagnosis::signs::{Meaning, Sign};
use crate::diagnosis::{knowledge, signs_with};
use crate::version::CudnnVersion;

pub fn rule(facts: &Facts, findings: &mut Vec<Finding>) {
    for pair in &facts.pairs {
        findings.extend(judge(facts, &pair.gpu, pair.cudnn));
    }
    let signs: Vec<usize> = signs_with(facts, Meaning::Status)
        .filter(|(_, sign)| is_arch(sign))
        .chain(
            facts
                .signs
                .iter()
                .enumerate()
                .filter(|(_, sign)| matches!(sign.name.as_str(), "kernel-image" | "torch-sm")),
        )
        .map(|(position, _)| position)
        .collect();
    if let Some(cudnn) = knowledge::cudnn_here(facts) {
        for gpu in facts.gpus.all() {
            findings
                .extend(judge(facts, gpu, cudnn).map(|finding| finding.explains(signs.clone())));
        }
    }
}

fn is_arch(sign: &Sign) -> bool {
    sign.get("status")
        .is_some_and(|status| status.contains("ARCH_MISMATCH"))
}

fn judge(facts: &Facts, gpu: &Gpu, cudnn: CudnnVersion) -> Option<Finding> {
    let capability = gpu
        .capability
        .known()
        .copied()
        .or_else(|| knowledge::capability_of(facts, &gpu.name))?;
    let text = capability_text(capability);
    if let Some(last) = knowledge::dropped(facts, capability, cudnn) {
        return Some(
            Finding::fail(
                Code::GpuArch,
                format!("{} (compute capability {text}) is not supported by cuDNN {cudnn}", gpu.name),
            )
            .why(format!("the last cuDNN with code for it is {last}; a newer one starts and then fails at its first kernel"))
            .fix(format!("cudnnm install {last}"))
            .fix(format!("cudnnm use {last}")),
        );
    }
    let first = knowledge::not_yet(facts, capability, cudnn)?;
    Some(
        Finding::warn(
            Code::GpuArch,
            format!(
                "{} (compute capability {text}) is newer than cuDNN {cudnn}",
                gpu.name
            ),
        )
        .why(format!("the first cuDNN with code for it is {first}"))
        .fix(format!("cudnnm install \">={first}\"")),
    )
}
