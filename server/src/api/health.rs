//! Liveness, readiness and metrics, for monitoring. Must not know a home.

use hearth_contract::problem::{Problem, ProblemType};
use serde_json::json;

use crate::http::call::PublicRequest;
use crate::http::reply::{Payload, Refusal, Reply};
use crate::metrics::Open;
use crate::store::homes;

/// `GET /healthz`: the process answers.
pub async fn live(request: PublicRequest) -> Result<Reply, Refusal> {
    Ok(request.context.data_reply(200, &json!({ "status": "ok" }).to_string(), ""))
}

/// `GET /readyz`: the database answers, takes writes, the clock is not ahead, and the service is not stopping.
pub async fn ready(request: PublicRequest) -> Result<Reply, Refusal> {
    if request.app.shutdown.is_requested() {
        return Err(Problem::new(ProblemType::Unavailable, "The service is stopping.").into());
    }
    request.app.db.read(homes::has_team).await?;
    request.app.clock_guard.now(&request.app.clock)?;
    if !request.app.db.takes_writes().await {
        let problem = Problem::new(ProblemType::Unavailable, "The service takes no writes now; reads go on.");
        return Err(problem.with("retry_after_seconds", 1).into());
    }
    Ok(request.context.data_reply(200, &json!({ "status": "ready" }).to_string(), ""))
}

/// `GET /metrics`: all metrics in the text format of Prometheus.
pub async fn metrics(request: PublicRequest) -> Result<Reply, Refusal> {
    let app = &request.app;
    let open =
        Open { streams: app.streams.count(), uploads: app.uploads.count(), answer_bytes: app.answer_bytes.all() };
    let text = app.metrics.write(open, app.db.writer_counters());
    let payload = Payload::Text("text/plain; version=0.0.4; charset=utf-8", text.into());
    Ok(Reply { status: 200, headers: Vec::new(), payload })
}
