//! The three layers of proof, shared by `test` and `bench`: files, loading, computing.
//!
//! Each layer gives a [`Layer`]: what was found, each finding with its weight. Nothing is "ok" that was not looked at.

use serde::Serialize;

pub mod computing;
pub mod files;
pub mod framework;
pub mod loading;
pub mod page;

/// How a layer came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// All is as it should be.
    Ok,
    /// It works, and there is something to know.
    Warning,
    /// It could not be looked at.
    NotRun,
    /// Something is wrong.
    Failed,
}

impl Status {
    /// The word in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::NotRun => "not run",
            Self::Failed => "FAILED",
        }
    }
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub status: Status,
    /// What.
    pub text: String,
    /// What to do: a command to paste, or a fact that leads on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What one layer showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// The worst of its findings.
    pub status: Status,
    /// All in one line.
    pub summary: String,
    /// What is not as it should be.
    pub findings: Vec<Finding>,
}

/// Findings in the making.
#[derive(Debug, Default)]
pub struct Findings(Vec<Finding>);

impl Findings {
    /// Something is wrong.
    pub fn fail(&mut self, text: impl Into<String>, hint: Option<String>) {
        self.add(Status::Failed, text, hint);
    }

    /// Something should be known.
    pub fn warn(&mut self, text: impl Into<String>, hint: Option<String>) {
        self.add(Status::Warning, text, hint);
    }

    /// Something could not be looked at.
    pub fn not_run(&mut self, text: impl Into<String>, hint: Option<String>) {
        self.add(Status::NotRun, text, hint);
    }

    /// Something to mention, which is as it should be.
    pub fn note(&mut self, text: impl Into<String>) {
        self.add(Status::Ok, text, None);
    }

    fn add(&mut self, status: Status, text: impl Into<String>, hint: Option<String>) {
        let text = text.into();
        if !self.0.iter().any(|finding| finding.text == text) {
            self.0.push(Finding { status, text, hint });
        }
    }

    /// The layer, with its line.
    pub fn layer(self, summary: impl Into<String>) -> Layer {
        let worst = self.0.iter().map(|finding| finding.status).max();
        Layer {
            status: worst.unwrap_or(Status::Ok),
            summary: summary.into(),
            findings: self.0,
        }
    }
}

/// `1 file`, `3 files`.
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}
