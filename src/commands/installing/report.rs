//! `install --json`.

use std::path::PathBuf;

use serde::Serialize;

use super::{Origin, Plan};
use crate::context::Context;
use crate::sources::Server;
use crate::version::BuildId;

/// The document.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Format of the document.
    pub schema: u32,
    /// Nothing was done.
    pub dry_run: bool,
    /// Each build.
    pub builds: Vec<Entry>,
    /// What came along with them.
    pub companions: Vec<CompanionEntry>,
}

/// One build.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// `installed`, `present`, `planned`.
    pub status: &'static str,
    /// The spec that was typed.
    pub asked: Option<String>,
    build: String,
    #[serde(flatten)]
    id: BuildId,
    path: PathBuf,
    source: Option<String>,
    origin: Option<String>,
    /// The archive's name.
    pub file: Option<String>,
    size: Option<u64>,
    sha256: Option<String>,
    variant_reason: Option<String>,
}

/// One companion.
#[derive(Debug, Serialize)]
pub struct CompanionEntry {
    /// `installed`, `present`.
    pub status: &'static str,
    /// `cublas 12.1.3.1+cuda12`
    pub companion: String,
    /// Its folder.
    pub path: PathBuf,
}

impl Entry {
    /// A build and nothing about its archive.
    pub fn new(ctx: &Context, status: &'static str, build: BuildId) -> Self {
        Self {
            status,
            asked: None,
            build: build.to_string(),
            id: build,
            path: ctx.store.build_folder(&build),
            source: None,
            origin: None,
            file: None,
            size: None,
            sha256: None,
            variant_reason: None,
        }
    }

    /// A build of a plan, with what is known of its archive.
    pub fn planned(ctx: &Context, plan: &Plan, status: &'static str, build: BuildId) -> Self {
        let file = plan
            .files
            .iter()
            .map(|(release, _)| release)
            .find(|release| release.build() == build);
        let digest = file.and_then(|release| release.digests.first());
        let source = file
            .filter(|_| status == "planned")
            .map(|release| Server::of(&release.origin));
        Self {
            asked: Some(plan.spec.to_string()),
            source: source.map(|server| server.to_string()),
            file: file.map(|release| release.file.clone()),
            size: file.and_then(|release| release.size),
            sha256: digest.map(|digest| digest.sha256.clone()),
            variant_reason: plan.variant_reason.clone(),
            ..Self::new(ctx, status, build)
        }
    }

    /// The same with where it really came from.
    pub fn with_origin(self, origin: Option<Origin>) -> Self {
        let Some(origin) = origin else { return self };
        Self {
            source: Some(origin.source),
            origin: Some(origin.address),
            size: Some(origin.size),
            sha256: Some(origin.sha256).filter(|digest| !digest.is_empty()),
            ..self
        }
    }
}
