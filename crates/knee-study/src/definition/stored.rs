//! The declaration of a stored study, whose keys had other names in older versions.
//!
//! Only `trials.jsonl` is read like this. In a `study.toml` an old key is an unknown key, so the declaration's own
//! types have no aliases.

use knee_core::fixture::Declaration;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

/// Reads a declaration with its keys of today or of older versions.
pub(super) fn declaration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Declaration, D::Error> {
    let mut value = Value::deserialize(deserializer)?;
    rename(value.get_mut("generator"), "weight", "cpu_weight");
    for (tables, old, new) in
        [("service", "cpu_share", "cpu_limit"), ("postgres", "least_version", "min_version")]
    {
        let tables = value.get_mut(tables).and_then(Value::as_object_mut);
        tables.into_iter().flat_map(Map::values_mut).for_each(|table| rename(Some(table), old, new));
    }
    serde_json::from_value(value).map_err(de::Error::custom)
}

fn rename(table: Option<&mut Value>, old: &str, new: &str) {
    let Some(table) = table.and_then(Value::as_object_mut) else { return };
    if let Some(value) = table.remove(old) {
        table.insert(new.to_owned(), value);
    }
}
