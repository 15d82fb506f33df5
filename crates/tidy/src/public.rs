//! What is public is used by somebody, were it a test: the compiler says nothing of public items that nothing uses.
//!
//! An item counts as used when its name stands anywhere else in the sources, so that those with a common name are not found.
//! A function or constant that only its own crate names is `pub(crate)`: then the compiler says when nothing uses it any more. (A
//! type may have to be public because a public function returns it.)

use std::collections::HashMap;

use proc_macro2::{TokenStream, TokenTree};
use syn::{ImplItem, Item, Visibility};

use crate::modules::{Module, of_crate};
use crate::{NOT_SHIPPED, crate_names, rust_sources};

/// How often each name stands in tokens.
fn count_names(tokens: TokenStream, counts: &mut HashMap<String, usize>) {
    for tree in tokens {
        match tree {
            TokenTree::Ident(name) => *counts.entry(name.to_string()).or_default() += 1,
            TokenTree::Group(group) => count_names(group.stream(), counts),
            _ => {}
        }
    }
}

/// A public item.
struct Public {
    name: String,
    line: usize,
    /// Whether it is a type or a trait.
    is_type: bool,
}

/// The public functions, types and constants that a module defines.
fn public_names(module: &Module) -> Vec<Public> {
    let mut found = Vec::new();
    let mut see = |visibility: &Visibility, name: &syn::Ident, is_type: bool| {
        if matches!(visibility, Visibility::Public(_)) {
            found.push(Public { name: name.to_string(), line: name.span().start().line, is_type });
        }
    };
    for item in &module.items {
        match item {
            Item::Const(item) => see(&item.vis, &item.ident, false),
            Item::Enum(item) => see(&item.vis, &item.ident, true),
            Item::Fn(item) => see(&item.vis, &item.sig.ident, false),
            Item::Static(item) => see(&item.vis, &item.ident, false),
            Item::Struct(item) => see(&item.vis, &item.ident, true),
            Item::Trait(item) => see(&item.vis, &item.ident, true),
            Item::Type(item) => see(&item.vis, &item.ident, true),
            Item::Impl(block) if block.trait_.is_none() => {
                for item in &block.items {
                    match item {
                        ImplItem::Const(item) => see(&item.vis, &item.ident, false),
                        ImplItem::Fn(item) => see(&item.vis, &item.sig.ident, false),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    found
}

#[test]
fn what_is_public_is_used() {
    let mut counts: HashMap<String, usize> = HashMap::new();
    // How often each name stands in the sources of each crate; its tests and examples are others than the crate.
    let mut within: HashMap<String, HashMap<String, usize>> = HashMap::new();
    for (file, text) in rust_sources() {
        let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{file}: {error}"));
        count_names(tokens.clone(), &mut counts);
        if let Some((name, _)) = file.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) {
            count_names(tokens, within.entry(name.to_owned()).or_default());
        }
    }
    let mut wrong = Vec::new();
    for name in crate_names().iter().filter(|name| !NOT_SHIPPED.contains(&name.as_str())) {
        for module in of_crate(name) {
            for item in public_names(&module) {
                let at = format!("{}:{}", module.file, item.line);
                if counts[&item.name] == 1 {
                    wrong.push(format!("{at}: nothing uses `{}`: remove it", item.name));
                } else if !item.is_type && within[name].get(&item.name) == Some(&counts[&item.name]) {
                    wrong.push(format!("{at}: only `{name}` uses `{}`: make it pub(crate)", item.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
