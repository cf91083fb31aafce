//! pip's configuration: files in pip's order, a section for `install` before the global one, variables before files.

use std::path::{Path, PathBuf};

use super::{Level, Named, home, user_configuration, words};
use crate::process::Env;

/// The configuration files that are there, weakest first.
#[derive(Debug, Default)]
pub(super) struct Files {
    files: Vec<(PathBuf, Ini)>,
}

/// Sections in pip's order of strength for an install.
const SECTIONS: [&str; 3] = ["install", "download", "global"];

impl Files {
    /// Reads them; those of the machine lie below `root`.
    pub fn load(root: &Path, env: &Env) -> Self {
        let files = paths(root, env)
            .into_iter()
            .filter_map(|path| {
                let bytes = std::fs::read(&path).ok()?;
                Some((path, Ini::parse(&String::from_utf8_lossy(&bytes))))
            })
            .collect();
        Self { files }
    }

    /// The value in force of one option.
    pub fn value(&self, env: &Env, key: &str) -> Option<Named> {
        let variable = format!("PIP_{}", key.to_ascii_uppercase().replace('-', "_"));
        if let Some(value) = env.text(&variable) {
            return Some(Named {
                value: value.to_owned(),
                by: variable,
            });
        }
        SECTIONS.iter().find_map(|section| {
            let (path, value) = self
                .files
                .iter()
                .rev()
                .find_map(|(path, ini)| Some((path, ini.value(section, key)?)))?;
            Some(Named {
                value: value.to_owned(),
                by: format!("`{}`", path.display()),
            })
        })
    }

    pub fn level(&self, env: &Env) -> Level {
        let several = |key| {
            self.value(env, key)
                .map_or(Vec::new(), |named| words(&named.value, &named.by))
        };
        let no_index = self.value(env, "no-index").is_some_and(|named| {
            matches!(
                named.value.trim().to_ascii_lowercase().as_str(),
                "1" | "true" | "yes" | "on" | "y" | "t"
            )
        });
        Level {
            index: self.value(env, "index-url"),
            extra: several("extra-index-url"),
            find_links: several("find-links"),
            no_index,
        }
    }
}

/// All places in which pip looks, weakest first.
fn paths(root: &Path, env: &Env) -> Vec<PathBuf> {
    let name = if cfg!(windows) { "pip.ini" } else { "pip.conf" };
    let mut paths = Vec::new();
    if cfg!(windows) {
        paths.extend(
            env.path("ProgramData")
                .map(|folder| folder.join("pip").join(name)),
        );
    } else if cfg!(target_os = "macos") {
        paths.push(root.join("Library/Application Support/pip").join(name));
    } else {
        match env.text("XDG_CONFIG_DIRS") {
            Some(folders) => paths.extend(
                folders
                    .split(':')
                    .map(|folder| Path::new(folder).join("pip").join(name)),
            ),
            None => paths.push(root.join("etc/xdg/pip").join(name)),
        }
        paths.push(root.join("etc").join(name));
    }
    let chosen = env.path("PIP_CONFIG_FILE");
    // pip takes the null device for "no configuration at all".
    if chosen.is_some_and(|path| path == Path::new(if cfg!(windows) { "nul" } else { "/dev/null" }))
    {
        return Vec::new();
    }
    if chosen.is_none_or(|path| !path.exists()) {
        let legacy = if cfg!(windows) { "pip" } else { ".pip" };
        paths.extend(home(env).map(|home| home.join(legacy).join(name)));
        if cfg!(target_os = "macos") {
            paths.extend(
                home(env).map(|home| home.join("Library/Application Support/pip").join(name)),
            );
        }
        paths.extend(user_configuration(env).map(|folder| folder.join("pip").join(name)));
    }
    let site = ["CONDA_PREFIX", "VIRTUAL_ENV"]
        .into_iter()
        .filter_map(|variable| env.path(variable));
    paths.extend(site.map(|prefix| prefix.join(name)));
    paths.extend(chosen.map(Path::to_owned));
    paths
}

/// A file as Python's `configparser` reads it, as far as pip needs it.
#[derive(Debug, Default)]
struct Ini {
    entries: Vec<(String, String, String)>,
}

impl Ini {
    fn parse(text: &str) -> Self {
        let mut ini = Self::default();
        let mut section = String::new();
        for line in text.strip_prefix('\u{feff}').unwrap_or(text).lines() {
            let content = line.trim();
            if content.is_empty() || content.starts_with(['#', ';']) {
                continue;
            }
            if line.starts_with(char::is_whitespace)
                && let Some((_, _, value)) = ini.entries.last_mut()
            {
                value.push('\n');
                value.push_str(content);
            } else if let Some(name) = content
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'))
            {
                name.trim().clone_into(&mut section);
            } else if let Some(position) = content.find(['=', ':']) {
                let key = content[..position]
                    .trim()
                    .to_ascii_lowercase()
                    .replace('_', "-");
                let value = content[position + 1..].trim().to_owned();
                ini.entries.push((section.clone(), key, value));
            }
        }
        ini
    }

    fn value(&self, section: &str, key: &str) -> Option<&str> {
        self.entries
            .iter()
            .rev()
            .find(|(in_section, name, value)| {
                in_section == section && name == key && !value.is_empty()
            })
            .map(|(_, _, value)| value.as_str())
    }
}
