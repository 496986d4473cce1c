//! Collects a response, within the memory of its VU, and makes of it what a script sees.
//!
//! Does not send and does not count.

use std::rc::Rc;

use knee_core::outcome::Fault;
use knee_core::unit::Nanos;
use knee_engine::http::client::Fetched;
use knee_engine::http::decode::Decoders;
use knee_engine::http::decode::output::{BodyBuffer, Output as _};
use knee_engine::http::memory::MemoryBudget;
use knee_engine::http::response::{ResponseHead, Sink, Version};

use super::answer::{Answer, Headers, Timings};
use super::decode;
use super::hop::Hop;
use super::request::{Keep, Request};
use super::{error_code, proxy_error};
use crate::account::Charge;

/// Most bytes of one body, received or decoded. k6 has no limit and can run out of memory. All bodies together are
/// limited by the memory budget of the run.
const BODY_MAX: u64 = 1 << 30;

/// Collects a response.
pub struct Collected {
    keep: Keep,
    has_head: bool,
    version: Version,
    reason: String,
    headers: Headers,
    body: BodyBuffer,
    /// Counts the body as it grows, in the account of the VU.
    memory: Charge,
    /// Whether the VU had no room for more of the body.
    is_out_of_memory: bool,
}

impl Collected {
    /// Nothing yet of the response to `request`; the body is kept within `budget` and the memory of the VU.
    pub fn new(request: &Request, budget: &Rc<MemoryBudget>) -> Self {
        Self {
            keep: request.keep,
            has_head: false,
            version: Version::default(),
            reason: String::new(),
            headers: Headers::default(),
            body: BodyBuffer::new(budget.clone(), BODY_MAX),
            memory: request.account().empty(),
            is_out_of_memory: false,
        }
    }

    /// Its header lines; without those that Go's client removes if it has decoded the body.
    pub fn shown_headers(&self, is_decoded: bool) -> Headers {
        let mut shown = Headers::default();
        let removed = |name: &[u8]| {
            is_decoded
                && ["content-encoding", "content-length"]
                    .iter()
                    .any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
        };
        self.headers
            .iter()
            .filter(|(name, _)| !removed(name))
            .for_each(|(name, value)| shown.push(name, value));
        shown
    }

    /// What the script sees of a request that began at `begun`.
    pub fn into_answer(
        self,
        request: &Rc<Request>,
        hop: &Hop,
        fetched: &Fetched,
        begun: Nanos,
        decoders: &Decoders,
    ) -> Box<Answer> {
        let timings = Timings::of(&fetched.marks, begun, fetched.done);
        let encoding = self.headers.get("content-encoding").map(<[u8]>::to_vec);
        let mut answer = Answer::new(request, &hop.target, timings, self.body);
        answer.version = self.version;
        answer.memory = self.memory;
        answer.is_out_of_memory = self.is_out_of_memory;
        // A body must have room in the VU as it is and decoded.
        let room = request.account().left() as u64;
        answer.body.limit_to(room);
        match &fetched.result {
            Ok(status) => {
                answer.peer = fetched.peer;
                answer.status = *status;
                answer.reason = self.reason;
                answer.headers = self.headers;
                if let Some(encoding) = encoding
                    && let Err(fault) = decode::decode_all(decoders, &encoding, &mut answer.body)
                {
                    answer.is_out_of_memory = fault == Fault::DecodeLimit && room < BODY_MAX;
                    answer.status = 0;
                    let words = format!("error decompressing response body ({})", fault.sentence());
                    answer.error = Some((words, 1701));
                }
            }
            Err(failure) => {
                // Scripts see the start of a body of which the rest did not come.
                answer.is_cut = self.has_head;
                if let Some(encoding) = encoding {
                    decode::decode_start(decoders, &encoding, &mut answer.body);
                }
                let (words, code) = proxy_error::of_failure(failure);
                answer.error = Some((words, code));
                answer.detail =
                    hop.target.origin.as_ref().ok().and_then(|origin| error_code::detail_of(failure, origin));
            }
        }
        answer.count_memory();
        answer
    }
}

impl Sink for Collected {
    fn head(&mut self, head: &ResponseHead<'_>) -> Result<(), Fault> {
        self.reason.clear();
        self.reason.push_str(head.reason);
        self.headers.clear();
        let fields = head.fields.iter();
        let bytes = fields.clone().map(|(name, value)| name.len() + value.len()).sum();
        self.headers.reserve(fields.len(), bytes);
        let is_chunked = fields.clone().any(|(name, _)| is_coding(name));
        let shown = fields.filter(|(name, value)| !is_framing(name, value, is_chunked));
        shown.for_each(|(name, value)| self.headers.push(name.as_bytes(), value));
        self.body.clear();
        (self.has_head, self.version) = (true, head.version);
        Ok(())
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if self.keep == Keep::Nothing {
            return Ok(());
        }
        if self.memory.grow(bytes.len()).is_err() {
            self.is_out_of_memory = true;
            return Err(Fault::BodyLimit);
        }
        self.body.take(bytes)
    }

    fn end(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Whether a header says that a body comes in chunks.
fn is_coding(name: &str) -> bool {
    name.len() == 17 && name.eq_ignore_ascii_case("transfer-encoding")
}

/// Whether Go's client keeps a header to itself.
fn is_framing(name: &str, value: &[u8], is_chunked: bool) -> bool {
    match name.len() {
        7 => is_chunked && name.eq_ignore_ascii_case("trailer"),
        10 => name.eq_ignore_ascii_case("connection") && has_close(value),
        14 => is_chunked && name.eq_ignore_ascii_case("content-length"),
        _ => is_coding(name),
    }
}

/// Whether a list of tokens has `close`.
fn has_close(value: &[u8]) -> bool {
    value.split(|byte| *byte == b',').any(|token| token.trim_ascii().eq_ignore_ascii_case(b"close"))
}
