//! `--watch`: an answer that is shown again whenever it changed, until whoever reads has seen enough.

use std::io::Write;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use super::screen::Screen;
use super::style::Style;
use super::table::cut;
use super::{Output, complain};

/// How often a site is asked.
const EVERY: Duration = Duration::from_secs(1);
/// Another screen, so that what was there comes back; without a cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Should an answer be followed?
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct WatchArgs {
    /// Show it again whenever it changes, until Ctrl-C
    #[arg(short, long)]
    watch: bool,
}

/// Shows an answer, once or as it changes.
pub(super) fn show<T: Serialize>(
    watch: WatchArgs,
    output: Output,
    out: &mut impl Write,
    mut ask: impl FnMut() -> anyhow::Result<T>,
    text: impl Fn(&T) -> String,
) -> anyhow::Result<ExitCode> {
    let first = ask()?;
    if !watch.watch {
        output.print(out, &first, text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let on_terminal = output == Output::Text && Screen::now().draws;
    if on_terminal { redraw(out, first, ask, text) } else { print_news(output, out, first, ask, text) }
}

/// Prints whenever something changed; time that passes is no news.
fn print_news<T: Serialize>(
    output: Output,
    out: &mut impl Write,
    first: T,
    mut ask: impl FnMut() -> anyhow::Result<T>,
    text: impl Fn(&T) -> String,
) -> anyhow::Result<ExitCode> {
    let (mut answer, mut shown, mut said) = (Ok(first), None, String::new());
    loop {
        match answer {
            Ok(answer) => {
                let now = lasting(serde_json::to_value(&answer)?);
                if shown.as_ref() != Some(&now) {
                    if !output.print_one(out, &answer)? {
                        write!(out, "--- {:.0}\n{}\n", jiff::Timestamp::now(), text(&answer))?;
                    }
                    out.flush()?;
                }
                shown = Some(now);
                said.clear();
            }
            Err(error) => {
                let problem = format!("{error:#}");
                if problem != said {
                    complain(&problem);
                }
                said = problem;
            }
        }
        thread::sleep(EVERY);
        answer = ask();
    }
}

/// An answer without what changes from second to second.
fn lasting(answer: Value) -> Value {
    match answer {
        Value::Object(fields) => {
            let passes = |key: &str| key.ends_with("Seconds") || key == "counters";
            fields.into_iter().filter(|(key, _)| !passes(key)).map(|(key, value)| (key, lasting(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(lasting).collect(),
        other => other,
    }
}

/// Draws each answer over the one before. Ends only by a signal, or when the terminal is gone.
fn redraw<T>(
    out: &mut impl Write,
    first: T,
    mut ask: impl FnMut() -> anyhow::Result<T>,
    text: impl Fn(&T) -> String,
) -> anyhow::Result<ExitCode> {
    leave_on_signal()?;
    out.write_all(ENTER.as_bytes())?;
    let mut answer = Ok(first);
    loop {
        let shown = match &answer {
            Ok(answer) => text(answer),
            Err(error) => format!("{error:#}\n"),
        };
        out.write_all(frame(&shown, Screen::now()).as_bytes())?;
        out.flush()?;
        thread::sleep(EVERY);
        answer = ask();
    }
}

/// One answer as it is drawn, in one piece and without clearing first, so that nothing flickers.
fn frame(text: &str, screen: Screen) -> String {
    let most = screen.size.map_or(usize::MAX, |(_, lines)| lines.saturating_sub(1));
    let lines: Vec<&str> = text.lines().collect();
    let fits = lines.len() < most;
    let mut frame = String::from("\x1b[H");
    let mut line = |text: &str| {
        frame += text;
        frame += "\x1b[K\r\n";
    };
    line(&screen.paint(Style::Dim, "Ctrl-C ends this"));
    for text in lines.iter().take(if fits { lines.len() } else { most.saturating_sub(2) }) {
        // tables fit and have colours, prose is broken; a word that is longer than the screen would scroll it
        let whole = text.contains('\x1b');
        line(&if whole { (*text).to_owned() } else { cut(text, screen.width().unwrap_or(usize::MAX), false) });
    }
    if !fits {
        let more = lines.len().saturating_sub(most.saturating_sub(2));
        line(&screen.paint(Style::Dim, &format!("and {more} lines more; without --watch all are shown")));
    }
    frame + "\x1b[J"
}

/// Whatever the main thread waits for, the terminal is given back at once.
fn leave_on_signal() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut interrupt, mut terminate, mut hangup) = {
        let _entered = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?)
    };
    thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
        });
        // not through `io::stdout`, whose lock the main thread holds
        let _ = rustix::io::write(rustix::stdio::stdout(), LEAVE.as_bytes());
        std::process::exit(0);
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn time_that_passes_is_no_news() {
        let at = |seconds: u64, step: &str| json!({"inForceSeconds": seconds, "counters": {"requests": seconds}, "rollouts": [{"step": step, "stepSeconds": seconds}]});
        assert_eq!(lasting(at(1, "Offered")), lasting(at(2, "Offered")));
        assert_ne!(lasting(at(1, "Offered")), lasting(at(1, "Updated")));
    }

    #[test]
    fn a_frame_never_scrolls() {
        let screen = Screen { size: Some((80, 6)), ..Screen::default() };
        assert_eq!(frame("a\nb\n", screen), "\x1b[HCtrl-C ends this\x1b[K\r\na\x1b[K\r\nb\x1b[K\r\n\x1b[J");
        for lines in 0..20 {
            let drawn = frame(&"x\n".repeat(lines), screen);
            assert!(drawn.matches('\n').count() < 6, "{lines}");
            let hidden = lines.saturating_sub(drawn.matches("x\x1b").count());
            assert_eq!(hidden > 0, drawn.contains(&format!("and {hidden} lines more")), "{lines}: {drawn:?}");
        }
    }
}
