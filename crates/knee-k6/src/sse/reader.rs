//! Reads events from the bytes of a response, by the rules of xk6-sse.
//!
//! They differ from those of the HTML standard: lines end in a line feed only, a carriage return before it stays except
//! at the end of the data, a comment belongs to its event, an empty line ends an event whatever it has, and a line of
//! another field is an error. Pure.

use knee_core::outcome::Fault;

use super::event::ServerEvent;

/// Most bytes of one event. xk6-sse has no limit and can run out of memory.
const EVENT_MAX: usize = 16 << 20;

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// An event.
    Event(ServerEvent),
    /// A line that is no part of an event, with its end.
    Unknown(Vec<u8>),
}

/// Reads one response in any pieces.
#[derive(Debug, Default)]
pub struct EventReader {
    line: Vec<u8>,
    event: ServerEvent,
}

impl EventReader {
    /// Reads the next bytes and calls `found` for everything that is complete.
    ///
    /// # Errors
    ///
    /// [`Fault::BodyLimit`] for an event of more than 16 MiB.
    pub fn feed(&mut self, mut bytes: &[u8], mut found: impl FnMut(Found)) -> Result<(), Fault> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&bytes[..=end]);
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            if let Some(one) = self.take(&line) {
                found(one);
            }
            self.line = line;
            self.line.clear();
        }
        self.line.extend_from_slice(bytes);
        if self.line.len() + self.event.bytes() > EVENT_MAX { Err(Fault::BodyLimit) } else { Ok(()) }
    }

    /// Takes over a line with its end.
    fn take(&mut self, line: &[u8]) -> Option<Found> {
        let value = |name: &[u8]| {
            let rest = line.strip_prefix(name)?;
            Some(rest.strip_prefix(b" ").unwrap_or(rest))
        };
        let text = |rest: &[u8]| rest[..rest.len() - 1].to_vec();
        if let Some(rest) = value(b"id:") {
            self.event.id = text(rest);
        } else if let Some(rest) = value(b":") {
            self.event.comment = text(rest);
        } else if let Some(rest) = value(b"event:") {
            self.event.name = text(rest);
        } else if let Some(rest) = value(b"data:") {
            self.event.data.extend_from_slice(rest);
        } else if matches!(line, b"\n" | b"\r\n") {
            return Some(self.end_event());
        } else if !line.starts_with(b"retry:") {
            return Some(Found::Unknown(line.to_vec()));
        }
        None
    }

    fn end_event(&mut self) -> Found {
        let mut event = std::mem::take(&mut self.event);
        let kept = event.data.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n'));
        event.data.truncate(kept.map_or(0, |last| last + 1));
        Found::Event(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&str]) -> Vec<Found> {
        let mut reader = EventReader::default();
        let mut all = Vec::new();
        for piece in pieces {
            reader.feed(piece.as_bytes(), |found| all.push(found)).unwrap();
        }
        all
    }

    fn event(id: &str, name: &str, data: &str, comment: &str) -> ServerEvent {
        let [id, name, data, comment] = [id, name, data, comment].map(|text| text.as_bytes().to_vec());
        ServerEvent { id, name, data, comment }
    }

    #[test]
    fn an_event_has_what_stood_before_its_empty_line() {
        let body = ": hello\nid: 7\nevent:tick\ndata: a\ndata: b\nretry: 10\n\n";
        assert_eq!(read(&[body]), [Found::Event(event("7", "tick", "a\nb", "hello"))]);
    }

    #[test]
    fn carriage_returns_stay_except_at_the_end_of_the_data() {
        let found = read(&["id: 7\r\ndata: a\r\ndata: b\r\n\r\n"]);
        assert_eq!(found, [Found::Event(event("7\r", "", "a\r\nb", ""))]);
    }

    #[test]
    fn an_empty_line_ends_an_event_whatever_it_has() {
        let found = read(&[": ping\n\n", "\n", "data: cut off\n"]);
        assert_eq!(found, [Found::Event(event("", "", "", "ping")), Found::Event(ServerEvent::default())]);
    }

    #[test]
    fn a_line_of_another_field_is_an_error_and_the_event_goes_on() {
        let found = read(&["data: a\nwhat is", " this\n\n"]);
        assert_eq!(found, [Found::Unknown(b"what is this\n".to_vec()), Found::Event(event("", "", "a", ""))]);
    }

    #[test]
    fn an_event_without_an_end_is_refused_before_the_memory_is_full() {
        let mut reader = EventReader::default();
        let piece = vec![b'x'; 1 << 20];
        let fed = (0..64).take_while(|_| reader.feed(&piece, |_| {}).is_ok()).count();
        assert_eq!(fed, 16);
    }
}
