//! Why an operation was refused, as scripts see it.

/// An error of `crypto.subtle`: an object with a name and a message that is no `Error`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", if name.is_empty() { String::new() } else { format!("{name}: ") })]
pub struct Refused {
    /// `DataError`, for example; empty for errors that k6 gives no name.
    pub name: &'static str,
    /// What is wrong.
    pub message: String,
}

macro_rules! kinds {
    ($($(#[$about:meta])* $function:ident $name:literal;)*) => {
        impl Refused {
            $(
                $(#[$about])*
                pub fn $function(message: impl Into<String>) -> Self {
                    Self { name: $name, message: message.into() }
                }
            )*
        }
    };
}

kinds! {
    /// The data of a key are wrong.
    data "DataError";
    /// What the tool itself cannot do.
    implementation "ImplementationError";
    /// A key does not fit, or must not be used for this.
    access "InvalidAccessError";
    /// There is no such algorithm, format or length.
    unsupported "NotSupportedError";
    /// The operation failed.
    operation "OperationError";
    /// A parameter is missing, or a usage is wrong.
    syntax "SyntaxError";
    /// A value has the wrong type.
    kind "TypeError";
    /// k6 does not have it.
    not_there "NotImplemented";
    /// An error that k6 gives no name.
    plain "";
}
