//! vegeta's binary results, as `vegeta attack` writes them: one struct per request, encoded by Go's `gob`.
//!
//! Fields are found by the names in the file, not by their places. One message is in memory at a time.

use std::io::BufRead;

use crate::measurement::Document;
use crate::problem::ReadError;

use super::gob::{self, Bytes, End, Field, Type, Types};
use super::samples::Samples;
use super::vegeta::of_results;

/// The beginning of the first definition: a struct whose name is `Result`.
const STRUCT_RESULT: &[u8] = b"\x03\x01\x01\x06Result";

/// Seconds from the beginning of year 1 to that of 1970.
const BEFORE_1970_S: i64 = 62_135_596_800;

/// Whether an output begins with the definition of vegeta's result.
pub fn is_result(start: &[u8]) -> bool {
    let mut bytes = Bytes(start);
    let is_definition = bytes.uint().is_some() && bytes.int().is_some_and(|number| number < 0);
    is_definition && bytes.0.starts_with(STRUCT_RESULT)
}

/// What counts of a result.
#[derive(Default)]
struct Hit {
    status: u16,
    start: Option<f64>,
    time_ns: i64,
}

/// Reads every result.
///
/// # Errors
///
/// If a message is damaged, or the input cannot be read.
pub fn read(mut input: impl BufRead) -> Result<Document, ReadError> {
    let mut samples = Samples::default();
    let mut types = Types::default();
    let mut message = Vec::new();
    for part in 1.. {
        let damaged = |what| ReadError::Binary { part, what };
        match gob::next(&mut input, &mut message)? {
            Ok(()) => {}
            Err(End::Complete) => break,
            Err(End::Cut) => return Err(damaged("the file ends within it")),
            Err(End::Long) => return Err(damaged("its length is wrong, or above 64 MiB")),
        }
        let mut bytes = Bytes(&message);
        let number = bytes.int().ok_or_else(|| damaged("it has no type"))?;
        if let Some(defined) = number.checked_neg().filter(|defined| *defined > 0) {
            types.define(defined, bytes).ok_or_else(|| damaged("its definition of a type cannot be read"))?;
            continue;
        }
        let Some(Type::Struct(fields)) = types.get(number) else {
            return Err(damaged("its type is not known"));
        };
        if !fields.iter().any(|field| is(field, "Latency", gob::INT)) {
            return Err(damaged("its type has no latency"));
        }
        let hit = hit(fields, &types, &mut bytes).filter(|_| bytes.0.is_empty());
        let hit = hit.ok_or_else(|| damaged("its fields are not those of its type"))?;
        let seconds = hit.time_ns as f64 / 1e9;
        samples.add(seconds, hit.start.map(|start| start + seconds));
        samples.status(hit.status);
    }
    Ok(of_results(&samples))
}

fn is(field: &Field, name: &str, kind: i64) -> bool {
    field.name == name && field.kind == kind
}

fn hit(fields: &[Field], types: &Types, bytes: &mut Bytes<'_>) -> Option<Hit> {
    let mut hit = Hit::default();
    bytes.fields(|place, bytes| {
        let field = fields.get(place - 1)?;
        if is(field, "Code", gob::UINT) {
            hit.status = u16::try_from(bytes.uint()?).ok()?;
        } else if is(field, "Latency", gob::INT) {
            hit.time_ns = bytes.int()?;
        } else if field.name == "Timestamp" && matches!(types.get(field.kind), Some(Type::Own)) {
            hit.start = Some(seconds_of(bytes.blob()?)?);
        } else {
            types.skip(field.kind, bytes)?;
        }
        Some(())
    })?;
    Some(hit)
}

/// Seconds since 1970 of a time as Go writes it: version, seconds since year 1, nanoseconds, minutes to UTC.
fn seconds_of(time: &[u8]) -> Option<f64> {
    let (version, rest) = time.split_first()?;
    let (seconds, rest) = rest.split_first_chunk::<8>()?;
    let (nanoseconds, zone) = rest.split_first_chunk::<4>()?;
    let is_known = matches!((version, zone.len()), (1, 2) | (2, 3));
    let seconds = i64::from_be_bytes(*seconds).checked_sub(BEFORE_1970_S)?;
    let nanoseconds = u32::from_be_bytes(*nanoseconds);
    (is_known && nanoseconds < 1_000_000_000).then(|| seconds as f64 + f64::from(nanoseconds) / 1e9)
}
