//! `/events`: a stream of events, each of which a worker makes, as a service that generates text does.
//!
//! The first event waits for a free worker, and so does each next one. So the knee is that of the service, divided by the
//! events of a stream.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame};

use super::clerk::Clerk;

/// What the events say, one after another; the last one says that it is.
const WORDS: [&str; 10] =
    ["The", "order", "of", "Ada", "was", "shipped", "on", "Monday", "morning.", "[DONE]"];

/// The body of a stream.
pub struct Events {
    clerk: Arc<Clerk>,
    /// Events that were written.
    written: usize,
    /// The work for the next one.
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Events {
    /// A stream whose events the workers of `clerk` make.
    pub fn new(clerk: Arc<Clerk>) -> Self {
        Self { clerk, written: 0, work: None }
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(text) = WORDS.get(self.written) else { return Poll::Ready(None) };
        let clerk = self.clerk.clone();
        let making = self.work.get_or_insert_with(|| Box::pin(async move { clerk.work().await }));
        ready!(making.as_mut().poll(ctx));
        self.work = None;
        self.written += 1;
        let event = format!("id: {}\ndata: {text}\n\n", self.written);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(event)))))
    }
}
