//! Reports of each kind, with inputs of our own making, and the answer that each must get.

use std::sync::LazyLock;

use super::facts::Facts;
use super::finding::{Finding, Level};
use super::saved::{self, SavedFile};
use super::{Reference, diagnose, verdict};
use crate::manifest;

/// One report: its files, the first loud finding, and words that must stand in the findings.
struct Case {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// `CODE level`, or `ok`.
    first: &'static str,
    says: &'static [&'static str],
}

fn facts(files: &[(&str, &[u8])]) -> Facts {
    let files: Vec<SavedFile> = files
        .iter()
        .map(|(name, bytes)| SavedFile {
            name: (*name).to_owned(),
            bytes: bytes.to_vec(),
            size: bytes.len() as u64,
        })
        .collect();
    static REFERENCE: LazyLock<Reference> =
        LazyLock::new(|| Reference::new(manifest::Facts::load(Default::default()).unwrap()));
    saved::facts(&files, &REFERENCE)
}

fn text_of(findings: &[Finding]) -> String {
    let parts: Vec<String> = findings
        .iter()
        .map(|finding| {
            format!(
                "{} {}: {} {} {}",
                finding.code,
                finding.level,
                finding.what,
                finding.why,
                finding.fix.join(" | ")
            )
        })
        .collect();
    parts.join("\n")
}

fn first_loud(findings: &[Finding]) -> String {
    findings
        .iter()
        .find(|finding| finding.level != Level::Ok)
        .map_or_else(
            || "ok".to_owned(),
            |finding| format!("{} {}", finding.code, finding.level),
        )
}

const CASES: &[Case] = &[
    // ---- ZLIB
    Case {
        name: "zlib asked for, version unknown",
        files: &[(
            "error.txt",
            "Could not locate zlibwapi.dll. Please make sure it is in your library path!\r\n",
        )],
        first: "ZLIB fail",
        says: &["64-bit", "8.9.7"],
    },
    Case {
        name: "error 126 of an 8.x part with the whole folder listed and no zlib in it",
        files: &[
            (
                "error.txt",
                "Could not load library cudnn_ops_infer64_8.dll. Error code 126\nPlease make sure cudnn_ops_infer64_8.dll is in your library path!\n",
            ),
            (
                "dir.txt",
                " Directory of C:\\t\\bin\n\n01/02/2023  10:00 AM    200,000 cudnn64_8.dll\n01/02/2023  10:00 AM    90,000,000 cudnn_ops_infer64_8.dll\n01/02/2023  10:00 AM    90,000,000 cudnn_cnn_infer64_8.dll\n01/02/2023  10:00 AM    90,000,000 cudnn_adv_infer64_8.dll\n",
            ),
        ],
        first: "ZLIB fail",
        says: &["zlibwapi.dll"],
    },
    Case {
        name: "error 126 alone has two possible causes",
        files: &[(
            "error.txt",
            "Could not load library cudnn_cnn_infer64_8.dll. Error code 126",
        )],
        first: "ZLIB fail",
        says: &["PYDLL", "The check"],
    },
    Case {
        name: "a message about zlib from a cuDNN that does not use it",
        files: &[
            (
                "error.txt",
                "Could not locate zlibwapi.dll. Please make sure it is in your library path!",
            ),
            (
                "where.txt",
                "C:\\Program Files\\NVIDIA\\CUDNN\\v9.8\\bin\\12.8\\cudnn64_9.dll\r\n",
            ),
        ],
        first: "PYDLL fail",
        says: &["9.8", "does not use zlibwapi.dll"],
    },
    Case {
        name: "a cuDNN 8.2 does not need zlib either",
        files: &[
            (
                "error.txt",
                "Could not load library cudnn_cnn_infer64_8.dll. Error code 126",
            ),
            (
                "dll-versions.csv",
                "file,version\nC:\\c\\bin\\cudnn64_8.dll,8.2.1.32\n",
            ),
        ],
        first: "PYDLL fail",
        says: &[],
    },
    // ---- BITNESS
    Case {
        name: "a 32-bit Python",
        files: &[
            (
                "error.txt",
                "OSError: [WinError 193] %1 no es una aplicación Win32 válida",
            ),
            (
                "python.txt",
                "Python 3.8.10 (tags/v3.8.10, May  3 2021) [MSC v.1928 32 bit (Intel)] on win32",
            ),
        ],
        first: "BITNESS fail",
        says: &["32-bit Python"],
    },
    Case {
        name: "error 193 alone may be bitness or damage",
        files: &[(
            "error.txt",
            "Could not load library cudnn_cnn_infer64_8.dll. Error code 193. Please verify that the library is built correctly for your processor architecture (32-bit, 64-bit)",
        )],
        first: "BITNESS fail",
        says: &["CORRUPT", "The check"],
    },
    // ---- MAJOR
    Case {
        name: "cuDNN 8 here, the program opens 9's parts",
        files: &[
            (
                "error.txt",
                "Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9.1, libcudnn_ops.so.9, libcudnn_ops.so}\nInvalid handle. Cannot load symbol cudnnCreateTensorDescriptor\nAborted (core dumped)",
            ),
            (
                "pip-freeze.txt",
                "ctranslate2==4.5.0\ntorch==2.3.1\nnvidia-cudnn-cu12==8.9.2.26\n",
            ),
        ],
        first: "MAJOR fail",
        says: &["ctranslate2 4.5.0", "8.9.2", "cuDNN 9"],
    },
    Case {
        name: "a 32-character name in another language's message",
        files: &[
            (
                "error.txt",
                "python: error while loading shared libraries: libcudnn.so.7: Kann die Shared-Object-Datei nicht öffnen: Datei oder Verzeichnis nicht gefunden",
            ),
            (
                "ldconfig-p.txt",
                "99 Bibliotheken im Cache\n\tlibcudnn.so.8 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcudnn.so.8\n",
            ),
        ],
        first: "MAJOR fail",
        says: &["libcudnn.so.7", "7.6.5"],
    },
    Case {
        name: "packages alone: one loads 8, only 9 is there",
        files: &[(
            "pip-freeze.txt",
            "ctranslate2==4.3.1\nnvidia-cudnn-cu12==9.1.0.70\ntorch==2.4.1\n",
        )],
        first: "MAJOR fail",
        says: &["ctranslate2 4.3.1", "ctranslate2>=4.5"],
    },
    Case {
        name: "onnxruntime for 9 with cuDNN 8 on PATH",
        files: &[
            (
                "error.txt",
                "[ONNXRuntimeError] : 1 : FAIL : LoadLibrary failed with error 126 \"\" when trying to load \"C:\\v\\onnxruntime_providers_cuda.dll\"",
            ),
            ("pip-freeze.txt", "onnxruntime-gpu==1.20.1\n"),
            ("where.txt", "C:\\CUDA\\v11.8\\bin\\cudnn64_8.dll\n"),
        ],
        first: "MAJOR fail",
        says: &["onnxruntime-gpu 1.20.1", "cudnn64_9.dll"],
    },
    Case {
        name: "a program for 9 on Windows with 8 in the folder",
        files: &[
            (
                "error.txt",
                "Could not locate cudnn_ops64_9.dll. Please make sure it is in your library path!",
            ),
            ("listing.txt", "cudnn64_8.dll\ncudnn_ops_infer64_8.dll\n"),
        ],
        first: "MAJOR fail",
        says: &["cudnn_ops64_9.dll"],
    },
    // ---- LAYOUT
    Case {
        name: "the folder for the toolkit's CUDA among several, on PATH a level above",
        files: &[
            (
                "path.txt",
                "C:\\Windows\\system32;C:\\Program Files\\NVIDIA\\CUDNN\\v9.5\\bin\\;C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v11.8\\bin",
            ),
            (
                "files.txt",
                "C:\\Program Files\\NVIDIA\\CUDNN\\v9.5\\bin\\11.8\\cudnn64_9.dll\nC:\\Program Files\\NVIDIA\\CUDNN\\v9.5\\bin\\12.6\\cudnn64_9.dll\n",
            ),
        ],
        first: "LAYOUT fail",
        says: &["v9.5\\bin\\11.8"],
    },
    Case {
        name: "two levels down, with the architecture's folder",
        files: &[
            ("path.txt", "C:\\Program Files\\NVIDIA\\CUDNN\\v9.14\\bin"),
            (
                "listing.txt",
                "C:\\Program Files\\NVIDIA\\CUDNN\\v9.14\\bin\\13.0\\x64\\cudnn64_9.dll\nC:\\Program Files\\NVIDIA\\CUDNN\\v9.14\\bin\\12.9\\x64\\cudnn64_9.dll\n",
            ),
            ("nvcc.txt", "Cuda compilation tools, release 12.9, V12.9.41"),
        ],
        first: "LAYOUT fail",
        says: &["v9.14\\bin\\12.9\\x64"],
    },
    Case {
        name: "the installer's folder without any listing, but with the message",
        files: &[
            (
                "path.txt",
                "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v12.4\\bin;C:\\Program Files\\NVIDIA\\CUDNN\\v9.2\\bin",
            ),
            (
                "error.txt",
                "Could not locate cudnn_ops64_9.dll. Please make sure it is in your library path!",
            ),
        ],
        first: "LAYOUT fail",
        says: &["v9.2\\bin\\12.4"],
    },
    Case {
        name: "the unpacked root on LD_LIBRARY_PATH",
        files: &[
            ("env.txt", "LD_LIBRARY_PATH=/opt/cudnn\n"),
            (
                "listing.txt",
                "/opt/cudnn/lib/libcudnn.so.8\n/opt/cudnn/include/cudnn.h\n",
            ),
            (
                "error.txt",
                "ImportError: libcudnn.so.8: cannot open shared object file: No such file or directory",
            ),
        ],
        first: "LAYOUT fail",
        says: &["/opt/cudnn/lib"],
    },
    // ---- SHADOW
    Case {
        name: "torch is given an outside cuDNN by LD_LIBRARY_PATH",
        files: &[
            (
                "error.txt",
                "RuntimeError: cuDNN version incompatibility: PyTorch was compiled  against (8, 9, 2) but found runtime version (8, 4, 1). PyTorch already comes bundled with cuDNN.",
            ),
            (
                "env.txt",
                "LD_LIBRARY_PATH=/sw/cuda/11.7/lib64:/sw/cudnn/8.4.1.50/lib\n",
            ),
        ],
        first: "SHADOW fail",
        says: &["/sw/cudnn/8.4.1.50/lib", "8.9.2", "8.4.1"],
    },
    Case {
        name: "an older toolkit copy before the right one on PATH",
        files: &[
            (
                "error.txt",
                "Loaded runtime CuDNN library: 7.4.2 but source was compiled with: 7.6.0.  CuDNN library major and minor version needs to match",
            ),
            (
                "where.txt",
                "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v10.0\\bin\\cudnn64_7.dll\r\nD:\\tools\\cuda\\bin\\cudnn64_7.dll\r\n",
            ),
            (
                "dll-versions.csv",
                "dll,FileVersion\nC:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v10.0\\bin\\cudnn64_7.dll,7.4.2.24\nD:\\tools\\cuda\\bin\\cudnn64_7.dll,7.6.5.32\n",
            ),
        ],
        first: "SHADOW fail",
        says: &["v10.0", "D:\\tools\\cuda\\bin", ">=7.6,<8"],
    },
    Case {
        name: "a toolkit's part found before the wheel's",
        files: &[(
            "error.txt",
            "Could not load library libcudnn_cnn_infer.so.8. Error: /usr/local/cuda-11.7//lib64/libcudnn_cnn_infer.so.8: undefined symbol: _ZN5cudnn3ops26JoinNodeERNS_, version libcudnn_ops_infer.so.8",
        )],
        first: "SHADOW fail",
        says: &["/usr/local/cuda-11.7//lib64"],
    },
    Case {
        name: "two system copies without any message",
        files: &[(
            "libs.csv",
            "path,version\n/usr/lib/x86_64-linux-gnu/libcudnn.so.8,8.9.7\n/usr/local/cuda/lib64/libcudnn.so.8,8.6.0\n",
        )],
        first: "SHADOW warn",
        says: &["found first", "8.6.0"],
    },
    // ---- MIXED
    Case {
        name: "error 127 in another language",
        files: &[(
            "error.txt",
            "OSError: [WinError 127] 找不到指定的程序。 Error loading \"D:\\py\\Lib\\site-packages\\torch\\lib\\cudnn_graph64_9.dll\" or one of its dependencies.",
        )],
        first: "MIXED fail",
        says: &["cudnn_graph64_9.dll"],
    },
    Case {
        name: "a maps file with two folders",
        files: &[
            (
                "maps.txt",
                "7f00-7f01 r-xp 0 08:01 1 /v/nvidia/cudnn/lib/libcudnn.so.9\n7f01-7f02 r-xp 0 08:01 2 /v/nvidia/cudnn/lib/libcudnn_ops.so.9\n7f02-7f03 r-xp 0 08:01 3 /usr/lib/x86_64-linux-gnu/libcudnn_graph.so.9\n",
            ),
            (
                "error.txt",
                "cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
            ),
        ],
        first: "MIXED fail",
        says: &["/usr/lib/x86_64-linux-gnu/libcudnn_graph.so.9"],
    },
    Case {
        name: "one folder with parts of two versions",
        files: &[(
            "dll-versions.csv",
            "file,version\nC:\\t\\bin\\cudnn64_9.dll,9.8.0.87\nC:\\t\\bin\\cudnn_ops64_9.dll,9.1.0.70\n",
        )],
        first: "MIXED fail",
        says: &["9.8.0.87", "9.1.0.70"],
    },
    Case {
        name: "two wheels in one environment",
        files: &[(
            "pip-freeze.txt",
            "nvidia-cudnn-cu11==8.7.0.84\nnvidia-cudnn-cu12==8.9.2.26\ntorch==2.1.0\n",
        )],
        first: "MIXED warn",
        says: &["share one folder"],
    },
    // ---- RENAMED
    Case {
        name: "a DLL of 8 under the name of 7",
        files: &[(
            "dll-versions.csv",
            "file,version\nC:\\Python\\cudnn64_7.dll,8.2.1.32\n",
        )],
        first: "RENAMED fail",
        says: &["8.2.1.32", "cudnnm install 7"],
    },
    Case {
        name: "a link under the name of another major",
        files: &[(
            "ls.txt",
            "/usr/lib/cuda:\nlrwxrwxrwx 1 root root 17 Mar  1  2023 libcudnn.so.7 -> libcudnn.so.8.0.5\n-rw-r--r-- 1 root root 129000 Mar  1  2023 libcudnn.so.8.0.5\n",
        )],
        first: "RENAMED fail",
        says: &["libcudnn.so.7"],
    },
    // ---- HEADER
    Case {
        name: "header and library of different versions, no message",
        files: &[
            (
                "cudnn_version.h",
                "#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 9\n#define CUDNN_PATCHLEVEL 0\n",
            ),
            (
                "ls.txt",
                "/usr/local/cuda/lib64:\n-rwxr-xr-x 1 root root 129000 Mar  1  2023 libcudnn.so.8.2.4\n",
            ),
        ],
        first: "HEADER fail",
        says: &["8.9.0", "8.2.4"],
    },
    Case {
        name: "CMake takes a header of 7 and a library of 5",
        files: &[(
            "log.txt",
            "-- Found CUDNN: /usr/local/cuda/include\n-- Found cuDNN: v7.0.3  (include: /usr/local/cuda/include, library: /usr/lib/x86_64-linux-gnu/libcudnn.so.5)\n",
        )],
        first: "HEADER fail",
        says: &["7.0.3", "libcudnn.so.5"],
    },
    // ---- VERSION-LOW
    Case {
        name: "jax with the older wheel that torch pins",
        files: &[
            (
                "error.txt",
                "E0101 cuda_dnn.cc:522] Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.8.0.  CuDNN library needs to have matching major version and equal or higher minor version.\nJaxRuntimeError: FAILED_PRECONDITION: DNN library initialization failed.",
            ),
            (
                "pip-freeze.txt",
                "jax==0.6.0\ntorch==2.6.0\nnvidia-cudnn-cu12==9.1.0.70\n",
            ),
        ],
        first: "VERSION-LOW fail",
        says: &[">=9.8,<10"],
    },
    Case {
        name: "tensorflow needs more than the only wheel",
        files: &[(
            "pip-freeze.txt",
            "tensorflow==2.15.0\nnvidia-cudnn-cu11==8.6.0.163\n",
        )],
        first: "VERSION-LOW fail",
        says: &["tensorflow 2.15.0", "8.9"],
    },
    Case {
        name: "torch whose wheel was replaced by an older one",
        files: &[
            (
                "error.txt",
                "RuntimeError: cuDNN version incompatibility: PyTorch was compiled  against (9, 8, 0) but found runtime version (9, 1, 0).",
            ),
            (
                "pip-freeze.txt",
                "torch==2.8.0\nnvidia-cudnn-cu12==9.1.0.70\n",
            ),
        ],
        first: "VERSION-LOW fail",
        says: &["nvidia-cudnn-cu12 9.1.0.70"],
    },
    // ---- VERSIONFMT
    Case {
        name: "the false alarm about 90.x",
        files: &[(
            "error.txt",
            "cuDNN reports version 90.1 which is not compatible with the version 9.1 with which OpenCV was built",
        )],
        first: "ok",
        says: &["false alarm", "9.1"],
    },
    // ---- BUILD
    Case {
        name: "no import library",
        files: &[(
            "error.txt",
            "LINK : fatal error LNK1104: cannot open file 'cudnn.lib'",
        )],
        first: "BUILD fail",
        says: &["cudnn.lib", "LIB"],
    },
    Case {
        name: "a function that 9 no longer has",
        files: &[(
            "error.txt",
            "layers.obj : error LNK2019: unresolved external symbol cudnnSetRNNDescriptor_v6 referenced in function main",
        )],
        first: "BUILD fail",
        says: &["cudnnSetRNNDescriptor_v6"],
    },
    Case {
        name: "no header",
        files: &[(
            "error.txt",
            "/src/a.cpp:3:10: fatal error: cudnn.h: No such file or directory\n    3 | #include <cudnn.h>",
        )],
        first: "BUILD fail",
        says: &["cudnn.h"],
    },
    // ---- DOWNLOAD, CHECKSUM
    Case {
        name: "a login page in place of an archive",
        files: &[(
            "cudnn-11.2-linux-x64-v8.1.1.33.tgz",
            "<html><head><title>Log in | NVIDIA Developer</title></head></html>",
        )],
        first: "DOWNLOAD fail",
        says: &["web page", "not a gzip"],
    },
    Case {
        name: "a download that needs a login",
        files: &[(
            "log.txt",
            "wget: https://developer.nvidia.com/x\nHTTP request sent, awaiting response... 403 Forbidden\n2023-01-01 ERROR 403: Forbidden.",
        )],
        first: "DOWNLOAD fail",
        says: &["403", "login"],
    },
    Case {
        name: "a digest that differs",
        files: &[(
            "log.txt",
            "error: hash mismatch in fixed-output derivation '/nix/store/x-cudnn.tar.xz.drv':\n  specified: sha256-A\n     got:    sha256-B",
        )],
        first: "CHECKSUM fail",
        says: &["re-released"],
    },
    // ---- CORRUPT, SYMLINK
    Case {
        name: "an empty library in a listing",
        files: &[(
            "ls.txt",
            "/opt/lib:\n-rw-r--r-- 1 u u 0 Jan 1 10:00 libcudnn.so.8.9.7\n",
        )],
        first: "CORRUPT fail",
        says: &["libcudnn.so.8.9.7"],
    },
    Case {
        name: "the loader finds a file that is too short",
        files: &[(
            "error.txt",
            "ImportError: /usr/lib/x86_64-linux-gnu/libcudnn.so.8: file too short",
        )],
        first: "CORRUPT fail",
        says: &["/usr/lib/x86_64-linux-gnu/libcudnn.so.8"],
    },
    Case {
        name: "ldconfig finds copies where links should be",
        files: &[(
            "error.txt",
            "/sbin/ldconfig.real: /usr/local/cuda-11.8/targets/x86_64-linux/lib/libcudnn_ops_train.so.8 is not a symbolic link",
        )],
        first: "SYMLINK warn",
        says: &["cp -P"],
    },
    Case {
        name: "a link whose target is gone",
        files: &[(
            "ls.txt",
            "/opt/c/lib64:\nlrwxrwxrwx 1 u u 17 Jan 1 10:00 libcudnn.so.8 -> libcudnn.so.8.6.0\n-rw-r--r-- 1 u u 125000 Jan 1 10:00 libcudnn.so.8.9.0\n",
        )],
        first: "SYMLINK fail",
        says: &["libcudnn.so.8.6.0"],
    },
    // ---- PATHCHARS, PATHSYNTAX, LONGPATH
    Case {
        name: "brackets in the folder of a virtual environment",
        files: &[
            (
                "error.txt",
                "Could not locate cudnn_ops_infer64_8.dll. Please make sure it is in your library path!",
            ),
            (
                "path.txt",
                "E:\\[AI]\\webui\\venv\\Scripts;E:\\[AI]\\webui\\venv\\lib\\site-packages\\torch\\lib;C:\\Windows",
            ),
        ],
        first: "PATHCHARS fail",
        says: &["[AI]"],
    },
    Case {
        name: "a variable that was not replaced",
        files: &[("path.txt", "C:\\Windows\\system32;%CUDA_PATH%\\bin")],
        first: "PATHSYNTAX warn",
        says: &["%CUDA_PATH%"],
    },
    Case {
        name: "variables in the registry are as they should be",
        files: &[(
            "path.txt",
            "    Path    REG_EXPAND_SZ    %SystemRoot%\\system32;C:\\t\\cudnn\\bin",
        )],
        first: "ok",
        says: &[],
    },
    Case {
        name: "an empty element on Linux",
        files: &[("env.txt", "LD_LIBRARY_PATH=/opt/cudnn/lib:\n")],
        first: "PATHSYNTAX warn",
        says: &["current folder"],
    },
    Case {
        name: "a path that Windows can't open",
        files: &[(
            "error.txt",
            "FileNotFoundError: [Errno 2] No such file or directory: 'C:\\\\Users\\\\u\\\\AppData\\\\Local\\\\Packages\\\\PythonSoftwareFoundation.Python.3.10_qbz5n2kfra8p0\\\\LocalCache\\\\local-packages\\\\Python310\\\\site-packages\\\\tensorflow\\\\include\\\\external\\\\com_github_grpc_grpc\\\\src\\\\core\\\\ext\\\\filters\\\\client_channel\\\\lb_policy\\\\grpclb\\\\client_load_reporting_filter.h'",
        )],
        first: "LONGPATH fail",
        says: &["260"],
    },
    // ---- ENVVAR
    Case {
        name: "CUDA_HOME with a separator at its end",
        files: &[(
            "env.txt",
            "CUDA_HOME=/usr/local/cuda-12.1:\nPATH=/usr/bin\n",
        )],
        first: "ENVVAR fail",
        says: &["CUDA_HOME", "/usr/local/cuda-12.1"],
    },
    Case {
        name: "CUDA_PATH names the bin folder",
        files: &[("env.txt", "CUDA_PATH=C:\\CUDA\\v11.8\\bin\n")],
        first: "ENVVAR fail",
        says: &["bin\\bin"],
    },
    Case {
        name: "CUDA_PATH and the toolkit on PATH disagree",
        files: &[
            (
                "env.txt",
                "CUDA_PATH=C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v11.2\n",
            ),
            (
                "path.txt",
                "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v10.1\\bin;C:\\Windows",
            ),
        ],
        first: "ENVVAR warn",
        says: &["11.2", "10.1"],
    },
    Case {
        name: "a list where a folder should be, seen in a message",
        files: &[(
            "error.txt",
            "FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda:/usr/local/cuda/bin/nvcc'",
        )],
        first: "ENVVAR fail",
        says: &["CUDA_HOME"],
    },
    // ---- FRAMEWORK
    Case {
        name: "tensorflow 2.13 on Windows",
        files: &[
            (
                "pip-freeze.txt",
                "tensorflow==2.13.0\ntensorflow-intel==2.13.0\n",
            ),
            ("path.txt", "C:\\Windows\\system32;C:\\Windows"),
        ],
        first: "FRAMEWORK fail",
        says: &["2.10", "WSL"],
    },
    Case {
        name: "a CPU build of torch",
        files: &[("torch.txt", "2.3.1+cpu\nFalse\nNone\n")],
        first: "FRAMEWORK fail",
        says: &["CPU-only"],
    },
    Case {
        name: "both onnxruntimes",
        files: &[(
            "pip-freeze.txt",
            "onnxruntime==1.18.0\nonnxruntime-gpu==1.18.0\n",
        )],
        first: "FRAMEWORK warn",
        says: &["overwrite"],
    },
    // ---- DRIVER, CONTAINER, WSL, GPUARCH
    Case {
        name: "an old driver and a new torch",
        files: &[
            (
                "nvidia-smi.txt",
                "| NVIDIA-SMI 470.239.06   Driver Version: 470.239.06   CUDA Version: 11.4     |\n|   0  Tesla T4            Off  | 00000000:00:1E.0 Off |                    0 |\n",
            ),
            (
                "pip-freeze.txt",
                "torch==2.2.0+cu121\nnvidia-cudnn-cu12==8.9.2.26\n",
            ),
        ],
        first: "DRIVER fail",
        says: &["470.239.06", "CUDA 12.1", "525.60.13"],
    },
    Case {
        name: "a container that lost its GPU",
        files: &[(
            "nvidia-smi.txt",
            "Failed to initialize NVML: Unknown Error\n",
        )],
        first: "CONTAINER fail",
        says: &["restart the container"],
    },
    Case {
        name: "libcuda missing in a container",
        files: &[
            (
                "error.txt",
                "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
            ),
            (
                "env.txt",
                "NVIDIA_VISIBLE_DEVICES=all\nNVIDIA_DRIVER_CAPABILITIES=utility\n",
            ),
        ],
        first: "CONTAINER fail",
        says: &["compute", "NVIDIA_DRIVER_CAPABILITIES=utility"],
    },
    Case {
        name: "libcuda missing in WSL",
        files: &[
            (
                "error.txt",
                "Could not load library libcudnn_ops_infer.so.8. Error: libcuda.so: cannot open shared object file: No such file or directory",
            ),
            (
                "uname.txt",
                "Linux pc 5.15.90.1-microsoft-standard-WSL2 #1 SMP x86_64 GNU/Linux",
            ),
        ],
        first: "WSL fail",
        says: &["/usr/lib/wsl/lib"],
    },
    Case {
        name: "a driver that is not reached from WSL",
        files: &[
            (
                "nvidia-smi.txt",
                "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n",
            ),
            ("env.txt", "WSL_DISTRO_NAME=Ubuntu\n"),
        ],
        first: "WSL fail",
        says: &["Windows"],
    },
    Case {
        name: "a Pascal card and a wheel that dropped it",
        files: &[
            (
                "nvidia-smi.txt",
                "| NVIDIA-SMI 580.65.06              Driver Version: 580.65.06      CUDA Version: 13.0     |\n|   0  NVIDIA GeForce GTX 1070        Off |   00000000:01:00.0  On |                  N/A |\n",
            ),
            (
                "pip-freeze.txt",
                "torch==2.9.0\nnvidia-cudnn-cu12==9.15.1.9\n",
            ),
        ],
        first: "GPUARCH fail",
        says: &["9.10.2", "6.1"],
    },
    Case {
        name: "nvidia-smi says something nobody knows",
        files: &[(
            "nvidia-smi.txt",
            "| NVIDIA-SMI     Kernel: abc     Runtime: def |\n",
        )],
        first: "SMIFORMAT warn",
        says: &["does not mean that there is no GPU"],
    },
    // ---- LEAK, STALEENV, PERM, DISK, SYSTEM32, NOWHEEL, BUNDLED, ARCH, PYDLL, ENCODING
    Case {
        name: "curl gets a library of conda",
        files: &[(
            "error.txt",
            "curl: /home/u/anaconda3/envs/x/lib/libcurl.so.4: no version information available (required by curl)",
        )],
        first: "LEAK warn",
        says: &["cudnnm exec"],
    },
    Case {
        name: "a notebook without the terminal's LD_LIBRARY_PATH",
        files: &[
            (
                "env-terminal.txt",
                "LD_LIBRARY_PATH=/usr/local/cuda-11.8/lib64:/opt/cudnn/lib\n",
            ),
            ("env-jupyter.txt", "HOME=/home/u\n"),
            (
                "error.txt",
                "Could not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file: No such file or directory",
            ),
        ],
        first: "STALEENV fail",
        says: &["/opt/cudnn/lib"],
    },
    Case {
        name: "a library that only root may read",
        files: &[
            (
                "ls.txt",
                "/usr/local/cuda/lib64:\n-rwxr-x--- 1 root root 129000 Mar 1 2023 libcudnn.so.8.9.7\n",
            ),
            (
                "error.txt",
                "libcudnn.so.8: cannot open shared object file: Permission denied",
            ),
        ],
        first: "PERM fail",
        says: &["libcudnn.so.8"],
    },
    Case {
        name: "copying into a system folder is refused",
        files: &[(
            "error.txt",
            "PermissionError: [WinError 5] Zugriff verweigert: 'C:\\\\CUDA\\\\bin\\\\cudnn64_8.dll'",
        )],
        first: "PERM fail",
        says: &["store"],
    },
    Case {
        name: "a full temporary folder",
        files: &[
            (
                "error.txt",
                "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            ),
            (
                "df.txt",
                "Filesystem      Size  Used Avail Use% Mounted on\n/dev/sda2       200G   80G  120G  40% /\ntmpfs           1.0G  1.0G   12M  99% /tmp\n",
            ),
        ],
        first: "DISK fail",
        says: &["/tmp", "TMPDIR"],
    },
    Case {
        name: "an old DLL in Windows' folder beats PATH",
        files: &[
            (
                "where.txt",
                "D:\\cudnn\\bin\\cudnn64_8.dll\r\nC:\\Windows\\System32\\cudnn64_8.dll\r\n",
            ),
            (
                "dll-versions.csv",
                "file,version\nD:\\cudnn\\bin\\cudnn64_8.dll,8.9.7.29\nC:\\Windows\\System32\\cudnn64_8.dll,8.0.5.39\n",
            ),
        ],
        first: "SYSTEM32 fail",
        says: &["8.0.5.39", "before PATH"],
    },
    Case {
        name: "an old DLL in Windows' folder and the message that follows",
        files: &[
            (
                "error.txt",
                "Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.1.0.",
            ),
            (
                "where.txt",
                "D:\\cudnn\\bin\\cudnn64_8.dll\r\nC:\\Windows\\System32\\cudnn64_8.dll\r\n",
            ),
            (
                "dll-versions.csv",
                "file,version\nD:\\cudnn\\bin\\cudnn64_8.dll,8.9.7.29\nC:\\Windows\\System32\\cudnn64_8.dll,8.0.5.39\n",
            ),
        ],
        first: "SYSTEM32 fail",
        says: &["8.1.0"],
    },
    Case {
        name: "requirements frozen on Linux, used on Windows",
        files: &[
            (
                "requirements.txt",
                "torch==2.1.0\nnvidia-cudnn-cu12==8.9.2.26\nnvidia-nccl-cu12==2.18.1\ntriton==2.1.0\n",
            ),
            ("path.txt", "C:\\Python311;C:\\Windows\\system32"),
        ],
        first: "NOWHEEL fail",
        says: &["Linux only", "triton==2.1.0"],
    },
    Case {
        name: "uv finds no wheel",
        files: &[(
            "error.txt",
            "  × No solution found when resolving dependencies:\n  ╰─▶ Because nvidia-cudnn-cu11==8.6.0.163 has no wheels with a matching platform tag (e.g., `win_amd64`)",
        )],
        first: "NOWHEEL fail",
        says: &["Linux only"],
    },
    Case {
        name: "torch keeps its own",
        files: &[(
            "state.csv",
            "what,version\nactive (cudnnm),8.9.7\ntorch bundled,8.7.0\n",
        )],
        first: "BUNDLED warn",
        says: &["torch", "8.7.0"],
    },
    Case {
        name: "a library for Intel on an ARM board",
        files: &[
            (
                "error.txt",
                "/usr/bin/ld: skipping incompatible /usr/local/cuda/lib64/libcudnn.so when searching for -lcudnn\n/usr/bin/ld: cannot find -lcudnn",
            ),
            (
                "uname.txt",
                "Linux nano 4.9.140-tegra #1 SMP PREEMPT aarch64 GNU/Linux",
            ),
        ],
        first: "ARCH fail",
        says: &["another processor"],
    },
    Case {
        name: "Python's import alone",
        files: &[(
            "error.txt",
            "ImportError: DLL load failed while importing _pywrap_tensorflow_internal: Das angegebene Modul wurde nicht gefunden.",
        )],
        first: "PYDLL fail",
        says: &["add_dll_directory", "PATH"],
    },
];

#[test]
fn every_report_gets_its_answer() {
    let mut wrong = Vec::new();
    for case in CASES {
        let files: Vec<(&str, &[u8])> = case
            .files
            .iter()
            .map(|(name, text)| (*name, text.as_bytes()))
            .collect();
        let findings = diagnose(&facts(&files));
        let text = text_of(&findings);
        let first = first_loud(&findings);
        if first != case.first {
            wrong.push(format!(
                "{}: {first}, not {}\n{text}",
                case.name, case.first
            ));
        }
        for word in case.says {
            if !text.contains(word) {
                wrong.push(format!("{}: does not say {word:?}\n{text}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn no_advice_makes_things_worse() {
    for case in CASES {
        let files: Vec<(&str, &[u8])> = case
            .files
            .iter()
            .map(|(name, text)| (*name, text.as_bytes()))
            .collect();
        for finding in diagnose(&facts(&files)) {
            assert!(
                !finding.what.is_empty() && !finding.why.is_empty(),
                "{}",
                case.name
            );
            for step in &finding.fix {
                let lower = step.to_lowercase();
                for bad in [
                    "system32",
                    "program files",
                    "setx",
                    "dll-files",
                    "rename the dll",
                    "rename it",
                ] {
                    assert!(!lower.contains(bad), "{}: {step}", case.name);
                }
            }
        }
    }
}

#[test]
fn healthy_machines_hear_nothing() {
    let machines: &[(&str, &[(&str, &str)])] = &[
        ("nothing at all", &[]),
        (
            "a Linux box with a driver",
            &[(
                "nvidia-smi.txt",
                "| NVIDIA-SMI 550.54.15  Driver Version: 550.54.15  CUDA Version: 12.4 |\n|   0  NVIDIA A100-SXM4-40GB   On  | 00000000:00:04.0 Off | 0 |\n",
            )],
        ),
        (
            "torch from pip on Linux",
            &[
                (
                    "pip-freeze.txt",
                    "torch==2.5.1\nnvidia-cudnn-cu12==9.1.0.70\nnvidia-nccl-cu12==2.21.5\ntriton==3.1.0\n",
                ),
                (
                    "nvidia-smi.txt",
                    "| NVIDIA-SMI 550.54.15  Driver Version: 550.54.15  CUDA Version: 12.4 |\n",
                ),
            ],
        ),
        (
            "tensorflow with its wheels",
            &[
                (
                    "pip-freeze.txt",
                    "tensorflow==2.18.0\nnvidia-cudnn-cu12==9.3.0.75\n",
                ),
                ("uname.txt", "Linux box 6.1 x86_64 GNU/Linux"),
            ],
        ),
        (
            "one system cuDNN",
            &[
                (
                    "ldconfig-p.txt",
                    "2 libs found in cache\n\tlibcudnn.so.9 (libc6,x86-64) => /lib/x86_64-linux-gnu/libcudnn.so.9\n\tlibcudnn_ops.so.9 (libc6,x86-64) => /lib/x86_64-linux-gnu/libcudnn_ops.so.9\n",
                ),
                (
                    "env.txt",
                    "PATH=/usr/bin\nLD_LIBRARY_PATH=/usr/local/cuda/lib64\nCUDA_HOME=/usr/local/cuda\n",
                ),
            ],
        ),
        (
            "a Windows toolkit with cuDNN in a folder of its own",
            &[
                (
                    "path.txt",
                    "D:\\ai-libs\\cudnn-8.2.1.32-cuda11.3\\bin;C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v11.3\\bin;C:\\Windows\\system32;C:\\Windows;",
                ),
                (
                    "where.txt",
                    "D:\\ai-libs\\cudnn-8.2.1.32-cuda11.3\\bin\\cudnn64_8.dll\r\n",
                ),
                (
                    "env.txt",
                    "CUDA_PATH=C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v11.3\nCUDA_PATH_V11_3=C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v11.3\n",
                ),
                (
                    "nvcc.txt",
                    "Cuda compilation tools, release 11.3, V11.3.109\r\n",
                ),
            ],
        ),
        (
            "a Chinese user name with a space in the path",
            &[
                (
                    "path.txt",
                    "C:\\Users\\张 伟\\AppData\\Local\\Programs\\Python\\Python311;C:\\Windows\\system32",
                ),
                (
                    "where.txt",
                    "C:\\Users\\张 伟\\ai-libs\\cudnn-9.1.0.70-cuda12\\bin\\cudnn64_9.dll\r\n",
                ),
            ],
        ),
        (
            "two majors side by side",
            &[(
                "libs.csv",
                "path,version\n/usr/lib/x86_64-linux-gnu/libcudnn.so.8,8.9.7\n/usr/lib/x86_64-linux-gnu/libcudnn.so.9,9.1.0\n",
            )],
        ),
        (
            "links as they should be",
            &[(
                "ls.txt",
                "/opt/c/lib:\nlrwxrwxrwx 1 u u 13 Jan 1 10:00 libcudnn.so -> libcudnn.so.8\nlrwxrwxrwx 1 u u 17 Jan 1 10:00 libcudnn.so.8 -> libcudnn.so.8.9.7\n-rwxr-xr-x 1 u u 129000 Jan 1 10:00 libcudnn.so.8.9.7\n",
            )],
        ),
        (
            "a newer minor than tensorflow was built with",
            &[(
                "pip-freeze.txt",
                "tensorflow==2.12.0\nnvidia-cudnn-cu11==8.9.6.50\n",
            )],
        ),
        (
            "a conda environment on Windows",
            &[
                (
                    "conda-list.txt",
                    "cudatoolkit 11.2.2 h933977f_10 conda-forge\ncudnn 8.1.0.77 h3e0f4f4_0 conda-forge\ntensorflow 2.10.0 pypi_0 pypi\n",
                ),
                (
                    "nvidia-smi.txt",
                    "| NVIDIA-SMI 531.14    Driver Version: 531.14    CUDA Version: 12.1 |\n|   0  NVIDIA GeForce RTX 3060   WDDM  | 00000000:01:00.0  On | N/A |\n",
                ),
            ],
        ),
        (
            "enough space",
            &[(
                "df.txt",
                "Filesystem Size Used Avail Use% Mounted on\n/dev/sda1 200G 80G 120G 40% /\nudev 1G 0 1G 0% /dev\n",
            )],
        ),
    ];
    for (name, files) in machines {
        let files: Vec<(&str, &[u8])> = files
            .iter()
            .map(|(name, text)| (*name, text.as_bytes()))
            .collect();
        let findings = diagnose(&facts(&files));
        assert_eq!(
            verdict(&findings),
            Level::Ok,
            "{name}:\n{}",
            text_of(&findings)
        );
    }
}

#[test]
fn headers_and_machines_of_files_are_read() {
    let mut dll = vec![0; 256];
    dll[..2].copy_from_slice(b"MZ");
    dll[0x3c] = 0x80;
    dll[0x80..0x84].copy_from_slice(b"PE\0\0");
    dll[0x84..0x86].copy_from_slice(&0x014c_u16.to_le_bytes());
    let findings = diagnose(&facts(&[
        ("bin/cudnn_ops_infer64_8.dll", &dll),
        (
            "error.txt",
            b"Could not load library cudnn_ops_infer64_8.dll. Error code 193",
        ),
    ]));
    assert_eq!(first_loud(&findings), "BITNESS fail");
    assert_eq!(findings.len(), 1, "{}", text_of(&findings));

    let mut elf = vec![0; 128];
    elf[..5].copy_from_slice(b"\x7fELF\x02");
    elf[18..20].copy_from_slice(&0x3e_u16.to_le_bytes());
    let findings = diagnose(&facts(&[
        ("lib/libcudnn.so.9", &elf),
        ("uname.txt", b"Linux orin 5.10 aarch64 GNU/Linux"),
    ]));
    assert_eq!(first_loud(&findings), "ARCH fail");
}

#[test]
fn console_encodings_are_told_and_read() {
    let (bytes, _, _) =
        encoding_rs::GBK.encode("D:\\工具\\深度学习\\cudnn\\bin\\cudnn64_8.dll\r\n");
    let facts = facts(&[("where.txt", &bytes)]);
    assert_eq!(
        facts.libraries.all()[0].path,
        "D:\\工具\\深度学习\\cudnn\\bin\\cudnn64_8.dll"
    );
    let findings = diagnose(&facts);
    assert_eq!(verdict(&findings), Level::Ok);
    assert!(
        text_of(&findings).contains("ENCODING ok"),
        "{}",
        text_of(&findings)
    );
}
