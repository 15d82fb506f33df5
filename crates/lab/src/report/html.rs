//! The report as one HTML file: no script, style, font or picture from anywhere else, and the run's JSON inside.

use std::fmt::Write as _;

use super::{charts, claim_name, judgement_name, kind_name, main_metric, outcome_name, table};
use crate::analysis::metric_name;
use crate::evidence::{Comparison, JudgementWord, LayerOutcome, Metric, NoiseFloor, Run, VerdictKind};
use crate::format::{self, digits, escape, value};
use crate::verdict::schema_in_words;

/// A drawing made elsewhere, such as a flame graph.
#[derive(Clone, Debug)]
pub struct Figure {
    /// A short name: `difference`, or the arm it is of.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// An `svg` element of our own making: it is put into the page as it is.
    pub svg: String,
}

/// Above this many bytes the page leaves stacks and distributions out of the JSON it holds, and says so.
const JSON_BYTES_IN_PAGE: usize = 1_200_000;

/// The look of every page of the lab.
pub(crate) const STYLE: &str = "
:root{color-scheme:light;--ink:#222;--faint:#666;--line:#ddd;--card:#fff;--page:#f4f5f7}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif}
main{max-width:1080px;margin:0 auto;padding:24px 16px 64px}
h1{font-size:24px;margin:0 0 4px}h2{font-size:18px;margin:0 0 10px}
p{margin:6px 0}.faint{color:var(--faint)}
section{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:16px 18px;margin:16px 0;overflow-x:auto}
.verdict{border-left:8px solid #888}.verdict.bad{border-left-color:#c0392b}.verdict.good{border-left-color:#1e8449}
.verdict.unsure{border-left-color:#b7950b}
.word{display:inline-block;font-weight:700;font-size:19px;margin-right:10px}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px;width:100%}
th,td{padding:5px 10px;text-align:left;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:break-word}
td:last-child,td code{overflow-wrap:anywhere}
td.n,th.n{text-align:right}
.heat td.n{border:1px solid #fff}.heat small{color:inherit;opacity:.85}
.headline{font-size:17px;font-weight:600;overflow-wrap:anywhere}
ul{margin:6px 0;padding-left:22px}li{overflow-wrap:anywhere}
td.k,td.k code{white-space:nowrap;overflow-wrap:normal}
svg{width:100%;min-width:420px;height:auto;display:block;margin:6px 0 14px}
@media(max-width:700px){th,td{padding:4px 5px;font-size:12px}section{padding:12px 10px}
td.k code{white-space:normal;overflow-wrap:anywhere}}
code,pre{font:13px/1.45 ui-monospace,Menlo,Consolas,monospace}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:0}
.pair{display:grid;grid-template-columns:max-content 1fr;gap:2px 14px;overflow-wrap:anywhere}
@media(max-width:700px){.pair{grid-template-columns:1fr}}
.chip{display:inline-block;width:12px;height:12px;border-radius:2px;vertical-align:-1px;margin:0 4px 0 12px}
";

/// Fails loudly in the page itself if the JSON inside does not read; marks the page as whole for tests.
const SCRIPT: &str = "
(function(){var root=document.documentElement;try{
var run=JSON.parse(document.getElementById('run').textContent);
root.dataset.json=String(run.schema_version);
var link=document.getElementById('save');
link.href=URL.createObjectURL(new Blob([JSON.stringify(run,null,1)],{type:'application/json'}));
link.download=(run.scenario.id||'run')+'.json';
}catch(problem){root.dataset.json='broken: '+problem}
root.dataset.charts=String(document.querySelectorAll('svg').length);
var wide=[].filter.call(document.querySelectorAll('main,section h2'),function(e){return e.getBoundingClientRect().right>innerWidth+1});
root.dataset.overflow=String(wide.length);
})();";

/// Red above the floor, blue below, by the logarithm of the ratio: full at a factor of 8. Ink that can be read on it.
pub(super) fn colour(found: &Comparison, floor: Option<&NoiseFloor>) -> (String, &'static str) {
    let (low, high) = floor.map_or((1.0, 1.0), |floor| (floor.ratio_low, floor.ratio_high));
    let is_said = matches!(found.judgement, JudgementWord::Slower | JudgementWord::Faster);
    if !is_said || (low..=high).contains(&found.ratio) {
        return ("#eceff1".to_owned(), "#222");
    }
    let depth = (found.ratio.ln().abs() / 8_f64.ln()).clamp(0.12, 1.0);
    let (r, g, b) = if found.ratio > 1.0 { (176.0, 30.0, 30.0) } else { (20.0, 90.0, 170.0) };
    let mix = |to: f64| 255.0 + (to - 255.0) * depth;
    let ink = if depth > 0.5 { "#fff" } else { "#222" };
    (format!("rgb({:.0},{:.0},{:.0})", mix(r), mix(g), mix(b)), ink)
}

fn section(out: &mut String, title: &str, body: &str) {
    if !body.is_empty() {
        let _ = writeln!(out, "<section><h2>{}</h2>{body}</section>", escape(title));
    }
}

fn list(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let items: String = lines.iter().map(|line| format!("<li>{}</li>", escape(line))).collect();
    format!("<ul>{items}</ul>")
}

fn verdict(run: &Run) -> String {
    let Some(verdict) = &run.verdict else {
        return "<section class=\"verdict unsure\"><span class=\"word\">no verdict</span></section>"
            .to_owned();
    };
    let class = match verdict.kind {
        VerdictKind::NoDifference => "good",
        VerdictKind::Inconclusive => "unsure",
        // What is judged is the faster one.
        _ if super::exit_code(run) == super::EXIT_NONE => "good",
        _ => "bad",
    };
    let mut out =
        format!("<section class=\"verdict {class}\"><span class=\"word\">{}</span>", kind_name(verdict.kind));
    for what in [&verdict.cause, &verdict.layer].into_iter().flatten() {
        let _ = write!(out, "<code>{}</code> &nbsp; ", escape(what));
    }
    let _ = write!(out, "<p class=\"headline\">{}</p>", escape(&verdict.summary));
    let _ = write!(
        out,
        "<p>The claim &#8220;{}&#8221; is <b>{}</b>: {}.</p>",
        escape(&run.scenario.claim),
        claim_name(verdict.claim),
        escape(&verdict.claim_reason)
    );
    if verdict.has_result_mismatch {
        out.push_str("<p><b>The arms answered different rows to the same statements.</b></p>");
    }
    if !verdict.evidence.is_empty() {
        let _ = write!(out, "<h2>Evidence</h2>{}", list(&verdict.evidence));
    }
    if !verdict.advice.is_empty() {
        let _ = write!(out, "<h2>What to do</h2>{}", list(&verdict.advice));
    }
    out.push_str("</section>\n");
    out
}

fn fidelity(run: &Run) -> String {
    if run.fidelity.is_empty() {
        return String::new();
    }
    let mut out = "<table><tr><th>arm</th><th></th><th>pace</th><th>per operation</th></tr>".to_owned();
    for row in super::fidelity_rows(run) {
        let cells: String = row.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        let _ = write!(out, "<tr>{cells}</tr>");
    }
    out.push_str("</table>");
    out
}

fn matrix(run: &Run, metric: Metric) -> String {
    let table = table(run, metric);
    if table.rows.is_empty() {
        return String::new();
    }
    let floor =
        table.floor.map_or("How much an arm differs from itself was not measured.".to_owned(), |floor| {
            format!(
                "An arm against itself: x{:.3} to x{:.3} ({} rounds); a ratio within it is no difference.",
                floor.ratio_low, floor.ratio_high, floor.pairs
            )
        });
    let mut out = format!(
        "<p class=\"faint\">By {}. {floor}<span class=\"chip\" style=\"background:#b01e1e\"></span>slower\
         <span class=\"chip\" style=\"background:#145aaa\"></span>faster\
         <span class=\"chip\" style=\"background:#eceff1\"></span>no difference, or not sure</p>\
         <table class=\"heat\"><tr><th></th>",
        escape(metric_name(metric))
    );
    for name in &table.columns {
        let _ = write!(out, "<th class=\"n\">{}</th>", escape(name));
    }
    out.push_str("</tr>");
    for (label, cells) in &table.rows {
        let _ = write!(out, "<tr><td>{}</td>", escape(label));
        for cell in cells {
            let Some(cell) = cell else {
                out.push_str("<td></td>");
                continue;
            };
            let own = value(metric, cell.value);
            let _ = match cell.comparison {
                None => write!(out, "<td class=\"n\">{own}</td>"),
                Some(found) => {
                    let (background, ink) = colour(found, table.floor);
                    let rules: Vec<String> = found
                        .rules
                        .iter()
                        .map(|(rule, held)| format!("{} {rule}", if *held { "yes:" } else { "no:" }))
                        .collect();
                    write!(
                        out,
                        "<td class=\"n\" style=\"background:{background};color:{ink}\" title=\"{}\">{own} <b>&times;{:.2}</b><br>\
                         <small>{:.2} to {:.2}, {}</small></td>",
                        escape(&rules.join("\n")),
                        found.ratio,
                        found.ci_low,
                        found.ci_high,
                        judgement_name(found.judgement, found.ratio)
                    )
                }
            };
        }
        out.push_str("</tr>");
    }
    out.push_str("</table>");
    out
}

fn layers(run: &Run) -> String {
    if run.layers.is_empty() {
        return String::new();
    }
    let mut out = "<table><tr><th></th><th>layer</th><th></th><th>evidence</th></tr>".to_owned();
    for finding in &run.layers {
        let (mark, name) = outcome_name(finding.outcome);
        let style = match finding.outcome {
            LayerOutcome::Blamed => " style=\"background:#fdecea;font-weight:600\"",
            LayerOutcome::NotMeasured => " class=\"faint\"",
            LayerOutcome::Excluded | LayerOutcome::Contributes => "",
        };
        let _ = write!(
            out,
            "<tr{style}><td class=\"k\">{mark}</td><td class=\"k\">{}</td><td class=\"k\">{name}</td><td>{}</td></tr>",
            escape(&finding.layer),
            escape(&finding.evidence)
        );
    }
    out.push_str("</table>");
    out
}

fn counts(run: &Run) -> String {
    let Some((fast, slow)) = run.verdict.as_ref().and_then(|said| said.fast_arm.zip(said.slow_arm)) else {
        return String::new();
    };
    let mut rows = String::new();
    for count in run.counts.iter().filter(|count| count.arm == slow) {
        let other = run
            .counts
            .iter()
            .find(|other| other.arm == fast && other.name == count.name && other.source == count.source);
        let follows = |of: Option<&crate::evidence::CountRelation>| {
            of.and_then(|count| count.follows.clone()).unwrap_or_else(|| "-".to_owned())
        };
        let changed = other.is_some_and(|other| other.follows != count.follows);
        let _ = write!(
            rows,
            "<tr{}><td><code>{}</code></td><td>{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>",
            if changed { " style=\"background:#fdecea\"" } else { "" },
            escape(&count.name),
            escape(&count.source),
            other.map_or("-".to_owned(), |other| digits(other.per_op)),
            escape(&follows(other)),
            digits(count.per_op),
            escape(&follows(Some(count)))
        );
    }
    // Counters that moved between the two, with or without a relation.
    for found in run.comparisons.iter().filter(|found| {
        found.metric == Metric::Count && [(fast, slow), (slow, fast)].contains(&(found.base, found.arm))
    }) {
        let name = found.count_name.as_deref().unwrap_or("");
        if run.counts.iter().any(|count| count.arm == slow && count.name == name) {
            continue;
        }
        let (of_fast, of_slow) = if found.base == fast {
            (found.base_value, found.arm_value)
        } else {
            (found.arm_value, found.base_value)
        };
        let _ = write!(
            rows,
            "<tr><td><code>{}</code></td><td>status</td><td class=\"n\">{}</td><td>-</td><td class=\"n\">{}</td><td>-</td></tr>",
            escape(name),
            digits(of_fast),
            digits(of_slow)
        );
    }
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<table><tr><th>count</th><th>source</th><th class=\"n\">{}</th><th>follows</th><th class=\"n\">{}</th>\
         <th>follows</th></tr>{rows}</table>",
        escape(&run.arms[fast].name),
        escape(&run.arms[slow].name)
    )
}

fn settings(run: &Run) -> String {
    if run.equalised.is_empty() {
        return String::new();
    }
    let mut out = "<table><tr><th>setting</th><th></th><th>values</th></tr>".to_owned();
    let mut sorted: Vec<_> = run.equalised.iter().collect();
    sorted.sort_by_key(|setting| setting.is_equal);
    for setting in sorted {
        // Of lists of flags what differs; what all have alike once.
        let all: Vec<&str> = setting.values.values().map(String::as_str).collect();
        let are_alike = all.windows(2).all(|pair| pair[0] == pair[1]);
        let values: Vec<String> = match all.first() {
            Some(value) if are_alike => vec![(*value).to_owned()],
            _ => setting
                .values
                .iter()
                .map(|(server, value)| format!("{server}: {}", format::own(value, &all)))
                .collect(),
        };
        let state = match (setting.is_equal, setting.is_confound) {
            (true, _) if setting.was_set => "made equal",
            (true, _) => "equal",
            (false, true) => "differs: forbids a verdict",
            (false, false) if setting.is_accepted => "differs, accepted",
            (false, false) => "differs",
        };
        let style = if setting.is_equal { "" } else { " style=\"background:#fff6e0\"" };
        let _ = write!(
            out,
            "<tr{style}><td class=\"k\"><code>{}</code></td><td class=\"k\">{state}</td><td>{} <span class=\"faint\">{}</span></td></tr>",
            escape(&setting.name),
            escape(&values.join(", ")),
            escape(setting.reason.as_deref().unwrap_or(""))
        );
    }
    out.push_str("</table>");
    out
}

/// What the run was: servers, machine, commands.
fn circumstances(run: &Run) -> String {
    let mut out = "<div class=\"pair\">".to_owned();
    let mut put = |name: &str, text: String| {
        let _ = write!(out, "<span class=\"faint\">{}</span><span>{}</span>", escape(name), escape(&text));
    };
    for server in &run.servers {
        put(&server.name, format!("{} {} at {}", server.version, server.version_comment, server.url));
    }
    let machine = &run.machine;
    put(
        "machine",
        format!("{}, {} cores, kernel {}, key {}", machine.cpu, machine.cores, machine.kernel, machine.key),
    );
    put(
        "blocks",
        format!("{} in {} s, seed {}", run.blocks.len(), digits(run.duration_s), run.scenario.seed),
    );
    if let Some(said) = super::client(run) {
        put("client", said);
    }
    put("by", format!("invar {} (schema {})", run.invar_version, run.schema_version));
    out.push_str("</div>");
    if !run.commands.is_empty() {
        let _ = write!(out, "<pre>{}</pre>", escape(&run.commands.join("\n")));
    }
    out
}

/// The JSON that goes into the page: `<` cannot end the element that holds it.
fn embedded(run: &Run) -> (String, bool) {
    let mut json = serde_json::to_string(run).unwrap_or_default();
    let is_cut = json.len() > JSON_BYTES_IN_PAGE;
    if is_cut {
        let mut small = run.clone();
        for profile in &mut small.stacks {
            profile.folded.clear();
        }
        for block in &mut small.blocks {
            block.latency.buckets.clear();
            block.service.buckets.clear();
            block.latency_p99_by_second_ns.clear();
        }
        json = serde_json::to_string(&small).unwrap_or_default();
    }
    (json.replace('<', "\\u003c"), is_cut)
}

/// The whole page. `figures` are drawn last, as they are.
#[must_use]
pub fn page(run: &Run, figures: &[Figure]) -> String {
    let title = escape(&run.scenario.id);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\
         <link rel=\"icon\" href=\"data:,\"><title>{title}</title><style>{STYLE}</style></head><body><main>\n\
         <h1>{title}</h1><p class=\"faint\">{}</p>\n",
        escape(&run.scenario.claim)
    );
    out.push_str(&verdict(run));
    let mut warnings = run.warnings.clone();
    warnings.extend(run.incomplete.iter().map(|why| format!("the run ended early: {why}")));
    section(&mut out, "Read this first", &list(&warnings));
    let metric = main_metric(run);
    section(&mut out, "Driver profiles compared with the real drivers", &fidelity(run));
    let compared = list(&super::comparisons_in_words(run, metric));
    section(&mut out, "Results by server", &(matrix(run, metric) + &compared));
    if metric != Metric::LatencyP50 {
        section(&mut out, "Median latency by server", &matrix(run, Metric::LatencyP50));
    }
    section(&mut out, "Where the added time goes, layer by layer", &layers(run));
    let tables: Vec<String> = run.schema_differences.iter().map(schema_in_words).collect();
    section(&mut out, "Tables and plans that differ", &list(&tables));
    section(&mut out, "The added time in parts", &(charts::waterfall(run) + &charts::phases(run)));
    section(&mut out, "Latency", &(charts::latency_over_time(run) + &charts::distribution(run)));
    section(&mut out, "Growth with size", &charts::growth(run));
    section(&mut out, "Counts per operation", &counts(run));
    section(&mut out, "Changes that were tried", &charts::interventions(run).concat());
    for figure in figures {
        section(&mut out, &figure.title, &figure.svg);
    }
    section(&mut out, "Settings", &settings(run));
    section(&mut out, "About this run", &circumstances(run));
    section(
        &mut out,
        "Scenario",
        &if run.scenario.text.is_empty() {
            String::new()
        } else {
            format!("<pre>{}</pre>", escape(&run.scenario.text))
        },
    );
    let (json, is_cut) = embedded(run);
    let note =
        if is_cut { " (without stacks and distributions, which would make this page too large)" } else { "" };
    let _ = write!(
        out,
        "<p class=\"faint\">All numbers are in this page{note}: <a id=\"save\" href=\"#\">save them as JSON</a>.</p>\n\
         </main><script type=\"application/json\" id=\"run\">{json}</script><script>{SCRIPT}</script></body></html>\n"
    );
    out
}
