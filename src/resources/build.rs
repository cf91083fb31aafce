//! Gives the Windows executables their manifest and version (without the manifest paths end at 260 characters), and spares
//! the Linux ones a shared library: a tenth of a millisecond on every launch.

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=src/resources");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        unwind_without_libgcc_s();
    }
    if env::var_os("CARGO_CFG_WINDOWS").is_none() {
        return Ok(());
    }
    let part = |name: &str| env::var(format!("CARGO_PKG_VERSION_{name}"));
    let numbers = format!("{},{},{},0", part("MAJOR")?, part("MINOR")?, part("PATCH")?);
    // As text and not as macros: windres loses a macro's quotes in a shell, rc.exe keeps them.
    let script = fs::read_to_string("src/resources/windows.rc")?
        .replace("@NUMBERS@", &numbers)
        .replace("@VERSION@", &env::var("CARGO_PKG_VERSION")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("windows.rc"), script)?;
    fs::copy(
        "src/resources/windows.manifest",
        out.join("windows.manifest"),
    )?;
    embed_resource::compile(out.join("windows.rc"), embed_resource::NONE).manifest_required()?;
    Ok(())
}

/// The standard library wants GCC's unwinder and takes it from `libgcc_s.so.1`: one more file to find, map and relocate
/// before `main`. The same code as an archive comes with every GCC; the linker prefers it when it is named first. Where
/// it is not found nothing changes.
fn unwind_without_libgcc_s() {
    let native = env::var("HOST").ok() == env::var("TARGET").ok();
    let asked = Command::new("cc")
        .arg("-print-file-name=libgcc_eh.a")
        .output();
    let Some(output) = asked
        .ok()
        .filter(|output| native && output.status.success())
    else {
        return;
    };
    // A compiler that has no such file answers with the bare name.
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    if let Some(folder) = path.parent().filter(|_| path.is_file()) {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=static:-bundle,+verbatim=libgcc_eh.a");
    }
}
