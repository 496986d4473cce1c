//! Go's encoding `gob`: messages, definitions of types, and values that are walked by their types.
//!
//! Rules: <https://pkg.go.dev/encoding/gob>, "Encoding Details". Does not know what a value means. Every count of a file
//! is compared with the bytes that are there, so a short file cannot ask for much memory or time.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};

/// Longest message, in bytes. A message has one value, such as a response with its body.
pub const MESSAGE_BYTES_MAX: u64 = 64 << 20;

/// Longest definition of a type, in bytes.
const DEFINITION_BYTES_MAX: usize = 64 << 10;

/// Most types of a file.
const TYPES_MAX: usize = 64;

/// Most values within one another.
const DEPTH_MAX: u32 = 16;

/// Numbers of the types that need no definition.
pub const INT: i64 = 2;
/// Whole numbers that are not negative.
pub const UINT: i64 = 3;

/// A field of a struct.
pub struct Field {
    /// Its name.
    pub name: String,
    /// The number of its type.
    pub kind: i64,
}

/// A type that a file defines.
pub enum Type {
    /// Fields, each with its distance to the one before.
    Struct(Vec<Field>),
    /// Elements of one type.
    List(i64),
    /// Pairs of two types.
    Map(i64, i64),
    /// Bytes that the type itself encodes.
    Own,
}

/// Bytes of a message that are still to read. Every function is `None` if they end too early or are wrong.
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    /// One byte below 128, or minus the number of bytes that follow, with the highest first.
    pub fn uint(&mut self) -> Option<u64> {
        let [first] = *self.take(1)? else { return None };
        if first < 128 {
            return Some(u64::from(first));
        }
        let digits = self.take(u64::from(first.wrapping_neg())).filter(|digits| digits.len() <= 8)?;
        Some(digits.iter().fold(0, |value, digit| (value << 8) | u64::from(*digit)))
    }

    /// The lowest bit says whether the others are inverted.
    pub fn int(&mut self) -> Option<i64> {
        let bits = self.uint()?;
        let value = (bits >> 1) as i64;
        Some(if bits & 1 == 1 { !value } else { value })
    }

    /// Bytes after their number: a text, a list of bytes, or a value that its type encodes.
    pub fn blob(&mut self) -> Option<&'a [u8]> {
        let count = self.uint()?;
        self.take(count)
    }

    /// Calls a function with the place, from 1, of each field that is there. Fields that are zero are not.
    pub fn fields(&mut self, mut take: impl FnMut(usize, &mut Self) -> Option<()>) -> Option<()> {
        let mut place = 0usize;
        loop {
            let distance = self.uint()?;
            if distance == 0 {
                return Some(());
            }
            place = place.checked_add(usize::try_from(distance).ok()?)?;
            take(place, self)?;
        }
    }

    /// The definition of a type, a struct with one field: which kind it is of.
    fn definition(&mut self) -> Option<Type> {
        let mut found = None;
        self.fields(|kind, bytes| {
            let (mut fields, mut numbers) = (Vec::new(), [0, 0]);
            bytes.fields(|place, bytes| match (kind, place) {
                (_, 1) => bytes.name_and_number().map(|_| ()),
                (3, 2) => {
                    for _ in 0..bytes.uint()? {
                        let (name, kind) = bytes.name_and_number()?;
                        fields.push(Field { name, kind });
                    }
                    Some(())
                }
                (1 | 2 | 4, 2) => bytes.int().map(|number| numbers[0] = number),
                (1 | 4, 3) => bytes.int().map(|number| numbers[1] = number),
                _ => None,
            })?;
            found = Some(match kind {
                1 | 2 => Type::List(numbers[0]),
                3 => Type::Struct(fields),
                4 => Type::Map(numbers[0], numbers[1]),
                5..=7 => Type::Own,
                _ => return None,
            });
            Some(())
        })?;
        found
    }

    /// A struct of a name and a number: what every type has, and what a field is.
    fn name_and_number(&mut self) -> Option<(String, i64)> {
        let (mut name, mut number) = (String::new(), 0);
        self.fields(|place, bytes| match place {
            1 => bytes.blob().map(|text| name = String::from_utf8_lossy(text).into_owned()),
            2 => bytes.int().map(|read| number = read),
            _ => None,
        })?;
        Some((name, number))
    }
}

/// The types that a file has defined so far, by their numbers.
#[derive(Default)]
pub struct Types(BTreeMap<i64, Type>);

impl Types {
    /// The type of a number.
    pub fn get(&self, number: i64) -> Option<&Type> {
        self.0.get(&number)
    }

    /// Reads a definition, which is a whole message after the number.
    pub fn define(&mut self, number: i64, mut bytes: Bytes<'_>) -> Option<()> {
        if bytes.0.len() > DEFINITION_BYTES_MAX || self.0.len() >= TYPES_MAX {
            return None;
        }
        let defined = bytes.definition().filter(|_| bytes.0.is_empty())?;
        self.0.insert(number, defined);
        Some(())
    }

    /// Walks over a value.
    pub fn skip(&self, kind: i64, bytes: &mut Bytes<'_>) -> Option<()> {
        self.skip_within(kind, bytes, 0)
    }

    fn skip_within(&self, kind: i64, bytes: &mut Bytes<'_>, depth: u32) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        // Booleans, numbers and fractions have the form of a whole number; a complex number has two of them.
        match kind {
            1..=4 => return bytes.uint().map(|_| ()),
            5 | 6 => return bytes.blob().map(|_| ()),
            7 => return bytes.uint().and_then(|_| bytes.uint()).map(|_| ()),
            _ => {}
        }
        match self.get(kind)? {
            Type::Own => bytes.blob().map(|_| ()),
            Type::Struct(fields) => {
                bytes.fields(|place, bytes| self.skip_within(fields.get(place - 1)?.kind, bytes, depth + 1))
            }
            // Each element has at least one byte, so the bytes limit the loop.
            Type::List(element) => {
                for _ in 0..bytes.uint()? {
                    self.skip_within(*element, bytes, depth + 1)?;
                }
                Some(())
            }
            Type::Map(key, value) => {
                for _ in 0..bytes.uint()? {
                    self.skip_within(*key, bytes, depth + 1)?;
                    self.skip_within(*value, bytes, depth + 1)?;
                }
                Some(())
            }
        }
    }
}

/// Why there is no next message.
pub enum End {
    /// The file ends behind a message.
    Complete,
    /// It ends within a message.
    Cut,
    /// The message is too long, or has no length.
    Long,
}

/// Reads the next message into `message`, or says why there is none. The buffer grows with the bytes that are there, not
/// by the length that the file states.
pub fn next(input: &mut impl BufRead, message: &mut Vec<u8>) -> Result<Result<(), End>, std::io::Error> {
    message.clear();
    let mut head = Vec::with_capacity(9);
    input.by_ref().take(1).read_to_end(&mut head)?;
    let Some(first) = head.first().copied() else { return Ok(Err(End::Complete)) };
    if first >= 128 {
        input.by_ref().take(u64::from(first.wrapping_neg()).min(8)).read_to_end(&mut head)?;
    }
    let length = match Bytes(&head).uint() {
        Some(length) if (1..=MESSAGE_BYTES_MAX).contains(&length) => length,
        Some(_) => return Ok(Err(End::Long)),
        None => return Ok(Err(if head.len() < 9 { End::Cut } else { End::Long })),
    };
    input.by_ref().take(length).read_to_end(message)?;
    Ok(if message.len() as u64 == length { Ok(()) } else { Err(End::Cut) })
}
