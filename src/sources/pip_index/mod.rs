//! The Python index of this machine, found the way pip and uv find it. No index address is compiled in.
//!
//! The first of these that names an index wins; the others of the same level add theirs:
//! 1. the setting `pypi-index-url`,
//! 2. `PIP_INDEX_URL`, `UV_DEFAULT_INDEX`, `UV_INDEX_URL`,
//! 3. pip's configuration files, in pip's own order,
//! 4. uv's configuration files,
//! 5. what the installed pip calls its default, asked once and remembered.
//!
//! Extra indexes, `find-links` and `no-index` come along; [`way`] tells pip's proxy and certificates.

use std::path::{Path, PathBuf};

use url::Url;

use super::Error;
use crate::process::Env;

mod ask;
mod pip;
mod uv;

/// Where wheels can be had.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PythonIndex {
    /// Indexes, the main one first.
    pub indexes: Vec<Index>,
    /// Folders and pages with wheels in them.
    pub find_links: Vec<Index>,
}

/// One index or page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Its address, possibly with credentials.
    pub url: Url,
    /// Who names it, for messages: `PIP_INDEX_URL`, a file, `pip's own default`.
    pub named_by: String,
}

/// A value and who gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    value: String,
    by: String,
}

/// What one level of configuration says.
#[derive(Debug, Default)]
struct Level {
    index: Option<Named>,
    extra: Vec<Named>,
    find_links: Vec<Named>,
    no_index: bool,
}

/// Finds the index.
///
/// `setting` is `pypi-index-url`; `cache` is the file in which pip's answer is remembered.
///
/// # Errors
///
/// When an address is malformed, or nothing names an index and no pip can be asked.
pub fn discover(
    env: &Env,
    cwd: &Path,
    setting: Option<&str>,
    cache: &Path,
) -> Result<PythonIndex, Error> {
    discover_below(Path::new("/"), env, cwd, setting, cache)
}

/// As [`discover`], with the machine's own files below `root`.
fn discover_below(
    root: &Path,
    env: &Env,
    cwd: &Path,
    setting: Option<&str>,
    cache: &Path,
) -> Result<PythonIndex, Error> {
    let files = pip::Files::load(root, env);
    if let Some(url) = setting {
        let main = Named {
            value: url.to_owned(),
            by: "the setting pypi-index-url".to_owned(),
        };
        return Ok(PythonIndex {
            indexes: vec![index(&main, cwd)?],
            find_links: Vec::new(),
        });
    }
    let pip = files.level(env);
    let uv_variables = uv::variables(env);
    let uv_files = uv::files(root, env, cwd);
    let no_index = pip.no_index || uv_variables.no_index || uv_files.no_index;
    let by_variable = |named: &Named| named.by.starts_with("PIP_");
    let main = pip
        .index
        .clone()
        .filter(by_variable)
        .or(uv_variables.index)
        .or(pip.index)
        .or(uv_files.index);
    let extra: Vec<Named> = [pip.extra, uv_variables.extra, uv_files.extra]
        .into_iter()
        .flatten()
        .collect();
    let links: Vec<Named> = [pip.find_links, uv_variables.find_links, uv_files.find_links]
        .into_iter()
        .flatten()
        .collect();
    let mut find_links = Vec::new();
    for named in &links {
        find_links.push(index(named, cwd)?);
    }
    let mut indexes = Vec::new();
    if !no_index {
        let main = match main {
            Some(main) => main,
            None => match ask::default_index(env, cache) {
                Some(url) => Named {
                    value: url,
                    by: "pip's own default".to_owned(),
                },
                None if extra.is_empty() && find_links.is_empty() => return Err(Error::NoIndex),
                None => extra.first().cloned().unwrap_or(Named {
                    value: String::new(),
                    by: String::new(),
                }),
            },
        };
        for named in std::iter::once(&main)
            .chain(&extra)
            .filter(|named| !named.value.is_empty())
        {
            let index = index(named, cwd)?;
            if !indexes.iter().any(|other: &Index| other.url == index.url) {
                indexes.push(index);
            }
        }
    }
    Ok(PythonIndex {
        indexes,
        find_links,
    })
}

/// The way to the network that pip's configuration names: proxy and certificates.
pub fn way(env: &Env) -> (Option<String>, Option<PathBuf>) {
    way_below(Path::new("/"), env)
}

fn way_below(root: &Path, env: &Env) -> (Option<String>, Option<PathBuf>) {
    let files = pip::Files::load(root, env);
    let value = |key| files.value(env, key).map(|named| named.value);
    (value("proxy"), value("cert").map(PathBuf::from))
}

/// An address or a path, as pip accepts both.
fn index(named: &Named, cwd: &Path) -> Result<Index, Error> {
    let bad = |why: String| Error::BadIndex {
        // A password may stand in it; the part before `@` is not shown.
        address: named
            .value
            .rsplit('@')
            .next()
            .unwrap_or_default()
            .to_owned(),
        named_by: named.by.clone(),
        why,
    };
    let text = named.value.trim();
    let looks_like_path = !text.contains("://");
    let mut url = if looks_like_path {
        let path = cwd.join(text.strip_prefix("file:").unwrap_or(text));
        Url::from_directory_path(&path)
            .map_err(|()| bad("it is neither an address nor a path".to_owned()))?
    } else {
        Url::parse(text).map_err(|error| bad(error.to_string()))?
    };
    if !matches!(url.scheme(), "https" | "http" | "file") {
        return Err(bad(format!("cudnnm knows no `{}` addresses", url.scheme())));
    }
    // A page of links (`find-links`) may end in `.html`; everything else is a folder to join names to.
    if !url.path().ends_with('/') && !url.path().ends_with(".html") {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(Index {
        url,
        named_by: named.by.clone(),
    })
}

/// Words of a value with several addresses.
fn words(value: &str, by: &str) -> Vec<Named> {
    value
        .split_whitespace()
        .map(|word| Named {
            value: word.to_owned(),
            by: by.to_owned(),
        })
        .collect()
}

/// The folder for a person's configuration: `XDG_CONFIG_HOME`, else `~/.config`; on Windows `%APPDATA%`.
fn user_configuration(env: &Env) -> Option<PathBuf> {
    if cfg!(windows) {
        return env.path("APPDATA").map(Path::to_owned);
    }
    let xdg = env.path("XDG_CONFIG_HOME").map(Path::to_owned);
    xdg.or_else(|| Some(home(env)?.join(".config")))
}

fn home(env: &Env) -> Option<PathBuf> {
    let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    env.path(name).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Machine {
        folder: tempfile::TempDir,
        variables: Vec<(String, String)>,
    }

    impl Machine {
        fn new() -> Self {
            Self {
                folder: tempfile::tempdir().unwrap(),
                variables: Vec::new(),
            }
        }

        fn set(mut self, name: &str, value: &str) -> Self {
            self.variables.push((name.to_owned(), value.to_owned()));
            self
        }

        fn file(self, path: &str, text: &str) -> Self {
            let path = self.folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
            self
        }

        fn env(&self) -> Env {
            let root = self.folder.path().to_str().unwrap();
            let home =
                ["HOME", "USERPROFILE", "APPDATA"].map(|name| (name.to_owned(), root.to_owned()));
            let own = self
                .variables
                .iter()
                .map(|(name, value)| (name.clone(), value.replace("[ROOT]", root)));
            // No PATH: no pip can be asked.
            Env::from_pairs(home.into_iter().chain(own))
        }

        fn discover(&self, setting: Option<&str>) -> Result<PythonIndex, Error> {
            discover_below(
                self.folder.path(),
                &self.env(),
                &self.folder.path().join("project"),
                setting,
                &self.folder.path().join("cache"),
            )
        }

        fn main(&self) -> String {
            let found = self.discover(None).unwrap();
            found.indexes[0].url.to_string()
        }
    }

    fn user_file() -> &'static str {
        if cfg!(windows) {
            "pip/pip.ini"
        } else {
            ".config/pip/pip.conf"
        }
    }

    #[test]
    fn variables_beat_files_and_the_setting_beats_all() {
        let machine = Machine::new().file(
            user_file(),
            "[global]\nindex-url = https://file.example/simple\n",
        );
        assert_eq!(machine.main(), "https://file.example/simple/");
        let machine = machine.set("UV_DEFAULT_INDEX", "https://uv.example/simple");
        assert_eq!(machine.main(), "https://uv.example/simple/");
        let machine = machine.set("PIP_INDEX_URL", "https://env.example/simple/");
        assert_eq!(machine.main(), "https://env.example/simple/");
        let found = machine.discover(Some("https://set.example/x")).unwrap();
        assert_eq!(found.indexes[0].url.as_str(), "https://set.example/x/");
    }

    #[test]
    fn a_section_for_install_beats_the_global_one_in_any_file() {
        let machine = Machine::new()
            .file(user_file(), "# mine\n[global]\nindex_url: https://user.example/\ncert = /c.pem\nproxy = http://p.example:3128\n")
            .file("site.conf", "[install]\nindex-url = https://site.example/simple\nextra-index-url =\n    https://a.example/s\n    https://b.example/s/\n; done\n")
            .set("PIP_CONFIG_FILE", "[ROOT]/site.conf");
        let found = machine.discover(None).unwrap();
        let urls: Vec<&str> = found
            .indexes
            .iter()
            .map(|index| index.url.as_str())
            .collect();
        assert_eq!(
            urls,
            [
                "https://site.example/simple/",
                "https://a.example/s/",
                "https://b.example/s/"
            ]
        );
        // With PIP_CONFIG_FILE naming a file, pip reads no user file.
        assert_eq!(
            way_below(machine.folder.path(), &machine.env()),
            (None, None)
        );
        let machine = Machine {
            variables: Vec::new(),
            ..machine
        };
        assert_eq!(
            way_below(machine.folder.path(), &machine.env()),
            (
                Some("http://p.example:3128".to_owned()),
                Some("/c.pem".into())
            )
        );
        assert_eq!(
            machine.discover(None).unwrap().indexes[0].url.as_str(),
            "https://user.example/"
        );
    }

    #[test]
    fn uv_files_are_read_when_pip_says_nothing() {
        let machine = Machine::new()
            .file("project/deep/x", "")
            .file("project/pyproject.toml", "[project]\nname = 'x'\n[[tool.uv.index]]\nname = 'torch'\nurl = 'https://torch.example/whl'\nexplicit = true\n[[tool.uv.index]]\nurl = 'https://extra.example/simple'\n[[tool.uv.index]]\nurl = 'https://default.example/simple'\ndefault = true\n");
        let found = machine.discover(None).unwrap();
        let urls: Vec<&str> = found
            .indexes
            .iter()
            .map(|index| index.url.as_str())
            .collect();
        assert_eq!(
            urls,
            [
                "https://default.example/simple/",
                "https://extra.example/simple/"
            ]
        );
        assert!(found.indexes[0].named_by.contains("pyproject.toml"));
    }

    #[test]
    fn without_an_index_find_links_still_serve() {
        let machine = Machine::new()
            .set("PIP_NO_INDEX", "1")
            .set("PIP_FIND_LINKS", "wheels https://l.example/p.html");
        let found = machine.discover(None).unwrap();
        assert!(found.indexes.is_empty());
        assert!(
            found.find_links[0]
                .url
                .as_str()
                .ends_with("/project/wheels/")
        );
        assert_eq!(found.find_links[1].url.as_str(), "https://l.example/p.html");
    }

    #[test]
    fn nothing_at_all_is_said() {
        assert!(matches!(Machine::new().discover(None), Err(Error::NoIndex)));
    }

    #[test]
    fn a_bad_address_is_told_without_its_password() {
        let machine = Machine::new().set("PIP_INDEX_URL", "https://me:s3cret@[bad/simple");
        let error = machine.discover(None).unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(
            text.contains("PIP_INDEX_URL") && !text.contains("s3cret"),
            "{text}"
        );
    }
}
