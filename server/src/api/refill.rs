//! `POST` and `DELETE /v1/refill`: an empty home takes the records of a lost home from a replica (contract 24). Must not know how
//! records are written.

use hearth_contract::formats::parse_id;
use hearth_contract::problem::{FAULTS_MAX, FaultCode, FieldFault, Problem, ProblemType, QUOTED_NAME_MAX, shorten};
use hearth_contract::schema::Kind;
use serde_json::{Value, json};
use uuid::Uuid;

use super::once::once;
use crate::http::call::Call;
use crate::http::reply::{Refusal, Reply};
use crate::store::refills::{self, Refill};

/// `POST /v1/refill` (`from`): begins the refill, or begins it again for the same key. After the end it shows the refill.
pub async fn begin(call: Call) -> Result<Reply, Refusal> {
    for kind in Kind::ALL {
        call.principal.require_scope(&format!("{}:write", kind.collection()))?;
    }
    let from = parse_from(&call.body).map_err(|faults| Problem::validation(&faults))?;
    once(call, move |tx, call, home, now| {
        let key = &call.principal.key.id;
        let refill = match refills::find(tx, home)? {
            Some(known) if known.from == from && known.key == *key => {
                Refill { began_at: if known.ended_at.is_some() { known.began_at } else { now }, ..known }
            }
            None if refills::is_empty(tx, home)? => Refill { from, key: key.clone(), began_at: now, ended_at: None },
            _ => {
                let problem = not_empty();
                return Ok((call.context.problem_reply(&problem), Some(problem.kind)));
            }
        };
        refills::save(tx, home, &refill)?;
        Ok((call.context.data_reply(200, &refill_json(&refill), ""), None))
    })
    .await
}

/// `DELETE /v1/refill`: ends the refill of the key. The end of an ended one succeeds too.
pub async fn end(call: Call) -> Result<Reply, Refusal> {
    once(call, move |tx, call, home, now| {
        let known = refills::find(tx, home)?.filter(|known| known.key == call.principal.key.id);
        let Some(known) = known else {
            let problem = Problem::new(ProblemType::NotFound, "This key refills no home.");
            return Ok((call.context.problem_reply(&problem), Some(problem.kind)));
        };
        let refill = Refill { ended_at: known.ended_at.or(Some(now)), ..known };
        refills::save(tx, home, &refill)?;
        Ok((call.context.data_reply(200, &refill_json(&refill), ""), None))
    })
    .await
}

fn parse_from(body: &Value) -> Result<Uuid, Vec<FieldFault>> {
    let Some(members) = body.as_object() else {
        return Err(vec![FieldFault::new("", FaultCode::WrongType, "The body must be a JSON object.")]);
    };
    let unknown = members.keys().filter(|name| *name != "from").take(FAULTS_MAX - 1).map(|name| {
        let name = shorten(name, QUOTED_NAME_MAX);
        let message = format!("A refill has no field {name}; did you mean from?");
        FieldFault::new(name, FaultCode::UnknownField, message)
    });
    let mut faults: Vec<FieldFault> = unknown.collect();
    let from = match members.get("from") {
        Some(Value::String(text)) => parse_id(text),
        _ => None,
    };
    let (code, message) = match members.get("from") {
        None | Some(Value::Null) => (FaultCode::Required, "from is required: the id of the lost home."),
        Some(Value::String(_)) => (FaultCode::InvalidFormat, "from must be the id of a home: a UUID with hyphens."),
        Some(_) => (FaultCode::WrongType, "from must be a string."),
    };
    if from.is_none() {
        faults.push(FieldFault::new("from", code, message));
    }
    from.filter(|_| faults.is_empty()).ok_or(faults)
}

fn not_empty() -> Problem {
    let message = "This home is not empty: it has records, had some, was refilled before, or another key refills it.";
    Problem::new(ProblemType::InUse, message)
        .with_fix("Refill a home of a new team, in which nothing was ever written: hearth-server team create.")
}

fn refill_json(refill: &Refill) -> String {
    json!({
        "from": refill.from,
        "began_at": refill.began_at,
        "expires_at": refill.expires_at(),
        "ended_at": refill.ended_at,
    })
    .to_string()
}
