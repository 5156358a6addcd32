//! Liveness and readiness, for supervisors.

use std::sync::Arc;

use hearth_contract::problem::{Problem, ProblemType};
use serde_json::json;

use crate::app::App;
use crate::http::reply::Refusal;
use crate::store::homes;

/// The process answers.
pub async fn live(_app: Arc<App>) -> Result<String, Refusal> {
    Ok(json!({ "status": "ok" }).to_string())
}

/// The database answers, and the service is not stopping.
pub async fn ready(app: Arc<App>) -> Result<String, Refusal> {
    if app.stopping.is_said() {
        return Err(Problem::new(ProblemType::Unavailable, "The service is stopping.").into());
    }
    app.db.read(homes::numbers).await?;
    Ok(json!({ "status": "ready" }).to_string())
}
