//! `fields`: the fields of a kind with their rules, from the contract's table. Must not open a replica.

use clap::Args;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, Presence, Preset};
use serde_json::{Value, json};

use super::failure::Failure;
use super::output;
use super::values::kind_parser;

/// Arguments of `fields`.
#[derive(Debug, Args)]
pub(super) struct Fields {
    /// The kind of the records
    #[arg(value_parser = kind_parser())]
    kind: Kind,
}

impl Fields {
    pub(super) fn run(self, as_json: bool) -> Result<(), Failure> {
        let fields = resource(self.kind).fields;
        let default = |presence| match presence {
            Presence::Default(Preset::Word(word)) => Value::from(word),
            Presence::Default(Preset::Number(number)) => Value::from(number),
            _ => Value::Null,
        };
        if as_json {
            let all = fields.iter().map(|field| {
                json!({
                    "field": field.name, "format": field.format.as_str(), "values": field.allowed_values(),
                    "required": field.presence == Presence::Required, "default": default(field.presence),
                    "about": field.about,
                })
            });
            return Ok(output::json(&all.collect::<Vec<_>>())?);
        }
        let columns = ["field", "values", "default", "about"];
        let rows = fields.iter().map(|field| {
            vec![field.name.into(), field.allowed_values().into(), default(field.presence), field.about.into()]
        });
        Ok(output::table(&columns, rows)?)
    }
}
