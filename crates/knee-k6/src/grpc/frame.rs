//! Messages on the wire: a byte that says whether it is compressed, four bytes of length, the message.
//!
//! Knows no protobuf and no connection.

use std::io::Read as _;

use bytes::{Buf as _, Bytes, BytesMut};

use super::status::{Code, Status};

/// Bytes before each message.
const HEAD: usize = 5;
/// Most bytes of a message unless the script says otherwise, as in grpc-go.
pub const RECEIVE_MAX: usize = 4 << 20;

/// A message as it is sent: uncompressed, as k6 sends it.
pub fn framed(message: &[u8]) -> Result<Bytes, Status> {
    let length =
        u32::try_from(message.len()).map_err(|_| too_large("send", message.len(), u32::MAX as usize))?;
    let mut framed = BytesMut::with_capacity(HEAD + message.len());
    framed.extend_from_slice(&[0]);
    framed.extend_from_slice(&length.to_be_bytes());
    framed.extend_from_slice(message);
    Ok(framed.freeze())
}

/// The status of a message over a limit.
pub fn too_large(during: &str, length: usize, most: usize) -> Status {
    let words = match during {
        "send" => format!("trying to send message larger than max ({length} vs. {most})"),
        _ => format!("grpc: received message larger than max ({length} vs. {most})"),
    };
    Status::new(Code::ResourceExhausted, words)
}

/// Cuts messages out of a stream of bytes.
#[derive(Debug)]
pub struct Assembler {
    received: BytesMut,
    most: usize,
    is_gzip: bool,
}

impl Assembler {
    /// For messages of at most `most` bytes, which can be compressed with gzip if the head says so.
    pub fn new(most: usize, is_gzip: bool) -> Self {
        Self { received: BytesMut::new(), most, is_gzip }
    }

    /// Adds received bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    /// Whether nothing of a message is there.
    pub fn is_empty(&self) -> bool {
        self.received.is_empty()
    }

    /// The next message; `None` until all of it is there.
    pub fn take(&mut self) -> Result<Option<Bytes>, Status> {
        let Some(head) = self.received.first_chunk::<HEAD>() else { return Ok(None) };
        let [flag, length @ ..] = *head;
        let length = u32::from_be_bytes(length) as usize;
        if length > self.most {
            return Err(too_large("receive", length, self.most));
        }
        if self.received.len() < HEAD + length {
            self.received.reserve(HEAD + length - self.received.len());
            return Ok(None);
        }
        self.received.advance(HEAD);
        let message = self.received.split_to(length).freeze();
        match flag {
            0 => Ok(Some(message)),
            1 if self.is_gzip => self.inflated(&message).map(Some),
            1 => {
                Err(Status::new(Code::Internal, "grpc: compressed flag set with identity or empty encoding"))
            }
            flag => {
                let words = format!("grpc: received unexpected payload format {flag}");
                Err(Status::new(Code::Internal, words))
            }
        }
    }

    fn inflated(&self, message: &[u8]) -> Result<Bytes, Status> {
        let mut inflated = Vec::new();
        let decoder = flate2::read::MultiGzDecoder::new(message);
        let read = decoder.take(self.most as u64 + 1).read_to_end(&mut inflated);
        read.map_err(|error| {
            Status::new(Code::Internal, format!("grpc: failed to decompress the received message: {error}"))
        })?;
        if inflated.len() > self.most {
            let words = format!("grpc: received message after decompression larger than max {}", self.most);
            return Err(Status::new(Code::ResourceExhausted, words));
        }
        Ok(inflated.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn messages_arrive_as_they_were_sent_however_the_bytes_are_cut(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6),
            cuts in prop::collection::vec(1_usize..20, 1..30),
        ) {
            let sent: Vec<u8> =
                messages.iter().flat_map(|message| framed(message).unwrap().to_vec()).collect();
            let mut assembler = Assembler::new(64, false);
            let (mut received, mut rest) = (Vec::new(), &sent[..]);
            for size in cuts.iter().cycle() {
                let (now, later) = rest.split_at((*size).min(rest.len()));
                assembler.feed(now);
                while let Some(message) = assembler.take().unwrap() {
                    received.push(message.to_vec());
                }
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(received, messages);
            prop_assert!(assembler.is_empty());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), is_gzip in any::<bool>()) {
            let mut assembler = Assembler::new(32, is_gzip);
            assembler.feed(&bytes);
            while let Ok(Some(message)) = assembler.take() {
                prop_assert!(message.len() <= 32);
            }
        }
    }

    #[test]
    fn a_message_over_the_limit_is_refused_before_it_is_there() {
        let mut assembler = Assembler::new(10, false);
        assembler.feed(&[0, 0, 0, 0, 11]);
        let status = assembler.take().unwrap_err();
        assert_eq!(status.code, 8);
        assert_eq!(status.message, "grpc: received message larger than max (11 vs. 10)");
    }

    #[test]
    fn a_compressed_message_is_inflated_within_the_limit() {
        let packed = |length: usize| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(&vec![b'a'; length]).unwrap();
            let packed = encoder.finish().unwrap();
            let mut bytes = vec![1];
            bytes.extend((packed.len() as u32).to_be_bytes());
            bytes.extend(packed);
            bytes
        };
        let mut assembler = Assembler::new(100, true);
        assembler.feed(&packed(100));
        assert_eq!(assembler.take().unwrap().unwrap().len(), 100);
        assembler.feed(&packed(101));
        assert_eq!(assembler.take().unwrap_err().code, 8);
        let mut plain = Assembler::new(100, false);
        plain.feed(&packed(1));
        assert_eq!(plain.take().unwrap_err().code, 13);
    }
}
