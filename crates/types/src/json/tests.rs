//! Documents, paths and changes as the reference shows them.

use super::*;

fn document(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    parse(text.as_bytes(), &mut out).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    out
}

fn printed(document: &[u8]) -> String {
    let mut out = Vec::new();
    print(document, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn documents_print_as_the_reference_prints_them() {
    for (text, shown) in [
        ("{\"bb\":1,\"a\":2,\"c\":[1,2.0,\"x\\ny\"]}", "{\"a\": 2, \"c\": [1, 2.0, \"x\\ny\"], \"bb\": 1}"),
        ("[]", "[]"),
        ("{}", "{}"),
        (" true ", "true"),
        ("1e20", "1e20"),
        ("1.5", "1.5"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "1.8446744073709552e19"),
        ("\"\\u00e9\\u0001\"", "\"é\\u0001\""),
        ("{\"a\":1,\"a\":2}", "{\"a\": 2}"),
        ("-0", "0"),
    ] {
        assert_eq!(printed(&document(text)), shown);
    }
    let mut pretty = Vec::new();
    print_pretty(&document("{\"a\":[1,{}],\"b\":[]}"), &mut pretty);
    assert_eq!(String::from_utf8(pretty).unwrap(), "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
}

#[test]
fn errors_say_what_and_where() {
    for (text, message, position) in [
        ("", "The document is empty.", 0),
        ("[1", "Missing a comma or ']' after an array element.", 2),
        ("{\"a\" 1}", "Missing a colon after a name of object member.", 5),
        ("{a:1}", "Missing a name for object member.", 1),
        ("abc", "Invalid value.", 0),
        ("1 2", "The document root must not be followed by other values.", 2),
        ("\"abc", "Missing a closing quotation mark in string.", 0),
        ("[1,]", "Invalid value.", 3),
    ] {
        let error = parse_tree(text.as_bytes()).unwrap_err();
        assert_eq!((error.message, error.position), (message, position), "{text}");
    }
    assert!(parse_tree("[".repeat(101).as_bytes()).unwrap_err().kind == ParseErrorKind::TooDeep);
}

fn extract(text: &str, path: &str) -> Vec<String> {
    let document = document(text);
    let mut found = Vec::new();
    Path::parse(path.as_bytes())
        .unwrap()
        .each(&document, &mut |view| {
            let mut bytes = Vec::new();
            view.copy_to(&mut bytes);
            found.push(printed(&bytes));
            true
        })
        .unwrap();
    found
}

#[test]
fn a_path_of_many_legs_takes_no_stack() {
    assert_eq!(extract("7", &format!("${}", "[0]".repeat(300_000))), ["7"]);
    assert!(extract("7", &format!("${}[1]", "[0]".repeat(300_000))).is_empty());
    assert_eq!(extract("7", &format!("${}", "[0 to 0]".repeat(300_000))), ["7"]);
    assert_eq!(extract("{}", &format!("${}", "**[0]".repeat(100_000))), ["{}"]);
    // A value that can be reached in 2^90 ways is found once.
    let nested = format!("{}1{}", "[".repeat(90), "]".repeat(90));
    assert_eq!(extract(&nested, &format!("${}", "**[0]".repeat(90))).len(), 1);
}

#[test]
fn each_value_is_found_once() {
    assert_eq!(extract("[1]", "$**[0]"), ["1"]);
    assert_eq!(extract("[[1, 2], [3]]", "$**[0]"), ["[1, 2]", "1", "2", "3"]);
    assert_eq!(extract("[[1, 2], [3]]", "$[*]**[0]"), ["1", "2", "3"]);
    assert_eq!(extract("[[[1]]]", "$**[0]**[0]"), ["[1]", "1"]);
    assert_eq!(extract("{\"a\": {\"a\": {\"a\": 1}}}", "$**.a**.a"), ["{\"a\": 1}", "1"]);
    assert_eq!(extract("1", "$** **[0]"), ["1"]);
}

#[test]
fn paths_find_values() {
    let text = "{\"a\": [1, {\"b\": 2}, [3, 4]], \"x y\": 5}";
    for (path, found) in [
        ("$.a[0]", vec!["1"]),
        ("$.a[last][1]", vec!["4"]),
        ("$.a[1].b", vec!["2"]),
        ("$.\"x y\"", vec!["5"]),
        ("$.a[*]", vec!["1", "{\"b\": 2}", "[3, 4]"]),
        ("$.a[0 to 1]", vec!["1", "{\"b\": 2}"]),
        ("$**.b", vec!["2"]),
        ("$.*", vec!["[1, {\"b\": 2}, [3, 4]]", "5"]),
        ("$.\"x y\"[0]", vec!["5"]),
        ("$.nothing", vec![]),
    ] {
        assert_eq!(extract(text, path), found, "{path}");
    }
    for bad in ["a", "$.", "$[", "$.a[x]", "$**", "$****[0]", "$***[0]", "$.1a"] {
        assert!(Path::parse(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn changes_and_merges() {
    let path = |text: &str| Path::parse(text.as_bytes()).unwrap();
    let run = |text: &str, at: &str, how: Change| {
        let mut tree = View::new(&document(text)).tree();
        change(&mut tree, &path(at), Json::Int(9), how);
        let mut out = Vec::new();
        tree.encode(&mut out);
        printed(&out)
    };
    assert_eq!(run("{\"a\":1}", "$.a", Change::Set), "{\"a\": 9}");
    assert_eq!(run("{\"a\":1}", "$.b", Change::Set), "{\"a\": 1, \"b\": 9}");
    assert_eq!(run("{\"a\":1}", "$.a", Change::Insert), "{\"a\": 1}");
    assert_eq!(run("{\"a\":1}", "$.b", Change::Replace), "{\"a\": 1}");
    assert_eq!(run("[1,2]", "$[5]", Change::Set), "[1, 2, 9]");
    assert_eq!(run("[1,2]", "$[0]", Change::Remove), "[2]");
    assert_eq!(run("1", "$[1]", Change::Set), "[1, 9]");
    assert_eq!(run("{\"a\":1}", "$.a", Change::ArrayAppend), "{\"a\": [1, 9]}");
    let tree = |text: &str| View::new(&document(text)).tree();
    let show = |tree: Json| {
        let mut out = Vec::new();
        tree.encode(&mut out);
        printed(&out)
    };
    assert_eq!(
        show(merge_patch(tree("{\"a\":1,\"b\":2}"), tree("{\"b\":null,\"c\":3}"))),
        "{\"a\": 1, \"c\": 3}"
    );
    assert_eq!(show(merge_preserve(tree("{\"a\":1}"), tree("{\"a\":2}"))), "{\"a\": [1, 2]}");
    assert!(contains(View::new(&document("[1,[2,3]]")), View::new(&document("[2]"))));
    assert!(!contains(View::new(&document("{\"a\":1}")), View::new(&document("{\"a\":2}"))));
    assert_eq!(depth(View::new(&document("{\"a\":[1]}"))), 3);
}

proptest::proptest! {
    /// Damaged documents are read without panic, and any text either fails or prints to a text that parses to the same.
    #[test]
    fn reading_never_panics(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..64), text in "[\\[\\]{}\",:0-9a-c .\\-e]{0,24}") {
        let mut out = Vec::new();
        if bytes.len() < 40 {
            print(&bytes[..bytes.len().min(12)], &mut out);
        }
        let _ = View::new(&bytes).len();
        let mut first = Vec::new();
        if parse(text.as_bytes(), &mut first).is_ok() {
            let again = document(&printed(&first));
            proptest::prop_assert!(compare(&first, &again).is_eq());
        }
    }
}
