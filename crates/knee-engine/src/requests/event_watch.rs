//! Watches the response of one request for events, and records each as it arrives.
//!
//! Keeps no data and does not decode: a one-liner that watches events asks for bodies that are not encoded.

use std::cell::RefCell;
use std::rc::Rc;

use knee_core::outcome::Fault;
use knee_core::unit::Nanos;

use crate::http::events::{EventForm, EventReader, Found};
use crate::http::response::ResponseHead;
use crate::http::settings::EventSettings;
use crate::recorder::{FlightId, Recorder};

/// The events of one response.
pub struct EventWatch {
    recorder: Rc<RefCell<Recorder>>,
    flight: FlightId,
    settings: EventSettings,
    /// `None` if the response is no success and so no stream.
    reader: Option<EventReader>,
    /// When what is read now has arrived.
    now: Nanos,
    has_event: bool,
    is_over: bool,
}

impl EventWatch {
    /// Watches the response of `flight`.
    pub fn new(recorder: Rc<RefCell<Recorder>>, flight: FlightId, settings: EventSettings) -> Self {
        recorder.borrow_mut().expect_events(flight);
        Self { recorder, flight, settings, reader: None, now: Nanos::ZERO, has_event: false, is_over: false }
    }

    /// What follows was read at this time.
    pub const fn read_at(&mut self, at: Nanos) {
        self.now = at;
    }

    /// The head of the response.
    ///
    /// # Errors
    ///
    /// [`Fault::NoEvents`] if it succeeded and is no stream of events, or one that cannot be read because it is encoded.
    pub fn head(&mut self, head: &ResponseHead<'_>) -> Result<(), Fault> {
        self.reader = None;
        if !(200..300).contains(&head.status) {
            return Ok(());
        }
        let is_encoded = head
            .fields
            .get("content-encoding")
            .map(<[u8]>::trim_ascii)
            .is_some_and(|value| !value.is_empty() && !value.eq_ignore_ascii_case(b"identity"));
        let form = head.fields.get("content-type").and_then(EventForm::of).filter(|_| !is_encoded);
        let form = form.ok_or(Fault::NoEvents)?;
        self.reader = Some(EventReader::new(form, self.settings.until.as_deref()));
        Ok(())
    }

    /// The next bytes of the body.
    pub fn body(&mut self, bytes: &[u8]) {
        let Self { recorder, flight, reader, now, has_event, is_over, .. } = self;
        if let Some(reader) = reader.as_mut().filter(|_| !*is_over) {
            reader.feed(bytes, |found| {
                recorder.borrow_mut().event(*flight, *now);
                *has_event = true;
                *is_over = found == Found::Last;
            });
        }
    }

    /// The body is complete.
    ///
    /// # Errors
    ///
    /// [`Fault::NoEvents`] if it had none, [`Fault::EventsCut`] if the last one was missing.
    pub fn end(&mut self) -> Result<(), Fault> {
        let Some(reader) = &mut self.reader else { return Ok(()) };
        if let Some(found) = reader.finish().filter(|_| !self.is_over) {
            self.recorder.borrow_mut().event(self.flight, self.now);
            self.has_event = true;
            self.is_over = found == Found::Last;
        }
        match (self.has_event, self.is_over || self.settings.until.is_none()) {
            (false, _) => Err(Fault::NoEvents),
            (true, false) => Err(Fault::EventsCut),
            (true, true) => Ok(()),
        }
    }

    /// Whether the last event has arrived.
    pub const fn is_over(&self) -> bool {
        self.is_over
    }
}
