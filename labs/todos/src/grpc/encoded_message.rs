//! A message that is encoded already, for answers that are kept encoded.
//!
//! Does not decode: the fields of a message that it is given are passed over.

use bytes::{Buf, BufMut, Bytes};
use prost::encoding::{DecodeContext, WireType, skip_field};
use prost::{DecodeError, Message};

/// An encoded message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct EncodedMessage(Bytes);

impl From<Bytes> for EncodedMessage {
    fn from(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

impl Message for EncodedMessage {
    fn encode_raw(&self, buffer: &mut impl BufMut) {
        buffer.put_slice(&self.0);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buffer: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        skip_field(wire_type, tag, buffer, context)
    }

    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}
