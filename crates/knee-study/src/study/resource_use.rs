//! What a trial measured of an observed resource.
//!
//! Plain data: the caller calculates it, by the utilisation law.

use serde::{Deserialize, Serialize};

/// What a trial measured of an observed resource.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfResource {
    /// Its servers: CPUs, threads; above zero.
    pub servers: f64,
    /// Seconds that it was busy per complete response.
    pub demand_s: f64,
    /// Its utilisation, as a share.
    pub reached: f64,
}
