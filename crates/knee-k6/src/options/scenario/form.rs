//! A scenario as written: its executor, and the options that are set.
//!
//! Does not judge values; every number can be negative here.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::duration::SignedDuration;
use crate::options::stage::Stage;
use crate::read::{Read, ReadError, required};

/// The scenarios of one layer, by name.
pub type Scenarios = BTreeMap<String, Form>;

/// A scenario as it was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form {
    /// Start time.
    pub start_time: Option<SignedDuration>,
    /// Grace period for iterations after its end.
    pub graceful_stop: Option<SignedDuration>,
    /// Variables added to `__ENV`.
    pub env: Option<BTreeMap<String, String>>,
    /// The exported function.
    pub exec: Option<String>,
    /// Tags of its samples.
    pub tags: Option<BTreeMap<String, String>>,
    /// Options of modules, such as `browser`.
    pub options: Option<Value>,
    /// The executor with its own options.
    pub executor: Executor,
}

/// Defines an executor's options: `name: field kind "key" …`, in the order in which k6 shows them.
macro_rules! executors {
    ($($variant:ident $name:literal { $($field:ident: $kind:ty = $key:literal,)* })*) => {
        /// An executor with the options that are set.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Executor {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant {
                    $(#[doc = concat!("`", $key, "`")] $field: Option<$kind>,)*
                },
            )*
        }

        impl Executor {
            /// k6's name.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $name,)* }
            }

            /// Takes its options out of `entries`.
            fn take(name: &str, entries: &mut Map<String, Value>) -> Result<Self, ReadError> {
                match name {
                    $($name => Ok(Self::$variant { $($field: take(entries, $key)?,)* }),)*
                    _ => Err(ReadError(format!("unknown executor type '{name}'"))),
                }
            }

            /// Its options as a script sees them, unset ones as `null`.
            pub fn show(&self, shown: &mut Map<String, Value>) {
                match self {
                    $(Self::$variant { $($field,)* } => {
                        $(shown.insert($key.to_owned(), $field.as_ref().map_or(Value::Null, Show::show));)*
                    })*
                }
            }
        }
    };
}

executors! {
    SharedIterations "shared-iterations" { vus: i64 = "vus", iterations: i64 = "iterations", max_duration: SignedDuration = "maxDuration", }
    PerVuIterations "per-vu-iterations" { vus: i64 = "vus", iterations: i64 = "iterations", max_duration: SignedDuration = "maxDuration", }
    ConstantVus "constant-vus" { vus: i64 = "vus", duration: SignedDuration = "duration", }
    RampingVus "ramping-vus" { start_vus: i64 = "startVUs", stages: Vec<Stage> = "stages", graceful_ramp_down: SignedDuration = "gracefulRampDown", }
    ConstantArrivalRate "constant-arrival-rate" {
        rate: i64 = "rate", time_unit: SignedDuration = "timeUnit", duration: SignedDuration = "duration",
        pre_allocated_vus: i64 = "preAllocatedVUs", max_vus: i64 = "maxVUs",
    }
    RampingArrivalRate "ramping-arrival-rate" {
        start_rate: i64 = "startRate", time_unit: SignedDuration = "timeUnit", stages: Vec<Stage> = "stages",
        pre_allocated_vus: i64 = "preAllocatedVUs", max_vus: i64 = "maxVUs",
    }
    ExternallyControlled "externally-controlled" { vus: i64 = "vus", duration: SignedDuration = "duration", max_vus: i64 = "maxVUs", }
}

impl Default for Executor {
    /// The default: one iteration of one VU.
    fn default() -> Self {
        Self::PerVuIterations { vus: None, iterations: None, max_duration: None }
    }
}

/// A value as `exec.test.options` shows it.
trait Show {
    fn show(&self) -> Value;
}

impl Show for i64 {
    fn show(&self) -> Value {
        Value::from(*self)
    }
}

impl Show for SignedDuration {
    fn show(&self) -> Value {
        Value::from(self.to_string())
    }
}

impl Show for Vec<Stage> {
    fn show(&self) -> Value {
        self.iter().map(|stage| stage.to_json()).collect()
    }
}

fn take<T: Read>(entries: &mut Map<String, Value>, key: &str) -> Result<Option<T>, ReadError> {
    let Some(value) = entries.remove(key) else { return Ok(None) };
    T::read(&value).map_err(|error| ReadError(format!("`{key}`: {error}")))
}

impl Form {
    /// A scenario that only has an executor.
    pub fn of(executor: Executor) -> Self {
        Self { executor, ..Self::default() }
    }

    /// Reads one scenario. An option that its executor does not have is an error, as in k6.
    fn read(name: &str, value: &Value) -> Result<Self, ReadError> {
        let mut entries = match value {
            Value::Object(entries) => entries.clone(),
            Value::Null => Map::new(),
            _ => return Err(ReadError::kind("an object", value)),
        };
        let executor = entries.remove("executor").unwrap_or(Value::Null);
        let executor: String = match &executor {
            Value::Null => String::new(),
            other => required(other, "the name of an executor")?,
        };
        if executor.is_empty() {
            return Err(ReadError(format!("scenario '{name}' doesn't have a specified executor type")));
        }
        let entries = &mut entries;
        let form = Self {
            start_time: take(entries, "startTime")?,
            graceful_stop: take(entries, "gracefulStop")?,
            env: take(entries, "env")?,
            exec: take(entries, "exec")?,
            tags: take(entries, "tags")?,
            options: take(entries, "options")?,
            executor: Executor::take(&executor, entries)?,
        };
        match entries.keys().next() {
            Some(unknown) => Err(ReadError(format!("unknown field {unknown:?} for the executor {executor}"))),
            None => Ok(form),
        }
    }

    /// As a script sees it in `exec.test.options.scenarios`.
    pub fn to_json(&self) -> Value {
        let texts = |map: &Option<BTreeMap<String, String>>| {
            map.as_ref().map_or(Value::Null, |map| {
                map.iter().map(|(k, v)| (k.clone(), Value::from(v.clone()))).collect()
            })
        };
        let span = |span: Option<SignedDuration>| span.map_or(Value::Null, |span| span.show());
        let mut shown = Map::new();
        shown.insert("executor".into(), self.executor.name().into());
        shown.insert("startTime".into(), span(self.start_time));
        shown.insert("gracefulStop".into(), span(self.graceful_stop));
        shown.insert("env".into(), texts(&self.env));
        shown.insert("exec".into(), self.exec.clone().map_or(Value::Null, Value::from));
        shown.insert("tags".into(), texts(&self.tags));
        if let Some(options) = &self.options {
            shown.insert("options".into(), options.clone());
        }
        self.executor.show(&mut shown);
        Value::Object(shown)
    }
}

impl Read for Scenarios {
    fn read(value: &Value) -> Result<Option<Self>, ReadError> {
        let Value::Object(entries) = value else {
            return if value.is_null() {
                Ok(None)
            } else {
                Err(ReadError(format!("option `scenarios`: {}", ReadError::kind("an object", value))))
            };
        };
        let one = |(name, value): (&String, &Value)| match Form::read(name, value) {
            Ok(form) => Ok((name.clone(), form)),
            Err(error) if error.0.starts_with("scenario '") || error.0.starts_with("unknown executor") => {
                Err(error)
            }
            Err(error) => Err(ReadError(format!("scenario '{name}': {error}"))),
        };
        entries.iter().map(one).collect::<Result<_, _>>().map(Some)
    }
}
