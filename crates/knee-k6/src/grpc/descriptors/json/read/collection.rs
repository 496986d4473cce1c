//! Lists and maps.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use prost_reflect::{Kind, MapKey, Value};

use super::super::JsonError;
use super::super::token::{self, Token};
use super::{Reader, scalar};

impl Reader<'_> {
    /// A list of values of one kind.
    pub fn list(&mut self, kind: &Kind, name: &str) -> Result<Value, JsonError> {
        let start = self.tokens.read()?;
        if start.kind != token::Kind::ListStart {
            return Err(self.tokens.unexpected(&start));
        }
        let mut list = Vec::new();
        while self.tokens.peek()?.kind != token::Kind::ListEnd {
            list.push(self.single(kind, name)?);
        }
        self.tokens.read()?;
        Ok(Value::List(list))
    }

    /// A map; `entry` is the message of its entries.
    pub fn map(&mut self, entry: &Kind) -> Result<Value, JsonError> {
        let start = self.tokens.read()?;
        if start.kind != token::Kind::ObjectStart {
            return Err(self.tokens.unexpected(&start));
        }
        let fields = entry.as_message().and_then(|entry| Some((entry.get_field(1)?, entry.get_field(2)?)));
        let Some((key, value)) = fields else {
            return Err(self.tokens.unexpected(&start));
        };
        let (key, kind) = (key.kind(), value.kind());
        let mut map = HashMap::new();
        loop {
            let token = self.tokens.read()?;
            if token.kind == token::Kind::ObjectEnd {
                return Ok(Value::Map(map));
            }
            match map.entry(self.key(&token, &key)?) {
                Entry::Occupied(_) => {
                    return Err(self.tokens.error(token.at, &format!("duplicate map key {}", token.raw)));
                }
                Entry::Vacant(place) => place.insert(self.single(&kind, value.json_name())?),
            };
        }
    }

    fn key(&self, token: &Token<'_>, kind: &Kind) -> Result<MapKey, JsonError> {
        let token::Kind::Name(name) = &token.kind else {
            return Err(self.tokens.unexpected(token));
        };
        scalar::key(name, kind).ok_or_else(|| {
            let words = format!("invalid value for {} key: {}", scalar::kind_name(kind), token.raw);
            self.tokens.error(token.at, &words)
        })
    }
}
