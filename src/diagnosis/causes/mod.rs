//! One file for each family of causes; each rule looks at the facts and says what it sees.

use super::facts::Facts;
use super::finding::{Code, Finding};
use super::signs::Meaning;

mod build;
mod download;
mod driver;
mod environment;
mod files;
mod folders;
mod frameworks;
mod gpu;
mod loading;
mod paths;
mod system;
mod versions;

/// What every rule says, in no order.
pub fn all(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in [
        templates,
        follow_ups,
        inputs,
        driver::rule,
        gpu::rule,
        frameworks::rule,
        files::rule,
        download::rule,
        system::rule,
        versions::rule,
        loading::rule,
        folders::rule,
        paths::rule,
        environment::rule,
        build::rule,
    ] {
        rule(facts, &mut findings);
    }
    findings
}

/// Messages that carry their finding with them.
fn templates(facts: &Facts, findings: &mut Vec<Finding>) {
    for (position, sign) in facts.signs.iter().enumerate() {
        let Some(template) = &sign.template else {
            continue;
        };
        let mut finding = Finding::new(template.code, template.level, sign.fill(&template.what))
            .why(sign.fill(&template.why))
            .certainty(template.certainty)
            .explains([position]);
        finding.fix = template.fix.iter().map(|step| sign.fill(step)).collect();
        findings.push(finding);
    }
}

/// Consequences are named only where nothing else is.
fn follow_ups(facts: &Facts, findings: &mut Vec<Finding>) {
    let only = facts
        .signs
        .iter()
        .all(|sign| sign.means(Meaning::FollowUp) || sign.means(Meaning::Tells));
    if !only {
        return;
    }
    for (position, sign) in super::signs_with(facts, Meaning::FollowUp) {
        findings.push(
            Finding::ok(
                Code::FollowUp,
                format!("`{}` only follows from another message", sign.line),
            )
            .why("the line before it names the library that could not be loaded")
            .fix("cudnnm explain FILE    # with the whole output")
            .explains([position]),
        );
    }
}

/// Console text that is not UTF-8 is read, and said so.
fn inputs(facts: &Facts, findings: &mut Vec<Finding>) {
    for input in &facts.inputs {
        let Some(encoding) = input.encoding.as_deref() else {
            continue;
        };
        if !matches!(encoding, "UTF-8" | "UTF-16LE" | "UTF-16BE") {
            findings.push(
                Finding::ok(
                    Code::Encoding,
                    format!(
                        "`{}` is in {encoding}, not UTF-8, and was read as such",
                        input.name
                    ),
                )
                .why("consoles write their own code page; tools that expect UTF-8 fail on it"),
            );
        }
    }
}

/// Words joined for a sentence: `a`, `a and b`, `a, b and c`.
fn joined<T: AsRef<str>>(words: &[T]) -> String {
    match words {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [head @ .., last] => {
            let head: Vec<&str> = head.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", head.join(", "), last.as_ref())
        }
    }
}

/// Each in backticks, the first few.
fn quoted<T: AsRef<str>>(words: &[T]) -> String {
    const MOST: usize = 4;
    let mut shown: Vec<String> = words
        .iter()
        .take(MOST)
        .map(|word| format!("`{}`", word.as_ref()))
        .collect();
    if words.len() > MOST {
        shown.push(format!("{} more", words.len() - MOST));
    }
    joined(&shown)
}
