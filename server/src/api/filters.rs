//! Equality filters of a list (contract 5): the values of parameters that are named like fields. Must not know how records
//! are found.

use std::collections::BTreeSet;

use hearth_contract::formats::{normalize_sha256, parse_date, parse_id};
use hearth_contract::problem::{Problem, nearest};
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind};

use crate::http::parameters::NULL;
use crate::http::query::Query;
use crate::store::filter::{FILTER_VALUES_MAX, Filter};

/// The filters of a request, in the order of the table of kinds. Order and repetition of the values do not count. Error:
/// `invalid_request` for a value that the field cannot hold.
pub(super) fn parse_filters(kind: Kind, query: &Query) -> Result<Vec<Filter>, Problem> {
    resource(kind).filters().filter_map(|field| Some(parse_filter(field, query.get(field.name)?))).collect()
}

fn parse_filter(field: &Field, list: &str) -> Result<Filter, Problem> {
    let values = list.split(',').map(|value| parse_value(field, value)).collect::<Result<BTreeSet<_>, _>>()?;
    if values.len() > FILTER_VALUES_MAX {
        let message = format!("{} takes at most {FILTER_VALUES_MAX} values.", field.name);
        return Err(Problem::parameter(field.name, list, None, message).with_fix("Ask for fewer values at once."));
    }
    Ok(Filter { field: field.name, values })
}

/// The value as in the JSON of a record. None: null.
fn parse_value(field: &Field, value: &str) -> Result<Option<String>, Problem> {
    let name = field.name;
    let refuse = |near: Option<&str>, message: String| Err(Problem::parameter(name, value, near, message));
    if value == NULL {
        return match field.is_nullable() {
            true => Ok(None),
            false => refuse(None, format!("{name} is never null.")),
        };
    }
    match field.format {
        Format::Choice(words) if words.contains(&value) => Ok(Some(value.to_owned())),
        Format::Choice(words) => {
            let near = nearest(value, words.iter().copied());
            refuse(near, format!("{name} must be one of {}.", words.join(", ")))
        }
        Format::Date => match parse_date(value) {
            Some(_) => Ok(Some(value.to_owned())),
            None => refuse(None, format!("{name} must be a date, such as 2026-06-01.")),
        },
        Format::Sha256 => match normalize_sha256(value) {
            Some(hash) => Ok(Some(hash)),
            None => refuse(None, format!("{name} must be a SHA-256: 64 hex digits.")),
        },
        _ => match parse_id(value) {
            Some(id) => Ok(Some(id.hyphenated().to_string())),
            None => refuse(None, format!("{name} must be an id: a UUID with hyphens.")),
        },
    }
}
