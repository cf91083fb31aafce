//! Facts about this machine: disks, driver, GPUs, CUDA toolkits, Pythons and the cuDNNs that lie around.
//!
//! Each fact is present or says why not; "could not read" is never "is not there".

pub mod companions;
pub mod cuda;
pub mod cudnns;
pub mod disk;
pub mod machine;
pub mod saved;
