//! The three-way look at an edit: what a person saw, what they want, what the server has. Pure: must not know where
//! the three come from, nor how a clash is settled.

use crate::model::Method;
use hearth_contract::check::{Fields, Intent, check_field};
use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, is_subject};
use serde_json::Value;

/// What becomes of a field that was changed here and there. An edit of what was deleted there, and a delete of what was
/// changed there, always wait for a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConflictPolicy {
    /// It waits for a person.
    #[default]
    Ask,
    /// What was written here wins.
    Mine,
    /// What was written there wins.
    Theirs,
}

/// What the server is known to hold of a record: its newest form here, with what it has accepted since laid over.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Known {
    /// The revision it stands at.
    pub rev: Option<i64>,
    pub fields: Fields,
    /// Deleted there; the fields are its last ones.
    pub gone: bool,
}

/// What stands against sending an edit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Judgement {
    /// Nothing.
    Go,
    /// The server has what the edit wants already.
    Done,
    /// Both sides have changed these fields, differently; or a delete would take away changes that nobody here saw.
    Clash(Vec<Clash>),
    /// The record is deleted there.
    Gone,
    /// The id of a new record is in use there; these fields differ.
    Taken(Vec<Clash>),
}

/// One field in three forms.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Clash {
    pub field: &'static str,
    pub base: Value,
    pub mine: Value,
    pub theirs: Value,
}

/// Judges an edit against what the server is known to hold of its record; None: it never held it.
pub(crate) fn judge(kind: Kind, method: Method, patch: &Fields, base: &Fields, known: Option<&Known>) -> Judgement {
    let Some(known) = known else {
        // A profile that is begun without a value, or with none left, is no profile at the server.
        let clears = kind.is_singleton() && patch.values().all(Value::is_null);
        let is_nothing = method == Method::Update && (patch.is_empty() || clears);
        return if is_nothing { Judgement::Done } else { Judgement::Go };
    };
    match method {
        Method::Delete if known.gone => Judgement::Done,
        Method::Delete => {
            let changed = differing(kind, base, base, known, |clash| clash.base != clash.theirs);
            let changed: Vec<Clash> = changed.into_iter().map(|clash| Clash { mine: Value::Null, ..clash }).collect();
            if changed.is_empty() { Judgement::Go } else { Judgement::Clash(changed) }
        }
        Method::Create => {
            let others = differing(kind, patch, &Fields::new(), known, |clash| clash.mine != clash.theirs);
            if others.is_empty() && !known.gone { Judgement::Done } else { Judgement::Taken(others) }
        }
        _ if known.gone => Judgement::Gone,
        _ => {
            let open = differing(kind, patch, base, known, |clash| clash.mine != clash.theirs);
            if open.is_empty() {
                return Judgement::Done;
            }
            let mut clashes: Vec<Clash> = open.iter().filter(|clash| clash.base != clash.theirs).cloned().collect();
            // A subject is one thing in two fields: half of ours and half of theirs would name something nobody meant.
            if clashes.iter().any(|clash| is_subject(clash.field)) {
                let other = open.into_iter().filter(|clash| is_subject(clash.field) && !clashes.contains(clash));
                clashes.extend(other.collect::<Vec<_>>());
            }
            if clashes.is_empty() { Judgement::Go } else { Judgement::Clash(clashes) }
        }
    }
}

/// The fields that `mine` names and for which `only` holds, in the table's order, every value in the server's spelling.
fn differing(kind: Kind, mine: &Fields, base: &Fields, known: &Known, only: impl Fn(&Clash) -> bool) -> Vec<Clash> {
    resource(kind)
        .fields
        .iter()
        .filter(|field| field.is_writable() && mine.contains_key(field.name))
        .map(|field| Clash {
            field: field.name,
            base: spelled(kind, field.name, base.get(field.name)),
            mine: spelled(kind, field.name, mine.get(field.name)),
            theirs: known.fields.get(field.name).cloned().unwrap_or(Value::Null),
        })
        .filter(only)
        .collect()
}

/// A value in the server's spelling; one that it would refuse stays as it is.
pub(crate) fn spelled(kind: Kind, name: &str, value: Option<&Value>) -> Value {
    let value = value.cloned().unwrap_or(Value::Null);
    match resource(kind).field(name) {
        Some(field) => check_field(field, Intent::Patch, &value).unwrap_or(value),
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: Value) -> Fields {
        value.as_object().cloned().unwrap()
    }

    fn known(value: Value) -> Known {
        Known { rev: Some(3), fields: fields(value), gone: false }
    }

    fn update(patch: Value, base: Value, there: &Known) -> Judgement {
        judge(Kind::Vehicle, Method::Update, &fields(patch), &fields(base), Some(there))
    }

    #[test]
    fn fields_that_only_one_side_changed_go_together() {
        let there = known(json!({ "name": "Car", "color": "red", "purchase_price": "7.50" }));
        assert_eq!(update(json!({ "name": "Bus" }), json!({ "name": "Car" }), &there), Judgement::Go);
        // The base is in another spelling than the server's; it is the same value.
        let mine = json!({ "purchase_price": "8" });
        assert_eq!(update(mine, json!({ "purchase_price": "07.5" }), &there), Judgement::Go);
    }

    #[test]
    fn what_both_wrote_alike_is_done() {
        let there = known(json!({ "name": "Bus", "purchase_price": "7.50" }));
        let mine = json!({ "name": "Bus", "purchase_price": "7.5" });
        assert_eq!(update(mine, json!({ "name": "Car", "purchase_price": null }), &there), Judgement::Done);
        let half = json!({ "name": "Bus", "color": "red" });
        assert_eq!(update(half, json!({ "name": "Car", "color": null }), &there), Judgement::Go);
    }

    #[test]
    fn what_both_wrote_differently_clashes() {
        let there = known(json!({ "name": "Bus", "color": "red" }));
        let judged =
            update(json!({ "name": "Van", "color": "blue" }), json!({ "name": "Car", "color": "red" }), &there);
        let clash = Clash { field: "name", base: json!("Car"), mine: json!("Van"), theirs: json!("Bus") };
        assert_eq!(judged, Judgement::Clash(vec![clash]));
        assert_eq!(update(json!({ "name": "x" }), json!({}), &Known { gone: true, ..there }), Judgement::Gone);
    }

    #[test]
    fn a_subject_is_one_thing_in_two_fields() {
        let [item, room] = ["0190a3b0-0000-7000-8000-000000000001", "0190a3b0-0000-7000-8000-000000000002"];
        let there = known(json!({ "subject_type": "inventory", "subject_id": item }));
        let base = fields(json!({ "subject_type": "inventory", "subject_id": null }));
        let mine = fields(json!({ "subject_type": "room", "subject_id": room }));
        let Judgement::Clash(clashes) = judge(Kind::Task, Method::Update, &mine, &base, Some(&there)) else { panic!() };
        assert_eq!(clashes.len(), 2, "{clashes:?}");
    }

    #[test]
    fn a_delete_meets_changes_that_nobody_here_saw() {
        let there = known(json!({ "name": "Car", "color": "red" }));
        let delete = |base| judge(Kind::Vehicle, Method::Delete, &Fields::new(), &fields(base), Some(&there));
        assert_eq!(delete(json!({ "name": "Car", "color": "red" })), Judgement::Go);
        assert!(matches!(delete(json!({ "name": "Car", "color": null })), Judgement::Clash(c) if c[0].mine.is_null()));
        let gone = Known { gone: true, ..there.clone() };
        assert_eq!(judge(Kind::Vehicle, Method::Delete, &Fields::new(), &Fields::new(), Some(&gone)), Judgement::Done);
    }

    #[test]
    fn only_a_profile_that_is_not_there_has_nothing_to_clear() {
        let clear = |kind, patch| judge(kind, Method::Update, &fields(patch), &Fields::new(), None);
        assert_eq!(clear(Kind::Property, json!({ "city": null })), Judgement::Done);
        assert_eq!(clear(Kind::Property, json!({ "city": null, "state": "x" })), Judgement::Go);
        assert_eq!(clear(Kind::Vehicle, json!({ "color": null })), Judgement::Go, "it may be there");
    }

    #[test]
    fn a_create_meets_its_id() {
        let mine = fields(json!({ "name": "Car", "purchase_price": "7.5" }));
        let create = |there: Option<&Known>| judge(Kind::Vehicle, Method::Create, &mine, &Fields::new(), there);
        assert_eq!(create(None), Judgement::Go);
        assert_eq!(create(Some(&known(json!({ "name": "Car", "purchase_price": "7.50" })))), Judgement::Done);
        assert!(matches!(create(Some(&known(json!({ "name": "Bus" })))), Judgement::Taken(c) if c.len() == 2));
    }
}
