//! What outputs send, read byte by byte: messages of Prometheus and of OpenTelemetry, and lines of InfluxDB.
//!
//! Uses no code of the program under test. Reads only what the tests ask for: sums, not histograms.

use std::collections::BTreeMap;

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub name: String,
    pub tags: BTreeMap<String, String>,
    pub fields: BTreeMap<String, f64>,
}

impl Point {
    pub fn tag(&self, name: &str) -> &str {
        self.tags.get(name).map_or("", String::as_str)
    }

    pub fn value(&self) -> f64 {
        self.fields.get("value").copied().unwrap_or_else(|| panic!("no value in {self:?}"))
    }
}

/// A field of a message in the encoding of Protocol Buffers.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, with their numbers.
fn fields(mut message: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut found = Vec::new();
    while !message.is_empty() {
        let key = varint(&mut message);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut message)),
            1 => Field::Number(u64::from_le_bytes(cut(&mut message, 8).try_into().unwrap())),
            2 => {
                let length = varint(&mut message) as usize;
                Field::Bytes(cut(&mut message, length))
            }
            5 => Field::Number(u32::from_le_bytes(cut(&mut message, 4).try_into().unwrap()).into()),
            other => panic!("a wire type {other}"),
        };
        found.push((key >> 3, field));
    }
    found
}

fn cut<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (head, rest) = bytes.split_at(length);
    *bytes = rest;
    head
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for place in 0.. {
        let byte = cut(bytes, 1)[0];
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            break;
        }
    }
    value
}

/// The messages in the fields of this number.
fn messages(message: &[u8], number: u64) -> Vec<&[u8]> {
    let of_number = |(found, field)| match field {
        Field::Bytes(bytes) if found == number => Some(bytes),
        _ => None,
    };
    fields(message).into_iter().filter_map(of_number).collect()
}

fn text(message: &[u8], number: u64) -> String {
    messages(message, number)
        .first()
        .map_or_else(String::new, |bytes| String::from_utf8(bytes.to_vec()).unwrap())
}

fn number(message: &[u8], number: u64) -> Option<u64> {
    fields(message).into_iter().find_map(|(found, field)| match field {
        Field::Number(value) if found == number => Some(value),
        _ => None,
    })
}

/// The series of a write of Prometheus, each with its value.
pub fn remote_write(body: &[u8]) -> Vec<Point> {
    let message = snap::raw::Decoder::new().decompress_vec(body).unwrap();
    let series = |series: &[u8]| {
        let labels = messages(series, 1).into_iter().map(|label| (text(label, 1), text(label, 2)));
        let mut tags: BTreeMap<String, String> = labels.collect();
        let sample = messages(series, 2)[0];
        let value = f64::from_bits(number(sample, 1).unwrap_or_default());
        let name = tags.remove("__name__").unwrap();
        Point { name, tags, fields: BTreeMap::from([("value".to_owned(), value)]) }
    };
    messages(&message, 1).into_iter().map(series).collect()
}

/// The sums of an export of OpenTelemetry.
pub fn opentelemetry(body: &[u8]) -> Vec<Point> {
    let mut points = Vec::new();
    for metric in [1, 2, 2].iter().fold(vec![body], |all, number| {
        all.into_iter().flat_map(|message| messages(message, *number)).collect()
    }) {
        let name = text(metric, 1);
        for point in messages(metric, 7).into_iter().flat_map(|sum| messages(sum, 1)) {
            let pair = |pair: &[u8]| {
                (text(pair, 1), messages(pair, 2).first().map_or_else(String::new, |value| text(value, 1)))
            };
            let tags = messages(point, 7).into_iter().map(pair).collect();
            let whole = number(point, 6).map(|value| value.cast_signed() as f64);
            let value = whole.or(number(point, 4).map(f64::from_bits)).unwrap_or_default();
            let fields = BTreeMap::from([("value".to_owned(), value)]);
            points.push(Point { name: name.clone(), tags, fields });
        }
    }
    points
}

/// The points of a write of InfluxDB whose names, tags and fields have no special characters.
pub fn influxdb(body: &[u8]) -> Vec<Point> {
    let pairs = |text: &str| -> Vec<(String, String)> {
        let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        text.split(',').filter_map(pair).collect()
    };
    let point = |line: &str| {
        let mut parts = line.split(' ');
        let (head, fields) = (parts.next().unwrap(), parts.next().unwrap());
        let numbers = pairs(fields).into_iter().filter_map(|(name, value)| Some((name, value.parse().ok()?)));
        Point {
            name: head.split(',').next().unwrap().to_owned(),
            tags: pairs(head).into_iter().collect(),
            fields: numbers.collect(),
        }
    };
    std::str::from_utf8(body).unwrap().lines().map(point).collect()
}
