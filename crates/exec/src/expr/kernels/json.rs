//! JSON functions.

use super::super::compile::{Class, ScalarKernel};
use super::super::context::SqlResult;
use super::super::convert::{self, Target, as_utf8};
use super::super::program::{Kernel, Row};
use plan::expr::{CallOption, Expr, JsonAnswer, JsonValueOption};
use plan::function::FunctionId;
use service::error::{
    ER_INCORRECT_TYPE, ER_INVALID_JSON_CHARSET, ER_INVALID_JSON_PATH, ER_INVALID_JSON_PATH_ARRAY_CELL,
    ER_INVALID_JSON_PATH_WILDCARD, ER_INVALID_JSON_TEXT_IN_PARAM, ER_INVALID_TYPE_FOR_JSON,
    ER_JSON_BAD_ONE_OR_ALL_ARG, ER_JSON_DOCUMENT_NULL_KEY, ER_JSON_VACUOUS_PATH, ER_MISSING_JSON_VALUE,
};
use types::charset::Charset;
use types::collation::LikePattern;
use types::json::{self, Change, Json, Kind, Path, Stopped, View};
use types::{Cell, CollationId, Column, DataType, Physical, TypeKind};

/// Document, then path and value by turns.
static ALTERNATE: [Class; 255] = {
    let mut classes = [Class::JsonValue; 255];
    classes[0] = Class::Document;
    let mut i = 1;
    while i < 255 {
        classes[i] = Class::JsonText;
        i += 2;
    }
    classes
};

/// Key and value by turns.
static MEMBERS: [Class; 254] = {
    let mut classes = [Class::JsonValue; 254];
    let mut i = 0;
    while i < 254 {
        classes[i] = Class::JsonText;
        i += 2;
    }
    classes
};

pub(super) fn scalar_kernel(function: FunctionId, args: &[Expr]) -> Option<ScalarKernel> {
    use Class::{Any, Document, JsonText, JsonValue, Utf8};
    use FunctionId as F;
    let plain = |kernel: Kernel, classes: &'static [Class]| {
        Some(ScalarKernel { kernel, classes, null_propagates: true })
    };
    let nulls = |kernel: Kernel, classes: &'static [Class]| {
        Some(ScalarKernel { kernel, classes, null_propagates: false })
    };
    match function {
        F::JsonArray => nulls(array, &[JsonValue]),
        F::JsonObject if args.len() <= MEMBERS.len() => nulls(object, &MEMBERS),
        F::JsonExtract => plain(extract, &[Document, JsonText]),
        F::JsonQuote | F::JsonUnquote if args.first().is_some_and(|arg| !is_quotable(function, arg)) => {
            plain(|r| Err(ER_INCORRECT_TYPE.with(&[&1, &r.call.name])), &[Any])
        }
        F::JsonQuote | F::JsonUnquote if args.first().is_some_and(|arg| is_bytes(&arg.data_type)) => {
            plain(|_| Err(ER_INVALID_JSON_CHARSET.with(&[&"binary"])), &[Any])
        }
        F::JsonUnquote => plain(unquote, &[Any]),
        F::JsonQuote => plain(
            |r| {
                let text = r.bytes(0);
                r.put_with(|out| json::write_quoted(text, out))
            },
            &[Utf8],
        ),
        F::JsonSet if args.len() <= 255 => nulls(|r| change(r, Change::Set), &ALTERNATE),
        F::JsonInsert if args.len() <= 255 => nulls(|r| change(r, Change::Insert), &ALTERNATE),
        F::JsonReplace if args.len() <= 255 => nulls(|r| change(r, Change::Replace), &ALTERNATE),
        F::JsonArrayAppend if args.len() <= 255 => nulls(|r| change(r, Change::ArrayAppend), &ALTERNATE),
        F::JsonArrayInsert if args.len() <= 255 => nulls(array_insert, &ALTERNATE),
        F::JsonRemove => plain(remove, &[Document, JsonText]),
        F::JsonContains => plain(contains, &[Document, Document, JsonText]),
        F::JsonContainsPath => plain(contains_path, &[Document, Utf8, JsonText]),
        F::JsonKeys => plain(keys, &[Document, JsonText]),
        F::JsonLength => plain(length, &[Document, JsonText]),
        F::JsonDepth => plain(|r| r.put_int(json::depth(View::new(r.bytes(0))) as i64), &[Document]),
        F::JsonType => plain(
            |r| {
                let view = View::new(r.bytes(0));
                let name = match (view.kind(), view.opaque().0) {
                    (Kind::Opaque, 16) => "BIT",
                    (Kind::Opaque, 249..=252) => "BLOB",
                    (Kind::Opaque, 253 | 254 | 15) => "BLOB",
                    (Kind::Opaque, _) => "OPAQUE",
                    (kind, _) => kind.name(),
                };
                r.put_bytes(name.as_bytes())
            },
            &[Document],
        ),
        // What is neither text nor document is no document, NULL too.
        F::JsonValid
            if args.first().is_some_and(|arg| {
                let kind = &arg.data_type;
                !kind.is_string() && !matches!(kind.kind, TypeKind::Json | TypeKind::Null)
            }) =>
        {
            nulls(|r| r.put_bool(false), &[Any])
        }
        F::JsonValid => plain(valid, &[Any]),
        F::JsonMergePatch => nulls(merge_patch, &[Document]),
        F::JsonMergePreserve => plain(
            |r| {
                let mut merged = r.tree(0)?;
                for i in 1..r.count() {
                    merged = json::merge_preserve(merged, r.tree(i)?);
                }
                put_tree(r, &merged)
            },
            &[Document],
        ),
        F::JsonOverlaps => {
            plain(|r| r.put_bool(json::overlaps(View::new(r.bytes(0)), View::new(r.bytes(1)))), &[Document])
        }
        F::MemberOf => plain(member_of, &[JsonValue, Document]),
        F::JsonPretty => plain(
            |r| {
                let document = r.bytes(0);
                r.put_with(|out| json::print_pretty(document, out))
            },
            &[Document],
        ),
        F::JsonSearch => nulls(search, &[Document, Utf8, Utf8, Utf8, JsonText]),
        F::JsonValue => nulls(value, &[Any]),
        F::JsonStorageSize => plain(|r| r.put_int(r.bytes(0).len() as i64), &[Document]),
        F::JsonStorageFree => plain(|r| r.put_int(0), &[Document]),
        _ => None,
    }
}

fn put_tree(r: &mut Row<'_, '_>, tree: &Json) -> SqlResult<()> {
    r.put_with(|out| tree.encode(out))
}

fn put_view(r: &mut Row<'_, '_>, view: View<'_>) -> SqlResult<()> {
    r.put_with(|out| view.copy_to(out))
}

/// Paths of a call, parsed once while they stay the same.
#[derive(Default)]
struct Paths {
    known: Vec<(Vec<u8>, Path)>,
}

/// Takes the call's parsed paths out of its state.
fn take_paths(r: &mut Row<'_, '_>) -> Box<Paths> {
    r.state.take().and_then(|state| state.downcast::<Paths>().ok()).unwrap_or_default()
}

impl Paths {
    fn get(&mut self, text: &[u8]) -> SqlResult<&Path> {
        if let Some(at) = self.known.iter().position(|(known, _)| known == text) {
            return Ok(&self.known[at].1);
        }
        let path = Path::parse(text).map_err(|error| ER_INVALID_JSON_PATH.with(&[&error.position, &""]))?;
        if self.known.len() >= 16 {
            self.known.clear();
        }
        self.known.push((text.to_vec(), path));
        Ok(&self.known[self.known.len() - 1].1)
    }

    fn plain(&mut self, text: &[u8]) -> SqlResult<&Path> {
        let path = self.get(text)?;
        if path.has_wildcard() { Err(ER_INVALID_JSON_PATH_WILDCARD.bare()) } else { Ok(path) }
    }
}

fn array(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let mut items = Vec::with_capacity(r.count());
    for i in 0..r.count() {
        items.push(if r.is_null(i) { Json::Null } else { r.tree(i)? });
    }
    put_tree(r, &Json::Array(items))
}

fn object(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let mut members = Vec::with_capacity(r.count() / 2);
    for i in (0..r.count()).step_by(2) {
        if r.is_null(i) {
            return Err(ER_JSON_DOCUMENT_NULL_KEY.bare());
        }
        let value = if r.is_null(i + 1) { Json::Null } else { r.tree(i + 1)? };
        members.push((r.bytes(i).to_vec(), value));
    }
    put_tree(r, &Json::object(members))
}

/// What was found along a path, unless the search had to end before.
fn whole<T>(r: &mut Row<'_, '_>, found: Result<T, Stopped>) -> SqlResult<T> {
    r.ctx.searched(found)
}

fn extract(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let mut paths = take_paths(r);
    let document = r.bytes(0);
    if r.count() == 2 && !paths.get(r.bytes(1))?.has_wildcard() {
        let found = whole(r, paths.get(r.bytes(1))?.first(document))?;
        let result = match found {
            Some(view) => put_view(r, view),
            None => r.null(),
        };
        *r.state = Some(paths);
        return result;
    }
    // Several paths or a wildcard: an array of all that is found.
    let mut found = Vec::new();
    for i in 1..r.count() {
        let searched = paths.get(r.bytes(i))?.each(document, &mut |view| {
            found.push(view.tree());
            true
        });
        whole(r, searched)?;
    }
    *r.state = Some(paths);
    if found.is_empty() { r.null() } else { put_tree(r, &Json::Array(found)) }
}

/// Whether a function that adds or takes away quotes does so with this value, whose type is known before any row is.
fn is_quotable(function: FunctionId, arg: &Expr) -> bool {
    let of = &arg.data_type;
    of.is_string()
        || of.members.is_some()
        || of.kind == TypeKind::Null
        || of.kind == TypeKind::Json && function == FunctionId::JsonUnquote
}

fn is_bytes(data_type: &DataType) -> bool {
    data_type.is_binary_string() && !data_type.is_hex_literal()
}

fn unquote(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let data_type = &r.call.types[0];
    let document = match r.args[0].cell(r.row) {
        Cell::Bytes(document) if data_type.kind == TypeKind::Json => document.to_vec(),
        Cell::Bytes(text) => {
            let text = as_utf8(text, data_type);
            if !(text.len() >= 2 && text.starts_with(b"\"") && text.ends_with(b"\"")) {
                return r.put_bytes(&text);
            }
            let mut document = Vec::new();
            let parsed = json::parse(&text, &mut document);
            if parsed.is_err() {
                r.ctx.session.check_killed()?;
            }
            parsed.map_err(|error| {
                ER_INVALID_JSON_TEXT_IN_PARAM.with(&[&1, &"json_unquote", &error.message, &error.position])
            })?;
            document
        }
        cell if data_type.members.is_some() => {
            let mut text = Vec::new();
            convert::write_text(cell, data_type, &mut text);
            return r.put_bytes(&text);
        }
        _ => return Err(ER_INVALID_TYPE_FOR_JSON.with(&[&1, &"json_unquote"])),
    };
    r.put_with(|out| json::unquote(&document, out))
}

fn change(r: &mut Row<'_, '_>, how: Change) -> SqlResult<()> {
    if r.is_null(0) || (1..r.count()).step_by(2).any(|i| r.is_null(i)) {
        return r.null();
    }
    let mut paths = take_paths(r);
    let mut tree = r.tree(0)?;
    for i in (1..r.count()).step_by(2) {
        let value = if r.is_null(i + 1) { Json::Null } else { r.tree(i + 1)? };
        json::change(&mut tree, paths.plain(r.bytes(i))?, value, how);
    }
    *r.state = Some(paths);
    put_tree(r, &tree)
}

fn array_insert(r: &mut Row<'_, '_>) -> SqlResult<()> {
    if r.is_null(0) || (1..r.count()).step_by(2).any(|i| r.is_null(i)) {
        return r.null();
    }
    let mut paths = take_paths(r);
    let mut tree = r.tree(0)?;
    for i in (1..r.count()).step_by(2) {
        let value = if r.is_null(i + 1) { Json::Null } else { r.tree(i + 1)? };
        json::array_insert(&mut tree, paths.plain(r.bytes(i))?, value)
            .map_err(|_| ER_INVALID_JSON_PATH_ARRAY_CELL.bare())?;
    }
    *r.state = Some(paths);
    put_tree(r, &tree)
}

fn remove(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let mut paths = take_paths(r);
    let mut tree = r.tree(0)?;
    for i in 1..r.count() {
        let path = paths.plain(r.bytes(i))?;
        if path.legs.is_empty() {
            return Err(ER_JSON_VACUOUS_PATH.bare());
        }
        json::change(&mut tree, path, Json::Null, Change::Remove);
    }
    *r.state = Some(paths);
    put_tree(r, &tree)
}

/// The document, or the part of it that the path in argument `path` names.
fn part<'a>(r: &mut Row<'a, '_>, path: usize) -> SqlResult<Option<View<'a>>> {
    let document: &'a [u8] = r.bytes(0);
    if r.count() <= path {
        return Ok(Some(View::new(document)));
    }
    let mut paths = take_paths(r);
    let found = whole(r, paths.plain(r.bytes(path))?.first(document))?;
    *r.state = Some(paths);
    Ok(found)
}

fn contains(r: &mut Row<'_, '_>) -> SqlResult<()> {
    match part(r, 2)? {
        Some(target) => {
            let found = json::contains(target, View::new(r.bytes(1)));
            r.put_bool(found)
        }
        None => r.null(),
    }
}

/// `one` or `all`; true for all.
fn one_or_all(r: &Row<'_, '_>) -> SqlResult<bool> {
    let word = r.bytes(1);
    if word.eq_ignore_ascii_case(b"all") {
        Ok(true)
    } else if word.eq_ignore_ascii_case(b"one") {
        Ok(false)
    } else {
        Err(ER_JSON_BAD_ONE_OR_ALL_ARG.with(&[&r.call.name]))
    }
}

fn contains_path(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let all = one_or_all(r)?;
    let mut paths = take_paths(r);
    let document = r.bytes(0);
    let mut result = all;
    for i in 2..r.count() {
        let found = whole(r, paths.get(r.bytes(i))?.first(document))?.is_some();
        if found != all {
            result = found;
            break;
        }
    }
    *r.state = Some(paths);
    r.put_bool(result)
}

fn keys(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let document = r.bytes(0);
    let found = if r.count() > 1 {
        let mut paths = take_paths(r);
        let found = paths.plain(r.bytes(1))?.within_arrays(document);
        *r.state = Some(paths);
        found
    } else {
        Some(View::new(document))
    };
    match found {
        Some(view) if view.kind() == Kind::Object => {
            let keys = view.members().map(|(key, _)| Json::String(key.to_vec())).collect();
            put_tree(r, &Json::Array(keys))
        }
        _ => r.null(),
    }
}

fn length(r: &mut Row<'_, '_>) -> SqlResult<()> {
    match part(r, 1)? {
        Some(view) => r.put_int(view.len() as i64),
        None => r.null(),
    }
}

fn valid(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let data_type = &r.call.types[0];
    let valid = match r.args[0].cell(r.row) {
        Cell::Bytes(_) if data_type.kind == TypeKind::Json => true,
        Cell::Bytes(_) if data_type.is_binary_string() => false,
        Cell::Bytes(text) => json::parse_tree(&as_utf8(text, data_type)).is_ok(),
        _ => false,
    };
    if !valid {
        r.ctx.session.check_killed()?;
    }
    r.put_bool(valid)
}

fn merge_patch(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let mut merged = if r.is_null(0) { None } else { Some(r.tree(0)?) };
    for i in 1..r.count() {
        merged = if r.is_null(i) {
            None
        } else {
            let patch = r.tree(i)?;
            match merged {
                Some(target) => Some(json::merge_patch(target, patch)),
                // NULL beside an object is unknown; anything else replaces it.
                None if matches!(patch, Json::Object(_)) => None,
                None => Some(patch),
            }
        };
    }
    match merged {
        Some(tree) => put_tree(r, &tree),
        None => r.null(),
    }
}

fn member_of(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let (value, array) = (r.bytes(0), View::new(r.bytes(1)));
    let is = |element: View<'_>| {
        let mut bytes = Vec::new();
        element.copy_to(&mut bytes);
        json::compare(&bytes, value).is_eq()
    };
    let found = if array.kind() == Kind::Array { array.elements().any(is) } else { is(array) };
    r.put_bool(found)
}

fn search(r: &mut Row<'_, '_>) -> SqlResult<()> {
    if r.is_null(0) || r.is_null(1) || r.is_null(2) || (4..r.count()).any(|i| r.is_null(i)) {
        return r.null();
    }
    let all = one_or_all(r)?;
    let escape = if r.count() > 3 && !r.is_null(3) && !r.bytes(3).is_empty() {
        u32::from(r.bytes(3)[0])
    } else {
        u32::from(b'\\')
    };
    let own = r.call.types[2].collation;
    let collation = if own.charset() == Charset::Utf8mb4 { own } else { CollationId::UTF8MB4_BIN };
    let pattern = LikePattern::new(collation, r.bytes(2), Some(escape));
    let mut matches = |text: &[u8]| pattern.matches(text);
    let mut search = json::Search::new(!all, &mut matches);
    let document = r.bytes(0);
    if r.count() <= 4 {
        let searched = search.at(document, &Path { legs: Vec::new() });
        whole(r, searched)?;
    } else {
        let mut paths = take_paths(r);
        // A path that is none is an error, also behind one where something is found.
        for i in 4..r.count() {
            paths.get(r.bytes(i))?;
        }
        for i in 4..r.count() {
            let searched = search.at(document, paths.get(r.bytes(i))?);
            whole(r, searched)?;
        }
        *r.state = Some(paths);
    }
    let mut found = search.into_found();
    match found.len() {
        0 => r.null(),
        1 => put_tree(r, &Json::String(found.swap_remove(0))),
        _ => put_tree(r, &Json::Array(found.into_iter().map(Json::String).collect())),
    }
}

fn value(r: &mut Row<'_, '_>) -> SqlResult<()> {
    if r.is_null(0) {
        return r.null();
    }
    let CallOption::JsonValue(option) = &r.call.option else {
        return Err(crate::error::internal("JSON_VALUE without its path"));
    };
    let JsonValueOption { path, on_empty, on_error } = &**option;
    let mut document = Column::new(Physical::Bytes);
    let target = Target::JsonDocument { argument: 1, function: r.call.name };
    let read = convert::cell(r.args[0].cell(r.row), &r.call.types[0], &target, r.ctx, &mut document);
    if let Err(error) = read {
        // What is no document has its answer, what cannot be one is an error.
        let is_text = error.is(ER_INVALID_JSON_TEXT_IN_PARAM);
        return if is_text { answer(r, on_error, || error) } else { Err(error) };
    }
    let document = document.bytes().get(0);
    let mut paths = take_paths(r);
    let mut found = Vec::new();
    let searched = paths.get(path)?.each(document, &mut |view| {
        found.push(view);
        found.len() < 2
    });
    whole(r, searched)?;
    *r.state = Some(paths);
    match found.as_slice() {
        [] => answer(r, on_empty, || ER_MISSING_JSON_VALUE.with(&[&"json_value"])),
        [view]
            if !matches!(view.kind(), Kind::Array | Kind::Object)
                || r.call.result.kind == TypeKind::Json
                || r.call.result.is_string() =>
        {
            if view.kind() == Kind::Null {
                return r.null();
            }
            let mut bytes = Vec::new();
            view.copy_to(&mut bytes);
            if r.call.result.is_string() {
                return r.put_with(|out| json::unquote(&bytes, out));
            }
            let result = r.call.result.clone();
            if result.kind == TypeKind::Json {
                return r.put_bytes(&bytes);
            }
            if view.kind() == Kind::String
                && result.is_numeric()
                && types::Decimal::parse_exact(view.string().trim_ascii()).is_none()
            {
                return answer(r, on_error, || {
                    service::error::ER_INVALID_JSON_VALUE_FOR_CAST.with(&[&"number", &"json_value", &1])
                });
            }
            let rows = r.out.len();
            match convert::cell(Cell::Bytes(&bytes), &DataType::JSON, &Target::Cast(result), r.ctx, r.out) {
                Ok(()) => Ok(()),
                Err(error) => {
                    r.out.truncate(rows);
                    answer(r, on_error, || error)
                }
            }
        }
        _ => answer(r, on_error, multiple_values),
    }
}

fn answer(
    r: &mut Row<'_, '_>,
    answer: &JsonAnswer,
    error: impl FnOnce() -> Box<service::SqlError>,
) -> SqlResult<()> {
    match answer {
        JsonAnswer::Null => r.null(),
        JsonAnswer::Error => Err(error()),
        JsonAnswer::Default(value) => {
            let result = r.call.result.clone();
            let column = convert::value_column(value.into(), &result, r.ctx)?;
            r.out.push_cell(column.cell(0));
            Ok(())
        }
    }
}

#[cold]
fn multiple_values() -> Box<service::SqlError> {
    service::SqlError::new(
        3967,
        *b"22034",
        "More than one value was found by 'json_value' on the specified path.",
    )
}
