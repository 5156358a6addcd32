//! Makes, lists and ends the server's links for calendar programs (contract 23). Must not print.

use hearth_contract::paths;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client::{Client, ClientError};
use super::config::SyncConfig;
use super::wire::{self, HttpRequest};

/// A link under which calendar programs read the home's days.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CalendarLink {
    /// The id of the link.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// The address for calendar programs. None: the server shows it only when it makes the link.
    pub url: Option<String>,
    /// The moment of creation, `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    pub created_at: String,
    /// The moment of the last reading. None: never read.
    pub last_used_at: Option<String>,
}

/// Makes a link. None as name: the server's default.
pub async fn create_calendar(config: &SyncConfig, name: Option<&str>) -> Result<CalendarLink, ClientError> {
    ask(config, "POST", paths::CALENDARS, Some(json!({ "name": name }))).await
}

/// The links that this key has made, the oldest first.
pub async fn list_calendars(config: &SyncConfig) -> Result<Vec<CalendarLink>, ClientError> {
    ask(config, "GET", paths::CALENDARS, None).await
}

/// Ends a link. An unknown id changes nothing.
pub async fn remove_calendar(config: &SyncConfig, id: &str) -> Result<(), ClientError> {
    let _: Value = ask(config, "DELETE", &paths::calendar(id), None).await?;
    Ok(())
}

async fn ask<T: DeserializeOwned>(
    config: &SyncConfig,
    method: &str,
    path: &str,
    body: Option<Value>,
) -> Result<T, ClientError> {
    let client = Client::new(&config.server, &config.key)?;
    let request = HttpRequest::new(method, path, body.map(|body| body.to_string()));
    let response = client.send(&request).await.map_err(|why| client.unreachable(why))?;
    wire::data(&response).map_err(|failure| client.client_error(&response, failure))
}
