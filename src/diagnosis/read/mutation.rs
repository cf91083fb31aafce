//! Every reader survives whatever it is given: real outputs, mutated at random.

use super::*;
use crate::diagnosis::facts::{PackageSource, View};
use crate::diagnosis::signs;

const SEEDS: [&str; 8] = [
    "| NVIDIA-SMI 610.43.02   KMD Version: 610.43.02     CUDA UMD Version: 13.3 |\n|   0  NVIDIA B200   On  |   00000000:63:00.0 Off |\n",
    "Cuda compilation tools, release 11.0, V11.0.194\nFilesystem Size Used Avail Use% Mounted on\n/dev/sda1 50G 49G 512M 99% /\n",
    "PATH=C:\\a;\"C:\\b\";;%X%\\bin\nLD_LIBRARY_PATH=:/a::/b:/a\nexport X=\"y\"\n",
    "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 10\n#define CUDNN_PATCHLEVEL 2\n",
    "torch==2.1.0+cu118\ncudnn 8.9.2.26 cuda11_0\nfile,version\n\"C:\\a,b\\cudnn64_8.dll\",8907\n",
    "lrwxrwxrwx 1 root root 17 Mar  1  2023 libcudnn.so.8 -> libcudnn.so.8.9.7\n Directory of C:\\x\n01/02/2024  10:11 AM  123,456 cudnn64_8.dll\n",
    "\tlibcudnn.so.8 (libc6,x86-64) => /usr/lib/libcudnn.so.8\n 12:\tcalling init: /b/libcudnn_graph.so.9\n",
    "Could not load library cudnn_cnn_infer64_8.dll. Error code 126\nLoaded runtime CuDNN library: 8.1.0 but source was compiled with: 8.6.0.\nOSError: [WinError 127] x. Error loading \"C:\\a\\cudnn_cnn64_9.dll\"\n",
];

/// xorshift: the same mutations on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len() + 1);
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.below(256) as u8),
            2 if at < bytes.len() => bytes[at] = random.below(256) as u8,
            3 if at < bytes.len() => {
                bytes.remove(at);
            }
            4 => {
                let odd = [
                    "é",
                    "张",
                    "9999999999999999999999",
                    ";",
                    ":",
                    "\\",
                    "/",
                    ".",
                    ",",
                ];
                let word = odd[random.below(odd.len())];
                bytes.splice(at..at, word.bytes());
            }
            _ => {
                let end = at + random.below(bytes.len() + 1 - at);
                let copy = bytes[at..end].to_vec();
                bytes.extend(copy);
            }
        }
    }
    bytes.truncate(4096);
}

#[test]
fn no_reader_panics_on_mutated_outputs() {
    let texts = signs::Texts::built_in();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..4000 {
        let mut bytes = SEEDS[round % SEEDS.len()].as_bytes().to_vec();
        mutate(&mut bytes, &mut random);
        let text = decode::text(&bytes).text;
        let _ = bytes::content(&bytes, bytes.len() as u64);
        let _ = driver::smi(&text, "x");
        let _ = driver::nvcc(&text);
        let _ = header::version(&text);
        let _ = search_path::parse(&text, "x", View::Plain);
        let _ = packages::pip(&text, PackageSource::Pip);
        let _ = packages::conda(&text);
        let _ = env::variables(&text);
        let _ = csv::Table::parse(&text);
        let _ = df::disks(&text);
        let _ = listing::entries(&text);
        let _ = loader::ldconfig(&text);
        let _ = loader::loaded(&text);
        let _ = loader::missing(&text);
        let _ = version::cudnn(&text);
        let _ = version::in_path(&text);
        let _ = texts.signs(&text, "x");
    }
}
