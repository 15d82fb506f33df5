//! The modules of a crate as Rust reads them: from its root file along `mod`, without what is compiled for tests alone.
//!
//! Invariants:
//! 1. A file that no `mod` names is not read: it is not compiled either.
//! 2. Paths are found in the tokens, so that those in bodies, macros and attributes count like those of `use`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, ImplItem, Item, UseTree};

/// One module without those below it.
pub(crate) struct Module {
    /// The names from the crate's root to it; empty for the root.
    pub(crate) path: Vec<String>,
    /// Its file, from the checkout's root.
    pub(crate) file: String,
    /// Its items.
    pub(crate) items: Vec<Item>,
}

/// A path such as `crate::run::Source`, with the line it stands in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct NamedPath {
    /// Its names.
    pub(crate) names: Vec<String>,
    /// From 1.
    pub(crate) line: usize,
}

/// The modules of a crate: of its library, its program, or both.
///
/// # Panics
/// If a file cannot be read or is no Rust.
#[must_use]
pub(crate) fn of_crate(name: &str) -> Vec<Module> {
    let folder = crate::root().join("crates").join(name).join("src");
    let mut found = Vec::new();
    for root in ["lib.rs", "main.rs"] {
        let file = folder.join(root);
        if file.exists() {
            read_file(&file, &folder, Vec::new(), &mut found);
        }
    }
    found
}

fn read_file(file: &Path, children: &Path, path: Vec<String>, found: &mut Vec<Module>) {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    read_items(parsed.items, file, children, path, found);
}

fn read_items(items: Vec<Item>, file: &Path, children: &Path, path: Vec<String>, found: &mut Vec<Module>) {
    let mut own = Vec::new();
    for mut item in items {
        if is_for_tests(attributes(&item)) {
            continue;
        }
        match &mut item {
            Item::Mod(module) => {
                let name = module.ident.to_string();
                let path = path.iter().cloned().chain([name.clone()]).collect();
                let below = children.join(&name);
                match module.content.take() {
                    Some((_, items)) => read_items(items, file, &below, path, found),
                    None => {
                        let flat = children.join(format!("{name}.rs"));
                        let file = if flat.exists() { flat } else { below.join("mod.rs") };
                        read_file(&file, &below, path, found);
                    }
                }
                continue;
            }
            Item::Impl(block) => block.items.retain(|item| !is_for_tests(attributes_in_impl(item))),
            _ => {}
        }
        own.push(item);
    }
    let file = file.strip_prefix(crate::root()).map_or_else(|_| PathBuf::from(file), Path::to_path_buf);
    found.push(Module { path, file: file.to_string_lossy().into_owned(), items: own });
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn attributes_in_impl(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Const(item) => &item.attrs,
        ImplItem::Fn(item) => &item.attrs,
        ImplItem::Type(item) => &item.attrs,
        ImplItem::Macro(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]`, alone or as one of `all(...)`.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let condition = attribute.meta.require_list().map(|list| list.tokens.to_string()).unwrap_or_default();
        condition == "test" || condition.strip_prefix("all").is_some_and(|rest| has_word(rest, "test"))
    })
}

fn has_word(text: &str, word: &str) -> bool {
    !text.contains("not") && text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

impl Module {
    /// Every path that it names.
    #[must_use]
    pub(crate) fn named_paths(&self) -> Vec<NamedPath> {
        let mut found = Vec::new();
        for item in &self.items {
            paths_in(item.to_token_stream(), &mut found);
        }
        found
    }

    /// The names from the crate's root that a path means here; `None` for one of another crate, and for names that `use` brought
    /// here, whose `use` is a path itself.
    #[must_use]
    pub(crate) fn within_crate<'p>(&'p self, path: &'p NamedPath) -> Option<Vec<&'p str>> {
        let names: Vec<&str> = path.names.iter().map(String::as_str).collect();
        let own = self.path.iter().map(String::as_str);
        match names.first() {
            Some(&"crate") => Some(names[1..].to_vec()),
            Some(&"self") => Some(own.chain(names[1..].iter().copied()).collect()),
            Some(&"super") => {
                let up = names.iter().take_while(|name| **name == "super").count();
                Some(
                    own.take(self.path.len().saturating_sub(up)).chain(names[up..].iter().copied()).collect(),
                )
            }
            _ => None,
        }
    }
}

/// What the root of a crate shows under names of its own: name to top-level module.
#[must_use]
pub(crate) fn shown_by_root(root: &Module) -> HashMap<String, String> {
    let mut shown = HashMap::new();
    for item in &root.items {
        if let Item::Use(item) = item
            && let UseTree::Path(path) = &item.tree
        {
            let mut module = path.ident.to_string();
            let mut tree = &*path.tree;
            if (module == "crate" || module == "self")
                && let UseTree::Path(path) = tree
            {
                module = path.ident.to_string();
                tree = &path.tree;
            }
            each_name(tree, &mut |name| drop(shown.insert(name.to_string(), module.clone())));
        }
    }
    shown
}

fn each_name(tree: &UseTree, see: &mut impl FnMut(&syn::Ident)) {
    match tree {
        UseTree::Path(path) => each_name(&path.tree, see),
        UseTree::Name(name) => see(&name.ident),
        UseTree::Rename(rename) => see(&rename.rename),
        UseTree::Group(group) => group.items.iter().for_each(|tree| each_name(tree, see)),
        UseTree::Glob(_) => {}
    }
}

/// Every path in tokens; a list in braces after `::` gives one for each of its members.
pub(crate) fn paths_in(tokens: TokenStream, found: &mut Vec<NamedPath>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < trees.len() {
        match &trees[at] {
            TokenTree::Ident(_) => at = path_at(&trees, at, &[], found),
            TokenTree::Group(group) => {
                paths_in(group.stream(), found);
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// Reads the path that begins at an identifier; answers where to go on.
fn path_at(trees: &[TokenTree], mut at: usize, before: &[String], found: &mut Vec<NamedPath>) -> usize {
    let mut names = before.to_vec();
    let mut line = 0;
    while let Some(TokenTree::Ident(name)) = trees.get(at) {
        line = name.span().start().line;
        if name != "self" || names.is_empty() {
            names.push(name.to_string());
        }
        at += 1;
        if !(is_colon(trees.get(at)) && is_colon(trees.get(at + 1))) {
            break;
        }
        at += 2;
        if let Some(TokenTree::Group(group)) = trees.get(at)
            && group.delimiter() == Delimiter::Brace
        {
            let members: Vec<TokenTree> = group.stream().into_iter().collect();
            let is_comma = |tree: &TokenTree| matches!(tree, TokenTree::Punct(sign) if sign.as_char() == ',');
            for member in members.split(is_comma).filter(|member| !member.is_empty()) {
                path_at(member, 0, &names, found);
            }
            return at + 1;
        }
    }
    if !names.is_empty() {
        found.push(NamedPath { names, line });
    }
    at
}

fn is_colon(tree: Option<&TokenTree>) -> bool {
    matches!(tree, Some(TokenTree::Punct(sign)) if sign.as_char() == ':')
}

#[test]
fn paths_are_found_wherever_they_stand() {
    let paths = |text: &str| {
        let mut found = Vec::new();
        paths_in(text.parse().unwrap(), &mut found);
        found
            .into_iter()
            .map(|path| path.names.join("::"))
            .filter(|path| path.contains("::"))
            .collect::<Vec<_>>()
    };
    assert_eq!(paths("use std::fs;"), ["std::fs"]);
    assert_eq!(
        paths("use std::{fs::File, io::{self, Read as R}};"),
        ["std::fs::File", "std::io", "std::io::Read"]
    );
    assert_eq!(
        paths("fn f() { let x: Vec<crate::a::B> = m!(crate::c::d()); }"),
        ["crate::a::B", "crate::c::d"]
    );
    assert_eq!(paths("use super::super::x;"), ["super::super::x"]);
}

#[test]
fn what_tests_alone_see_is_left_out() {
    let items = syn::parse_file(
        "#[cfg(test)] mod tests;\n#[cfg(not(test))] fn a() {}\n#[cfg(all(test, unix))] fn b() {}\nfn c() {}",
    );
    let left: Vec<Item> =
        items.unwrap().items.into_iter().filter(|item| !is_for_tests(attributes(item))).collect();
    assert_eq!(left.len(), 2);
}
