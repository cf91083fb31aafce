//! How far a long step is: a bar with rate and time left on a terminal, a plain line now and then otherwise.

use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::output::{Output, size};

/// Without a terminal (logs, CI) a line after this time, then ever more seldom.
const FIRST_LINE: Duration = Duration::from_secs(5);

/// Steps that run side by side, and what is said between their bars.
#[derive(Debug, Clone)]
pub struct Bars {
    output: Output,
    several: MultiProgress,
}

impl Bars {
    /// None yet.
    pub fn new(output: Output) -> Self {
        let several = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        Self { output, several }
    }

    /// Begins a step: `what` is short, `downloading 9.19.0.56+cuda13`.
    pub fn begin(&self, what: impl Into<String>, total: Option<u64>) -> Progress {
        let what = what.into();
        let bar = self.output.bars.then(|| {
            let bar = self.several.add(ProgressBar::new(total.unwrap_or(0)));
            bar.set_style(style(total.is_some()));
            bar.set_message(what.clone());
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Progress {
            bars: self.clone(),
            what,
            bar,
            started: Instant::now(),
            before: 0,
            next_line: FIRST_LINE,
        }
    }

    /// Whether bars are drawn.
    pub fn are_drawn(&self) -> bool {
        self.output.bars
    }

    /// Says something without tearing a bar.
    pub fn note(&self, text: impl std::fmt::Display) {
        self.several.suspend(|| self.output.note(text));
    }

    /// As [`Bars::note`], also under `--quiet`.
    pub fn warning(&self, text: impl std::fmt::Display) {
        self.several.suspend(|| self.output.warning(text));
    }
}

/// One step that moves bytes. Dropped, its bar is gone.
#[derive(Debug)]
pub struct Progress {
    bars: Bars,
    what: String,
    bar: Option<ProgressBar>,
    started: Instant,
    /// What was there before the step began: not part of the rate.
    before: u64,
    next_line: Duration,
}

impl Progress {
    /// Begins a step that runs alone.
    pub fn new(output: Output, what: impl Into<String>, total: Option<u64>) -> Self {
        Bars::new(output).begin(what, total)
    }

    /// So much was there already.
    pub fn resume(&mut self, bytes: u64) {
        self.before = bytes;
        if let Some(bar) = &self.bar {
            bar.set_position(bytes);
            bar.reset_eta();
        }
    }

    /// So much is done of so much.
    pub fn set(&mut self, done: u64, total: Option<u64>) {
        if let Some(bar) = &self.bar {
            if let Some(total) = total.filter(|total| bar.length() != Some(*total)) {
                bar.set_length(total);
                bar.set_style(style(true));
            }
            bar.set_position(done);
            return;
        }
        let elapsed = self.started.elapsed();
        if elapsed < self.next_line {
            return;
        }
        self.next_line = elapsed * 2;
        let line = line(&self.what, done, self.before, total, elapsed);
        self.bars.note(line);
    }

    /// Says something without tearing the bar.
    pub fn note(&self, text: impl std::fmt::Display) {
        self.bars.note(text);
    }

    /// As [`Progress::note`], also under `--quiet`.
    pub fn warning(&self, text: impl std::fmt::Display) {
        self.bars.warning(text);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn style(with_total: bool) -> ProgressStyle {
    let template = if with_total {
        "{msg} [{bar:24}] {done} of {whole}, {rate}/s, {left} left"
    } else {
        "{msg} {spinner} {done}, {rate}/s"
    };
    ProgressStyle::with_template(template)
        .expect("the template is valid")
        .progress_chars("=> ")
        // `size` counts as download pages do; indicatif's own units are powers of 1024.
        .with_key(
            "done",
            |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = out.write_str(&size(state.pos()));
            },
        )
        .with_key(
            "whole",
            |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = out.write_str(&state.len().map_or_else(|| "?".to_owned(), size));
            },
        )
        .with_key(
            "rate",
            |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = out.write_str(&size(state.per_sec() as u64));
            },
        )
        .with_key(
            "left",
            |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                // No byte yet: any time would be a guess.
                let left = if state.per_sec() < 1.0 {
                    "?".to_owned()
                } else {
                    duration(state.eta())
                };
                let _ = out.write_str(&left);
            },
        )
}

fn line(what: &str, done: u64, before: u64, total: Option<u64>, elapsed: Duration) -> String {
    let rate = done.saturating_sub(before) as f64 / elapsed.as_secs_f64().max(0.001);
    let Some(total) = total.filter(|total| *total > 0) else {
        return format!("{what}: {}, {}/s", size(done), size(rate as u64));
    };
    let percent = done * 100 / total;
    let mut text = format!(
        "{what}: {} of {} ({percent} %), {}/s",
        size(done),
        size(total),
        size(rate as u64)
    );
    if rate >= 1.0 {
        let left = Duration::from_secs_f64(total.saturating_sub(done) as f64 / rate);
        text.push_str(&format!(", {} left", duration(left)));
    }
    text
}

/// How long something took: as [`duration`], with a decimal where that tells something.
pub fn took(duration: Duration) -> String {
    if duration < Duration::from_secs(10) {
        return format!("{:.1} s", duration.as_secs_f64());
    }
    self::duration(duration)
}

/// `45 s`, `3 min`, `2 h 5 min`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        600..3600 => format!("{} min", seconds / 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_tell_rate_and_time_left() {
        let elapsed = Duration::from_secs(10);
        assert_eq!(
            line(
                "downloading x",
                200_000_000,
                100_000_000,
                Some(700_000_000),
                elapsed
            ),
            "downloading x: 200 MB of 700 MB (28 %), 10.0 MB/s, 50 s left"
        );
        assert_eq!(
            line("x", 1_000_000, 0, None, elapsed),
            "x: 1.00 MB, 100 kB/s"
        );
        assert_eq!(
            line("x", 0, 0, Some(10), elapsed),
            "x: 0 B of 10 B (0 %), 0 B/s"
        );
    }

    #[test]
    fn durations_are_short() {
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (61, "1 min 01 s"),
            (700, "11 min"),
            (7500, "2 h 05 min"),
        ] {
            assert_eq!(duration(Duration::from_secs(seconds)), text);
        }
    }
}
