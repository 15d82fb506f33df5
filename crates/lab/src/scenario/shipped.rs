//! The scenarios that come along: files of `lab/scenarios/`, in the binary.

/// Id and text of each, in the order they are listed.
pub const ALL: &[(&str, &str)] = &[
    ("point-select", include_str!("../../../../lab/scenarios/point-select.toml")),
    ("read-only", include_str!("../../../../lab/scenarios/read-only.toml")),
    ("read-write", include_str!("../../../../lab/scenarios/read-write.toml")),
    ("insert", include_str!("../../../../lab/scenarios/insert.toml")),
    ("update-index", include_str!("../../../../lab/scenarios/update-index.toml")),
    ("batch-insert", include_str!("../../../../lab/scenarios/batch-insert.toml")),
    ("bulk-load", include_str!("../../../../lab/scenarios/bulk-load.toml")),
    ("join", include_str!("../../../../lab/scenarios/join.toml")),
    ("scan", include_str!("../../../../lab/scenarios/scan.toml")),
    ("connections", include_str!("../../../../lab/scenarios/connections.toml")),
    (
        "incident-1-prepared-bulk-insert",
        include_str!("../../../../lab/scenarios/incident-1-prepared-bulk-insert.toml"),
    ),
    (
        "incident-2-single-client-decay",
        include_str!("../../../../lab/scenarios/incident-2-single-client-decay.toml"),
    ),
    ("incident-3-order-by-blob", include_str!("../../../../lab/scenarios/incident-3-order-by-blob.toml")),
    ("incident-4-orm-wide-select", include_str!("../../../../lab/scenarios/incident-4-orm-wide-select.toml")),
    (
        "incident-5-idle-connections",
        include_str!("../../../../lab/scenarios/incident-5-idle-connections.toml"),
    ),
];

/// The text of the one with this id.
#[must_use]
pub fn named(id: &str) -> Option<&'static str> {
    ALL.iter().find(|(name, _)| *name == id).map(|(_, text)| *text)
}
