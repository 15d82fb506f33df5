//! `perf script` text -> samples.
//!
//! ```text
//! connection 11009/11215 25071.115580:
//!            bdd60 _Znwm (/usr/lib/libstdc++.so.6)
//!          138b8b9 [unknown] (/usr/sbin/mysqld)
//!
//! ```
//! A head line, the frames innermost first, an empty line. The command's name may hold blanks.

/// One frame as perf knows it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Frame<'a> {
    /// Offset in the file, or address in memory: perf's versions differ.
    pub(crate) address: u64,
    /// Mangled name; `None` if perf has none.
    pub(crate) name: Option<&'a str>,
    /// File.
    pub(crate) file: &'a str,
}

/// One line of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Line<'a> {
    /// A sample begins: name of the thread.
    Head(&'a str),
    /// A frame of it.
    Frame(Frame<'a>),
    /// It ends.
    End,
    /// Nothing we know.
    Other,
}

pub(crate) fn parse_line(line: &str) -> Line<'_> {
    if line.trim().is_empty() {
        return Line::End;
    }
    let is_frame = line.starts_with([' ', '\t']);
    match if is_frame { frame(line.trim()).map(Line::Frame) } else { head(line).map(Line::Head) } {
        Some(known) => known,
        // A thread's name may begin with a blank, which makes its head look like a frame.
        None => head(line.trim()).map_or(Line::Other, Line::Head),
    }
}

/// `name pid/tid time:` or `name tid time:`.
fn head(line: &str) -> Option<&str> {
    let line = line.trim_end().strip_suffix(':')?;
    let (rest, time) = line.rsplit_once(' ')?;
    let (name, numbers) = rest.trim_end().rsplit_once(' ')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = time.split('.').all(is_number);
    (is_time && numbers.split('/').all(is_number)).then(|| name.trim())
}

/// `address name (file)`; the name may hold blanks and parentheses if perf demangled it after all.
fn frame(line: &str) -> Option<Frame<'_>> {
    let (address, rest) = line.split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    // A file replaced since the server started is marked so behind its name.
    let rest = rest.strip_suffix(" (deleted))").unwrap_or_else(|| rest.strip_suffix(')').unwrap_or(rest));
    let (name, file) = match rest.rsplit_once(" (") {
        Some((name, file)) => (name.trim(), file),
        None => (rest.trim(), ""),
    };
    // `name+0x1f` if asked for offsets.
    let name = name.rsplit_once("+0x").map_or(name, |(name, _)| name);
    Some(Frame { address, name: (name != "[unknown]" && !name.is_empty()).then_some(name), file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_frames_and_ends_are_distinguished() {
        assert_eq!(parse_line("connection 11009/11215 25071.115580: "), Line::Head("connection"));
        assert_eq!(parse_line("my thread 7 1.5:"), Line::Head("my thread"));
        assert_eq!(parse_line(" odd 11009/11215 25071.115580:"), Line::Head("odd"));
        let known = Frame { address: 0xbdd60, name: Some("_Znwm"), file: "/usr/lib/libstdc++.so.6" };
        assert_eq!(parse_line("\t           bdd60 _Znwm (/usr/lib/libstdc++.so.6)"), Line::Frame(known));
        let unknown = Frame { address: 0x138b8b9, name: None, file: "/usr/sbin/mysqld" };
        assert_eq!(parse_line("\t 138b8b9 [unknown] (/usr/sbin/mysqld)"), Line::Frame(unknown));
        assert_eq!(parse_line("\t 138b8b9 [unknown] (/usr/sbin/mysqld (deleted))"), Line::Frame(unknown));
        assert_eq!(
            parse_line("   ffffffff8 do_syscall_64+0x5b ([kernel.kallsyms])"),
            Line::Frame(Frame {
                address: 0xf_ffff_fff8,
                name: Some("do_syscall_64"),
                file: "[kernel.kallsyms]",
            })
        );
        assert_eq!(parse_line(""), Line::End);
        assert_eq!(parse_line("# some remark"), Line::Other);
    }
}
