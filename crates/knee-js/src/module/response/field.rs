//! The fields of a response: their names, in k6's order, and how QuickJS's names are distinguished.
//!
//! Does not make their values.

use std::cell::RefCell;

use rquickjs::{Atom, Ctx, Exception, Function, JsLifetime, Result, Symbol};

/// Writes the enum of the fields with its names, so that neither can lack a line of the other.
macro_rules! fields {
    ($($field:ident $name:literal;)*) => {
        /// A field of a response.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Field {
            $(#[doc = concat!("`", $name, "`")] $field,)*
        }

        impl Field {
            /// All of them: k6's structure, then its methods.
            pub const ALL: &'static [Self] = &[$(Self::$field),*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$field => $name),* }
            }
        }
    };
}

fields! {
    RemoteIp "remote_ip";
    RemotePort "remote_port";
    Url "url";
    Status "status";
    StatusText "status_text";
    Proto "proto";
    Headers "headers";
    Cookies "cookies";
    Body "body";
    Timings "timings";
    TlsVersion "tls_version";
    TlsCipherSuite "tls_cipher_suite";
    Ocsp "ocsp";
    Error "error";
    ErrorCode "error_code";
    Request "request";
    ClickLink "clickLink";
    Html "html";
    Json "json";
    SubmitForm "submitForm";
}

impl Field {
    /// Whether it is a function.
    pub const fn is_method(self) -> bool {
        matches!(self, Self::ClickLink | Self::Html | Self::Json | Self::SubmitForm)
    }
}

/// Makes the function behind a field.
pub type Method = for<'js> fn(&Ctx<'js>) -> Result<Function<'js>>;

/// What all responses of a VU share: the names of their fields as QuickJS keeps them, and their methods.
#[derive(JsLifetime)]
pub struct Names<'js> {
    /// In the order of [`Field::ALL`].
    atoms: Vec<Atom<'js>>,
    /// Under which a response keeps the values that were made or set.
    hidden: Symbol<'js>,
    methods: Methods,
    /// The methods that the script has read.
    made: RefCell<Vec<Made<'js>>>,
}

/// A method that was made.
#[derive(JsLifetime)]
struct Made<'js> {
    field: Field,
    function: Function<'js>,
}

/// The methods, which are made when a script reads them.
type Methods = [(Field, Method); 4];

impl<'js> Names<'js> {
    /// Gives a VU the names. To be called once, before its first response.
    pub fn install(ctx: &Ctx<'js>, methods: Methods) -> Result<()> {
        let atom = |field: &Field| Atom::from_str(ctx.clone(), field.name());
        let names = Self {
            atoms: Field::ALL.iter().map(atom).collect::<Result<_>>()?,
            hidden: Symbol::new(ctx.clone())?,
            methods,
            made: RefCell::default(),
        };
        ctx.store_userdata(names).map(drop).map_err(|_| Exception::throw_internal(ctx, "names are in use"))
    }

    /// Calls `then` with the names.
    pub fn with<T>(ctx: &Ctx<'js>, then: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let names = ctx.userdata::<Names<'js>>();
        names.map_or_else(|| Err(Exception::throw_internal(ctx, "no VU is running")), |names| then(&names))
    }

    /// The field of this name.
    pub fn field(&self, name: &Atom<'js>) -> Option<Field> {
        self.atoms.iter().position(|known| known == name).map(|place| Field::ALL[place])
    }

    /// The names, in k6's order.
    pub fn atoms(&self) -> &[Atom<'js>] {
        &self.atoms
    }

    /// The name of a field.
    pub fn atom(&self, field: Field) -> Atom<'js> {
        self.atoms[field as usize].clone()
    }

    /// The name of the property in which a response keeps values.
    pub fn hidden(&self) -> Symbol<'js> {
        self.hidden.clone()
    }

    /// The method behind a field; `None` if there is none.
    pub fn method(&self, ctx: &Ctx<'js>, field: Field) -> Result<Option<Function<'js>>> {
        if let Some(made) = self.made.borrow().iter().find(|made| made.field == field) {
            return Ok(Some(made.function.clone()));
        }
        let Some((_, make)) = self.methods.iter().find(|(known, _)| *known == field) else { return Ok(None) };
        let method = make(ctx)?.with_name(field.name())?;
        self.made.borrow_mut().push(Made { field, function: method.clone() });
        Ok(Some(method))
    }
}
