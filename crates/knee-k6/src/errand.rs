//! Work on the network other than requests of `k6/http`, such as sockets and gRPC. A script can wait for it or continue.
//!
//! Says what such work gets; does not run it.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;

use knee_core::unit::Nanos;

use crate::flight::Late;
use crate::http::send::RequestSender;

/// What work gets from its VU.
#[derive(Clone)]
pub struct Errand {
    /// The worker's network and accounting.
    pub sender: Rc<RequestSender>,
    /// How late the first request of the iteration is; the work that sends it takes this.
    pub late: Rc<Cell<Late>>,
    /// When the iteration is ended, on the run's clock.
    pub cut: Nanos,
}

/// Work to be done.
pub type Work = Box<dyn FnOnce(Errand) -> Pin<Box<dyn Future<Output = ()>>>>;
