//! A profile: how many samples each stack got. The form `outer;inner count`, a line a stack, is what all flame graph tools
//! read.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Frames deeper than this are cut; the innermost are kept.
const DEPTH_MAX: usize = 512;

/// Samples by stack.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Profile {
    stacks: BTreeMap<Vec<String>, u64>,
    /// Samples that perf had no room for.
    pub lost: u64,
}

impl Profile {
    /// Adds samples of one stack, outermost frame first.
    pub fn add(&mut self, mut frames: Vec<String>, count: u64) {
        if frames.len() > DEPTH_MAX {
            frames.drain(..frames.len() - DEPTH_MAX);
        }
        if !frames.is_empty() && count > 0 {
            *self.stacks.entry(frames).or_default() += count;
        }
    }

    /// All samples.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.stacks.values().sum()
    }

    /// Stacks, outermost frame first, with their samples; in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&[String], u64)> {
        self.stacks.iter().map(|(frames, count)| (frames.as_slice(), *count))
    }

    /// Reads `outer;inner count` lines.
    ///
    /// # Errors
    /// The number of the first line that is not that.
    pub fn parse(text: &str) -> Result<Profile, usize> {
        let mut profile = Profile::default();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let (stack, count) = line.trim_end().rsplit_once(' ').ok_or(index + 1)?;
            let count = count.parse().map_err(|_| index + 1)?;
            profile.add(stack.split(';').map(str::to_owned).collect(), count);
        }
        Ok(profile)
    }

    /// Stack and samples as lines without their end; what [`crate::evidence::StackProfile`] keeps.
    #[must_use]
    pub fn lines(&self) -> Vec<(String, u64)> {
        self.iter().map(|(frames, count)| (frames.join(";"), count)).collect()
    }

    /// The folded text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (stack, count) in self.lines() {
            let _ = writeln!(text, "{stack} {count}");
        }
        text
    }

    /// The same samples, where each stack that goes through one of `anchors` begins there. Two versions of a server wrap the
    /// same work in other frames (thread start, scheduler): without this nothing of them lies side by side. The anchor named
    /// first wins. Stacks through none of them are put below `other`.
    #[must_use]
    pub fn anchored(&self, anchors: &[&str]) -> Profile {
        let mut anchored = Profile { lost: self.lost, ..Profile::default() };
        for (frames, count) in self.iter() {
            let is = |frame: &str, anchor: &str| frame == anchor || frame.rsplit("::").next() == Some(anchor);
            let place = anchors.iter().find_map(|anchor| frames.iter().position(|frame| is(frame, anchor)));
            let frames = match place {
                Some(place) => frames[place..].to_vec(),
                None => std::iter::once("other")
                    .chain(frames.iter().map(String::as_str))
                    .map(str::to_owned)
                    .collect(),
            };
            anchored.add(frames, count);
        }
        anchored
    }

    /// Samples of each function: those where it runs itself, and those where it or something it called runs. A function that
    /// calls itself counts once a stack.
    #[must_use]
    pub(crate) fn by_function(&self) -> BTreeMap<&str, (u64, u64)> {
        let mut functions: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (frames, count) in self.iter() {
            if let Some(innermost) = frames.last() {
                functions.entry(innermost).or_default().0 += count;
            }
            let mut seen: Vec<&str> = frames.iter().map(String::as_str).collect();
            seen.sort_unstable();
            seen.dedup();
            for function in seen {
                functions.entry(function).or_default().1 += count;
            }
        }
        functions
    }
}

/// Where the work of one connection begins in servers we know: the frame every statement goes through.
pub const STATEMENT_ANCHORS: &[&str] = &["dispatch_command", "do_command"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_and_written() {
        let text = "main;parse 3\nmain;run;a b 5\n";
        let profile = Profile::parse(text).unwrap();
        assert_eq!((profile.samples(), profile.text().as_str()), (8, text));
        assert_eq!(Profile::parse("main 1\nbroken\n"), Err(2));
        assert_eq!(Profile::parse("main x\n"), Err(1));
    }

    #[test]
    fn stacks_are_laid_side_by_side_from_their_anchor() {
        let profile = Profile::parse(
            "start;old::wrap;dispatch_command;parse 3\npurge;clean 2\nns::do_command;read 1\n",
        )
        .unwrap();
        let text = profile.anchored(STATEMENT_ANCHORS).text();
        assert_eq!(text, "dispatch_command;parse 3\nns::do_command;read 1\nother;purge;clean 2\n");
    }

    #[test]
    fn functions_count_once_a_stack() {
        let profile = Profile::parse("a;b;a 4\na;c 1\n").unwrap();
        let functions = profile.by_function();
        assert_eq!(functions["a"], (4, 5));
        assert_eq!((functions["b"], functions["c"]), ((0, 4), (1, 1)));
    }
}
