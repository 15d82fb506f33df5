//! Charts as SVG text: axes, lines, steps, bars. Small on purpose; what a page needs and no more.

use std::fmt::Write as _;

use crate::format::escape;

/// Colours that people who see few colours can distinguish (Okabe, Ito).
pub(crate) const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7a5195", "#666666"];

const WIDTH: f64 = 780.0;
const PLOT_HEIGHT: f64 = 260.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const BELOW: f64 = 44.0;
const LEGEND_LINE: f64 = 18.0;

/// One axis.
#[derive(Clone, Copy)]
pub struct Axis<'a> {
    /// What it shows, with the unit.
    pub label: &'a str,
    /// Logarithmic; values at or below 0 are left out.
    pub is_log: bool,
    /// How a tick is written.
    pub format: fn(f64) -> String,
}

/// How points are joined.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Join {
    /// A line with dots.
    Dots,
    /// A line.
    Line,
    /// A broken line.
    Broken,
    /// Steps, as in a distribution.
    Steps,
}

/// One set of points.
#[derive(Clone, Debug)]
pub struct Series {
    /// For the legend; empty for none.
    pub name: String,
    /// In order of x.
    pub points: Vec<(f64, f64)>,
    /// Index into [`COLOURS`].
    pub colour: usize,
    /// How they are joined.
    pub join: Join,
}

/// From values to pixels.
struct Scale {
    low: f64,
    high: f64,
    is_log: bool,
    from: f64,
    to: f64,
}

impl Scale {
    fn new(values: impl Iterator<Item = f64>, is_log: bool, from: f64, to: f64) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite() && (!is_log || *value > 0.0)) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            return None;
        }
        if is_log {
            let (a, b) = (low.log10(), high.log10());
            let room = ((b - a) * 0.05).max(0.05);
            return Some(Self { low: a - room, high: b + room, is_log, from, to });
        }
        // A line from 0 shows sizes; one from the lowest value shows noise.
        let low = low.min(0.0);
        let high = if high > low { high + (high - low) * 0.06 } else { low + 1.0 };
        Some(Self { low, high, is_log, from, to })
    }

    fn at(&self, value: f64) -> Option<f64> {
        if !value.is_finite() || (self.is_log && value <= 0.0) {
            return None;
        }
        let value = if self.is_log { value.log10() } else { value };
        Some(self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from))
    }

    fn ticks(&self) -> Vec<f64> {
        if self.is_log {
            let parts: &[f64] = if self.high - self.low < 2.2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let decades = self.low.floor() as i32..=self.high.ceil() as i32;
            return decades
                .flat_map(|decade| parts.iter().map(move |part| part * 10_f64.powi(decade)))
                .filter(|tick| (self.low..=self.high).contains(&tick.log10()))
                .collect();
        }
        let rough = (self.high - self.low) / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|part| part * power).find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        (first..).map(|count| count as f64 * step).take_while(|tick| *tick <= self.high).take(12).collect()
    }
}

/// Draws a chart. Empty if there is nothing to draw.
#[must_use]
pub(crate) fn chart(title: &str, x: Axis<'_>, y: Axis<'_>, series: &[Series]) -> String {
    let xs = || series.iter().flat_map(|series| series.points.iter().map(|point| point.0));
    let ys = || series.iter().flat_map(|series| series.points.iter().map(|point| point.1));
    let (Some(across), Some(up)) =
        (Scale::new(xs(), x.is_log, LEFT, WIDTH - RIGHT), Scale::new(ys(), y.is_log, TOP + PLOT_HEIGHT, TOP))
    else {
        return String::new();
    };
    let named = series.iter().filter(|series| !series.name.is_empty()).count() as f64;
    let height = TOP + PLOT_HEIGHT + BELOW + named * LEGEND_LINE + 6.0;
    let mut out = open(title, height);
    let bottom = TOP + PLOT_HEIGHT;
    for tick in up.ticks() {
        let Some(at) = up.at(tick) else { continue };
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#e3e3e3\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0,
            escape(&(y.format)(tick))
        );
    }
    for tick in across.ticks() {
        let Some(at) = across.at(tick) else { continue };
        let _ = write!(
            out,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom}\" y2=\"{:.1}\" stroke=\"#888\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 4.0,
            bottom + 17.0,
            escape(&(x.format)(tick))
        );
    }
    let _ = write!(
        out,
        "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{bottom}\" y2=\"{bottom}\" stroke=\"#888\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
         <text x=\"14\" y=\"{:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {:.1})\">{}</text>",
        WIDTH - RIGHT,
        f64::midpoint(LEFT, WIDTH - RIGHT),
        bottom + 35.0,
        escape(x.label),
        TOP + PLOT_HEIGHT / 2.0,
        TOP + PLOT_HEIGHT / 2.0,
        escape(y.label)
    );
    let mut legend = bottom + BELOW + 10.0;
    for series in series {
        let colour = COLOURS[series.colour % COLOURS.len()];
        let points: Vec<(f64, f64)> =
            series.points.iter().filter_map(|(a, b)| Some((across.at(*a)?, up.at(*b)?))).collect();
        let mut path = String::new();
        for (index, (a, b)) in points.iter().enumerate() {
            let _ = match (index, series.join) {
                (0, _) => write!(path, "M{a:.1} {b:.1}"),
                (_, Join::Steps) => write!(path, "H{a:.1}V{b:.1}"),
                _ => write!(path, "L{a:.1} {b:.1}"),
            };
        }
        let dash = if series.join == Join::Broken { " stroke-dasharray=\"5 4\"" } else { "" };
        let _ =
            write!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"{dash}/>");
        if series.join == Join::Dots {
            for (a, b) in points {
                let _ = write!(out, "<circle cx=\"{a:.1}\" cy=\"{b:.1}\" r=\"3\" fill=\"{colour}\"/>");
            }
        }
        if !series.name.is_empty() {
            let _ = write!(
                out,
                "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" stroke-width=\"3\"{dash}/>\
                 <text x=\"{:.1}\" y=\"{legend:.1}\">{}</text>",
                LEFT + 24.0,
                legend - 4.0,
                legend - 4.0,
                LEFT + 32.0,
                escape(&series.name)
            );
            legend += LEGEND_LINE;
        }
    }
    out.push_str("</svg>");
    out
}

fn open(title: &str, height: f64) -> String {
    open_of(title, WIDTH, height, LEFT)
}

/// Begins a drawing of this size with its title above, which begins at `left`.
pub(super) fn open_of(title: &str, width: f64, height: f64, left: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#333\"><title>{0}</title>\
         <rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#fff\"/>\
         <text x=\"{left}\" y=\"20\" font-size=\"14\" font-weight=\"600\">{0}</text>",
        escape(title)
    )
}

/// One bar: parts side by side, and an interval for the whole.
#[derive(Clone, Debug)]
pub struct Bar {
    /// To the left of it.
    pub label: String,
    /// Where it begins.
    pub from: f64,
    /// Name, length and colour of its parts; lengths may be negative for a bar of one part.
    pub parts: Vec<(String, f64, usize)>,
    /// Ends of an interval around the end of the bar.
    pub interval: Option<(f64, f64)>,
    /// To the right of it.
    pub value: String,
}

/// Draws bars from left to right, with a legend of the parts' names if there is more than one name.
#[must_use]
pub(crate) fn bars(title: &str, bars: &[Bar]) -> String {
    const LABEL: f64 = 210.0;
    const VALUE: f64 = 120.0;
    const ROW: f64 = 30.0;
    let ends = bars.iter().flat_map(|bar| {
        let end = bar.from + bar.parts.iter().map(|part| part.1).sum::<f64>();
        let (low, high) = bar.interval.unwrap_or((end, end));
        [0.0, bar.from, end, low, high]
    });
    let Some(scale) = Scale::new(ends, false, LABEL, WIDTH - VALUE).filter(|_| !bars.is_empty()) else {
        return String::new();
    };
    let mut names: Vec<(&str, usize)> = Vec::new();
    for (name, length, colour) in bars.iter().flat_map(|bar| &bar.parts) {
        if *length != 0.0 && !name.is_empty() && !names.iter().any(|(known, _)| known == name) {
            names.push((name, *colour));
        }
    }
    let legend_height = if names.len() > 1 { names.len() as f64 * LEGEND_LINE } else { 0.0 };
    let height = TOP + bars.len() as f64 * ROW + legend_height + 14.0;
    let mut out = open(title, height);
    let zero = scale.at(0.0).unwrap_or(LABEL);
    let end = TOP + bars.len() as f64 * ROW;
    let _ =
        write!(out, "<line x1=\"{zero:.1}\" x2=\"{zero:.1}\" y1=\"{TOP}\" y2=\"{end:.1}\" stroke=\"#888\"/>");
    for (index, bar) in bars.iter().enumerate() {
        let top = TOP + index as f64 * ROW + 5.0;
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LABEL - 8.0,
            top + 14.0,
            escape(&shortened(&bar.label, 32))
        );
        let mut at = bar.from;
        for (name, length, colour) in &bar.parts {
            let (Some(a), Some(b)) = (scale.at(at), scale.at(at + length)) else { continue };
            let _ = write!(
                out,
                "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"20\" fill=\"{}\"><title>{}</title></rect>",
                a.min(b),
                (a - b).abs().max(0.5),
                COLOURS[colour % COLOURS.len()],
                escape(name)
            );
            at += length;
        }
        let mut right = scale.at(at.max(bar.from)).unwrap_or(LABEL);
        if let Some((low, high)) = bar.interval
            && let (Some(a), Some(b)) = (scale.at(low), scale.at(high))
        {
            let middle = top + 10.0;
            let _ = write!(
                out,
                "<path d=\"M{a:.1} {0:.1}v10M{a:.1} {middle:.1}H{b:.1}M{b:.1} {0:.1}v10\" stroke=\"#222\" fill=\"none\"/>",
                middle - 5.0
            );
            right = right.max(b);
        }
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            right + 6.0,
            top + 14.0,
            escape(&bar.value)
        );
    }
    if names.len() > 1 {
        for (index, (name, colour)) in names.into_iter().enumerate() {
            let y = end + 8.0 + index as f64 * LEGEND_LINE;
            let _ = write!(
                out,
                "<rect x=\"{LABEL}\" y=\"{y:.1}\" width=\"14\" height=\"12\" fill=\"{}\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                COLOURS[colour % COLOURS.len()],
                LABEL + 20.0,
                y + 11.0,
                escape(name)
            );
        }
    }
    out.push_str("</svg>");
    out
}

/// The end of a text is where arms differ, so the middle is left out.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= most {
        return text.to_owned();
    }
    let half = most / 2 - 1;
    letters[..half].iter().chain(&['\u{2026}']).chain(&letters[letters.len() - half..]).collect()
}
