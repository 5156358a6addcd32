//! `why`: shows the origin of each visible value of a record. Must not change anything.

use clap::Args;
use hearth_contract::schema::Kind;
use hearth_replica::{Method, Phase, Source, ValueOrigin, Why as Origins};
use serde_json::Value;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::{output, records, text, values};

/// Arguments of `why`.
#[derive(Debug, Args)]
pub(super) struct Why {
    /// The name of the record, its id or the beginning of its id; `property` is the home's profile
    id: String,
    /// Show unset fields too
    #[arg(long)]
    all: bool,
}

impl Why {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.open_existing()?;
        let (kind, id) = values::find_record(&replica, &self.id, true)?;
        let mut why = replica.why(kind, &id)?.ok_or_else(|| match kind {
            Kind::Property => records::missing_record(kind),
            kind => Failure::new(Exit::NotFound, format!("no {kind} {id} is known"))
                .hint("hearth-replica search WORDS, or hearth-replica list KIND"),
        })?;
        let status = replica.status()?;
        super::edits::explain_sent_edits(&mut why.edits, &status);
        if context.json {
            return Ok(output::json(&why)?);
        }
        output::line(&format!("{}  {}", output::bold(&text::one_line(&why.title)), output::dim(kind.as_str())))?;
        output::line(&location_text(&why, status.phase))?;
        if !why.shown && why.edits.is_empty() {
            return write_settled(&why);
        }
        let shown = why.fields.iter().filter(|origin| {
            let set = |value: &Value| !value.is_null();
            self.all || set(&origin.value) || origin.server.as_ref().is_some_and(set) || origin.edit.is_some()
        });
        let rows: Vec<Vec<Value>> = shown
            .map(|origin| {
                let server = origin.server.clone().filter(|server| *server != origin.value);
                let server = server.map(|server| format!("on the server: {}", value_text(&server))).unwrap_or_default();
                let value = shorten(&text::cell_text(&origin.value));
                vec![origin.field.into(), value.into(), source_text(&why, origin).into(), server.into()]
            })
            .collect();
        if !rows.is_empty() {
            let columns = ["field", "value", "from", ""];
            output::table(&columns, rows)?;
        }
        for edit in &why.edits {
            let reason = edit.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let text = format!(
                "edit {}  {} {}, {} by {}{reason}",
                edit.id, edit.method, edit.state, edit.created_at, edit.origin
            );
            output::line(&text::one_line(&text))?;
        }
        write_settled(&why)
    }
}

fn location_text(why: &Origins, phase: Phase) -> String {
    let here = match (why.shown, why.edits.last()) {
        (true, _) => "shown on this device".to_owned(),
        (false, Some(edit)) if edit.method == Method::Delete => {
            format!("hidden on this device by edit {}, which deletes it", edit.id)
        }
        (false, _) => "not on this device".to_owned(),
    };
    let there = match (why.rev, why.deleted_at) {
        (Some(rev), _) => format!("the server has it at position {rev}{}", last_change_text(why)),
        (None, Some(at)) => format!("deleted on the server at position {at}"),
        (None, None) if phase == Phase::Local => "this home has no server".to_owned(),
        // A rebuild, or a reconcile after a restore, has not read the record again yet.
        (None, None) if why.fields.iter().any(|origin| origin.server.is_some()) => {
            "its position on the server is read again".to_owned()
        }
        (None, None) if why.edits.is_empty() && !why.shown => "it is not known on the server".to_owned(),
        (None, None) => "the server has not confirmed it yet".to_owned(),
    };
    format!("{here}; {there}")
}

/// Who made the server's version, and when: `, changed last by Ana's phone, 2026-06-01T08:30:00.000Z`.
fn last_change_text(why: &Origins) -> String {
    let parts = [why.updated_by.as_ref().map(|by| format!("by {}", text::one_line(by))), why.updated_at.clone()];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!(", changed last {}", parts.join(", ")) }
}

fn source_text(why: &Origins, origin: &ValueOrigin) -> String {
    match origin.from {
        Source::Server if origin.server.is_none() => "server, before the record was deleted".to_owned(),
        Source::Server => "server".to_owned(),
        Source::Nobody => "nobody set it".to_owned(),
        Source::Edit => {
            let edit = why.edits.iter().find(|edit| Some(edit.id) == origin.edit);
            edit.map_or_else(String::new, |edit| format!("edit {} ({})", edit.id, edit.state))
        }
    }
}

/// Prints the last settled edits, which explain the server's values.
fn write_settled(why: &Origins) -> Result<(), Failure> {
    for edit in &why.settled {
        let at = edit.rev.map(|rev| format!(" at position {rev}")).unwrap_or_default();
        output::line(&output::dim(&format!(
            "edit {}  {} {}{at}, {}",
            edit.id, edit.method, edit.outcome, edit.settled_at
        )))?;
    }
    Ok(())
}

fn value_text(value: &Value) -> String {
    if value.is_null() { "null".to_owned() } else { shorten(&text::cell_text(value)) }
}

/// A shortened text; `show` prints the whole text.
fn shorten(text: &str) -> String {
    console::truncate_str(text, 48, "…").into_owned()
}
