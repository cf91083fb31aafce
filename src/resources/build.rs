//! Gives the Windows executables their manifest and version. Without the manifest paths end at 260 characters.

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=src/resources");
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
