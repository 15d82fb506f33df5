//! The history as one HTML page: the last row against its rivals, and each part over time. Nothing is taken from the network and
//! there is no script.

use std::fmt::Write as _;

use crate::bench::row::{Ratio, Row};
use crate::evidence::{JudgementWord, Metric};
use crate::format::{self, digits, escape, judgement_name};
use crate::report::html::STYLE;
use crate::report::svg::{Axis, Join, Series, chart};

/// Rows drawn and listed at most: the last ones.
const ROWS_DRAWN_MAX: usize = 200;
const DAY_MS: u64 = 86_400_000;

/// Draws the history whose last row is the newest. Only rows of its machine and set are drawn; how many are not is said.
#[must_use]
pub fn page(rows: &[Row]) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>invar lab bench</title><style>{STYLE}</style></head><body><main>\n<h1>Invar beside its rivals</h1>\n"
    );
    let Some(last) = rows.last() else {
        out.push_str("<p>There is no row yet.</p></main></body></html>\n");
        return out;
    };
    let alike: Vec<&Row> =
        rows.iter().filter(|row| row.machine == last.machine && row.set == last.set).collect();
    let drawn = &alike[alike.len().saturating_sub(ROWS_DRAWN_MAX)..];
    let others = rows.len() - alike.len();
    let _ = writeln!(
        out,
        "<p class=\"faint\">{} runs drawn, to {}; machine {}, set {}{}</p>",
        drawn.len(),
        date(last.started_unix_ms),
        escape(&last.machine),
        escape(&last.set),
        if others == 0 {
            String::new()
        } else {
            format!("; {others} runs of another machine or set are not")
        }
    );
    last_row(&mut out, last);
    charts(&mut out, drawn);
    runs(&mut out, drawn);
    out.push_str("</main></body></html>\n");
    out
}

/// What was measured in a row, in order.
fn parts(row: &Row) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for figure in &row.figures {
        if !found.contains(&figure.what.as_str()) {
            found.push(&figure.what);
        }
    }
    found
}

fn figure(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), digits)
}

fn colour(word: JudgementWord) -> &'static str {
    match word {
        JudgementWord::Faster => "background:#dcefdc",
        JudgementWord::Slower => "background:#f6d5d3",
        JudgementWord::NoDifference | JudgementWord::WithinNoise | JudgementWord::Small => "",
        JudgementWord::Unconfirmed | JudgementWord::TooNoisy => "color:#777",
    }
}

fn cell(out: &mut String, ratio: Option<&Ratio>) {
    let _ = match ratio {
        None => write!(out, "<td class=\"n\">-</td>"),
        Some(found) => write!(
            out,
            "<td class=\"n\" style=\"{}\" title=\"{}\">x{:.2}<br><small>{:.2} to {:.2}</small></td>",
            colour(found.word),
            judgement_name(found.word, found.ratio),
            found.ratio,
            found.low,
            found.high
        ),
    };
}

fn last_row(out: &mut String, row: &Row) {
    let Some((judged, rivals)) = row.servers.split_first() else { return };
    out.push_str("<section><h2>The last run</h2><table><tr><th></th>");
    for server in &row.servers {
        let _ = write!(
            out,
            "<th class=\"n\">{}<br><small>{}</small></th>",
            escape(&server.name),
            escape(&server.version)
        );
    }
    for rival in rivals {
        for what in ["CPU", "p50"] {
            let _ = write!(out, "<th class=\"n\">{what} over<br>{}</th>", escape(&rival.name));
        }
    }
    out.push_str("</tr>\n");
    for what in parts(row) {
        let _ = write!(out, "<tr><td>{}</td>", escape(what));
        for server in &row.servers {
            let found = row.figure(what, &server.name);
            let _ = write!(
                out,
                "<td class=\"n\">{}<br><small>p50 {}, p99 {}</small></td>",
                figure(found.and_then(|found| found.cpu_us)),
                figure(found.and_then(|found| found.p50_us)),
                figure(found.and_then(|found| found.p99_us))
            );
        }
        for rival in rivals {
            for metric in [Metric::ServerCpu, Metric::LatencyP50] {
                cell(out, row.ratio(what, &rival.name, metric));
            }
        }
        out.push_str("</tr>\n");
    }
    let _ = writeln!(
        out,
        "</table><p class=\"faint\">Microseconds per operation: CPU of the server, under it latency. Ratios are {} over the rival, \
         below 1 is better, with their 95 % intervals; green and red are beyond noise, confirmed by the later half of the run; \
         grey is not settled.</p>",
        escape(&judged.name)
    );
    for setting in &row.differing {
        let _ = writeln!(out, "<p class=\"faint\">not equal {}</p>", escape(&format::setting(setting)));
    }
    for why in row.incomplete.iter().chain(&row.warnings) {
        let _ = writeln!(out, "<p>{}</p>", escape(why));
    }
    out.push_str("</section>\n");
}

fn charts(out: &mut String, rows: &[&Row]) {
    let mut servers: Vec<&str> = Vec::new();
    for server in rows.iter().rev().flat_map(|row| &row.servers) {
        if !servers.contains(&server.name.as_str()) {
            servers.push(&server.name);
        }
    }
    let Some(last) = rows.last() else { return };
    out.push_str("<section><h2>Over time</h2>\n");
    for what in parts(last) {
        let has_cpu = last.figures.iter().any(|figure| figure.what == what && figure.cpu_us.is_some());
        let series: Vec<Series> = servers
            .iter()
            .enumerate()
            .map(|(colour, server)| Series {
                name: (*server).to_owned(),
                colour,
                join: Join::Dots,
                points: rows
                    .iter()
                    .enumerate()
                    .filter_map(|(index, row)| {
                        let found = row.figure(what, server)?;
                        Some((index as f64 + 1.0, if has_cpu { found.cpu_us? } else { found.p50_us? }))
                    })
                    .collect(),
            })
            .filter(|series| !series.points.is_empty())
            .collect();
        let label = if has_cpu { "server CPU, us per operation" } else { "median latency, us" };
        let x = Axis { label: "run", is_log: false, format: |value| format!("{value:.0}") };
        out.push_str(&chart(what, x, Axis { label, is_log: false, format: digits }, &series));
        out.push('\n');
    }
    out.push_str("</section>\n");
}

fn runs(out: &mut String, rows: &[&Row]) {
    out.push_str(
        "<section><h2>Runs</h2><table><tr><th class=\"n\">run</th><th>when (UTC)</th><th>commit</th>\
         <th>configurations</th><th class=\"n\">load</th><th class=\"n\">slower in</th></tr>\n",
    );
    for (index, row) in rows.iter().enumerate().rev() {
        let servers: Vec<String> = row
            .servers
            .iter()
            .map(|server| {
                let short: String = server.configuration.chars().take(8).collect();
                format!("{} {} {short}", server.name, server.version)
            })
            .collect();
        let slower = row.ratios.iter().filter(|ratio| ratio.word == JudgementWord::Slower).count();
        let _ = writeln!(
            out,
            "<tr><td class=\"n\">{}</td><td>{}</td><td><code>{}</code></td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{slower}</td></tr>",
            index + 1,
            date(row.started_unix_ms),
            escape(&row.commit),
            escape(&servers.join(", ")),
            figure(row.load_average)
        );
    }
    out.push_str("</table></section>\n");
}

/// A moment as `2026-11-21 13:05` (H. Hinnant, "chrono-compatible low-level date algorithms").
fn date(unix_ms: u64) -> String {
    let days = (unix_ms / DAY_MS) as i64 + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let minutes = unix_ms % DAY_MS / 60_000;
    format!("{year}-{month:02}-{day:02} {:02}:{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bench::row::{Figure, ServerRow};

    fn row(commit: &str, machine: &str, cpu_us: f64) -> Row {
        let server =
            |name: &str| ServerRow { name: name.into(), version: "<9>".into(), ..ServerRow::default() };
        let figure = |server: &str, cpu_us: f64| Figure {
            what: "scan/16".into(),
            server: server.into(),
            cpu_us: Some(cpu_us),
            ..Figure::default()
        };
        Row {
            commit: commit.into(),
            machine: machine.into(),
            servers: vec![server("ours"), server("theirs")],
            figures: vec![figure("ours", cpu_us), figure("theirs", 30.0)],
            ratios: vec![Ratio {
                what: "scan/16".into(),
                rival: "theirs".into(),
                metric: Metric::ServerCpu,
                ratio: cpu_us / 30.0,
                low: 0.1,
                high: 0.9,
                word: JudgementWord::Faster,
            }],
            ..Row::new()
        }
    }

    /// Three rows: two of one machine, and one of another between them.
    pub(crate) fn history() -> Vec<Row> {
        vec![row("aaa", "m1", 10.0), row("bbb", "m2", 20.0), row("c<c", "m1", 15.0)]
    }

    #[test]
    fn the_page_draws_rows_of_one_machine_and_counts_the_others() {
        let page = page(&history());
        assert!(page.contains("2 runs drawn") && page.contains("; 1 runs of another machine or set are not"));
        assert!(page.contains("x0.50") && page.contains("<td>scan/16</td>"));
        assert!(page.contains("c&lt;c") && !page.contains("c<c") && !page.contains("bbb"));
        assert_eq!(page.matches("<svg").count(), 1);
        assert_eq!(page.matches("<circle").count(), 4, "two servers, two runs");
        assert!(
            !page.contains("http://")
                || page.matches("http://").count() == page.matches("http://www.w3.org").count()
        );
        assert!(super::page(&[]).contains("no row yet"));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00");
        assert_eq!(date(951_827_696_000), "2000-02-29 12:34");
        assert_eq!(date(1_798_761_540_000), "2026-12-31 23:59");
    }
}
