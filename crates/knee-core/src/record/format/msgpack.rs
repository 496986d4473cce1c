//! `MessagePack`, read value by value from bytes in memory.
//!
//! For content whose decoded form could take many times the memory of its bytes: nothing is allocated here, so the
//! caller decides what it keeps. Everything else is decoded by serde, after [`Values::decode`] has counted its values.
//! Does not know what the values mean.

use serde::de::DeserializeOwned;

use super::unfit::Unfit;

/// Most values (numbers, texts, lists, maps) that are decoded at once. In memory each takes 48 bytes at the most, and
/// its text.
pub const VALUES_MAX: u64 = 1 << 18;

/// Most bytes that are decoded at once.
pub const DECODED_BYTES_MAX: usize = 16 << 20;

/// The values that lie in a piece of memory, one after another.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    rest: &'a [u8],
}

/// What the first byte of a value says.
enum Start {
    /// The whole of a number from 0 on.
    Whole(u64),
    /// The bytes of text or binary data that follow.
    Bytes(usize),
    /// The values of a list that follow.
    List(u64),
    /// The pairs of a map that follow.
    Map(u64),
    /// Something else, which takes that many more bytes.
    Other(usize),
}

impl<'a> Values<'a> {
    /// The values in `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// How many bytes are left.
    pub const fn left(&self) -> usize {
        self.rest.len()
    }

    /// The number of pairs of a map, which follow.
    ///
    /// # Errors
    /// `Content` if the next value is none, as for all methods here.
    pub fn map(&mut self) -> Result<u64, Unfit> {
        match self.start()? {
            Start::Map(pairs) => Ok(pairs),
            _ => Err(Unfit::content("a map is expected")),
        }
    }

    /// The number of values of a list, which follow.
    ///
    /// # Errors
    /// As [`Values::map`].
    pub fn list(&mut self) -> Result<u64, Unfit> {
        match self.start()? {
            Start::List(values) => Ok(values),
            _ => Err(Unfit::content("a list is expected")),
        }
    }

    /// Whether the next value is a list.
    pub fn is_list(&self) -> bool {
        let mut copy = *self;
        matches!(copy.start(), Ok(Start::List(_)))
    }

    /// A list of exactly `length` values, which follow.
    ///
    /// # Errors
    /// As [`Values::map`].
    pub fn list_of(&mut self, length: u64) -> Result<(), Unfit> {
        let found = self.list()?;
        if found == length { Ok(()) } else { Err(Unfit::content("a list has an unexpected length")) }
    }

    /// A whole number from 0 on.
    ///
    /// # Errors
    /// As [`Values::map`].
    #[inline]
    pub fn number(&mut self) -> Result<u64, Unfit> {
        // Most numbers of a record are small.
        if let Some((first @ 0..=0x7f, rest)) = self.rest.split_first() {
            self.rest = rest;
            return Ok(u64::from(*first));
        }
        match self.start()? {
            Start::Whole(number) => Ok(number),
            _ => Err(Unfit::content("a whole number of at least 0 is expected")),
        }
    }

    /// Text.
    ///
    /// # Errors
    /// As [`Values::map`].
    pub fn text(&mut self) -> Result<&'a str, Unfit> {
        let Start::Bytes(length) = self.start()? else { return Err(Unfit::content("text is expected")) };
        std::str::from_utf8(self.take(length)?).map_err(|_| Unfit::content("text is not UTF-8"))
    }

    /// True or false.
    ///
    /// # Errors
    /// As [`Values::map`].
    pub fn flag(&mut self) -> Result<bool, Unfit> {
        match self.take(1)? {
            [0xc2] => Ok(false),
            [0xc3] => Ok(true),
            _ => Err(Unfit::content("true or false is expected")),
        }
    }

    /// The bytes of the next value and of all that it contains, and the number of these values.
    ///
    /// # Errors
    /// As [`Values::map`].
    pub fn whole(&mut self) -> Result<(&'a [u8], u64), Unfit> {
        let before = self.rest;
        // Not recursive: lists in lists must not fill the stack.
        let (mut left, mut seen) = (1_u64, 0_u64);
        while left > 0 {
            left -= 1;
            seen += 1;
            match self.start()? {
                Start::Whole(_) => {}
                Start::Bytes(bytes) | Start::Other(bytes) => drop(self.take(bytes)?),
                Start::List(values) => left += values,
                Start::Map(pairs) => left += 2 * pairs,
            }
        }
        Ok((&before[..before.len() - self.rest.len()], seen))
    }

    /// Decodes the next value.
    ///
    /// # Errors
    /// `Content` if it is not a `T`; `Memory` if it is larger than [`VALUES_MAX`] or [`DECODED_BYTES_MAX`].
    pub fn decode<T: DeserializeOwned>(&mut self) -> Result<T, Unfit> {
        let (bytes, values) = self.whole()?;
        if values > VALUES_MAX || bytes.len() > DECODED_BYTES_MAX {
            return Err(Unfit::memory(format!("{} bytes cannot hold {values} values", bytes.len())));
        }
        rmp_serde::from_slice(bytes).map_err(|error| Unfit::Content(error.to_string()))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Unfit> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(Unfit::content("the frame ends within a value"));
        };
        self.rest = rest;
        Ok(taken)
    }

    /// A number of `width` bytes, 8 at the most.
    fn wide(&mut self, width: usize) -> Result<u64, Unfit> {
        Ok(self.take(width)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn start(&mut self) -> Result<Start, Unfit> {
        let first = self.take(1)?.first().copied().unwrap_or_default();
        Ok(match first {
            0x00..=0x7f => Start::Whole(u64::from(first)),
            0x80..=0x8f => Start::Map(u64::from(first & 0x0f)),
            0x90..=0x9f => Start::List(u64::from(first & 0x0f)),
            0xa0..=0xbf => Start::Bytes(usize::from(first & 0x1f)),
            0xcc..=0xcf => Start::Whole(self.wide(1 << (first - 0xcc))?),
            0xc4..=0xc6 => Start::Bytes(self.wide(1 << (first - 0xc4))? as usize),
            0xd9..=0xdb => Start::Bytes(self.wide(1 << (first - 0xd9))? as usize),
            0xdc | 0xdd => Start::List(self.wide(2 << (first - 0xdc))?),
            0xde | 0xdf => Start::Map(self.wide(2 << (first - 0xde))?),
            // Extensions: their kind, then their bytes.
            0xc7..=0xc9 => Start::Other(1 + self.wide(1 << (first - 0xc7))? as usize),
            0xd4..=0xd8 => Start::Other(1 + (1 << (first - 0xd4))),
            // Binary fractions and signed numbers.
            0xca | 0xcb => Start::Other(4 << (first - 0xca)),
            0xd0..=0xd3 => Start::Other(1 << (first - 0xd0)),
            // Nil, false, true; negative numbers.
            0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => Start::Other(0),
            0xc1 => return Err(Unfit::content("a byte is not valid MessagePack")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_is_skipped_as_a_whole() {
        let value = serde_json::json!({
            "numbers": [0, 127, 128, 255, 256, 65_535, 65_536, u64::MAX, -1, -33, -129, i64::MIN],
            "fractions": [0.5, -1e300], "none": null, "flags": [true, false],
            "texts": ["", "a", "x".repeat(40), "x".repeat(300), "x".repeat(70_000)],
            "many": (0..70_000).collect::<Vec<_>>(), "deep": [[[[[[1]]]]]],
        });
        let mut bytes = rmp_serde::to_vec_named(&value).unwrap();
        let length = bytes.len();
        bytes.extend(rmp_serde::to_vec(&7_u64).unwrap());
        let mut values = Values::new(&bytes);
        assert_eq!(values.whole().unwrap().0.len(), length);
        assert_eq!((values.number().unwrap(), values.left()), (7, 0));
        assert_eq!(Values::new(&bytes).decode::<serde_json::Value>().unwrap(), value);
        for cut in [0, 1, length / 2, length - 1] {
            assert!(Values::new(&bytes[..cut]).whole().is_err(), "{cut}");
        }
    }

    #[test]
    fn binary_data_and_extensions_are_skipped_too() {
        for bytes in [
            &[0xc4, 2, 1, 1][..],
            &[0xc5, 0, 1, 1],
            &[0xc7, 2, 9, 1, 1],
            &[0xd4, 9, 1],
            &[0xd8, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
            &[0xca, 1, 1, 1, 1],
        ] {
            let mut values = Values::new(bytes);
            values.whole().unwrap();
            assert_eq!(values.left(), 0, "{bytes:x?}");
        }
        assert!(Values::new(&[0xc1]).whole().is_err());
    }

    #[test]
    fn whole_numbers_are_read_in_every_width() {
        for number in [0, 1, 127, 128, 255, 256, 65_535, 65_536, u64::from(u32::MAX), 1 << 32, u64::MAX] {
            let bytes = rmp_serde::to_vec(&number).unwrap();
            assert_eq!(Values::new(&bytes).number().unwrap(), number);
        }
        assert!(Values::new(&rmp_serde::to_vec(&-1).unwrap()).number().is_err());
    }

    #[test]
    fn a_claimed_length_beyond_the_bytes_is_an_error() {
        for bytes in [
            &[0xdb, 0xff, 0xff, 0xff, 0xff][..],
            &[0xdd, 0xff, 0xff, 0xff, 0xff],
            &[0xdf, 0xff, 0xff, 0xff, 0xff],
        ] {
            assert!(Values::new(bytes).whole().is_err());
        }
    }

    #[test]
    fn what_would_take_much_memory_is_not_decoded() {
        let many = vec![0_u8; VALUES_MAX as usize + 1];
        let bytes = rmp_serde::to_vec(&many).unwrap();
        assert!(matches!(Values::new(&bytes).decode::<Vec<u64>>(), Err(Unfit::Memory(_))));
    }
}
