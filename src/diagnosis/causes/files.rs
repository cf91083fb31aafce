//! Files that are not what their name says: wrong processor, cut short, links that became files.

use crate::diagnosis::facts::{Binary, Content, Facts, Machine, System};
use crate::diagnosis::finding::{Certainty, Code, Finding};
use crate::diagnosis::library::{self, LibraryName, base_name};
use crate::diagnosis::signs::Meaning;
use crate::diagnosis::signs_with;

pub fn rule(facts: &Facts, findings: &mut Vec<Finding>) {
    for binary in facts
        .binaries
        .iter()
        .filter(|binary| is_library(&binary.path))
    {
        machine(facts, &binary.path, binary_machine(binary), findings);
        damaged(facts, binary, findings);
    }
    for known in facts.libraries.all() {
        if let Some(machine_of) = known.machine.known() {
            machine(facts, &known.path, Some(*machine_of), findings);
        }
    }
    python(facts, findings);
    archives(facts, findings);
    listed(facts, findings);
    signs(facts, findings);
}

fn is_library(path: &str) -> bool {
    let base = base_name(path).to_ascii_lowercase();
    base.ends_with(".dll") || base.ends_with(".so") || base.contains(".so.")
}

fn binary_machine(binary: &Binary) -> Option<Machine> {
    match binary.content {
        Content::Pe(machine) | Content::Elf(machine) => Some(machine),
        _ => None,
    }
}

/// The machine that files must be for: this one's, else the one that all CUDA programs of the system are for.
fn wanted(facts: &Facts) -> Machine {
    facts.machine.known().copied().unwrap_or(Machine::X64)
}

fn machine(facts: &Facts, path: &str, found: Option<Machine>, findings: &mut Vec<Finding>) {
    let Some(found) = found else { return };
    let known_host = facts.machine.known().is_some();
    let wanted = wanted(facts);
    if found == wanted || (!known_host && !found.is_32_bit()) {
        return;
    }
    let base = base_name(path);
    let signs = signs_about(facts, base);
    if found.is_32_bit() {
        let lower = path.to_ascii_lowercase();
        // Windows and Linux keep 32-bit twins beside the 64-bit files; programs do not mix them up.
        if lower.contains("syswow64") || lower.contains("i386-linux-gnu") {
            return;
        }
        findings.push(
            Finding::fail(Code::Bitness, format!("`{path}` is a 32-bit file"))
                .why(format!(
                    "its header says {}; cuDNN and the programs that use it are 64-bit and can't load it (error 193)",
                    found.words()
                ))
                .fix(format!("take `{base}` away and put the 64-bit file in its place, from the package it belongs to"))
                .fix(if LibraryName::of(base).is_cudnn {
                    "cudnnm install 8    # a complete 64-bit set in a folder of its own"
                } else {
                    "cudnnm install --source pypi 8.9.7    # its DLLs from the Python index do not need zlibwapi.dll"
                })
                .explains(signs),
        );
    } else {
        findings.push(
            Finding::fail(
                Code::Arch,
                format!(
                    "`{path}` is for {}, this machine is {}",
                    found.words(),
                    wanted.words()
                ),
            )
            .why("its header names the processor; no loader takes a file for another one")
            .fix("cudnnm install 9    # takes the build for this machine")
            .explains(signs),
        );
    }
}

/// Messages that name this file.
fn signs_about(facts: &Facts, base: &str) -> Vec<usize> {
    facts
        .signs
        .iter()
        .enumerate()
        .filter(|(_, sign)| {
            ["library", "path"]
                .iter()
                .filter_map(|name| sign.get(name))
                .any(|path| base_name(path).eq_ignore_ascii_case(base))
        })
        .map(|(position, _)| position)
        .collect()
}

fn damaged(facts: &Facts, binary: &Binary, findings: &mut Vec<Finding>) {
    let path = &binary.path;
    let cut_signs: Vec<usize> = signs_with(facts, Meaning::CutShort)
        .map(|(position, _)| position)
        .chain(signs_about(facts, base_name(path)))
        .collect();
    let (code, what, why) = match &binary.content {
        Content::Empty => (
            Code::Corrupt,
            format!("`{path}` is empty"),
            "an interrupted copy leaves a file of 0 bytes; the loader stops at it and looks no further",
        ),
        Content::CutShort(_) => (
            Code::Corrupt,
            format!("`{path}` is cut short"),
            "it ends before its own tables do: an interrupted download or copy",
        ),
        Content::LfsPointer => (
            Code::Corrupt,
            format!("`{path}` is a Git LFS pointer, not the file"),
            "the repository was cloned without Git LFS, which fetches the content",
        ),
        Content::WebPage => (
            Code::Download,
            format!("`{path}` is a web page, not a library"),
            "a server answered with a login or error page, and it was saved under this name",
        ),
        Content::FlattenedLink(target) => {
            // Together with an empty or missing target it is one and the same broken copy.
            let code = if cut_signs.is_empty() {
                Code::SymLink
            } else {
                Code::Corrupt
            };
            (
                code,
                format!("`{path}` is a text file that says `{target}`: a link that became a file"),
                "unpacking or copying without links (Windows, some zip tools, network drives) turns a link into a small text; the loader says \"file too short\"",
            )
        }
        Content::Other if binary.size < 4096 => (
            Code::Corrupt,
            format!("`{path}` is no library ({} bytes)", binary.size),
            "it does not begin as a program file does",
        ),
        _ => return,
    };
    findings.push(
        Finding::fail(code, what)
            .why(why)
            .fix("cudnnm install 9    # unpacks with links and checks every file; choose the version the program needs")
            .fix("cudnnm verify    # for a build that cudnnm installed")
            .explains(cut_signs),
    );
}

/// Messages about files that nobody gave us.
fn signs(facts: &Facts, findings: &mut Vec<Finding>) {
    let (positions, paths): (Vec<usize>, Vec<&str>) = signs_with(facts, Meaning::CutShort)
        .filter_map(|(position, sign)| Some((position, sign.get("path")?)))
        .unzip();
    if let Some(path) = paths.first() {
        findings.push(
            Finding::fail(
                Code::Corrupt,
                format!("damaged: {} (empty, cut short, or a link that became a text file)", super::quoted(&paths)),
            )
            .why("the loader stops at the first file of that name and does not try the next folder")
            .fix(format!("ls -l {path}*    # a size of 0 or a few bytes shows it"))
            .fix("cudnnm install 9    # unpacks with links and checks every file; choose the version the program needs")
            .certainty(Certainty::Likely)
            .explains(positions),
        );
    }
    for (position, sign) in signs_with(facts, Meaning::NotALink) {
        let path = sign.get("path").unwrap_or("the library");
        findings.push(
            Finding::warn(Code::SymLink, format!("`{path}` is a file where a link should be"))
                .why("it was copied without keeping links (cp without -P): ldconfig complains, the same library lies there up to three times, and the next update leaves old copies under the short names")
                .fix("copy again with links kept: cp -P, or let cudnnm do it: cudnnm install 8")
                .explains([position]),
        );
    }
}

/// What a listing tells about links, sizes and machines.
fn listed(facts: &Facts, findings: &mut Vec<Finding>) {
    let entries: Vec<_> = facts
        .entries
        .iter()
        .filter(|entry| !entry.is_folder && LibraryName::of(&entry.path).is_cudnn)
        .collect();
    let in_folder = |folder: &str, name: &str| {
        entries
            .iter()
            .any(|other| library::folder(&other.path) == folder && base_name(&other.path) == name)
    };
    let mut copies: Vec<String> = Vec::new();
    for entry in &entries {
        let target = entry.link.as_deref().map(LibraryName::of);
        if let Some(target) = &target
            && let (Some(named), Some(is)) = (LibraryName::of(&entry.path).major, target.major)
            && named != is
        {
            findings.push(
                Finding::fail(
                    Code::Renamed,
                    format!("`{}` says {named} in its name, but leads to `{}`, which is cuDNN {is}", entry.path, target.base),
                )
                .why("a link under the name that a program asked for does not make the other major fit; it loads, and the first operation fails")
                .fix("delete that link")
                .fix_by_version(&named.to_string(), named)
                .explains(signs_with(facts, Meaning::VersionLoaded).map(|(position, _)| position)),
            );
        }
        let folder = library::folder(&entry.path);
        if let Some(target) = &entry.link
            && !target.contains('/')
            && !in_folder(folder, target)
        {
            findings.push(
                Finding::fail(Code::SymLink, format!("`{}` is a link to `{target}`, which is not there", entry.path))
                    .why("the file it points to was removed or never copied; the loader finds nothing behind the name")
                    .fix("cudnnm install 8    # lays files and links out together; choose the version the program needs")
                    .explains(signs_about(facts, base_name(&entry.path))),
            );
        }
        if entry.size == Some(0) {
            findings.push(
                Finding::fail(Code::Corrupt, format!("`{}` is empty", entry.path))
                    .why("an interrupted copy leaves a file of 0 bytes; the loader stops at it and looks no further")
                    .fix("cudnnm install 9    # checks every file; choose the version the program needs")
                    .explains(signs_about(facts, base_name(&entry.path))),
            );
        }
        let name = LibraryName::of(&entry.path);
        let is_twin = entry.link.is_none()
            && entry.mode.is_some()
            && name.full.is_none()
            && name.system == Some(System::Linux)
            && entry.size.is_some_and(|size| size > 0)
            && entries.iter().any(|other| {
                let other_name = LibraryName::of(&other.path);
                other.path != entry.path
                    && library::folder(&other.path) == folder
                    && other.link.is_none()
                    && other.size == entry.size
                    && other_name.part == name.part
            });
        if is_twin {
            copies.push(entry.path.clone());
        }
    }
    if let Some(first) = copies.first() {
        findings.push(
            Finding::warn(Code::SymLink, format!("`{first}` is a copy where a link should be"))
                .why("the archive was copied without keeping links (cp without -P); the next update leaves old copies under the short names")
                .fix("copy again with links kept: cp -P, or let cudnnm do it: cudnnm install 8")
                .explains(signs_with(facts, Meaning::NotALink).map(|(position, _)| position)),
        );
    }
}

fn python(facts: &Facts, findings: &mut Vec<Finding>) {
    for python in facts.pythons.all() {
        if python
            .machine
            .known()
            .is_some_and(|machine| machine.is_32_bit())
            && python.active
        {
            findings.push(
                Finding::fail(
                    Code::Bitness,
                    format!("`{}` is a 32-bit Python", python.path),
                )
                .why("cuDNN and every framework that uses it are 64-bit")
                .fix("install the 64-bit Python and make the environment anew with it"),
            );
        }
    }
}

/// An archive for another system or processor than this one, by its name.
fn archives(facts: &Facts, findings: &mut Vec<Finding>) {
    let system = facts.system.known();
    for archive in &facts.archives {
        let wrong_system = match (archive.system, system) {
            (Some(archive), Some(system)) => archive != *system,
            _ => false,
        };
        let wrong_arch = match (archive.arch.as_deref(), facts.machine.known()) {
            (Some("x86_64"), Some(machine)) => *machine != Machine::X64,
            (Some("sbsa" | "aarch64" | "arm64"), Some(machine)) => *machine != Machine::Arm64,
            (Some("ppc64le"), Some(machine)) => *machine != Machine::Ppc64le,
            _ => false,
        };
        // A list of archives of all kinds says nothing about this machine.
        let alone = facts.archives.len() == 1;
        if (wrong_arch || wrong_system) && alone {
            findings.push(
                Finding::fail(
                    Code::Arch,
                    format!("`{}` is not for this machine", archive.name),
                )
                .why(format!(
                    "its name says {} {}",
                    archive.system.map_or("", |system| match system {
                        System::Windows => "Windows",
                        System::Linux => "Linux",
                    }),
                    archive.arch.as_deref().unwrap_or("")
                ))
                .fix("cudnnm install 9    # takes the build for this machine"),
            );
        }
    }
}
