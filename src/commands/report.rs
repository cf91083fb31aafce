//! How a diagnosis is told: one JSON document, or the decisive finding first in words.

use std::io::IsTerminal;

use serde::Serialize;

use crate::context::Context;
use crate::diagnosis::facts::Facts;
use crate::diagnosis::finding::{Finding, Level};
use crate::diagnosis::verdict;
use crate::error::Exit;

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    verdict: Level,
    findings: &'a [Finding],
    facts: &'a Facts,
}

/// Tells the findings; the exit status is 1 when something fails.
pub fn tell(ctx: &Context, facts: &Facts, findings: &[Finding], json: bool, healthy: &str) -> Exit {
    let verdict = verdict(findings);
    let exit = if verdict == Level::Fail {
        Exit::Failed
    } else {
        Exit::Done
    };
    if json {
        ctx.output.json(&Report {
            schema: 1,
            verdict,
            findings,
            facts,
        });
        return exit;
    }
    let loud: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.level != Level::Ok)
        .collect();
    if loud.is_empty() {
        ctx.output.line(healthy);
    }
    let quiet = findings.iter().filter(|finding| finding.level == Level::Ok);
    for (position, finding) in loud.into_iter().chain(quiet).enumerate() {
        if position > 0 || finding.level == Level::Ok {
            ctx.output.line("");
        }
        one(ctx, finding);
    }
    exit
}

/// What was found, in short.
pub fn facts(ctx: &Context, facts: &Facts) {
    let summary = &facts.summary;
    let line = |name: &str, text: &str| {
        let text = if text.is_empty() { "unknown" } else { text };
        ctx.output.line(format!("{name:<9}{text}"));
    };
    line("driver", &summary.driver);
    line("CUDA", &summary.cuda);
    line("GPU", &summary.gpus.join(", "));
    if summary.cudnn.is_empty() {
        ctx.output.line("cuDNN    none found");
    }
    for (position, copy) in summary.cudnn.iter().enumerate() {
        let head = if position == 0 { "cuDNN" } else { "" };
        ctx.output.line(format!("{head:<9}{copy}"));
    }
    ctx.output.line("");
}

fn one(ctx: &Context, finding: &Finding) {
    ctx.output.line(format!(
        "{} {}: {}",
        finding.level, finding.code, finding.what
    ));
    let width = width();
    for line in wrapped(&finding.why, width - 2) {
        ctx.output.line(format!("  {line}"));
    }
    for step in &finding.fix {
        ctx.output.line(format!("  fix: {step}"));
    }
}

fn width() -> usize {
    if std::io::stdout().is_terminal() {
        100
    } else {
        120
    }
}

/// Words in lines of at most `width` characters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn lines_break_between_words_only() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("unbreakable", 3), ["unbreakable"]);
    }
}
