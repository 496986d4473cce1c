//! `k6/net/grpc`: calls and streams of gRPC.
//!
//! What keeps values of JavaScript is written in JavaScript: the handlers of streams. Does not send; `knee_k6::grpc`
//! does.

use rquickjs::class::Class;
use rquickjs::function::Constructor;
use rquickjs::{Ctx, Object, Result};

use super::current::state;
use super::define::Define as _;
use super::{factory, go_error};
use client::GrpcClient;
use knee_k6::grpc::session::StreamMetrics;
use knee_k6::grpc::status::Code;
use knee_k6::metric::{Contains, Kind, MetricId};

mod client;
mod connect;
pub mod deliver;
mod message;
mod native;
mod params;
mod shown;

/// Its exports.
pub const EXPORTS: &[&str] = &[
    "Client",
    "Stream",
    "StatusOK",
    "StatusCanceled",
    "StatusUnknown",
    "StatusInvalidArgument",
    "StatusDeadlineExceeded",
    "StatusNotFound",
    "StatusAlreadyExists",
    "StatusPermissionDenied",
    "StatusResourceExhausted",
    "StatusFailedPrecondition",
    "StatusAborted",
    "StatusOutOfRange",
    "StatusUnimplemented",
    "StatusInternal",
    "StatusUnavailable",
    "StatusDataLoss",
    "StatusUnauthenticated",
    "HealthCheckUnknown",
    "HealthCheckServing",
    "HealthCheckNotServing",
    "HealthCheckServiceUnkown",
];

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let constructor: Option<Constructor<'js>> = Class::<GrpcClient>::create_constructor(ctx)?;
    object.put("Client", constructor)?;
    let make = factory::function(ctx, "grpc", include_str!("grpc/stream.js"))?;
    object.put("Stream", make.call::<_, Object<'js>>((native::functions(ctx, metrics(ctx)?)?,))?)?;
    for (code, name) in Code::ALL {
        object.put(format!("Status{name}"), code as u32)?;
    }
    // The last name is misspelt in k6 as well.
    let health = ["Unknown", "Serving", "NotServing", "ServiceUnkown"];
    for (status, name) in health.into_iter().enumerate() {
        object.put(format!("HealthCheck{name}"), status as u32)?;
    }
    Ok(object)
}

/// The metrics of streams, which exist from now on.
fn metrics(ctx: &Ctx<'_>) -> Result<StreamMetrics> {
    let state = state(ctx)?;
    let declare = |name: &str| -> Result<MetricId> {
        let declared = state.program.metrics.declare(name, Kind::Counter, Contains::Default);
        declared.map_err(|error| {
            go_error::throw(ctx, &format!("failed to register GRPC module metrics: {error}"))
        })
    };
    Ok(StreamMetrics {
        streams: declare("grpc_streams")?,
        sent: declare("grpc_streams_msgs_sent")?,
        received: declare("grpc_streams_msgs_received")?,
    })
}
