//! Attributes of the kind `data-*`: their names and values as scripts see them.
//!
//! Does not look at pages.

use std::fmt::Write as _;

/// Parts of names that are written in capitals.
const CAPITALS: [&str; 38] = [
    "ACL", "API", "ASCII", "CPU", "CSS", "DNS", "EOF", "ETA", "GPU", "GUID", "HTML", "HTTP", "HTTPS", "ID",
    "IP", "JSON", "LHS", "OS", "QPS", "RAM", "RHS", "RPC", "SLA", "SMTP", "SQL", "SSH", "TCP", "TLS", "TTL",
    "UDP", "UI", "UID", "UUID", "URI", "URL", "UTF8", "VM", "XML",
];

/// A value, typed.
#[derive(Clone, Debug, PartialEq)]
pub enum DataValue<'a> {
    /// Nothing.
    Undefined,
    /// A truth value.
    Bool(bool),
    /// A number in its canonical form.
    Number(f64),
    /// JSON; malformed JSON counts as text.
    Json(&'a str),
    /// A text.
    Text(&'a str),
}

/// The typed value of an attribute.
pub fn value(text: &str) -> DataValue<'_> {
    match text {
        "" | "null" | "undefined" => DataValue::Undefined,
        "true" => DataValue::Bool(true),
        "false" => DataValue::Bool(false),
        _ if text.starts_with(['{', '[']) => DataValue::Json(text),
        _ => match text.parse::<f64>() {
            Ok(number) if number.is_finite() && number.to_string() == text => DataValue::Number(number),
            _ => DataValue::Text(text),
        },
    }
}

/// The name of a property for what comes after `data-`: `user-name` is `userName`.
pub fn property(attribute: &str) -> String {
    let Some((first, rest)) = attribute.split_once('-') else { return attribute.to_owned() };
    let mut name = first.to_owned();
    for word in rest.split(['-', '_']).filter(|word| !word.is_empty()) {
        let capitals = word.to_uppercase();
        if CAPITALS.contains(&capitals.as_str()) {
            name.push_str(&capitals);
            continue;
        }
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        name.extend(first);
        name.push_str(letters.as_str());
    }
    name
}

/// The part after `data-` for a property name: `userName` is `user-name`.
pub fn attribute(property: &str) -> String {
    let mut name = String::new();
    let mut before_is_small = false;
    for letter in property.chars() {
        let is_capital = letter.is_uppercase();
        if is_capital && before_is_small {
            name.push('-');
        }
        before_is_small = !is_capital && letter != '-';
        let letter = if letter == '_' { '-' } else { letter };
        // Writing to a string cannot fail.
        let _ = write!(name, "{}", letter.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_properties_and_attributes_go_both_ways() {
        for (attribute_name, name) in [("user-name", "userName"), ("user-id", "userID"), ("plain", "plain")] {
            assert_eq!(property(attribute_name), name);
            assert_eq!(attribute(name), attribute_name);
        }
    }

    #[test]
    fn values_mean_what_they_look_like() {
        assert_eq!(value("101"), DataValue::Number(101.0));
        assert_eq!(value("101.00"), DataValue::Text("101.00"));
        assert_eq!(value("1E02"), DataValue::Text("1E02"));
        assert_eq!(value("true"), DataValue::Bool(true));
        assert_eq!(value("null"), DataValue::Undefined);
        assert_eq!(value("[1]"), DataValue::Json("[1]"));
    }
}
