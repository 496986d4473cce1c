//! The messages of the protocol, version 0.1.0, as far as they are sent
//! (<https://prometheus.io/docs/specs/prw/remote_write_spec/>).

/// A push.
#[derive(Clone, PartialEq, prost::Message)]
pub struct WriteRequest {
    /// The series.
    #[prost(message, repeated, tag = "1")]
    pub series: Vec<TimeSeries>,
}

/// A series with its new value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TimeSeries {
    /// Sorted by name.
    #[prost(message, repeated, tag = "1")]
    pub labels: Vec<Label>,
    /// Values.
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<Sample>,
    /// Histograms.
    #[prost(message, repeated, tag = "4")]
    pub histograms: Vec<Histogram>,
}

/// A label.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Label {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// A value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Sample {
    /// The value.
    #[prost(double, tag = "1")]
    pub value: f64,
    /// Milliseconds since the Unix epoch.
    #[prost(int64, tag = "2")]
    pub timestamp: i64,
}

/// A native histogram of integers.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Histogram {
    /// Number of values.
    #[prost(uint64, optional, tag = "1")]
    pub count: Option<u64>,
    /// Sum of the values.
    #[prost(double, tag = "3")]
    pub sum: f64,
    /// Buckets for each doubling: 2 to the power of this.
    #[prost(sint32, tag = "4")]
    pub schema: i32,
    /// Values up to this count as zero.
    #[prost(double, tag = "5")]
    pub zero_threshold: f64,
    /// Number of those.
    #[prost(uint64, optional, tag = "6")]
    pub zero_count: Option<u64>,
    /// Buckets of negative values.
    #[prost(message, repeated, tag = "8")]
    pub negative_spans: Vec<Span>,
    /// Their counts, each as the difference to the one before.
    #[prost(sint64, repeated, tag = "9")]
    pub negative_deltas: Vec<i64>,
    /// Buckets of positive values.
    #[prost(message, repeated, tag = "11")]
    pub positive_spans: Vec<Span>,
    /// Their counts, each as the difference to the one before.
    #[prost(sint64, repeated, tag = "12")]
    pub positive_deltas: Vec<i64>,
    /// Milliseconds since the Unix epoch.
    #[prost(int64, tag = "15")]
    pub timestamp: i64,
}

/// Buckets in a row.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Span {
    /// The first one; after another span, how many lie between.
    #[prost(sint32, tag = "1")]
    pub offset: i32,
    /// How many.
    #[prost(uint32, tag = "2")]
    pub length: u32,
}
