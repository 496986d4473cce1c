//! The messages of `grpc.health.v1.Health`.
//!
//! Does not call it.

/// The method that says how a service is.
pub const CHECK: &str = "/grpc.health.v1.Health/Check";

/// The request.
#[derive(Clone, PartialEq, prost::Message)]
pub struct HealthCheckRequest {
    /// The service; empty for the whole server.
    #[prost(string, tag = "1")]
    pub service: String,
}

/// The response.
#[derive(Clone, PartialEq, prost::Message)]
pub struct HealthCheckResponse {
    /// 0 unknown, 1 serving, 2 not serving, 3 service unknown.
    #[prost(int32, tag = "1")]
    pub status: i32,
}
