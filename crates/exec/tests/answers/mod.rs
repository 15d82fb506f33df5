//! What the tests that compare with stored answers of MySQL share.

use std::path::Path;

use types::{DataType, Value};

/// A value as a client would see it.
pub(crate) fn show(value: &Value, data_type: &DataType) -> String {
    if value.is_null() {
        return "NULL".into();
    }
    let (from, column) = types::convert::value_column(value);
    let shown = if matches!(value, Value::Bytes { .. }) { &from } else { data_type };
    let mut text = Vec::new();
    types::convert::write_text(column.cell(0), shown, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Runs each statement of `tests/FOLDER/NAME.sql` and compares what it says with `NAME.expected`.
pub(crate) fn compare(folder: &str, name: &str, mut run: impl FnMut(&str) -> String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let read = |file: String| std::fs::read_to_string(folder.join(file)).expect("the test's data");
    let (statements, expected) = (read(format!("{name}.sql")), read(format!("{name}.expected")));
    let expected = format!("\n{expected}");
    let mut answers = expected.split("\n> ").skip(1);
    let mut wrong = Vec::new();
    let mut count = 0;
    for statement in statements.lines().filter(|line| !line.is_empty() && !line.starts_with("--")) {
        count += 1;
        let answer = answers.next().expect("an answer for every statement: run ask.py");
        let (asked, wanted) = answer.split_once('\n').unwrap_or((answer, ""));
        assert_eq!(asked, statement, "the expected file is of other statements: run ask.py");
        let got = run(statement.trim_end_matches(';'));
        if got.trim_end() != wanted.trim_end() {
            wrong.push(format!(
                "> {statement}\n--- MySQL\n{}\n--- ours\n{}\n",
                wanted.trim_end(),
                got.trim_end()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}
