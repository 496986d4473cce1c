//! Finds the events in the body of a response: server-sent events, or lines of JSON.
//!
//! Pure: no I/O and no clock. Keeps no data, except as much as it takes to recognize the event that ends a stream. The
//! rules for server-sent events are those of the HTML standard, section 9.2.6.

use memchr::memchr2;

/// What separates the events of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventForm {
    /// Server-sent events: an empty line ends each.
    ServerSent,
    /// Each line that is not blank is one.
    Lines,
}

impl EventForm {
    /// The form of bodies with this `content-type`; `None` for those that are no streams of events.
    pub fn of(content_type: &[u8]) -> Option<Self> {
        const LINES: &[&str] = &[
            "application/x-ndjson",
            "application/ndjson",
            "application/jsonl",
            "application/x-jsonl",
            "application/jsonlines",
            "application/x-jsonlines",
            "application/stream+json",
        ];
        let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let is = |known: &str| essence.eq_ignore_ascii_case(known.as_bytes());
        if is("text/event-stream") {
            return Some(Self::ServerSent);
        }
        LINES.iter().any(|known| is(known)).then_some(Self::Lines)
    }
}

/// What came to an end in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// An event.
    Event,
    /// The event whose data ends the stream.
    Last,
}

/// Reads one body in any pieces.
#[derive(Debug)]
pub struct EventReader {
    form: EventForm,
    /// Data of the event that ends the stream.
    until: Option<Box<[u8]>>,
    /// The line so far.
    line: Start,
    /// The data of the event so far.
    data: Start,
    /// Whether the last byte was a carriage return: a line feed after it ends no other line.
    is_after_return: bool,
    /// Whether no line has ended, so that the line can begin with a byte order mark.
    is_first: bool,
}

/// The first bytes of something that can be long.
#[derive(Debug, Default)]
struct Start {
    bytes: Vec<u8>,
    /// Whether there is anything, also of which no byte is kept.
    is_there: bool,
}

impl Start {
    /// Takes what is there, and is empty after that.
    fn take(&mut self) -> Option<Vec<u8>> {
        let bytes = std::mem::take(&mut self.bytes);
        std::mem::take(&mut self.is_there).then_some(bytes)
    }

    /// Gives the memory back.
    fn reuse(&mut self, mut bytes: Vec<u8>) {
        bytes.clear();
        self.bytes = bytes;
    }
}

/// Bytes of a byte order mark.
const MARK: &[u8] = b"\xEF\xBB\xBF";
/// Bytes of a line that say which field it is.
const FIELD_KEPT: usize = MARK.len() + b"data: ".len();

impl EventReader {
    /// A reader of bodies of this form. The event with the data `until` is the last one.
    pub fn new(form: EventForm, until: Option<&[u8]>) -> Self {
        Self {
            form,
            until: until.map(Into::into),
            line: Start::default(),
            data: Start::default(),
            is_after_return: false,
            is_first: true,
        }
    }

    /// Reads the next piece of the body and calls `found` at the end of each event. Nothing is read after the last
    /// one.
    pub fn feed(&mut self, mut bytes: &[u8], mut found: impl FnMut(Found)) {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.is_after_return) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = self.line_end(bytes) else {
                self.keep(bytes);
                return;
            };
            self.keep(&bytes[..end]);
            self.is_after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if let Some(event) = self.end_line() {
                found(event);
                if event == Found::Last {
                    return;
                }
            }
        }
    }

    /// The body is complete. Its last line can lack an end; a server-sent event that no empty line ended is none.
    pub fn finish(&mut self) -> Option<Found> {
        match self.form {
            EventForm::ServerSent => None,
            EventForm::Lines => self.end_line(),
        }
    }

    /// Where the line ends.
    fn line_end(&self, bytes: &[u8]) -> Option<usize> {
        match self.form {
            EventForm::ServerSent => memchr2(b'\n', b'\r', bytes),
            EventForm::Lines => memchr::memchr(b'\n', bytes),
        }
    }

    /// The most bytes of data that are kept: one more than the data of the last event has.
    fn data_kept(&self) -> usize {
        self.until.as_ref().map_or(0, |until| until.len() + 1)
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.line.is_there |= !bytes.is_empty();
        let room = (FIELD_KEPT + self.data_kept()).saturating_sub(self.line.bytes.len());
        self.line.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// The line is complete.
    fn end_line(&mut self) -> Option<Found> {
        let line = self.line.take().unwrap_or_default();
        let is_first = std::mem::take(&mut self.is_first);
        let text = if is_first { line.strip_prefix(MARK).unwrap_or(&line) } else { &line };
        let found = match self.form {
            EventForm::Lines => {
                let text = text.strip_suffix(b"\r").unwrap_or(text);
                (!text.trim_ascii().is_empty()).then(|| self.ended(text))
            }
            EventForm::ServerSent if text.is_empty() => self.end_event(),
            EventForm::ServerSent => {
                self.take_field(text);
                None
            }
        };
        self.line.reuse(line);
        found
    }

    /// Takes over a line of an event.
    fn take_field(&mut self, line: &[u8]) {
        let Some(rest) = line.strip_prefix(b"data") else { return };
        let value = match rest {
            [] => rest,
            [b':', b' ', value @ ..] | [b':', value @ ..] => value,
            _ => return,
        };
        let room = self.data_kept();
        let between: &[u8] = if self.data.is_there { b"\n" } else { b"" };
        let left = room.saturating_sub(self.data.bytes.len());
        self.data.bytes.extend(between.iter().chain(value).take(left));
        self.data.is_there = true;
    }

    /// An empty line.
    fn end_event(&mut self) -> Option<Found> {
        let data = self.data.take()?;
        let found = self.ended(&data);
        self.data.reuse(data);
        Some(found)
    }

    fn ended(&self, data: &[u8]) -> Found {
        if self.until.as_deref() == Some(data) { Found::Last } else { Found::Event }
    }
}

#[cfg(test)]
mod tests;
