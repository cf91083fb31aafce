//! Where facts come from, as one short key each.

use std::collections::BTreeMap;

use super::Place;
use crate::manifest::Error;

/// How a raw source begins, the key it gets, and the key's meaning.
const KNOWN: [(&str, &str, &str); 33] = [
    (
        "NVIDIA CUDA Toolkit release notes",
        "cuda-release-notes",
        "NVIDIA CUDA Toolkit release notes, table \"CUDA Toolkit and Corresponding Driver Versions\"",
    ),
    (
        "NixOS/nixpkgs pkgs/development/cuda-modules/_cuda/manifests",
        "nvidia-manifest",
        "NVIDIA's redistrib_VERSION.json, as kept by NixOS/nixpkgs, nixos-cuda/cuda-legacy and Yggdrasil",
    ),
    (
        "nixos-cuda/cuda-legacy pkgs/development/cuda-modules/_cuda/manifests",
        "nvidia-manifest",
        "",
    ),
    (
        "JuliaPackaging/Yggdrasil C/CUDA/CUDNN/redistrib.json",
        "nvidia-manifest",
        "",
    ),
    (
        "NVIDIA redistrib_",
        "nvidia-manifest-excerpt",
        "excerpts of NVIDIA's redistrib_VERSION.json in documentation",
    ),
    (
        "nixos-cuda/cuda-legacy",
        "nixpkgs",
        "NixOS/nixpkgs and nixos-cuda/cuda-legacy, cuda-modules/cudnn/releases.nix",
    ),
    ("NixOS/nixpkgs", "nixpkgs", ""),
    (
        "conda-forge/cudnn-feedstock",
        "conda-forge",
        "conda-forge/cudnn-feedstock, recipe/meta.yaml",
    ),
    (
        "JuliaPackaging/Yggdrasil",
        "yggdrasil",
        "JuliaPackaging/Yggdrasil, C/CUDNN",
    ),
    (
        "spack/spack-packages",
        "spack",
        "spack/spack-packages, packages/cudnn/package.py",
    ),
    (
        "unnonouno/cudnnenv",
        "cudnnenv",
        "unnonouno/cudnnenv, cudnnenv/__init__.py",
    ),
    (
        "shmishtopher/cudnn-versions",
        "scoop-cudnn-versions",
        "shmishtopher/cudnn-versions, bucket",
    ),
    (
        "cesaryuan/scoop-cesar",
        "scoop-cesar",
        "cesaryuan/scoop-cesar, bucket",
    ),
    (
        "easybuilders/easybuild-easyconfigs",
        "easybuild",
        "easybuilders/easybuild-easyconfigs, easyconfigs/c/cuDNN",
    ),
    (
        "microsoft/vcpkg",
        "vcpkg",
        "microsoft/vcpkg, ports/cudnn/portfile.cmake",
    ),
    (
        "PyPI simple index",
        "pypi",
        "the Python index: file list of the project",
    ),
    (
        "PyPI",
        "package-metadata",
        "the package's own metadata on the Python index",
    ),
    (
        "tensorflow/docs",
        "tensorflow-docs",
        "tensorflow/docs, tested build configurations (source.md, source_windows.md)",
    ),
    (
        "tensorflow core/platform/windows/load_library.cc",
        "tensorflow-source",
        "tensorflow/core/platform/windows/load_library.cc",
    ),
    (
        "pytorch/builder",
        "torch-builder",
        "pytorch/builder release branches: windows/internal/cuda_install.bat, common/install_cuda.sh, manywheel/build_cuda.sh",
    ),
    (
        "pytorch RELEASE.md",
        "torch-release",
        "pytorch RELEASE.md, compatibility matrix",
    ),
    (
        "pytorch .ci",
        "torch-ci",
        "pytorch .ci/pytorch/windows/internal/cuda_install.bat",
    ),
    ("pytorch", "torch-source", "pytorch/pytorch"),
    (
        "onnxruntime docs",
        "onnxruntime-docs",
        "onnxruntime docs, CUDA execution provider",
    ),
    (
        "PaddlePaddle/docs",
        "paddle-docs",
        "PaddlePaddle/docs release branches, docs/install/pip",
    ),
    (
        "Paddle paddle/phi",
        "paddle-source",
        "PaddlePaddle/Paddle, paddle/phi/backends/dynload/dynamic_loader.cc",
    ),
    (
        "apache/mxnet",
        "mxnet-build",
        "apache/mxnet, tools/setup_gpu_build_tools.sh",
    ),
    (
        "cupy tags",
        "cupy",
        "cupy/cupy, docs/source/install.rst and upgrade.rst, cupyx/tools/install_library.py",
    ),
    (
        "jax-ml/jax",
        "jax",
        "jax-ml/jax: setup.py, CHANGELOG, .bazelrc",
    ),
    (
        "OpenNMT/CTranslate2",
        "ctranslate2",
        "OpenNMT/CTranslate2, python/tools/prepare_build_environment_*, and the wheels themselves",
    ),
    (
        "SYSTRAN/faster-whisper",
        "faster-whisper",
        "SYSTRAN/faster-whisper, requirements.txt",
    ),
    (
        "opencv",
        "opencv",
        "opencv/opencv issues #17372, #24983, #25711, #26332 and pull requests #17788, #25841",
    ),
    ("TensorRT", "tensorrt", "NVIDIA TensorRT release notes"),
];

/// Pieces that continue the source before them or add nothing.
const IGNORED: [&str; 6] = [
    "13.3/13.4 rows",
    "docs/source/",
    "wheels ",
    "issues ",
    "issue#",
    "BVLC/caffe",
];

/// The keys of one raw source, joined with `, `; what they mean goes into `table`.
pub fn keys(
    place: Place,
    source: &str,
    table: &mut BTreeMap<String, String>,
) -> Result<String, Error> {
    let mut keys: Vec<&str> = Vec::new();
    for piece in source.split(';').map(str::trim) {
        if piece.is_empty() || IGNORED.iter().any(|start| piece.starts_with(start)) {
            continue;
        }
        let key = if piece.starts_with("general knowledge") {
            table.insert(
                "unchecked".to_owned(),
                "general knowledge, unchecked".to_owned(),
            );
            "unchecked"
        } else if piece.starts_with("public code search") {
            table.insert(
                "setup-scripts".to_owned(),
                "set-up scripts of other projects".to_owned(),
            );
            "setup-scripts"
        } else {
            let (_, key, _) = KNOWN
                .iter()
                .find(|(start, _, _)| piece.starts_with(start))
                .ok_or_else(|| place.bad(format!("the source `{piece}` has no key")))?;
            let meaning = KNOWN
                .iter()
                .find(|(_, other, meaning)| other == key && !meaning.is_empty())
                .map_or("", |(_, _, meaning)| meaning);
            table.insert((*key).to_owned(), meaning.to_owned());
            key
        };
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    if keys.is_empty() {
        return Err(place.bad("no source is named"));
    }
    Ok(keys.join(", "))
}
