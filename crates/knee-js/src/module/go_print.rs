//! Values as Go prints them (`%v`): what k6 puts into a form.
//!
//! Functions have an address there, and the text of JavaScript here.

use rquickjs::{Array, Coerced, Object, Result, Value};

use super::argument;
use super::define::elements;

/// Deeper values are cut: Go would never end with a value that contains itself.
const DEPTH_MAX: usize = 64;

/// Whole numbers up to here are integers for k6.
const INTEGER_MAX: f64 = 9_007_199_254_740_992.0;

/// The text of a value.
pub fn text(value: &Value<'_>) -> Result<String> {
    nested(value, 0)
}

fn nested(value: &Value<'_>, depth: usize) -> Result<String> {
    if depth > DEPTH_MAX {
        return Ok("...".to_owned());
    }
    if value.is_null() || value.is_undefined() {
        return Ok("<nil>".to_owned());
    }
    if let Some(number) = value.as_number() {
        return Ok(number_text(number));
    }
    if let Some(array) = value.as_array() {
        return list(array, depth);
    }
    match value.as_object().filter(|_| !value.is_function()) {
        Some(object) if argument::kind(value) == "map[string]interface {}" => match date(object)? {
            Some(text) => Ok(text),
            None => map(object, depth),
        },
        _ => Ok(value.get::<Coerced<String>>()?.0),
    }
}

fn list(array: &Array<'_>, depth: usize) -> Result<String> {
    let items: Vec<String> = elements(array)?.map(|item| nested(&item?, depth + 1)).collect::<Result<_>>()?;
    Ok(format!("[{}]", items.join(" ")))
}

/// Go sorts maps by their keys.
fn map(object: &Object<'_>, depth: usize) -> Result<String> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for pair in object.props::<String, Value<'_>>() {
        let (name, value) = pair?;
        pairs.push((name, nested(&value, depth + 1)?));
    }
    pairs.sort();
    let pairs: Vec<String> = pairs.into_iter().map(|(name, value)| format!("{name}:{value}")).collect();
    Ok(format!("map[{}]", pairs.join(" ")))
}

/// A date in UTC; `None` if it is none.
fn date(object: &Object<'_>) -> Result<Option<String>> {
    let is_date = super::console::is_date(object)?;
    let Some(millis) = is_date.then(|| object.as_value().get::<Coerced<f64>>()).transpose()? else {
        return Ok(None);
    };
    let time = jiff::Timestamp::from_millisecond(millis.0 as i64).unwrap_or_default();
    // Go prints no zeros at the end of a fraction.
    Ok(Some(format!("{} +0000 UTC", time.strftime("%Y-%m-%d %H:%M:%S%.f"))))
}

/// A number: whole ones as integers, others with the fewest digits that make them.
fn number_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let is_integer = number.fract() == 0.0 && number.abs() < INTEGER_MAX;
    if is_integer {
        let sign = if number == 0.0 && number.is_sign_negative() { "-" } else { "" };
        return format!("{sign}{}", number as i64);
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..21).contains(&exponent) {
        return format!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_by_go() {
        for (number, text) in [
            (1.0, "1"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (0.1, "0.1"),
            (1e6, "1000000"),
            (12_345_678.0, "12345678"),
            (1e21, "1e+21"),
            (1e20, "100000000000000000000"),
            (1e-7, "1e-07"),
            (1.25e-5, "1.25e-05"),
            (0.0001, "0.0001"),
            (1.5e300, "1.5e+300"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(number_text(number), text, "{number:e}");
        }
    }
}
