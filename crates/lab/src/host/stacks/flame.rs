//! Flame graphs as pictures: SVG that needs nothing else. A frame's words appear when the pointer rests on it.
//!
//! A flame graph: callers below, callees above, width is cost, order is by name. A differential one gives each frame the room
//! of both sides and draws two bars in it, `before` above `after`, so that what vanished is still there with its old
//! width, and what is new shows its new one. Red grew, blue shrank, the stronger the larger the part of the whole.
//!
//! The idea of the picture: B. Gregg, "The Flame Graph", ACM Queue 14(2), 2016. Drawing and layout are our own.

use std::fmt::Write;

use super::diff::Node;
use crate::format::escape;

/// Width of the picture, pixels.
const WIDTH: f64 = 1200.0;
/// Room at the left and right.
const MARGIN: f64 = 10.0;
/// Frames narrower than this are left out and counted.
const FRAME_PIXELS_MIN: f64 = 0.4;
/// Width of a letter of the font at its size: a fixed-width font, so that a name's width is known.
const LETTER: f64 = 6.7;
const FONT: &str =
    "font-family=\"ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace\" font-size=\"11\"";
/// Height of a frame.
const ROW: f64 = 18.0;
/// Height of a frame with two bars in it.
const ROW_WITH_BARS: f64 = 26.0;
/// Title, summary, and in a difference the key to the colours.
const HEAD: f64 = 62.0;

/// What widths mean.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unit {
    /// Nanoseconds of CPU per operation.
    NanosecondsPerOperation,
    /// Samples: the CPU time per operation is not known.
    Samples,
}

impl Unit {
    fn text(self, value: f64) -> String {
        match self {
            Unit::Samples => format!("{value:.0} samples"),
            Unit::NanosecondsPerOperation if value >= 1e8 => format!("{:.2} s", value / 1e9),
            Unit::NanosecondsPerOperation if value >= 1e5 => format!("{:.2} ms", value / 1e6),
            Unit::NanosecondsPerOperation if value >= 1e2 => format!("{:.2} us", value / 1e3),
            Unit::NanosecondsPerOperation => format!("{value:.1} ns"),
        }
    }

    fn per(self) -> &'static str {
        match self {
            Unit::NanosecondsPerOperation => " of CPU per operation",
            Unit::Samples => "",
        }
    }
}

/// Draws one profile.
#[must_use]
pub fn flame_graph(title: &str, root: &Node, unit: Unit) -> String {
    let all = root.after_ns;
    let summary = format!("{}{}; width is cost, callers are below", unit.text(all), unit.per());
    let mut picture = Picture::begin(title, &summary, root.depth(), ROW);
    let scale = picture.scale(all);
    let mut draw = |picture: &mut Picture, name: &str, node: &Node, x: f64, level: usize| {
        let share = percent(node.after_ns, all);
        let words = format!("{name}: {}, {share:.1} %", unit.text(node.after_ns));
        let colour = plain_colour(name);
        picture.frame(x, node.after_ns * scale, level, &colour, name, &words);
    };
    lay_out(&mut picture, "all", root, MARGIN, 0, scale, &|node| node.after_ns, &mut draw);
    picture.end()
}

/// Draws the difference of two profiles. `before` and `after` name the sides.
#[must_use]
pub(crate) fn difference_graph(title: &str, before: &str, after: &str, root: &Node, unit: Unit) -> String {
    let change = root.after_ns - root.before_ns;
    let (old, new) = (unit.text(root.before_ns), unit.text(root.after_ns));
    let ratio = if root.before_ns > 0.0 {
        format!(", x{:.2}", root.after_ns / root.before_ns)
    } else {
        String::new()
    };
    let summary = format!("{before} {old}, {after} {new}{}{ratio}", unit.per());
    let mut picture = Picture::begin(title, &summary, root.depth(), ROW_WITH_BARS);
    picture.key(before, after);
    let scale = picture.scale(root.room_ns());
    let whole = root.before_ns.max(root.after_ns);
    let mut draw = |picture: &mut Picture, name: &str, node: &Node, x: f64, level: usize| {
        let grown = node.after_ns - node.before_ns;
        let sign = if grown < 0.0 { "-" } else { "+" };
        let part = if change == 0.0 {
            String::new()
        } else {
            format!(", {:.1} % of the change", percent(grown, change))
        };
        let words = format!(
            "{name}: {before} {}, {after} {}, {sign}{}{part}",
            unit.text(node.before_ns),
            unit.text(node.after_ns),
            unit.text(grown.abs()),
        );
        let colour = change_colour(grown, whole);
        picture.frame(x, node.room_ns() * scale, level, &colour, name, &words);
        picture.bars(x, node.before_ns * scale, node.after_ns * scale, level, grown);
    };
    lay_out(&mut picture, "all", root, MARGIN, 0, scale, &Node::room_ns, &mut draw);
    picture.end()
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole * 100.0 }
}

/// Places a frame and those above it: a frame's own time stands at its right end.
fn lay_out(
    picture: &mut Picture,
    name: &str,
    node: &Node,
    x: f64,
    level: usize,
    scale: f64,
    room: &dyn Fn(&Node) -> f64,
    draw: &mut dyn FnMut(&mut Picture, &str, &Node, f64, usize),
) {
    if room(node) * scale < FRAME_PIXELS_MIN {
        picture.left_out += 1;
        return;
    }
    draw(picture, name, node, x, level);
    let mut x = x;
    for (name, callee) in &node.callees {
        lay_out(picture, name, callee, x, level + 1, scale, room, draw);
        x += room(callee) * scale;
    }
}

/// An SVG under way.
struct Picture {
    svg: String,
    height: f64,
    row: f64,
    left_out: usize,
}

impl Picture {
    fn begin(title: &str, summary: &str, depth: usize, row: f64) -> Picture {
        let height = HEAD + (depth + 1) as f64 * row + 2.0 * MARGIN;
        let title = escape(title);
        let mut svg = String::new();
        let _ = writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
             role=\"img\" aria-label=\"{title}\" {FONT}>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fffdf8\"/>\n\
             <text x=\"{MARGIN}\" y=\"22\" font-size=\"15\" font-weight=\"bold\" fill=\"#222\">{title}</text>\n\
             <text x=\"{MARGIN}\" y=\"40\" fill=\"#444\">{}</text>",
            escape(summary)
        );
        Picture { svg, height, row, left_out: 0 }
    }

    fn scale(&self, all: f64) -> f64 {
        if all > 0.0 { (WIDTH - 2.0 * MARGIN) / all } else { 0.0 }
    }

    fn key(&mut self, before: &str, after: &str) {
        let _ = writeln!(
            self.svg,
            "<rect x=\"{MARGIN}\" y=\"48\" width=\"26\" height=\"4\" fill=\"{BEFORE}\"/>\
             <rect x=\"{MARGIN}\" y=\"53\" width=\"26\" height=\"4\" fill=\"{GREW}\"/>\
             <text x=\"{}\" y=\"57\" fill=\"#444\">bars: {} above {}; red grew, blue shrank</text>",
            MARGIN + 32.0,
            escape(before),
            escape(after)
        );
    }

    fn top(&self, level: usize) -> f64 {
        self.height - 2.0 * MARGIN - (level + 1) as f64 * self.row
    }

    fn frame(&mut self, x: f64, width: f64, level: usize, colour: &str, name: &str, words: &str) {
        let (y, height) = (self.top(level), self.row - 1.0);
        let _ = write!(
            self.svg,
            "<g><title>{}</title><rect x=\"{x:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"{height}\" rx=\"1.5\" fill=\"{colour}\"/>",
            escape(words),
            (width - 0.5).max(0.3)
        );
        let room = ((width - 6.0) / LETTER).max(0.0) as usize;
        if let Some(label) = label(name, room) {
            let _ = write!(
                self.svg,
                "<text x=\"{:.1}\" y=\"{}\" fill=\"#1a1a1a\">{}</text>",
                x + 3.0,
                y + 12.5,
                escape(&label)
            );
        }
        self.svg.push_str("</g>\n");
    }

    fn bars(&mut self, x: f64, before: f64, after: f64, level: usize, grown: f64) {
        let y = self.top(level);
        let colour = if grown < 0.0 { SHRANK } else { GREW };
        for (offset, width, colour) in [(15.5, before, BEFORE), (20.0, after, colour)] {
            if width >= 0.1 {
                let _ = writeln!(
                    self.svg,
                    "<rect x=\"{x:.1}\" y=\"{}\" width=\"{:.1}\" height=\"3.5\" fill=\"{colour}\"/>",
                    y + offset,
                    (width - 0.5).max(0.3)
                );
            }
        }
    }

    fn end(mut self) -> String {
        if self.left_out > 0 {
            let _ = writeln!(
                self.svg,
                "<text x=\"{MARGIN}\" y=\"{}\" fill=\"#777\">{} frames too narrow to draw</text>",
                self.height - 6.0,
                self.left_out
            );
        }
        self.svg.push_str("</svg>\n");
        self.svg
    }
}

const BEFORE: &str = "#37474f";
const GREW: &str = "#c62828";
const SHRANK: &str = "#1565c0";

/// What of a name fits: the end of it says more than the namespaces before.
fn label(name: &str, room: usize) -> Option<String> {
    const SHORTEST: usize = 3;
    let letters = name.chars().count();
    if letters <= room {
        return (room >= 1).then(|| name.to_owned());
    }
    let last = name.rsplit("::").next().unwrap_or(name);
    let name = if last.is_empty() { name } else { last };
    if name.chars().count() <= room {
        return Some(name.to_owned());
    }
    (room >= SHORTEST).then(|| format!("{}..", name.chars().take(room - 2).collect::<String>()))
}

/// Warm for named code, grey for nameless, green for the kernel; a name has the same colour in every picture.
fn plain_colour(name: &str) -> String {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let step = |from: u64, count: u64, shift: u32| from + (hash >> shift) % count;
    if name.ends_with("_[k]") || name == "[kernel]" {
        format!("hsl({},32%,{}%)", step(130, 30, 8), step(70, 8, 20))
    } else if name.starts_with(['~', '[']) {
        format!("hsl(40,6%,{}%)", step(76, 8, 20))
    } else {
        format!("hsl({},82%,{}%)", step(18, 32, 8), step(66, 10, 20))
    }
}

/// White for no change, to full red or blue for the whole.
fn change_colour(grown: f64, whole: f64) -> String {
    let part = if whole > 0.0 { (grown.abs() / whole).min(1.0) } else { 0.0 };
    // The square root lets a tenth be seen.
    let light = 96.0 - 34.0 * part.sqrt();
    let (hue, colour) = if grown < 0.0 { (212, 75) } else { (4, 85) };
    if part < 0.0005 { "hsl(40,10%,93%)".to_owned() } else { format!("hsl({hue},{colour}%,{light:.0}%)") }
}

#[cfg(test)]
mod tests {
    use super::super::diff::{Side, difference, tree};
    use super::super::folded::Profile;
    use super::*;

    /// Compares with the file; `INVAR_REWRITE=1` rewrites it.
    fn golden(name: &str, picture: &str) {
        let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("INVAR_REWRITE").is_some() {
            std::fs::write(&path, picture).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap();
        assert!(picture == expected, "{path} differs; INVAR_REWRITE=1 rewrites it, then look at it");
    }

    const OLD: &str = "dispatch_command;mysql_parse;parse_sql 20\n\
        dispatch_command;mysql_parse;mysql_execute_command;filesort;row_search_mvcc 30\n\
        dispatch_command;mysql_parse;mysql_execute_command;filesort;old_sort<int> 10\n\
        dispatch_command;net_write_packet;do_syscall_64_[k] 15\n\
        ~start+1;dispatch 5\n";
    const NEW: &str = "dispatch_command;mysql_parse;parse_sql 20\n\
        dispatch_command;mysql_parse;mysql_execute_command;filesort;row_search_mvcc;btr_copy_externally_stored_field 300\n\
        dispatch_command;mysql_parse;mysql_execute_command;filesort;row_search_mvcc 40\n\
        dispatch_command;net_write_packet;do_syscall_64_[k] 12\n\
        ~start+1;dispatch 5\n";

    #[test]
    fn a_flame_graph_is_drawn() {
        let profile = Profile::parse(NEW).unwrap();
        let root = tree(Side { profile: &profile, cpu_ns_per_operation: 181e6 });
        golden(
            "flame.svg",
            &flame_graph("ORDER BY paytime LIMIT 1 & co", &root, Unit::NanosecondsPerOperation),
        );
    }

    #[test]
    fn a_differential_flame_graph_keeps_what_vanished() {
        let (old, new) = (Profile::parse(OLD).unwrap(), Profile::parse(NEW).unwrap());
        let before = Side { profile: &old, cpu_ns_per_operation: 16e6 };
        let after = Side { profile: &new, cpu_ns_per_operation: 181e6 };
        let root = difference(before, after);
        let picture =
            difference_graph("ORDER BY paytime LIMIT 1", "5.7", "9.7", &root, Unit::NanosecondsPerOperation);
        assert!(
            picture.contains("<title>old_sort&lt;int&gt;: 5.7 2.00 ms, 9.7 0.0 ns, -2.00 ms"),
            "{picture}"
        );
        golden("difference.svg", &picture);
    }

    #[test]
    fn nothing_is_drawn_as_nothing() {
        let picture = flame_graph("empty", &Node::default(), Unit::Samples);
        assert!(
            picture.starts_with("<svg") && picture.ends_with("</svg>\n") && !picture.contains("NaN"),
            "{picture}"
        );
    }

    #[test]
    fn labels_keep_the_end_of_a_name() {
        assert_eq!(label("a::b::filesort", 20).as_deref(), Some("a::b::filesort"));
        assert_eq!(label("a::b::filesort", 9).as_deref(), Some("filesort"));
        assert_eq!(label("a::b::filesort", 5).as_deref(), Some("fil.."));
        assert_eq!(label("a::b::filesort", 2), None);
        assert_eq!(label("x", 0), None);
    }
}
