//! `bench --html`: one page that needs nothing beside itself.

use std::fmt::Write;

use super::computing::{self, Row};
use crate::commands::bench::{Line, Report, comparison, means};
use crate::probe::Api;

/// A bar this many times as long as the shortest is cut there and says so.
const LONGEST: f64 = 8.0;

const STYLE: &str = "
:root { --ink: #1c2430; --soft: #5c6878; --line: #d9dee5; --paper: #ffffff; --legacy: #3a6ea5; --graph: #2a9d6f; --best: #f2f7f4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #9aa6b5; --line: #38424f; --paper: #161b22; --legacy: #6ea3dc; --graph: #4cc38f; --best: #1d2a24; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .3rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
h3 { font-size: .95rem; margin: 1.1rem 0 .25rem; } p, .soft { color: var(--soft); margin: .2rem 0 .8rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.bars { display: grid; grid-template-columns: 13rem 1fr; gap: .2rem .7rem; align-items: center; }
.name { text-align: right; overflow-wrap: anywhere; font-size: .88rem; } .track { display: flex; align-items: center; gap: .5rem; min-width: 0; }
.bar { height: 1.05rem; border-radius: 2px; min-width: 2px; flex: none; } .legacy { background: var(--legacy); } .graph { background: var(--graph); }
.own { background: var(--soft); } .cut { border-right: 4px double var(--paper); } .time { font-variant-numeric: tabular-nums; white-space: nowrap; font-size: .88rem; }
.fastest .time { font-weight: 700; } .key { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; margin: 0 .3rem 0 1rem; vertical-align: -1px; }
@media (max-width: 40rem) { .bars { grid-template-columns: 1fr; } .name { text-align: left; } }
";

/// The page.
pub fn page(report: &Report) -> String {
    let lines = comparison(report);
    let mut html = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>cuDNN versions compared</title>\n<style>",
    );
    html += STYLE;
    html += "</style>\n</head>\n<body>\n<h1>cuDNN versions compared</h1>\n";
    let gpu = report
        .gpu
        .as_ref()
        .map_or("no GPU", |gpu| gpu.name.as_str());
    let driver = report.driver_cuda.as_deref().unwrap_or("unknown");
    push(
        &mut html,
        format_args!(
            "<p>{}, driver for CUDA {}, {}. Each bar is the time of one run with the best algorithm or engine that the build offers: shorter is better.</p>\n",
            escape(gpu),
            escape(driver),
            escape(&report.date)
        ),
    );
    html += "<p><span class=\"key legacy\" style=\"margin-left:0\"></span>legacy API<span class=\"key graph\"></span>graph API";
    if report.framework.is_some() {
        html += "<span class=\"key own\"></span>a framework's own figure";
    }
    html += "</p>\n";
    summary(&mut html, report, &lines);
    let mut shape = None;
    for line in &lines {
        if shape != Some(line.shape) {
            shape = Some(line.shape);
            push(
                &mut html,
                format_args!(
                    "<h2>{}</h2>\n<p>{}</p>\n",
                    escape(&line.shape.name),
                    escape(&line.shape.convolution.to_string())
                ),
            );
        }
        chart(&mut html, report, line);
    }
    html += "</body>\n</html>\n";
    html
}

fn summary(html: &mut String, report: &Report, lines: &[Line]) {
    html.push_str("<table>\n<tr><th>build</th><th>result</th><th>time, as a multiple of the fastest (mean)</th></tr>\n");
    for (build, mean) in report.builds.iter().zip(means(lines, report.builds.len())) {
        let mean = mean.map_or("-".to_owned(), |mean| format!("{mean:.2}"));
        push(
            html,
            format_args!(
                "<tr><td>{}</td><td>{}: {}</td><td>{mean}</td></tr>\n",
                escape(&build.build),
                build.layer.status.word(),
                escape(&build.layer.summary)
            ),
        );
    }
    html.push_str("</table>\n");
}

struct Bar<'a> {
    name: &'a str,
    class: &'static str,
    milliseconds: f64,
    title: String,
}

fn chart(html: &mut String, report: &Report, line: &Line) {
    let what = format!("{} {}", line.precision.name(), line.direction.name());
    let mut bars: Vec<Result<Bar, &str>> = report
        .builds
        .iter()
        .zip(&line.best)
        .map(|(build, row)| bar(&build.build, *row).ok_or(build.build.as_str()))
        .collect();
    if let Some(own) = &report.framework
        && line.shape.name == "first layer"
        && let Some(milliseconds) = own.times.get(&what)
    {
        bars.push(Ok(Bar {
            name: &own.name,
            class: "own",
            milliseconds: *milliseconds,
            title: own.sentence.clone(),
        }));
    }
    let times = bars.iter().flatten().map(|bar| bar.milliseconds);
    let Some(fastest) = times.clone().min_by(f64::total_cmp) else {
        return;
    };
    let slowest = times.fold(fastest, f64::max).min(fastest * LONGEST);
    push(
        html,
        format_args!("<h3>{}</h3>\n<div class=\"bars\">\n", escape(&what)),
    );
    for bar in bars {
        match bar {
            Err(name) => push(
                html,
                format_args!(
                    "<div class=\"name\">{}</div><div class=\"track soft\">-</div>\n",
                    escape(name)
                ),
            ),
            Ok(bar) => {
                // The longest bar leaves room for its figure.
                let width = 80.0 * (bar.milliseconds / slowest).min(1.0);
                let cut = if bar.milliseconds > slowest * 1.001 {
                    " cut"
                } else {
                    ""
                };
                let best = if bar.milliseconds <= fastest {
                    " fastest"
                } else {
                    ""
                };
                push(
                    html,
                    format_args!(
                        "<div class=\"name\">{}</div><div class=\"track{best}\" title=\"{}\"><div class=\"bar {}{cut}\" style=\"width:{width:.1}%\"></div><span class=\"time\">{}</span></div>\n",
                        escape(bar.name),
                        escape(&bar.title),
                        bar.class,
                        computing::time(bar.milliseconds)
                    ),
                );
            }
        }
    }
    html.push_str("</div>\n");
}

fn bar<'a>(name: &'a str, row: Option<&Row>) -> Option<Bar<'a>> {
    let row = row?;
    Some(Bar {
        name,
        class: match row.unit.api {
            Api::Legacy => "legacy",
            Api::Graph => "graph",
        },
        milliseconds: row.milliseconds?,
        title: row.best.clone().unwrap_or_default(),
    })
}

fn push(html: &mut String, text: std::fmt::Arguments) {
    // Writing to a string can't fail.
    let _ = html.write_fmt(text);
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
