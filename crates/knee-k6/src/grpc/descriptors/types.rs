//! The messages that `google.protobuf.Any` can hold: those of all loads.
//!
//! Does not know methods.

use std::sync::Arc;

use prost_reflect::{DescriptorPool, MessageDescriptor};

/// The messages of all loads. The first load that has a name defines it, as in k6.
#[derive(Clone, Default)]
pub struct Types(Arc<Vec<DescriptorPool>>);

impl Types {
    /// Adds the messages of a load.
    pub fn add(&mut self, pool: DescriptorPool) {
        Arc::make_mut(&mut self.0).push(pool);
    }

    /// The message of a type URL: its name is what follows the last slash.
    pub fn message(&self, url: &str) -> Option<MessageDescriptor> {
        let name = url.rsplit('/').next().unwrap_or_default();
        self.0.iter().find_map(|pool| pool.get_message_by_name(name))
    }
}
