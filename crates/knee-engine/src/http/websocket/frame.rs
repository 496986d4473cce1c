//! The heads of frames (RFC 6455, section 5.2), and the mask of a client's bytes.
//!
//! Pure. Does not join frames to messages; see [`super::assembler`].

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// More of a message.
    Continuation = 0,
    /// The start of a text.
    Text = 1,
    /// The start of a binary message.
    Binary = 2,
    /// The end of the conversation.
    Close = 8,
    /// A question whether the other side is there.
    Ping = 9,
    /// The response to a ping.
    Pong = 10,
}

/// Largest payload of a close, a ping or a pong, in bytes.
pub const CONTROL_MAX: usize = 125;

impl Opcode {
    /// The meaning of the four bits; `None` if they have none.
    pub const fn of(bits: u8) -> Option<Self> {
        Some(match bits {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return None,
        })
    }

    /// Whether it is a close, a ping or a pong, which can come between the frames of a message.
    pub const fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// The head of a frame, not yet checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// Whether it is the last frame of its message.
    pub is_final: bool,
    /// The three reserved bits, first one first.
    pub reserved: [bool; 3],
    /// The four bits of the opcode.
    pub opcode: u8,
    /// Whether its payload is masked.
    pub is_masked: bool,
    /// Bytes of its payload.
    pub length: u64,
    /// Bytes of the head itself.
    pub size: usize,
}

impl FrameHead {
    /// Reads the head at the start of `input`; `None` if it is not complete.
    pub fn read(input: &[u8]) -> Option<Self> {
        let [first, second, ..] = *input else { return None };
        let is_masked = second & 0x80 != 0;
        let (length, size) = match second & 0x7f {
            126 => (u64::from(u16::from_be_bytes(input.get(2..4)?.try_into().ok()?)), 4),
            127 => (u64::from_be_bytes(input.get(2..10)?.try_into().ok()?), 10),
            short => (u64::from(short), 2),
        };
        Some(Self {
            is_final: first & 0x80 != 0,
            reserved: [first & 0x40 != 0, first & 0x20 != 0, first & 0x10 != 0],
            opcode: first & 0x0f,
            is_masked,
            length,
            size,
        })
    }
}

/// Appends a whole message of a client as one frame.
pub fn write(out: &mut Vec<u8>, opcode: Opcode, is_compressed: bool, payload: &[u8], mask: [u8; 4]) {
    out.reserve(payload.len() + 14);
    out.push(0x80 | if is_compressed { 0x40 } else { 0 } | opcode as u8);
    match payload.len() {
        short @ 0..=125 => out.push(0x80 | short as u8),
        middle @ 126..=0xffff => {
            out.push(0x80 | 0x7e);
            out.extend_from_slice(&(middle as u16).to_be_bytes());
        }
        long => {
            out.push(0x80 | 0x7f);
            out.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&mask);
    let start = out.len();
    out.extend_from_slice(payload);
    apply_mask(&mut out[start..], mask);
}

/// Masks bytes, or removes the mask (RFC 6455, section 5.3).
pub fn apply_mask(bytes: &mut [u8], mask: [u8; 4]) {
    for four in bytes.chunks_mut(4) {
        four.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_the_standard_read_as_it_says() {
        // RFC 6455, section 5.7.
        let hello = FrameHead::read(&[0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]).unwrap();
        assert_eq!(
            (hello.is_final, hello.opcode, hello.is_masked, hello.length, hello.size),
            (true, 1, false, 5, 2)
        );
        let first = FrameHead::read(&[0x01, 0x03]).unwrap();
        assert!(!first.is_final);
        let long = FrameHead::read(&[0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0]).unwrap();
        assert_eq!((long.length, long.size), (65_536, 10));
        let mut masked = Vec::new();
        write(&mut masked, Opcode::Text, false, b"Hello", [0x37, 0xfa, 0x21, 0x3d]);
        assert_eq!(masked, [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]);
    }

    #[test]
    fn a_head_that_is_cut_anywhere_is_not_read() {
        let head = [0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0];
        assert!((0..head.len()).all(|end| FrameHead::read(&head[..end]).is_none()));
        assert!(FrameHead::read(&[0x82, 126, 1]).is_none());
    }

    proptest! {
        #[test]
        fn a_frame_reads_as_it_was_written(length in 0_usize..70_000, mask: [u8; 4]) {
            let payload: Vec<u8> = (0..length).map(|place| place as u8).collect();
            let mut bytes = Vec::new();
            write(&mut bytes, Opcode::Binary, true, &payload, mask);
            let head = FrameHead::read(&bytes).unwrap();
            prop_assert_eq!(head.length, length as u64);
            prop_assert_eq!(head.reserved, [true, false, false]);
            let rest = &mut bytes[head.size + 4..];
            apply_mask(rest, mask);
            prop_assert_eq!(&*rest, &payload[..]);
        }
    }
}
