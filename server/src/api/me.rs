//! `GET /v1/me`: the key, its home, scopes and limits (contract 14). Must not know how the key was verified.

use serde_json::json;

use crate::http::call::Call;
use crate::http::reply::{Refusal, Reply};
use crate::store::{Tx, homes, refills};

/// Shows the key of the request.
pub async fn show(call: Call) -> Result<Reply, Refusal> {
    let key = &call.principal.key;
    let limits = call.app.config.rate_limits;
    let number = key.home;
    let read = move |tx: &Tx<'_>| Ok((homes::used_bytes(tx, number)?, refills::find(tx, number)?));
    let (used, refill) = call.app.db.read_inline(read).await?;
    let refilled = refill.filter(|refill| refill.ended_at.is_some());
    let mut data = json!({
        "team": { "id": key.team, "name": key.team_name, "plan": key.plan.as_str() },
        "home": {
            "id": key.home_id,
            "environment": key.environment.as_str(),
            "used_bytes": used,
            "limit_bytes": call.app.config.home_bytes_max,
            // Null: the home was never refilled.
            "refilled_from": refilled.map(|refill| refill.from),
        },
        "environment": key.environment.as_str(),
        "key": {
            "id": key.id,
            "name": key.name,
            "hint": key.hint,
            "created_at": key.created_at,
            "last_used_at": key.last_used_at,
            "flagged_at": key.flagged_at,
        },
        "scopes": key.scopes,
        "plan": key.plan.as_str(),
        "api_version": { "pinned": key.pinned, "resolved": call.context.version.name },
        // Null: no limit.
        "rate_limits": {
            "reads_per_minute": limits.map(|limits| limits.reads),
            "writes_per_minute": limits.map(|limits| limits.writes),
            "bulk_per_minute": limits.map(|limits| limits.bulk),
        },
    });
    if let Some(interceptor) = call.app.interceptor.get() {
        data["faults"] = interceptor.describe(key);
    }
    Ok(call.context.data_reply(200, &data.to_string(), ""))
}
