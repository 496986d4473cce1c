//! Replies of Redis, read piece by piece.
//!
//! Bounds what it keeps by the memory of the VU, and lists in lists by [`DEPTH_MAX`]. Does not know which command a reply
//! belongs to. Version 2 of the protocol has five kinds of replies, which are read here because no byte of a server is
//! to be kept before it is counted.

use crate::account::{Account, Charge, OutOfMemory};
use crate::go_quote::quoted;

/// Most lists in one another.
const DEPTH_MAX: usize = 64;
/// Most bytes of a line.
const LINE_MAX: usize = 64 << 10;
/// Bytes that a reply in a list takes besides its text.
const ELEMENT_BYTES: usize = 64;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A text.
    Text(Vec<u8>),
    /// A whole number.
    Number(i64),
    /// Nothing: there is no such key, for example.
    Nothing,
    /// Replies.
    List(Vec<Self>),
    /// An error, with the kind that it begins with.
    Error(String),
}

/// Why a reply was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// It is no reply.
    #[error("redis: invalid reply: {}", quoted(.0))]
    Invalid(Vec<u8>),
    /// It does not fit into the memory of the VU.
    #[error("out of memory")]
    Memory,
}

impl From<OutOfMemory> for ReplyError {
    fn from(_: OutOfMemory) -> Self {
        Self::Memory
    }
}

/// A list that is not complete.
struct Open {
    left: usize,
    list: Vec<Reply>,
}

/// What a line says.
enum Item {
    Whole(Reply),
    List(usize),
}

/// Reads replies.
pub struct ReplyReader {
    bytes: Vec<u8>,
    /// Where the next item begins.
    at: usize,
    /// Up to where there is no end of a line.
    searched: usize,
    open: Vec<Open>,
    /// What is held until the reply is complete.
    memory: Charge,
    /// The bytes that have arrived.
    buffered: Charge,
}

impl ReplyReader {
    /// A reader whose memory is that of a VU.
    pub fn new(account: &Account) -> Self {
        let (memory, buffered) = (account.empty(), account.empty());
        Self { bytes: Vec::new(), at: 0, searched: 0, open: Vec::new(), memory, buffered }
    }

    /// Whether everything that arrived belongs to replies that were read.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.open.is_empty()
    }

    /// Where bytes that arrive are to be appended.
    pub const fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The next reply, with the memory that it takes, if all of it has arrived.
    pub fn read(&mut self) -> Result<Option<(Reply, Charge)>, ReplyError> {
        self.buffered.set(self.bytes.len())?;
        while let Some(item) = self.item()? {
            let mut reply = match item {
                Item::Whole(reply) => reply,
                Item::List(0) => Reply::List(Vec::new()),
                Item::List(left) => {
                    if self.open.len() >= DEPTH_MAX {
                        return Err(ReplyError::Invalid(b"too many lists in lists".to_vec()));
                    }
                    self.open.push(Open { left, list: Vec::new() });
                    continue;
                }
            };
            loop {
                let Some(outer) = self.open.last_mut() else {
                    self.forget_read();
                    let empty = self.memory.account().empty();
                    return Ok(Some((reply, std::mem::replace(&mut self.memory, empty))));
                };
                outer.list.push(reply);
                outer.left -= 1;
                if outer.left > 0 {
                    break;
                }
                let whole = self.open.pop().map(|open| open.list).unwrap_or_default();
                reply = Reply::List(whole);
            }
        }
        Ok(None)
    }

    fn forget_read(&mut self) {
        self.bytes.drain(..self.at);
        (self.at, self.searched) = (0, 0);
        if self.bytes.is_empty() && self.bytes.capacity() > LINE_MAX {
            self.bytes = Vec::new();
        }
        // It is fewer bytes than before, for which there is room.
        let _ = self.buffered.set(self.bytes.len());
    }

    fn item(&mut self) -> Result<Option<Item>, ReplyError> {
        let Some(end) = self.line_end()? else { return Ok(None) };
        let line = &self.bytes[self.at..end];
        let invalid = || ReplyError::Invalid(line.to_vec());
        let (&kind, rest) = line.split_first().ok_or_else(invalid)?;
        let number = || std::str::from_utf8(rest).ok().and_then(|text| text.parse::<i64>().ok());
        let whole = match kind {
            b'+' => Reply::Text(rest.to_vec()),
            b'-' => Reply::Error(String::from_utf8_lossy(rest).into_owned()),
            b':' => Reply::Number(number().ok_or_else(invalid)?),
            b'$' | b'*' if rest == b"-1" => Reply::Nothing,
            b'*' => {
                let count = number().and_then(|count| usize::try_from(count).ok()).ok_or_else(invalid)?;
                (self.at, self.searched) = (end + 2, end + 2);
                return Ok(Some(Item::List(count)));
            }
            b'$' => {
                let size = number().and_then(|size| usize::try_from(size).ok()).ok_or_else(invalid)?;
                return self.bulk(end + 2, size);
            }
            _ => return Err(invalid()),
        };
        let size = line.len();
        self.memory.grow(ELEMENT_BYTES + size)?;
        (self.at, self.searched) = (end + 2, end + 2);
        Ok(Some(Item::Whole(whole)))
    }

    /// Where the line ends that begins here.
    fn line_end(&mut self) -> Result<Option<usize>, ReplyError> {
        let from = self.searched.max(self.at);
        let found = self.bytes[from..].windows(2).position(|pair| pair == b"\r\n");
        if let Some(found) = found {
            return Ok(Some(from + found));
        }
        // The first half of the end can be here.
        self.searched = from.max(self.bytes.len().saturating_sub(1));
        if self.bytes.len() - self.at > LINE_MAX {
            let start = &self.bytes[self.at..];
            return Err(ReplyError::Invalid(start[..start.len().min(64)].to_vec()));
        }
        Ok(None)
    }

    /// The text of `size` bytes from `start` on.
    fn bulk(&mut self, start: usize, size: usize) -> Result<Option<Item>, ReplyError> {
        if !self.memory.account().grants(size) {
            return Err(ReplyError::Memory);
        }
        let end = start.saturating_add(size);
        let Some(text) = self.bytes.get(start..end) else { return Ok(None) };
        match self.bytes.get(end..end.saturating_add(2)) {
            None => return Ok(None),
            Some(b"\r\n") => {}
            Some(other) => return Err(ReplyError::Invalid(other.to_vec())),
        }
        let text = text.to_vec();
        self.memory.grow(ELEMENT_BYTES + size)?;
        (self.at, self.searched) = (end + 2, end + 2);
        Ok(Some(Item::Whole(Reply::Text(text))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> Account {
        Account::new(1 << 20)
    }

    fn text(text: &str) -> Reply {
        Reply::Text(text.as_bytes().to_vec())
    }

    /// What is read of `bytes` when they arrive in pieces of `size`.
    fn read(bytes: &[u8], size: usize) -> Result<Vec<Reply>, ReplyError> {
        let mut reader = ReplyReader::new(&account());
        let mut replies = Vec::new();
        for piece in bytes.chunks(size) {
            reader.buffer().extend_from_slice(piece);
            while let Some((reply, _)) = reader.read()? {
                replies.push(reply);
            }
        }
        Ok(replies)
    }

    #[test]
    fn replies_are_the_same_however_they_arrive() {
        let bytes =
            b"+OK\r\n:-7\r\n$-1\r\n*-1\r\n$4\r\na\r\nb\r\n*0\r\n-ERR no\r\n*2\r\n*1\r\n$0\r\n\r\n:1\r\n";
        let nested = Reply::List(vec![Reply::List(vec![text("")]), Reply::Number(1)]);
        let wanted = vec![
            text("OK"),
            Reply::Number(-7),
            Reply::Nothing,
            Reply::Nothing,
            text("a\r\nb"),
            Reply::List(Vec::new()),
            Reply::Error("ERR no".to_owned()),
            nested,
        ];
        for size in [1, 2, 3, 7, bytes.len()] {
            assert_eq!(read(bytes, size).unwrap(), wanted, "pieces of {size}");
        }
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for bytes in
            [&b"HTTP/1.1 200 OK\r\n"[..], b"\r\n", b":x\r\n", b"$-2\r\n", b"*x\r\n", b"$1\r\nabc\r\n"]
        {
            assert!(matches!(read(bytes, bytes.len()), Err(ReplyError::Invalid(_))), "{bytes:?}");
        }
        assert!(read(&vec![b'+'; LINE_MAX + 2], 4096).is_err());
        assert!(read(&b"*1\r\n".repeat(DEPTH_MAX + 1), 64).is_err());
    }

    #[test]
    fn a_reply_that_does_not_fit_into_the_memory_of_its_vu_is_not_kept() {
        assert_eq!(read(b"$999999999999\r\n", 64), Err(ReplyError::Memory));
        let endless = [&b"*99999999\r\n"[..], &b":1\r\n".repeat(100_000)].concat();
        assert_eq!(read(&endless, 4096), Err(ReplyError::Memory));
    }

    #[test]
    fn memory_is_given_back_with_the_reply() {
        let account = account();
        let mut reader = ReplyReader::new(&account);
        reader.buffer().extend_from_slice(b"$3\r\nabc\r\n");
        let (reply, memory) = reader.read().unwrap().unwrap();
        assert_eq!((reply, account.used() > 0), (text("abc"), true));
        drop(memory);
        assert_eq!(account.used(), 0);
    }
}
