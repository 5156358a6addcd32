//! `calendar`: makes, lists and removes the server's links for calendar programs. Must not know HTTP.

use clap::{Args, Subcommand};
use hearth_contract::formats::parse_id;
use hearth_replica::qr_lines;
use hearth_replica::sync::{CalendarLink, create_calendar, list_calendars, remove_calendar};
use serde_json::json;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::{output, runtime, text};

/// Lines around the QR code of a new link.
const OTHER_LINES: usize = 4;

/// Arguments of `calendar`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Calendar {
    #[command(subcommand)]
    command: Option<Command>,
    /// The name of the new link, which calendar programs show [default: Hearth]
    #[arg(long)]
    name: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the links that this device's key has made
    List,
    /// End a link at once
    Remove {
        /// The id of the link, from `calendar list`
        id: String,
    },
}

impl Calendar {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let config = context.sync_config()?;
        match self.command {
            None => {
                let made = runtime::block_on(async { Ok(create_calendar(&config, self.name.as_deref()).await?) })?;
                report_new(&made, context.json)
            }
            Some(Command::List) => {
                let links = runtime::block_on(async { Ok(list_calendars(&config).await?) })?;
                report_all(&links, context.json)
            }
            Some(Command::Remove { id }) => {
                let Some(id) = parse_id(&id).map(|id| id.to_string()) else {
                    return Err(unknown(&id));
                };
                runtime::block_on(async {
                    // The server forgets an unknown id without a word; a person may have mistyped it.
                    if !list_calendars(&config).await?.iter().any(|link| link.id == id) {
                        return Err(unknown(&id));
                    }
                    Ok(remove_calendar(&config, &id).await?)
                })?;
                if context.json {
                    return Ok(output::json(&json!({ "id": id, "removed": true }))?);
                }
                Ok(output::line("The link has ended.")?)
            }
        }
    }
}

fn unknown(id: &str) -> Failure {
    let text = format!("this device's key has made no calendar link {:?}", text::one_line(id));
    Failure::new(Exit::NotFound, text).hint("hearth-replica calendar list")
}

fn report_new(link: &CalendarLink, json: bool) -> Result<(), Failure> {
    if json {
        return Ok(output::json(link)?);
    }
    let url = text::one_line(link.url.as_deref().unwrap_or_default());
    let subscribe = url.split_once("://").map_or_else(String::new, |(_, rest)| format!("webcal://{rest}"));
    if let Some(lines) = qr_lines(&subscribe) {
        output::picture(&lines, OTHER_LINES);
    }
    output::message(
        "Give this address to a calendar program (subscribe). Whoever has it can read the due and expiring days.",
    );
    output::message("It is shown only here; `hearth-replica calendar list` and `remove` end it.");
    Ok(output::line(&url)?)
}

fn report_all(links: &[CalendarLink], json: bool) -> Result<(), Failure> {
    let none = "there are no links; hearth-replica calendar makes one";
    output::list(json, links, Some(none), &["id", "name", "made", "read"], |link| {
        json!([link.id, link.name, link.created_at, link.last_used_at.as_deref().unwrap_or("never")])
    })?;
    Ok(())
}
