//! Tables of saved outputs, told by their columns.

use super::super::facts::{
    Binary, DigestPair, Disk, Fact, Gpu, GpuPair, Header, Number, Python, Reach, Selection, Toolkit,
};
use super::super::order;
use super::super::read::csv::Table;
use super::super::read::version;
use super::archive::archive_of;
use super::{Reader, machine_of};
use crate::version::CudaVersion;

impl Reader<'_> {
    pub(super) fn table(&mut self, lower: &str, table: &Table) {
        let cell = |row: &[String], column: Option<usize>| {
            column
                .and_then(|column| row.get(column))
                .cloned()
                .unwrap_or_default()
        };
        let file = table.column(&["path", "file", "dll", "library", "module", "location"]);
        let name = table.column(&["name", "gpu", "gpu_name", "device"]);
        let capability = table.column(&["compute_cap", "compute_capability", "sm", "capability"]);
        let cudnn = table.column(&["cudnn", "cudnn_version"]);
        let number = table.column(&[
            "version",
            "cudnngetversion",
            "fileversion",
            "file_version",
            "file version",
            "productversion",
            "version_resource",
        ]);
        let expected = table.column(&["expected", "want", "wanted", "recorded"]);
        let got = table.column(&["got", "actual", "computed", "found"]);
        let machine = table.column(&["machine", "arch", "bits", "bitness"]);
        let size = table.column(&["size", "bytes", "length"]);
        let what = table.column(&["what", "component", "framework", "package"]);
        let at = table.column(&["mount", "mounted on", "drive", "at", "filesystem"]);
        let free = table.column(&["available", "avail", "free", "freespace", "free_bytes"]);
        let place = table.column(&["toolkit"]);
        let header = table.column(&["header"]);
        let content = table.column(&["content"]);
        let spec = table.column(&["spec"]);
        for (position, row) in table.rows.iter().enumerate() {
            if let (Some(_), Some(_)) = (expected, got) {
                let file = file.or(table.column(&["archive", "name"]));
                self.facts.digests.push(DigestPair {
                    file: cell(row, file),
                    expected: cell(row, expected),
                    got: cell(row, got),
                });
            } else if let (Some(name), Some(_)) = (name, capability) {
                let gpu = Gpu {
                    name: cell(row, Some(name)),
                    capability: capability_of(&cell(row, capability)),
                };
                match version::cudnn(&cell(row, cudnn)) {
                    Some(cudnn) => self.facts.pairs.push(GpuPair { gpu, cudnn }),
                    None => self.facts.gpus.push(gpu),
                }
            } else if place.is_some() {
                if let Ok(version) = cell(row, number).parse::<CudaVersion>() {
                    self.facts.toolkits.push(Toolkit {
                        version,
                        at: cell(row, place),
                    });
                }
            } else if lower.contains("python") && file.is_some() {
                let version = cell(row, number);
                self.facts.pythons.push(Python {
                    path: cell(row, file),
                    version: if version.is_empty() {
                        Fact::not_given()
                    } else {
                        Fact::Known(version)
                    },
                    machine: machine_of(&cell(row, machine)),
                    active: cell(row, table.column(&["active"])) == "yes",
                });
            } else if let Some(header) = header {
                self.facts.headers.push(Header {
                    path: cell(row, Some(header)),
                    version: version::cudnn(&cell(row, number))
                        .map_or_else(Fact::not_given, Fact::Known),
                });
            } else if let (Some(_), Some(content)) = (file, content) {
                self.facts.binaries.push(Binary {
                    path: cell(row, file),
                    content: super::super::save::content_of(&cell(row, Some(content))),
                    size: cell(row, size).parse().unwrap_or(0),
                });
            } else if let Some(spec) = spec {
                self.facts.selection = Fact::Known(Selection {
                    spec: cell(row, Some(spec)),
                    because: cell(row, table.column(&["because"])),
                    installed: cell(row, table.column(&["installed"])) != "no",
                });
            } else if let (Some(_), Some(_)) = (at, free) {
                let available = cell(row, free);
                if let Ok(available) = available.parse() {
                    self.facts.disks.push(Disk {
                        at: cell(row, at),
                        available,
                        size: cell(row, size).parse().ok(),
                    });
                }
            } else if file.is_some() {
                let path = cell(row, file);
                let reach = reach_of(&cell(row, table.column(&["reach"])), position + 1);
                self.library(&path, cell(row, size).parse().ok(), reach);
                if let Fact::Known(libraries) = &mut self.facts.libraries
                    && let Some(library) = libraries
                        .iter_mut()
                        .find(|library| order::same_path(&library.path, &path))
                {
                    let text = cell(row, number.or(cudnn));
                    match version::cudnn(&text) {
                        Some(version) => library.version = Fact::Known(version),
                        None if !text.is_empty() => library.version = Fact::Unknown(text),
                        None => {}
                    }
                    if machine.is_some() {
                        library.machine = machine_of(&cell(row, machine));
                    }
                    library.imports_zlib = match cell(row, table.column(&["imports_zlib"])).as_str()
                    {
                        "yes" => Some(true),
                        "no" => Some(false),
                        _ => None,
                    };
                }
            } else if what.is_some() && number.is_some() {
                self.state(&cell(row, what), &cell(row, number));
            } else if let Some(number) = number.filter(|_| name.is_none()) {
                let text = cell(row, Some(number));
                if let (Ok(number), Some(version)) = (text.parse(), version::cudnn(&text)) {
                    self.facts.numbers.push(Number { number, version });
                }
            } else if name.is_some()
                && let Some(archive) = archive_of(&cell(row, name))
            {
                self.facts.archives.push(archive);
            }
        }
    }

    /// `active (cudnnm)`, `torch bundled` and the like with their versions.
    fn state(&mut self, what: &str, text: &str) {
        let Some(version) = version::cudnn(text) else {
            return;
        };
        let lower = what.to_ascii_lowercase();
        let is_active = ["active", "cudnnm", "selected", "installed"]
            .iter()
            .any(|word| lower.contains(word));
        if is_active {
            self.facts.active = Fact::Known(version);
        } else if let Some(framework) = lower.split(|c: char| !c.is_ascii_alphanumeric()).next() {
            self.reported(framework, version);
        }
    }
}

fn capability_of(text: &str) -> Fact<u32> {
    let digits = text.trim().trim_start_matches("sm_");
    let value = match digits.split_once('.') {
        Some((major, minor)) => match (major.parse::<u32>(), minor.parse::<u32>()) {
            (Ok(major), Ok(minor)) if major < 100 && minor < 10 => Some(major * 10 + minor),
            _ => None,
        },
        None => digits.parse().ok().filter(|number| *number < 1000),
    };
    value.map_or_else(Fact::not_given, Fact::Known)
}

fn reach_of(text: &str, position: usize) -> Reach {
    match text {
        "system" => Reach::System,
        "cache" => Reach::Cache,
        "private" => Reach::Private,
        _ if text.starts_with("listed-") => {
            Reach::Listed(text["listed-".len()..].parse().unwrap_or(position))
        }
        _ => match text
            .strip_prefix("element-")
            .and_then(|rest| rest.parse().ok())
        {
            Some(element) => Reach::Element(element),
            None => Reach::Listed(position),
        },
    }
}
