//! Whose a library is, from where it lies.

/// `conda`, `pip`, `torch`, `CUDA toolkit`, `NVIDIA's installer`, `Windows`, `MATLAB`, …
pub fn of(path: &str) -> String {
    let lower = path.replace('\\', "/").to_ascii_lowercase();
    let has = |part: &str| lower.contains(part);
    let known = [
        ("/site-packages/nvidia/cudnn/", "pip (nvidia-cudnn)"),
        ("/dist-packages/nvidia/cudnn/", "pip (nvidia-cudnn)"),
        ("/torch/lib/", "torch"),
        ("/windows/system32/", "Windows"),
        ("/windows/syswow64/", "Windows (32-bit)"),
        ("/nvidia/cudnn/v", "NVIDIA's installer"),
        ("/nvidia gpu computing toolkit/cuda/", "CUDA toolkit"),
        ("/usr/local/cuda", "CUDA toolkit"),
        ("/library/bin/", "conda"),
        ("/matlab", "MATLAB"),
        ("/ai-libs/cudnn-", "cudnnm"),
    ];
    if let Some((_, owner)) = known.iter().find(|(part, _)| has(part)) {
        return (*owner).to_owned();
    }
    if let Some(package) =
        between(&lower, "/site-packages/").or_else(|| between(&lower, "/dist-packages/"))
    {
        return package.trim_end_matches(".libs").to_owned();
    }
    if has("/envs/") || has("conda") {
        return "conda".to_owned();
    }
    if let Some(program) =
        between(&lower, "/program files/").or_else(|| between(&lower, "/program files (x86)/"))
    {
        // In the spelling of the path, not in lower case.
        let at = lower.find(&program).unwrap_or(0);
        return path
            .get(at..at + program.len())
            .map_or(program.clone(), str::to_owned);
    }
    if ["/usr/lib", "/lib/", "/lib64/", "/usr/include"]
        .iter()
        .any(|start| lower.starts_with(start))
    {
        return "system".to_owned();
    }
    "other".to_owned()
}

/// The path component that follows `marker`.
fn between(lower: &str, marker: &str) -> Option<String> {
    let rest = &lower[lower.find(marker)? + marker.len()..];
    rest.split('/')
        .next()
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_folder_tells_its_owner() {
        for (path, owner) in [
            (
                r"C:\Program Files\MATLAB\R2020a\bin\win64\cudnn64_7.dll",
                "MATLAB",
            ),
            (r"C:\Program Files\LM Studio\x\cudnn64_9.dll", "LM Studio"),
            (r"C:\Windows\System32\cudnn64_8.dll", "Windows"),
            (
                r"C:\Program Files\NVIDIA\CUDNN\v9.5\bin\12.6\cudnn64_9.dll",
                "NVIDIA's installer",
            ),
            (
                r"C:\Users\x\venv\Lib\site-packages\torch\lib\cudnn64_9.dll",
                "torch",
            ),
            ("/home/x/miniconda3/envs/a/lib/libcudnn.so.8", "conda"),
            (
                "/home/x/a/lib/python3.9/site-packages/nvidia/cudnn/lib/libcudnn.so.8",
                "pip (nvidia-cudnn)",
            ),
            (
                "/home/x/a/lib/python3.9/site-packages/ctranslate2.libs/libcudnn-1a.so.9",
                "ctranslate2",
            ),
            ("/usr/lib/x86_64-linux-gnu/libcudnn.so.8", "system"),
            ("/opt/tools/libcudnn.so.8", "other"),
        ] {
            assert_eq!(of(path), owner, "{path}");
        }
    }
}
