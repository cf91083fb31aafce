//! uv's variables and configuration files, as far as they name indexes.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Level, Named, user_configuration};
use crate::process::Env;

/// What the variables say.
pub(super) fn variables(env: &Env) -> Level {
    let one = |name: &str| {
        env.text(name).map(|value| Named {
            value: unnamed(value).to_owned(),
            by: name.to_owned(),
        })
    };
    let several = |name: &str, separator: fn(char) -> bool| -> Vec<Named> {
        env.text(name)
            .unwrap_or_default()
            .split(separator)
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .map(|word| Named {
                value: unnamed(word).to_owned(),
                by: name.to_owned(),
            })
            .collect()
    };
    let mut extra = several("UV_INDEX", char::is_whitespace);
    extra.extend(several("UV_EXTRA_INDEX_URL", char::is_whitespace));
    Level {
        index: one("UV_DEFAULT_INDEX").or_else(|| one("UV_INDEX_URL")),
        extra,
        find_links: several("UV_FIND_LINKS", |c| c == ','),
        no_index: env.switch("UV_NO_INDEX"),
    }
}

/// `name=https://…` names the index too.
fn unnamed(value: &str) -> &str {
    match value.split_once('=') {
        Some((name, url)) if !name.contains("://") && !name.contains('/') => url,
        _ => value,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Options {
    index: Vec<Entry>,
    index_url: Option<String>,
    extra_index_url: Vec<String>,
    find_links: Vec<String>,
    no_index: bool,
    pip: Option<Box<Options>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Entry {
    url: String,
    #[serde(default)]
    default: bool,
    #[serde(default)]
    explicit: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Pyproject {
    tool: Tool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tool {
    uv: Option<Options>,
}

/// What the files say: the project's, the person's, the machine's, the nearest that names an index first.
///
/// A file that uv could not read either is passed over: it is uv's to complain.
pub(super) fn files(root: &Path, env: &Env, cwd: &Path) -> Level {
    let mut all = Level::default();
    if env.switch("UV_NO_CONFIG") {
        return all;
    }
    let project = cwd.ancestors().find_map(project);
    let user = user_configuration(env).map(|folder| folder.join("uv").join("uv.toml"));
    let machine = if cfg!(windows) {
        env.path("ProgramData")
            .map(|folder| folder.join("uv").join("uv.toml"))
    } else {
        Some(root.join("etc/uv/uv.toml"))
    };
    let configured = env.path("UV_CONFIG_FILE").map(Path::to_owned);
    let own = [configured, user, machine]
        .into_iter()
        .flatten()
        .filter_map(|path| Some((options(&path)?, path)));
    for (options, path) in project.into_iter().chain(own) {
        merge(&mut all, options, &path);
    }
    all
}

fn project(folder: &Path) -> Option<(Options, PathBuf)> {
    let own = folder.join("uv.toml");
    if let Some(options) = options(&own) {
        return Some((options, own));
    }
    let path = folder.join("pyproject.toml");
    let pyproject: Pyproject = toml::from_str(&std::fs::read_to_string(&path).ok()?).ok()?;
    Some((pyproject.tool.uv?, path))
}

fn options(path: &Path) -> Option<Options> {
    toml::from_str(&std::fs::read_to_string(path).ok()?).ok()
}

fn merge(all: &mut Level, options: Options, path: &Path) {
    let named = |value: String| Named {
        value,
        by: format!("`{}`", path.display()),
    };
    let main = options
        .index
        .iter()
        .find(|entry| entry.default && !entry.explicit);
    let main = main.map(|entry| entry.url.clone()).or(options.index_url);
    if all.index.is_none() {
        all.index = main.map(named);
    }
    let more = options
        .index
        .into_iter()
        .filter(|entry| !entry.default && !entry.explicit);
    all.extra.extend(more.map(|entry| named(entry.url)));
    all.extra
        .extend(options.extra_index_url.into_iter().map(named));
    all.find_links
        .extend(options.find_links.into_iter().map(named));
    all.no_index |= options.no_index;
    if let Some(pip) = options.pip {
        merge(all, *pip, path);
    }
}
