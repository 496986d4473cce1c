//! Messages between a script on its stack and the VU that performs its operations.
//!
//! Plain data. A script asks with an [`Op`] and waits until the VU has a [`Reply`].

use std::cell::Cell;
use std::rc::Rc;

use knee_core::unit::Nanos;

use crate::runtime::thrown::Thrown;
use knee_k6::errand::Work;
use knee_k6::http::answer::Answer;
use knee_k6::http::request::Request;

/// An operation that a script asks the VU to perform.
pub enum Op {
    /// The last call is over; the script is idle until the next one.
    Rest(Ended),
    /// Send a request and wait for its response.
    Fetch(Rc<Request>),
    /// Send requests side by side and wait for all responses.
    FetchAll(Vec<Rc<Request>>),
    /// Send a request and go on at once; its response comes with [`Op::Await`].
    Begin(u64, Rc<Request>),
    /// Do other work on the network and wait until it is done.
    Wait(Work),
    /// Begin such work and go on at once; what comes of it is in the VU's [`Inbox`](knee_k6::inbox::Inbox).
    Start(Work),
    /// Wait until something happened to this number of the inbox, or until a time on the run's clock.
    Hear(u64, Nanos),
    /// Wait until this holds, which is looked at whenever the inbox wakes its VU.
    Until(Rc<Cell<bool>>),
    /// Wait until what was sent on a socket is with the kernel.
    Flush(u64),
    /// Wait until a request that was begun is done, until something is in the inbox, or until a time on the run's clock.
    Await(Nanos),
    /// Wait until a time on the run's clock.
    Sleep(Nanos),
    /// Yield to other VUs.
    Breathe,
}

/// The VU's reply to a script.
pub enum Reply {
    /// Something to do.
    Call(Call),
    /// The response to a request.
    Answer(Box<Answer>),
    /// The responses to several, in their order.
    Answers(Vec<Box<Answer>>),
    /// Requests that were begun and are done.
    Done(Vec<(u64, Box<Answer>)>),
    /// Go on.
    Go,
    /// The script must end now.
    Quit,
}

/// A call of something that a script exports.
#[derive(Clone, Debug)]
pub struct Call {
    /// The name of the export.
    pub export: Rc<str>,
    /// Stage of the call.
    pub stage: Stage,
    /// JSON of the argument; `None` for none.
    pub argument: Option<Rc<str>>,
}

/// Stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// An iteration of a scenario.
    Iteration,
    /// `setup`.
    Setup,
    /// `teardown`.
    Teardown,
    /// `handleSummary`.
    Summary,
}

/// Result of a call.
#[derive(Clone, Debug)]
pub enum Ended {
    /// It returned; JSON of what it returned, if the stage wants it and it was not undefined.
    Returned(Option<String>),
    /// It threw.
    Thrown(Thrown),
    /// The script asked for the whole test to end (`test.abort`).
    Aborted(String),
    /// It was cut off.
    Cut,
}
