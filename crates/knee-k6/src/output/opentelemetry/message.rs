//! The messages of OTLP 1.x, as far as they are sent (<https://opentelemetry.io/docs/specs/otlp/>).

/// A push.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ExportRequest {
    /// Metrics by what they come from.
    #[prost(message, repeated, tag = "1")]
    pub resource_metrics: Vec<ResourceMetrics>,
}

/// What an endpoint says about a push that it took.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ExportResponse {
    /// What it did not take.
    #[prost(message, optional, tag = "1")]
    pub partial_success: Option<PartialSuccess>,
}

/// What an endpoint did not take.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PartialSuccess {
    /// Number of points.
    #[prost(int64, tag = "1")]
    pub rejected: i64,
    /// Why.
    #[prost(string, tag = "2")]
    pub message: String,
}

/// Metrics of one program.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResourceMetrics {
    /// The program.
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    /// Its metrics, by part.
    #[prost(message, repeated, tag = "2")]
    pub scope_metrics: Vec<ScopeMetrics>,
}

/// A program.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Resource {
    /// What is known about it.
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

/// Metrics of a part of a program.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ScopeMetrics {
    /// The part.
    #[prost(message, optional, tag = "1")]
    pub scope: Option<Scope>,
    /// Its metrics.
    #[prost(message, repeated, tag = "2")]
    pub metrics: Vec<Metric>,
}

/// A part of a program.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Scope {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
}

/// A metric.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Metric {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The unit of its values.
    #[prost(string, tag = "3")]
    pub unit: String,
    /// Its points.
    #[prost(oneof = "Data", tags = "5, 7, 9")]
    pub data: Option<Data>,
}

/// The points of a metric, one for each set of attributes.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Data {
    /// Last values.
    #[prost(message, tag = "5")]
    Gauge(Gauge),
    /// Sums.
    #[prost(message, tag = "7")]
    Sum(Sum),
    /// Distributions.
    #[prost(message, tag = "9")]
    Histogram(Histogram),
}

/// Last values.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Gauge {
    /// The points.
    #[prost(message, repeated, tag = "1")]
    pub points: Vec<NumberPoint>,
}

/// Sums.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Sum {
    /// The points.
    #[prost(message, repeated, tag = "1")]
    pub points: Vec<NumberPoint>,
    /// Of which time: [`CUMULATIVE`].
    #[prost(int32, tag = "2")]
    pub temporality: i32,
    /// Whether they never fall.
    #[prost(bool, tag = "3")]
    pub is_monotonic: bool,
}

/// Distributions.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Histogram {
    /// The points.
    #[prost(message, repeated, tag = "1")]
    pub points: Vec<HistogramPoint>,
    /// Of which time: [`CUMULATIVE`].
    #[prost(int32, tag = "2")]
    pub temporality: i32,
}

/// Sums are of the whole time since their start.
pub const CUMULATIVE: i32 = 2;

/// A number.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NumberPoint {
    /// Sorted by name.
    #[prost(message, repeated, tag = "7")]
    pub attributes: Vec<KeyValue>,
    /// Nanoseconds since the Unix epoch.
    #[prost(fixed64, tag = "2")]
    pub start: u64,
    /// Nanoseconds since the Unix epoch.
    #[prost(fixed64, tag = "3")]
    pub at: u64,
    /// The value.
    #[prost(oneof = "Number", tags = "4, 6")]
    pub value: Option<Number>,
}

/// A value.
#[derive(Clone, Copy, PartialEq, prost::Oneof)]
pub enum Number {
    /// Any number.
    #[prost(double, tag = "4")]
    Double(f64),
    /// A whole number.
    #[prost(sfixed64, tag = "6")]
    Int(i64),
}

/// A distribution.
#[derive(Clone, PartialEq, prost::Message)]
pub struct HistogramPoint {
    /// Sorted by name.
    #[prost(message, repeated, tag = "9")]
    pub attributes: Vec<KeyValue>,
    /// Nanoseconds since the Unix epoch.
    #[prost(fixed64, tag = "2")]
    pub start: u64,
    /// Nanoseconds since the Unix epoch.
    #[prost(fixed64, tag = "3")]
    pub at: u64,
    /// Number of values.
    #[prost(fixed64, tag = "4")]
    pub count: u64,
    /// Sum of the values.
    #[prost(double, optional, tag = "5")]
    pub sum: Option<f64>,
    /// Values in each bucket, one bucket more than bounds.
    #[prost(fixed64, repeated, tag = "6")]
    pub counts: Vec<u64>,
    /// Where buckets end, which belongs to them.
    #[prost(double, repeated, tag = "7")]
    pub bounds: Vec<f64>,
    /// Smallest value.
    #[prost(double, optional, tag = "11")]
    pub min: Option<f64>,
    /// Largest value.
    #[prost(double, optional, tag = "12")]
    pub max: Option<f64>,
}

/// An attribute.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct KeyValue {
    /// Its name.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// The value of an attribute.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct AnyValue {
    /// A text, also if it is empty.
    #[prost(string, optional, tag = "1")]
    pub text: Option<String>,
}

impl KeyValue {
    /// An attribute.
    pub fn new(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), value: Some(AnyValue { text: Some(value.to_owned()) }) }
    }
}
