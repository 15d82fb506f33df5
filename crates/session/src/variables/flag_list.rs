//! Lists of flags that are on or off, as `optimizer_switch` and `optimizer_trace` have them.
//!
//! A stored list names every flag in the order of the table. An assigned one changes the flags that it names; `default` in it sets the others back.

/// The flags of a variable by bit, and whether each is on by default.
pub(crate) type Flags = [(&'static str, bool)];

/// All flags as they are by default.
pub(crate) fn defaults(flags: &Flags) -> u32 {
    flags.iter().enumerate().map(|(at, flag)| u32::from(flag.1) << at).sum()
}

/// `bits` with the changes of a list such as `semijoin=off,mrr=default`.
///
/// # Errors
/// The first entry that is wrong, for 1231: an unknown flag or value, or a flag that an earlier entry names.
pub(crate) fn assign<'t>(flags: &Flags, bits: u32, text: &'t str) -> Result<u32, &'t str> {
    let defaults = defaults(flags);
    let (mut bits, mut assigned, mut reset) = (bits, 0, false);
    let mut values = 0;
    if text.is_empty() {
        return Ok(bits);
    }
    for entry in text.split(',') {
        if entry.eq_ignore_ascii_case("default") && !reset {
            reset = true;
            continue;
        }
        let (name, value) = entry.split_once('=').ok_or(entry)?;
        let at = flags.iter().position(|flag| flag.0.eq_ignore_ascii_case(name)).ok_or(entry)?;
        let bit = 1 << at;
        let on = match value.trim_end().to_ascii_lowercase().as_str() {
            "on" => true,
            "off" => false,
            "default" => defaults & bit != 0,
            _ => return Err(entry),
        };
        if assigned & bit != 0 {
            return Err(entry);
        }
        assigned |= bit;
        values |= if on { bit } else { 0 };
    }
    if reset {
        bits = defaults;
    }
    Ok(bits & !assigned | values)
}

/// The flags of a stored list, which names every flag in the order of the bits.
pub(crate) fn stored(text: &str) -> u32 {
    text.split(',').enumerate().map(|(at, entry)| u32::from(entry.ends_with("=on")) << at).sum()
}

/// Reads the numeric form; `None` if a bit means nothing. The bit above the flags is that of `default`, which as a number changes nothing.
pub(crate) fn from_number(flags: &Flags, number: u64) -> Option<u32> {
    u32::try_from(number)
        .ok()
        .filter(|bits| *bits < 2 << flags.len())
        .map(|bits| bits & ((1 << flags.len()) - 1))
}

/// All flags, as they are stored and shown.
pub(crate) fn shown(flags: &Flags, bits: u32) -> String {
    let one = |(at, flag): (usize, &(&str, bool))| {
        format!("{}={}", flag.0, if bits & 1 << at != 0 { "on" } else { "off" })
    };
    flags.iter().enumerate().map(one).collect::<Vec<_>>().join(",")
}
