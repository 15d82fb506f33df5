//! Names for people: mangled C++ and Rust names without parameters and hashes.

use cpp_demangle::DemangleOptions;

/// Names longer than this lose what stands between `<` and `>`.
const PLAIN_CHARS: usize = 100;

/// The name of a function as it is written in source, without parameters. What is no mangled name stays as it is.
pub(crate) fn demangled(mangled: &str) -> String {
    // The compiler's clones (`.part.0`, `.cold`, `.constprop.1`) are the same function to a reader.
    let base = match mangled.split_once('.') {
        Some((base, _)) if base.starts_with("_Z") => base,
        _ => mangled,
    };
    let plain = if base.starts_with("_R")
        || (base.starts_with("_ZN") && base.ends_with('E') && has_rust_hash(base))
    {
        format!("{:#}", rustc_demangle::demangle(base))
    } else if base.starts_with("_Z") {
        cpp(base).unwrap_or_else(|| base.to_owned())
    } else {
        base.to_owned()
    };
    let short = if plain.chars().count() > PLAIN_CHARS { without_angles(&plain) } else { plain };
    // These two part frames and lines of the folded form.
    short.replace(';', ":").replace('\n', " ")
}

/// Rust's older mangling ends with `17h` and 16 digits of a hash.
fn has_rust_hash(name: &str) -> bool {
    let Some(hash) = name.strip_suffix('E').and_then(|name| name.get(name.len().checked_sub(19)?..)) else {
        return false;
    };
    hash.starts_with("17h") && hash[3..].bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn cpp(mangled: &str) -> Option<String> {
    let symbol = cpp_demangle::Symbol::new(mangled).ok()?;
    symbol.demangle_with_options(&DemangleOptions::new().no_params().no_return_type()).ok()
}

/// `a<b<c>>::d` becomes `a<..>::d`. `operator<`, `->` and their like are left alone.
fn without_angles(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    let mut depth = 0u32;
    let mut previous = ' ';
    for letter in name.chars() {
        match letter {
            '<' if !(short.ends_with("operator") || depth == 0 && short.ends_with("operator<")) => {
                if depth == 0 {
                    short.push_str("<..>");
                }
                depth += 1;
            }
            '>' if depth > 0 && previous != '-' => depth -= 1,
            _ if depth == 0 => short.push(letter),
            _ => {}
        }
        previous = letter;
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_differs_from_build_to_build() {
        for (mangled, plain) in [
            (
                "_ZN11MDL_context21try_acquire_lock_implEP11MDL_requestPP10MDL_ticket",
                "MDL_context::try_acquire_lock_impl",
            ),
            ("_Z16dispatch_commandP3THDPK8COM_DATA19enum_server_command", "dispatch_command"),
            ("_ZN11RefIteratorILb0EE6DoReadEv", "RefIterator<false>::DoRead"),
            ("_ZL17row_sel_try_shortPK1.part.0", "_ZL17row_sel_try_shortPK1"),
            ("_ZN4exec3run17h0123456789abcdefE", "exec::run"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("memcpy", "memcpy"),
            ("asm;x", "asm:x"),
        ] {
            assert_eq!(demangled(mangled), plain);
        }
        assert_eq!(without_angles("a<b<c>, d->e>::operator<<f<g>"), "a<..>::operator<<f<..>");
    }
}
