//! What is public is used by somebody, were it a test: the compiler says nothing of public items that nothing uses.
//!
//! An item counts as used when its name stands anywhere else in the sources, so that those with a common name are not found.

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

/// The public functions, types and constants that a module defines, with their lines.
fn public_names(module: &Module) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut see = |visibility: &Visibility, name: &syn::Ident| {
        if matches!(visibility, Visibility::Public(_)) {
            found.push((name.to_string(), name.span().start().line));
        }
    };
    for item in &module.items {
        match item {
            Item::Const(item) => see(&item.vis, &item.ident),
            Item::Enum(item) => see(&item.vis, &item.ident),
            Item::Fn(item) => see(&item.vis, &item.sig.ident),
            Item::Static(item) => see(&item.vis, &item.ident),
            Item::Struct(item) => see(&item.vis, &item.ident),
            Item::Trait(item) => see(&item.vis, &item.ident),
            Item::Type(item) => see(&item.vis, &item.ident),
            Item::Impl(block) if block.trait_.is_none() => {
                for item in &block.items {
                    match item {
                        ImplItem::Const(item) => see(&item.vis, &item.ident),
                        ImplItem::Fn(item) => see(&item.vis, &item.sig.ident),
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
    for (file, text) in rust_sources() {
        let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{file}: {error}"));
        count_names(tokens, &mut counts);
    }
    let mut wrong = Vec::new();
    for name in crate_names().iter().filter(|name| !NOT_SHIPPED.contains(&name.as_str())) {
        for module in of_crate(name) {
            for (item, line) in public_names(&module) {
                if counts[&item] == 1 {
                    wrong.push(format!("{}:{line}: nothing uses `{item}`: remove it", module.file));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
