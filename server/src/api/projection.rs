//! Projection of a record: selected fields and expanded relations (contract 5). Must not know the handlers.

use std::fmt;
use std::marker::PhantomData;

use hearth_contract::check::references;
use hearth_contract::problem::{Problem, ProblemType, nearest};
use hearth_contract::resources::resource;
use hearth_contract::schema::{COMMON, Kind};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::app::keyring::Principal;
use crate::http::query::Query;
use crate::scopes::reading;
use crate::store::records::{self, Image};
use crate::store::{HomeNumber, StoreError, Tx};

/// The fields and relations that a response shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Projection {
    fields: Option<Vec<String>>,
    relations: Vec<&'static str>,
}

impl Projection {
    /// Parses `fields` and `expand`. Expanding reads records of other kinds, so the key needs the read scope of each
    /// possible kind.
    pub(super) fn parse(kind: Kind, query: &Query, principal: &Principal) -> Result<Projection, Problem> {
        let relations = match query.get("expand") {
            None => Vec::new(),
            Some(list) => {
                let known: Vec<&'static str> = resource(kind).relations().map(|(relation, _)| relation).collect();
                let named = parse_names(list, || format!("{kind} has no relation"), "expand", known.clone())?;
                known.into_iter().filter(|relation| named.iter().any(|name| name == relation)).collect()
            }
        };
        for relation in &relations {
            let needed: Vec<String> = resource(kind).targets(relation).into_iter().map(reading).collect();
            require_expand_scopes(relation, &needed, principal)?;
        }
        Ok(Projection { fields: parse_fields(kind, query, &relations)?, relations })
    }

    /// Whether the response shows the stored record unchanged. Only then is its revision the ETag.
    pub(super) fn is_whole(&self) -> bool {
        self.fields.is_none() && self.relations.is_empty()
    }

    /// Projects the JSON text of a record. Expanded records are read in the same transaction.
    pub(super) fn apply(&self, tx: &Tx<'_>, home: HomeNumber, kind: Kind, json: String) -> Result<String, StoreError> {
        if self.is_whole() {
            return Ok(json);
        }
        if let (Some(fields), []) = (&self.fields, &self.relations[..]) {
            let Members(members) = serde_json::from_str(&json)
                .map_err(|error| StoreError::Corrupt(format!("image of a {kind}: {error}")))?;
            let mut out = String::with_capacity(json.len());
            for (name, value) in members.iter().filter(|(name, _)| fields.iter().any(|field| field == name)) {
                push_member(&mut out, name, value.get());
            }
            return Ok(format!("{{{out}}}"));
        }
        let stored: Map<String, Value> =
            serde_json::from_str(&json).map_err(|error| StoreError::Corrupt(format!("image of a {kind}: {error}")))?;
        let mut expanded = Vec::new();
        for (field, target_kind, target) in references(kind, &stored) {
            let relation = field.relation().filter(|relation| self.relations.contains(relation));
            if let Some(relation) = relation {
                expanded.push((relation, records::image(tx, home, target_kind, target)?));
            }
        }
        let shown = stored.iter().filter(|(name, _)| self.fields.as_ref().is_none_or(|fields| fields.contains(name)));
        let mut out = String::with_capacity(json.len() * 2);
        for (name, value) in shown {
            push_member(&mut out, name, &value.to_string());
        }
        for relation in &self.relations {
            let image = expanded.iter().find(|(name, _)| name == relation).and_then(|(_, image)| image.as_ref());
            push_member(&mut out, relation, image.map_or("null", |Image { json, .. }| json));
        }
        Ok(format!("{{{out}}}"))
    }
}

/// Parses `fields`. A relation may be named if `expand` adds it; without `expand` the nearest name is that of its id.
fn parse_fields(kind: Kind, query: &Query, expanded: &[&str]) -> Result<Option<Vec<String>>, Problem> {
    let Some(list) = query.get("fields") else { return Ok(None) };
    let fields = resource(kind).fields.iter().map(|field| field.name);
    let known: Vec<&str> = COMMON.into_iter().chain(fields).chain(expanded.iter().copied()).collect();
    let unexpanded = resource(kind)
        .relations()
        .find(|(relation, _)| list.split(',').any(|name| name == *relation) && !expanded.contains(relation));
    if let Some((relation, field)) = unexpanded {
        let message = format!("{relation} is a member only with expand={relation}.");
        let fix = format!("Name `{}`, or send expand={relation} too.", field.name);
        return Err(Problem::parameter("fields", relation, Some(field.name), message).with_fix(fix));
    }
    let mut fields = parse_names(list, || format!("{kind} has no field"), "fields", known)?;
    fields.push("id".to_owned());
    Ok(Some(fields))
}

/// The members of a JSON text, with unparsed values.
struct Members<'a>(Vec<(&'a str, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<'a>, D::Error> {
        struct Each<'a>(PhantomData<&'a str>);
        impl<'de: 'a, 'a> Visitor<'de> for Each<'a> {
            type Value = Members<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a record")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Members<'a>, M::Error> {
                let mut members = Vec::with_capacity(32);
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Each(PhantomData))
    }
}

fn push_member(out: &mut String, name: &str, json: &str) {
    if !out.is_empty() {
        out.push(',');
    }
    out.extend(["\"", name, "\":", json]);
}

/// Refuses an expansion if the key lacks a read scope. The message names all missing scopes.
fn require_expand_scopes(relation: &str, needed: &[String], principal: &Principal) -> Result<(), Problem> {
    let missing: Vec<&str> = needed.iter().map(String::as_str).filter(|scope| !principal.has_scope(scope)).collect();
    let Some(first) = missing.first() else { return Ok(()) };
    let message = format!("To expand {relation} needs the scopes {} as well.", missing.join(", "));
    Err(Problem::new(ProblemType::InsufficientScope, message)
        .with("required_scope", *first)
        .with_fix(format!("Leave {relation} out of expand, or use a key that has them.")))
}

fn parse_names(
    list: &str,
    unknown: impl Fn() -> String,
    parameter: &str,
    known: Vec<&str>,
) -> Result<Vec<String>, Problem> {
    list.split(',')
        .map(|name| {
            if known.contains(&name) {
                return Ok(name.to_owned());
            }
            let message = format!("{} `{name}`.", unknown());
            let near = nearest(name, known.iter().copied());
            let problem = Problem::parameter(parameter, name, near, message);
            Err(match (near, &known[..]) {
                (Some(_), _) => problem,
                (None, []) => problem.with_fix(format!("Leave {parameter} out: there is nothing to name.")),
                (None, known) => problem.with_fix(format!("Known here: {}.", known.join(", "))),
            })
        })
        .collect()
}
