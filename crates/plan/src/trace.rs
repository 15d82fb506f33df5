//! What the optimizer considered and chose, for `optimizer_trace`.
//!
//! The passes and the builder tell of each step here ([`add`]); a step is written into the trace at once. The trace has MySQL's outer form
//! (`steps`, `join_preparation`, `join_optimization`) and MySQL's names where a step is the same; what the steps hold is
//! what this optimizer looked at.
//!
//! Invariants:
//! 1. While no trace is made a step costs one look at a flag of the thread.
//! 2. A trace takes no more bytes than it was given. What comes behind is counted, not kept.

use std::cell::{Cell, RefCell};

use crate::document::{Document, Form, Members};

thread_local! {
    static FEATURES: Cell<Option<Features>> = const { Cell::new(None) };
    static TRACE: RefCell<Trace> = const { RefCell::new(Trace::new()) };
}

/// Which steps a trace contains (`optimizer_trace_features`).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Features {
    /// Orders of joins that were considered.
    pub greedy_search: bool,
    /// Ways to read a table.
    pub range_optimizer: bool,
}

/// How a trace is written.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes that it may take.
    pub bytes_max: usize,
    /// Without line breaks (`one_line`).
    pub one_line: bool,
    /// Objects and lists end with their names (`end_markers_in_json`).
    pub end_markers: bool,
    /// Which steps the trace contains.
    pub features: Features,
}

/// A trace that is complete, or was cut.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Traced {
    /// The document, as far as it was kept.
    pub text: Vec<u8>,
    /// Bytes of it that were not.
    pub missing: u64,
}

/// A list that steps are added to.
#[derive(Clone, Copy, Debug)]
enum Open {
    /// The `steps` of a part of this name.
    Part(&'static str),
    /// A list that is a step itself.
    List(&'static str),
}

struct Trace {
    text: Vec<u8>,
    missing: u64,
    bytes_max: usize,
    form: Form,
    /// The lists that are open, the innermost last.
    open: Vec<Open>,
    /// How deep the elements of the innermost list stand.
    level: usize,
    /// The innermost list has elements.
    has_elements: bool,
}

impl Trace {
    const fn new() -> Trace {
        let form = Form { one_line: false, end_markers: false };
        Trace {
            text: Vec::new(),
            missing: 0,
            bytes_max: 0,
            form,
            open: Vec::new(),
            level: 2,
            has_elements: false,
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(self.bytes_max.saturating_sub(self.text.len()));
        self.text.extend_from_slice(&bytes[..kept]);
        self.missing += (bytes.len() - kept) as u64;
    }

    fn line(&mut self, level: usize) {
        if !self.form.one_line {
            self.write(b"\n");
            for _ in 0..level {
                self.write(b"  ");
            }
        }
    }

    /// Begins an element of the innermost list.
    fn element(&mut self) {
        if std::mem::replace(&mut self.has_elements, true) {
            self.write(b",");
        }
        self.line(self.level);
    }

    fn step(&mut self, step: &Document) {
        self.element();
        let mut text = Vec::new();
        step.write_in(self.form, self.level, &mut text);
        self.write(&text);
    }

    /// `{"NAME": {"select#": 1, "steps": [` or `{"NAME": [`, which [`Trace::close`] ends.
    fn open(&mut self, open: Open) {
        self.element();
        self.write(b"{");
        let level = self.level;
        self.line(level + 1);
        match open {
            Open::Part(name) => {
                self.write(format!("\"{name}\": {{").as_bytes());
                self.line(level + 2);
                self.write(b"\"select#\": 1,");
                self.line(level + 2);
                self.write(b"\"steps\": [");
                self.level += 3;
            }
            Open::List(name) => {
                self.write(format!("\"{name}\": [").as_bytes());
                self.level += 2;
            }
        }
        self.open.push(open);
        self.has_elements = false;
    }

    /// Ends the innermost list; false: none is open.
    fn close(&mut self) -> bool {
        let Some(open) = self.open.pop() else { return false };
        self.line(self.level - 1);
        self.write(b"]");
        match open {
            Open::Part(name) => {
                self.marker("steps");
                self.line(self.level - 2);
                self.write(b"}");
                self.marker(name);
                self.level -= 3;
            }
            Open::List(name) => {
                self.marker(name);
                self.level -= 2;
            }
        }
        self.line(self.level);
        self.write(b"}");
        self.has_elements = true;
        true
    }

    fn marker(&mut self, name: &str) {
        if self.form.end_markers {
            self.write(format!(" /* {name} */").as_bytes());
        }
    }
}

/// Makes a trace of what `run` binds and plans on this thread. A part that `run` did not come to the end of ends with it.
pub fn traced<R>(settings: Settings, run: impl FnOnce() -> R) -> (R, Traced) {
    /// Ends the trace however `run` ends.
    struct Ended;
    impl Drop for Ended {
        fn drop(&mut self) {
            FEATURES.set(None);
            TRACE.with_borrow_mut(|trace| *trace = Trace::new());
        }
    }
    TRACE.with_borrow_mut(|trace| {
        *trace = Trace {
            bytes_max: settings.bytes_max,
            form: Form { one_line: settings.one_line, end_markers: settings.end_markers },
            ..Trace::new()
        };
        trace.write(b"{");
        trace.line(1);
        trace.write(b"\"steps\": [");
    });
    FEATURES.set(Some(settings.features));
    let ended = Ended;
    let outcome = run();
    let traced = TRACE.with_borrow_mut(|trace| {
        while trace.close() {}
        trace.line(1);
        trace.write(b"]");
        trace.marker("steps");
        trace.line(0);
        trace.write(b"}");
        Traced { text: std::mem::take(&mut trace.text), missing: trace.missing }
    });
    drop(ended);
    (outcome, traced)
}

/// Which steps the trace of this thread contains; none: no trace is made.
#[inline]
pub(crate) fn features() -> Option<Features> {
    FEATURES.get()
}

/// Tells of a step, if a trace is made.
#[inline]
pub(crate) fn add(step: impl FnOnce() -> Members) {
    if FEATURES.get().is_some() {
        add_step(&Document::Object(step()));
    }
}

#[cold]
fn add_step(step: &Document) {
    crate::progress::step();
    TRACE.with_borrow_mut(|trace| trace.step(step));
}

/// Tells of all that `run` does as one part of the trace, such as `join_optimization`.
#[inline]
pub fn part<R>(name: &'static str, run: impl FnOnce() -> R) -> R {
    within(Open::Part(name), run)
}

/// Tells of all that `run` does as one step with a list.
#[inline]
pub(crate) fn list<R>(name: &'static str, run: impl FnOnce() -> R) -> R {
    within(Open::List(name), run)
}

#[inline]
fn within<R>(open: Open, run: impl FnOnce() -> R) -> R {
    if FEATURES.get().is_none() {
        return run();
    }
    TRACE.with_borrow_mut(|trace| trace.open(open));
    let outcome = run();
    TRACE.with_borrow_mut(Trace::close);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEATURES_ALL: Features = Features { greedy_search: true, range_optimizer: true };

    fn example(bytes_max: usize, one_line: bool, end_markers: bool) -> Traced {
        let settings = Settings { bytes_max, one_line, end_markers, features: FEATURES_ALL };
        traced(settings, || {
            part("join_preparation", || ());
            part("join_optimization", || {
                add(|| vec![("table", "`t`".into()), ("rows", Document::List(Vec::new()))]);
                list("plans", || add(|| vec![("chosen", true.into())]));
            });
        })
        .1
    }

    #[test]
    fn a_trace_is_a_document_in_parts() {
        let whole = example(usize::MAX, true, true);
        let text = String::from_utf8(whole.text).unwrap();
        assert_eq!(
            text,
            "{\"steps\": [{\"join_preparation\": {\"select#\": 1,\"steps\": [] /* steps */} /* join_preparation */},\
             {\"join_optimization\": {\"select#\": 1,\"steps\": [{\"table\": \"`t`\",\"rows\": [] /* rows */},\
             {\"plans\": [{\"chosen\": true}] /* plans */}] /* steps */} /* join_optimization */}] /* steps */}"
        );
        let lines = String::from_utf8(example(usize::MAX, false, false).text).unwrap();
        assert!(lines.starts_with(
            "{\n  \"steps\": [\n    {\n      \"join_preparation\": {\n        \"select#\": 1,\n"
        ));
        assert!(lines.ends_with("      }\n    }\n  ]\n}"), "{lines}");
    }

    #[test]
    fn a_trace_that_ends_early_is_a_document() {
        let settings =
            Settings { bytes_max: usize::MAX, one_line: true, end_markers: false, features: FEATURES_ALL };
        let stopped = traced(settings, || {
            let _ = std::panic::catch_unwind(|| {
                part("join_optimization", || list("plans", || panic!("stopped")))
            });
        });
        let text = String::from_utf8(stopped.1.text).unwrap();
        assert_eq!(
            text,
            "{\"steps\": [{\"join_optimization\": {\"select#\": 1,\"steps\": [{\"plans\": []}]}}]}"
        );
    }

    #[test]
    fn what_is_too_long_is_counted() {
        let whole = example(usize::MAX, false, false).text.len();
        let cut = example(50, false, false);
        assert_eq!((cut.text.len(), cut.missing as usize), (50, whole - 50));
        add(|| unreachable!("no trace is made"));
    }
}
