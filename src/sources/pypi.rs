//! Wheels of the Python index: the simple API in both its forms, and what a wheel's name says.

use std::path::Path;

use serde::Deserialize;
use url::Url;

use super::Error;
use super::html::{self, Anchor};
use super::pip_index::{Index, PythonIndex};
use crate::companion::Dotted;
use crate::download::{self, Client, Document, shown};
use crate::manifest::pypi::Listed;
use crate::manifest::{self, Release};
use crate::version::Platform;

const ACCEPT: &str = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

/// One wheel that an index offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wheel {
    /// Its file name.
    pub file: String,
    /// What the name says.
    pub name: WheelName,
    /// Where it is.
    pub url: Url,
    /// The digest that the index names.
    pub sha256: Option<String>,
    /// In bytes, where the index tells.
    pub size: Option<u64>,
    /// When it was uploaded, where the index tells.
    pub uploaded: Option<String>,
    /// Withdrawn by its owner.
    pub yanked: bool,
}

/// The parts of a wheel's file name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelName {
    /// The project, normalised: `nvidia-cudnn-cu12`.
    pub project: String,
    /// Its version as written.
    pub version: String,
    /// The build tag's number; a later build of the same version replaces an earlier one.
    pub build: u64,
    /// The platforms it runs on, of those we know.
    pub platforms: Vec<Platform>,
}

/// All final wheels of a project, from every index; the first index that has a file wins.
///
/// # Errors
///
/// When no index has the project. An index that fails is an error only if no other delivers.
pub fn project(client: &Client, index: &PythonIndex, project: &str) -> Result<Vec<Wheel>, Error> {
    let mut wheels: Vec<Wheel> = Vec::new();
    let mut failure = None;
    let mut add = |found: Result<Vec<Wheel>, Error>| match found {
        Ok(found) => {
            for wheel in found
                .into_iter()
                .filter(|wheel| wheel.name.project == project)
            {
                if !wheels.iter().any(|other| other.file == wheel.file) {
                    wheels.push(wheel);
                }
            }
        }
        Err(error) => failure = Some(failure.take().unwrap_or(error)),
    };
    for index in &index.indexes {
        add(page(client, index, project));
    }
    for links in &index.find_links {
        add(links_page(client, links));
    }
    match failure {
        Some(error) if wheels.is_empty() => Err(error),
        _ => Ok(wheels),
    }
}

fn page(client: &Client, index: &Index, project: &str) -> Result<Vec<Wheel>, Error> {
    let url = index
        .url
        .join(&format!("{project}/"))
        .expect("a project's name is a relative address");
    if url.scheme() == "file" {
        return folder(&url);
    }
    let document = match client.document(&url, ACCEPT) {
        Ok(document) => document,
        Err(download::Error::Status { status: 404, .. }) => {
            return Err(Error::NoProject {
                project: project.to_owned(),
                index: shown(&index.url),
                named_by: index.named_by.clone(),
            });
        }
        Err(error) => return Err(error.into()),
    };
    read_page(&document)
}

fn links_page(client: &Client, links: &Index) -> Result<Vec<Wheel>, Error> {
    if links.url.scheme() == "file" && links.url.path().ends_with('/') {
        return folder(&links.url);
    }
    if links.url.scheme() == "file" {
        let path = links.url.to_file_path().unwrap_or_default();
        let body = std::fs::read(&path).map_err(crate::error::IoError::at("read", &path))?;
        let document = Document {
            url: links.url.clone(),
            content_type: "text/html".to_owned(),
            body,
        };
        return read_page(&document);
    }
    read_page(&client.document(&links.url, "text/html")?)
}

/// Wheels in a folder of this machine. A folder that is not there has none: pip does not mind either.
fn folder(url: &Url) -> Result<Vec<Wheel>, Error> {
    let Ok(path) = url.to_file_path() else {
        return Ok(Vec::new());
    };
    let entries = std::fs::read_dir(Path::new(&path))
        .into_iter()
        .flatten()
        .flatten();
    Ok(entries
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            let name = WheelName::parse(&file)?;
            let url = Url::from_file_path(entry.path()).ok()?;
            let size = entry.metadata().ok()?.len();
            Some(Wheel {
                file,
                name,
                url,
                sha256: None,
                size: Some(size),
                uploaded: None,
                yanked: false,
            })
        })
        .collect())
}

#[derive(Deserialize)]
struct Page {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    filename: String,
    url: String,
    #[serde(default)]
    hashes: std::collections::BTreeMap<String, String>,
    size: Option<u64>,
    #[serde(rename = "upload-time")]
    uploaded: Option<String>,
    #[serde(default)]
    yanked: serde_json::Value,
}

/// Reads a project's page of the simple API, JSON (PEP 691) or HTML (PEP 503).
///
/// # Errors
///
/// When it is neither: a login page, say.
pub fn read_page(document: &Document) -> Result<Vec<Wheel>, Error> {
    let unreadable = |why: String| Error::NotAnIndex {
        url: shown(&document.url),
        why,
    };
    if document.content_type.ends_with("json") {
        let page: Page = serde_json::from_slice(&document.body)
            .map_err(|error| unreadable(error.to_string()))?;
        let wheels = page.files.into_iter().filter_map(|file| {
            let yanked = !matches!(
                file.yanked,
                serde_json::Value::Null | serde_json::Value::Bool(false)
            );
            let digest = file.hashes.get("sha256").filter(|digest| is_sha256(digest));
            let wheel = wheel(
                &document.url,
                file.filename,
                &file.url,
                digest.cloned(),
                yanked,
            )?;
            Some(Wheel {
                size: file.size,
                uploaded: file.uploaded,
                ..wheel
            })
        });
        return Ok(wheels.collect());
    }
    let text = String::from_utf8_lossy(&document.body);
    if !text.contains('<') {
        return Err(unreadable("it is neither JSON nor HTML".to_owned()));
    }
    let page = html::anchors(&text);
    // A page of a login form has anchors too, but none to a file of a project.
    let base = page.base.and_then(|base| document.url.join(&base).ok());
    let base = base.as_ref().unwrap_or(&document.url);
    let mut any = false;
    let mut wheels = Vec::new();
    for Anchor { href, text, yanked } in page.anchors {
        let file = text.trim().to_owned();
        any |= [".whl", ".tar.gz", ".zip"]
            .iter()
            .any(|end| file.ends_with(end));
        let digest = href
            .split_once('#')
            .and_then(|(_, fragment)| {
                fragment
                    .split('&')
                    .find_map(|part| part.strip_prefix("sha256="))
            })
            .filter(|digest| is_sha256(digest))
            .map(str::to_owned);
        wheels.extend(wheel(base, file, &href, digest, yanked));
    }
    if !any && text.contains("<form") {
        return Err(unreadable(
            "it is a web page with a form, as logins have".to_owned(),
        ));
    }
    Ok(wheels)
}

fn wheel(
    base: &Url,
    file: String,
    href: &str,
    sha256: Option<String>,
    yanked: bool,
) -> Option<Wheel> {
    let name = WheelName::parse(&file)?;
    let mut url = base.join(href).ok()?;
    url.set_fragment(None);
    let sha256 = sha256.map(|digest| digest.to_ascii_lowercase());
    matches!(url.scheme(), "https" | "http" | "file").then_some(Wheel {
        file,
        name,
        url,
        sha256,
        size: None,
        uploaded: None,
        yanked,
    })
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl WheelName {
    /// Reads a wheel's file name; `None` for anything else, and for what could lead out of a folder.
    pub fn parse(file: &str) -> Option<Self> {
        let stem = file.strip_suffix(".whl")?;
        if stem.contains(['/', '\\', ':']) {
            return None;
        }
        let parts: Vec<&str> = stem.split('-').collect();
        let (project, version, build, tags) = match *parts.as_slice() {
            [project, version, _, _, tags] => (project, version, 0, tags),
            [project, version, build, _, _, tags] => {
                let digits: String = build.chars().take_while(char::is_ascii_digit).collect();
                (project, version, digits.parse().ok()?, tags)
            }
            _ => return None,
        };
        let project: Vec<&str> = project.split(['_', '.', '-']).collect();
        let mut platforms: Vec<Platform> = tags.split('.').filter_map(platform).collect();
        platforms.dedup();
        Some(Self {
            project: project.join("-").to_ascii_lowercase(),
            version: version.to_owned(),
            build,
            platforms,
        })
    }
}

/// The platform of a wheel's tag: `manylinux_2_27_x86_64`, `win_amd64`.
fn platform(tag: &str) -> Option<Platform> {
    let linux = tag.starts_with("manylinux") || tag.starts_with("linux_");
    match tag {
        "win_amd64" => Some(Platform::WindowsX64),
        "win_arm64" => Some(Platform::WindowsArm64),
        _ if linux && tag.ends_with("_x86_64") => Some(Platform::LinuxX64),
        _ if linux && tag.ends_with("_aarch64") => Some(Platform::LinuxSbsa),
        _ => None,
    }
}

/// The builds among a project's wheels, withdrawn ones left out.
pub fn releases(project: &str, wheels: &[Wheel]) -> Vec<Release> {
    let listed: Vec<Listed<'_>> = wheels
        .iter()
        .filter(|wheel| !wheel.yanked)
        .map(|wheel| Listed {
            file: &wheel.file,
            sha256: wheel.sha256.as_deref(),
            size: wheel.size,
            uploaded: wheel.uploaded.as_deref(),
        })
        .collect();
    manifest::pypi::releases(project, &listed)
}

/// The newest wheel of a companion for one platform.
pub fn newest_companion(
    wheels: &[Wheel],
    cuda_major: u32,
    platform: Platform,
) -> Option<(Dotted, &Wheel)> {
    wheels
        .iter()
        .filter(|wheel| !wheel.yanked && wheel.name.platforms.contains(&platform))
        .filter_map(|wheel| Some((Dotted::parse(&wheel.name.version)?, wheel)))
        // The unsuffixed projects of CUDA 13 will carry CUDA 14 one day; companions count like the toolkit.
        .filter(|(version, _)| version.numbers().first() == Some(&u64::from(cuda_major)))
        .max_by(|a, b| (&a.0, a.1.name.build).cmp(&(&b.0, b.1.name.build)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheel_names_say_project_version_and_platform() {
        let parse = |file: &str| {
            WheelName::parse(file)
                .map(|name| (name.project, name.version, name.build, name.platforms))
        };
        let linux = vec![Platform::LinuxX64];
        assert_eq!(
            parse("nvidia_cudnn_cu12-9.10.2.21-py3-none-manylinux_2_27_x86_64.whl"),
            Some((
                "nvidia-cudnn-cu12".into(),
                "9.10.2.21".into(),
                0,
                linux.clone()
            ))
        );
        assert_eq!(
            parse("nvidia_cudnn_cu11-8.5.0.96-2-py3-none-manylinux1_x86_64.whl"),
            Some((
                "nvidia-cudnn-cu11".into(),
                "8.5.0.96".into(),
                2,
                linux.clone()
            ))
        );
        assert_eq!(
            parse("nvidia_cublas-13.1-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl")
                .unwrap()
                .3,
            linux
        );
        for (tag, platforms) in [
            ("win_amd64", vec![Platform::WindowsX64]),
            ("win_arm64", vec![Platform::WindowsArm64]),
            ("manylinux2014_aarch64", vec![Platform::LinuxSbsa]),
            ("macosx_11_0_arm64", vec![]),
            ("any", vec![]),
        ] {
            assert_eq!(
                parse(&format!("p-1-py3-none-{tag}.whl")).unwrap().3,
                platforms,
                "{tag}"
            );
        }
        for file in [
            "p-1.tar.gz",
            "p-1.whl",
            "../p-1-py3-none-any.whl",
            "p-1-x-py3-none-any.whl",
            "a\\b-1-py3-none-any.whl",
        ] {
            assert_eq!(parse(file), None, "{file}");
        }
    }

    fn document(content_type: &str, body: &str) -> Document {
        Document {
            url: "https://mirror.example/simple/nvidia-cudnn-cu12/"
                .parse()
                .unwrap(),
            content_type: content_type.to_owned(),
            body: body.as_bytes().to_vec(),
        }
    }

    const DIGEST: &str = "9fd4584468533c61873e5fda8ca41bac3a38bcb2d12350830c69b0a96a7e4def";

    #[test]
    fn both_forms_of_the_simple_api_are_read_alike() {
        let file = "nvidia_cudnn_cu12-9.10.2.21-py3-none-win_amd64.whl";
        let json = format!(
            r#"{{"meta":{{"api-version":"1.1"}},"name":"x","files":[
            {{"filename":"nvidia_cudnn_cu12-9.0.tar.gz","url":"x","hashes":{{}}}},
            {{"filename":"{file}","url":"../../packages/a%20b/{file}","hashes":{{"sha256":"{DIGEST}"}},"size":7,"yanked":"bad"}}]}}"#
        );
        let html = format!(
            "<!DOCTYPE html><html><body><a href='nvidia_cudnn_cu12-9.0.tar.gz'>nvidia_cudnn_cu12-9.0.tar.gz</a><br>\n\
             <A data-yanked=\"\" HREF=\"../../packages/a%20b/{file}?a=1&amp;b=2#sha256={DIGEST}\"\n data-requires-python=\"&gt;=3\">\n {file} </A></body></html>"
        );
        let one = |wheels: Vec<Wheel>| match wheels.as_slice() {
            [wheel] => wheel.clone(),
            other => panic!("{other:?}"),
        };
        let json = one(read_page(&document("application/vnd.pypi.simple.v1+json", &json)).unwrap());
        let html = one(read_page(&document("text/html", &html)).unwrap());
        assert_eq!(
            json.url.as_str(),
            format!("https://mirror.example/packages/a%20b/{file}")
        );
        assert_eq!(
            html.url.as_str(),
            format!("https://mirror.example/packages/a%20b/{file}?a=1&b=2")
        );
        for wheel in [&json, &html] {
            assert_eq!(wheel.sha256.as_deref(), Some(DIGEST));
            assert!(wheel.yanked);
        }
        assert_eq!((json.size, html.size), (Some(7), None));
    }

    #[test]
    fn what_is_no_index_is_said() {
        for (kind, body) in [
            (
                "text/html",
                "<html><form action=/login><a href=/help>help</a></form></html>",
            ),
            ("text/plain", "busy"),
            ("application/json", "{\"error\":\"no\"}"),
        ] {
            assert!(
                matches!(
                    read_page(&document(kind, body)),
                    Err(Error::NotAnIndex { .. })
                ),
                "{body}"
            );
        }
    }
}
