//! Facts as a folder of small outputs that [`super::saved`] reads back, with a person's names replaced.

use super::facts::{
    Content, Driver, DriverState, Fact, Facts, Library, Machine, PackageSource, Reach, System, View,
};
use super::library::{base_name, folder};
use super::read::csv::row;

/// What a person would not want in a public report.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// The home folder.
    pub home: Option<String>,
    /// The user's name.
    pub user: Option<String>,
    /// The machine's name.
    pub host: Option<String>,
}

/// The name of the file that tells where the folder comes from.
pub const MARK: &str = "cudnnm-doctor.txt";

/// File names and texts. Only what is known is written.
pub fn files(facts: &Facts, names: &Names) -> Vec<(&'static str, String)> {
    let windows = facts.is_windows();
    let mut files: Vec<(&'static str, String)> = vec![
        (
            MARK,
            format!("saved by cudnnm {}\n", env!("CARGO_PKG_VERSION")),
        ),
        ("uname.txt", system(facts)),
        // By its name the environment of this process is told from the one that new processes get.
        (
            if windows {
                "env-process.txt"
            } else {
                "env.txt"
            },
            variables(facts),
        ),
        ("path-registry.txt", stored_path(facts)),
        ("nvidia-smi.txt", driver(facts)),
        ("gpus.csv", gpus(facts)),
        ("toolkits.csv", toolkits(facts)),
        ("nvcc.txt", nvcc(facts)),
        ("libs.csv", libraries(facts)),
        ("ls.txt", listing(facts)),
        ("files.txt", lines(facts.files.iter().map(String::as_str))),
        ("binaries.csv", binaries(facts)),
        ("headers.csv", headers(facts)),
        ("pip-freeze.txt", packages(facts, PackageSource::Pip, "==")),
        (
            "conda-list.txt",
            packages(facts, PackageSource::Conda, "  "),
        ),
        ("pythons.csv", pythons(facts)),
        ("disks.csv", disks(facts)),
        ("state.csv", state(facts)),
        ("selection.csv", selection(facts)),
    ];
    files.retain(|(_, text)| !text.is_empty());
    for (_, text) in &mut files {
        *text = names.replaced(text);
    }
    files
}

impl Names {
    /// The text without these names. The same name is always replaced by the same word, so paths still agree.
    pub fn replaced(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if let Some(home) = self.home.as_deref().filter(|home| home.len() > 3) {
            let substitute = if home.contains('\\') {
                r"C:\Users\user1"
            } else {
                "/home/user1"
            };
            text = replaced(&text, home, substitute, home.contains('\\'));
        }
        for (name, substitute) in [(&self.user, "user1"), (&self.host, "host1")] {
            let telling = |name: &&str| {
                name.len() > 2 && !matches!(*name, "root" | "user" | "home" | "localhost")
            };
            if let Some(name) = name.as_deref().filter(telling) {
                text = replaced(&text, name, substitute, false);
            }
        }
        text
    }
}

/// Whole words only: a user `lib` must not turn `libcudnn` into something else.
fn replaced(text: &str, name: &str, substitute: &str, any_case: bool) -> String {
    let (haystack, needle) = if any_case {
        (text.to_ascii_lowercase(), name.to_ascii_lowercase())
    } else {
        (text.to_owned(), name.to_owned())
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '.';
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(found) = haystack[from..].find(&needle) {
        let (start, end) = (from + found, from + found + needle.len());
        let before = haystack[..start].chars().next_back();
        let after = haystack[end..].chars().next();
        let joined_before = needle.starts_with(is_word) && before.is_some_and(is_word);
        let whole = !joined_before && !after.is_some_and(is_word);
        out.push_str(&text[from..start]);
        out.push_str(if whole { substitute } else { &text[start..end] });
        from = end;
    }
    out.push_str(&text[from..]);
    out
}

fn lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    lines.into_iter().fold(String::new(), |mut text, line| {
        text.push_str(line);
        text.push('\n');
        text
    })
}

/// A table with a header, or nothing when there are no rows.
fn table(header: &str, rows: Vec<String>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    lines(std::iter::once(header).chain(rows.iter().map(String::as_str)))
}

fn system(facts: &Facts) -> String {
    let mut words = vec![match facts.system.known() {
        Some(System::Windows) => "Windows",
        Some(System::Linux) => "Linux",
        None => return String::new(),
    }];
    if facts.wsl.known() == Some(&true) {
        words.push("microsoft");
    }
    words.extend(facts.machine.known().map(|machine| machine_word(*machine)));
    if facts.container.known() == Some(&true) {
        words.push("container");
    }
    format!("{}\n", words.join(" "))
}

fn machine_word(machine: Machine) -> &'static str {
    match machine {
        Machine::X64 => "x86_64",
        Machine::X86 => "i686",
        Machine::Arm64 => "aarch64",
        Machine::Ppc64le => "ppc64le",
        Machine::Other => "other",
    }
}

fn variables(facts: &Facts) -> String {
    let rows: Vec<String> = facts
        .variables
        .all()
        .iter()
        .map(|variable| format!("{}={}", variable.name, variable.value))
        .collect();
    lines(rows.iter().map(String::as_str))
}

fn stored_path(facts: &Facts) -> String {
    facts
        .searches
        .all()
        .iter()
        .find(|list| list.view == View::Stored)
        .map(|list| format!("{}\n", list.elements.join(";")))
        .unwrap_or_default()
}

fn driver(facts: &Facts) -> String {
    let Some(Driver {
        state,
        version,
        cuda,
        ..
    }) = facts.driver.all().first()
    else {
        return String::new();
    };
    let message = match state {
        DriverState::Ok | DriverState::NoLibcuda => {
            let version = version.as_ref().map_or_else(String::new, |version| {
                format!("Driver Version : {version}\n")
            });
            let cuda = match (state, cuda) {
                (DriverState::NoLibcuda, _) => "CUDA Version : N/A\n".to_owned(),
                (_, Some(cuda)) => format!("CUDA Version : {cuda}\n"),
                (_, None) => String::new(),
            };
            return format!("{version}{cuda}");
        }
        DriverState::NoDriver => "An NVIDIA GPU is on the bus, and no driver is installed for it",
        DriverState::DriverNotRunning => {
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
        }
        DriverState::VersionMismatch => {
            "Failed to initialize NVML: Driver/library version mismatch"
        }
        DriverState::NoDevices => "No devices were found",
        DriverState::ContainerLostDevice => "Failed to initialize NVML: Unknown Error",
        DriverState::NoTool => "nvidia-smi: command not found",
        DriverState::Unreadable => "?",
    };
    format!("{message}\n")
}

fn gpus(facts: &Facts) -> String {
    let rows = facts
        .gpus
        .all()
        .iter()
        .map(|gpu| {
            row([
                gpu.name.as_str(),
                &gpu.capability_text().unwrap_or_default(),
            ])
        })
        .collect();
    table("name,compute_cap", rows)
}

fn toolkits(facts: &Facts) -> String {
    let rows = facts
        .toolkits
        .all()
        .iter()
        .map(|toolkit| row([toolkit.at.as_str(), &toolkit.version.to_string()]))
        .collect();
    table("toolkit,version", rows)
}

fn nvcc(facts: &Facts) -> String {
    let Some(version) = facts.nvcc.known() else {
        return String::new();
    };
    let short: Vec<String> = version
        .numbers()
        .iter()
        .take(2)
        .map(u64::to_string)
        .collect();
    format!(
        "Cuda compilation tools, release {}, V{version}\n",
        short.join(".")
    )
}

fn libraries(facts: &Facts) -> String {
    let rows = facts
        .libraries
        .all()
        .iter()
        .map(|library| {
            let Library {
                path,
                version,
                machine,
                size,
                reach,
                imports_zlib,
                ..
            } = library;
            let version = version
                .known()
                .map_or_else(String::new, ToString::to_string);
            let machine = machine.known().map_or("", |machine| machine_word(*machine));
            let size = size.map_or_else(String::new, |size| size.to_string());
            let zlib = match imports_zlib {
                Some(true) => "yes",
                Some(false) => "no",
                None => "",
            };
            row([
                path.as_str(),
                &version,
                machine,
                &size,
                &reach_word(reach),
                zlib,
            ])
        })
        .collect();
    table("path,version,machine,size,reach,imports_zlib", rows)
}

fn reach_word(reach: &Reach) -> String {
    match reach {
        Reach::System => "system".to_owned(),
        Reach::Element(position) => format!("element-{position}"),
        Reach::Cache => "cache".to_owned(),
        Reach::Listed(position) => format!("listed-{position}"),
        Reach::Private => "private".to_owned(),
    }
}

/// Rows as `ls -l` would print them where rights are known, else bare paths.
fn listing(facts: &Facts) -> String {
    let mut text = String::new();
    let mut current = "";
    for entry in &facts.entries {
        let Some(mode) = &entry.mode else {
            text.push_str(&entry.path);
            text.push('\n');
            continue;
        };
        let place = folder(&entry.path);
        if place != current {
            text.push_str(&format!("{place}:\n"));
            current = place;
        }
        let link = entry
            .link
            .as_ref()
            .map_or_else(String::new, |target| format!(" -> {target}"));
        let size = entry.size.unwrap_or(link.len() as u64);
        text.push_str(&format!(
            "{mode} 1 u u {size} Jan 1 2020 {}{link}\n",
            base_name(&entry.path)
        ));
    }
    text
}

fn binaries(facts: &Facts) -> String {
    let rows = facts
        .binaries
        .iter()
        .map(|binary| {
            row([
                binary.path.as_str(),
                &binary.size.to_string(),
                &content_word(&binary.content),
            ])
        })
        .collect();
    table("path,size,content", rows)
}

/// The words that [`content_of`] reads back.
fn content_word(content: &Content) -> String {
    match content {
        Content::Pe(machine) => format!("pe {}", machine_word(*machine)),
        Content::Elf(machine) => format!("elf {}", machine_word(*machine)),
        Content::CutShort(machine) => format!("cut-short {}", machine_word(*machine)),
        Content::Empty => "empty".to_owned(),
        Content::FlattenedLink(target) => format!("flattened-link {target}"),
        Content::LfsPointer => "lfs-pointer".to_owned(),
        Content::WebPage => "web-page".to_owned(),
        Content::Zip | Content::ZipCutShort | Content::Compressed(_) | Content::Other => {
            "other".to_owned()
        }
    }
}

/// Reads what [`content_word`] writes.
pub fn content_of(text: &str) -> Content {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let machine = || {
        super::saved::machine_of(rest)
            .known()
            .copied()
            .unwrap_or(Machine::Other)
    };
    match word {
        "pe" => Content::Pe(machine()),
        "elf" => Content::Elf(machine()),
        "cut-short" => Content::CutShort(machine()),
        "empty" => Content::Empty,
        "flattened-link" => Content::FlattenedLink(rest.to_owned()),
        "lfs-pointer" => Content::LfsPointer,
        "web-page" => Content::WebPage,
        _ => Content::Other,
    }
}

fn headers(facts: &Facts) -> String {
    let rows = facts
        .headers
        .iter()
        .filter_map(|header| {
            Some(row([
                header.path.as_str(),
                &header.version.known()?.to_string(),
            ]))
        })
        .collect();
    table("header,version", rows)
}

fn packages(facts: &Facts, by: PackageSource, separator: &str) -> String {
    let rows: Vec<String> = facts
        .packages
        .all()
        .iter()
        .filter(|package| package.by == by)
        .map(|package| {
            let local = package
                .local
                .as_ref()
                .map_or_else(String::new, |local| format!("+{local}"));
            format!("{}{separator}{}{local}", package.name, package.version)
        })
        .collect();
    lines(rows.iter().map(String::as_str))
}

fn pythons(facts: &Facts) -> String {
    let rows = facts
        .pythons
        .all()
        .iter()
        .map(|python| {
            row([
                python.path.as_str(),
                python.version.known().map_or("", String::as_str),
                python
                    .machine
                    .known()
                    .map_or("", |machine| machine_word(*machine)),
                if python.active { "yes" } else { "no" },
            ])
        })
        .collect();
    table("path,version,machine,active", rows)
}

fn disks(facts: &Facts) -> String {
    let rows = facts
        .disks
        .all()
        .iter()
        .map(|disk| row([disk.at.as_str(), &disk.available.to_string()]))
        .collect();
    table("at,available", rows)
}

fn state(facts: &Facts) -> String {
    let active = facts
        .active
        .known()
        .map(|version| row(["active (cudnnm)", &version.to_string()]));
    let reported = facts.reported.iter().map(|one| {
        row([
            format!("{} bundled", one.framework).as_str(),
            &one.version.to_string(),
        ])
    });
    table("what,version", active.into_iter().chain(reported).collect())
}

fn selection(facts: &Facts) -> String {
    let Fact::Known(selection) = &facts.selection else {
        return String::new();
    };
    let installed = if selection.installed { "yes" } else { "no" };
    table(
        "spec,because,installed",
        vec![row([
            selection.spec.as_str(),
            &selection.because,
            installed,
        ])],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_as_whole_words_only() {
        let names = Names {
            home: Some(r"C:\Users\Ann.Lee".to_owned()),
            user: Some("Ann".to_owned()),
            host: Some("ANNS-PC".to_owned()),
        };
        for (text, wanted) in [
            (r"c:\users\ann.lee\venv;D:\x", r"C:\Users\user1\venv;D:\x"),
            (r"D:\Ann\cudnn", r"D:\user1\cudnn"),
            (r"D:\Annex\cudnn", r"D:\Annex\cudnn"),
            (r"\\ANNS-PC\share", r"\\host1\share"),
            (r"C:\Users\Ann.Leeway\x", r"C:\Users\Ann.Leeway\x"),
        ] {
            assert_eq!(names.replaced(text), wanted);
        }
    }

    #[test]
    fn contents_read_back() {
        for content in [
            Content::Pe(Machine::X86),
            Content::Elf(Machine::Arm64),
            Content::CutShort(Machine::X64),
            Content::Empty,
            Content::FlattenedLink("libcudnn.so.8.9.7".to_owned()),
            Content::LfsPointer,
            Content::WebPage,
        ] {
            assert_eq!(content_of(&content_word(&content)), content);
        }
    }
}
