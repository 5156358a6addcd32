//! Liveness, readiness and metrics, for whoever watches the service.

use hearth_contract::problem::{Problem, ProblemType};
use serde_json::json;

use crate::http::call::Visit;
use crate::http::reply::{Payload, Refusal, Reply};
use crate::store::homes;

/// The process answers.
pub async fn live(visit: Visit) -> Result<Reply, Refusal> {
    Ok(visit.wording.one(200, &json!({ "status": "ok" }).to_string(), ""))
}

/// The database answers, and the service is not stopping.
pub async fn ready(visit: Visit) -> Result<Reply, Refusal> {
    if visit.app.shutdown.is_requested() {
        return Err(Problem::new(ProblemType::Unavailable, "The service is stopping.").into());
    }
    visit.app.db.read(homes::numbers).await?;
    Ok(visit.wording.one(200, &json!({ "status": "ready" }).to_string(), ""))
}

/// Counts and times in Prometheus's text form.
pub async fn metrics(visit: Visit) -> Result<Reply, Refusal> {
    let text = visit.app.metrics.write(visit.app.streams.count(), visit.app.db.tally());
    let payload = Payload::Text("text/plain; version=0.0.4; charset=utf-8", text.into());
    Ok(Reply { status: 200, headers: Vec::new(), payload })
}
