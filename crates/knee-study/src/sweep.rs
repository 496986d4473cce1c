//! How much a service can take: steps of load, and capacity, knee and breaking point from them.
