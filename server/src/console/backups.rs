//! The page of backups and of the check of the database. A check runs in the background, one at a time. Must not know what a
//! check does, nor how a backup is written.

use std::path::PathBuf;

use askama::Template;

use super::page::{Frame, notice, refused, render};
use super::words::{moment_or_never, moment_to_second};
use crate::app::checks::Finished;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{WebRequest, redirect};
use crate::operate::check::check_team;
use crate::operate::{self, backup, shell_command};
use crate::store::sessions::Session;

/// Faults that the page shows, at most.
const FAULTS_SHOWN: usize = 50;
/// Stands for the data directory in a command.
const DATA_WORD: &str = "DIR";
/// The page, as the target of links.
const PAGE: (&str, &str) = ("/console/backups", "To backups and check");

#[derive(Template)]
#[template(path = "backups.html")]
struct BackupsPage {
    frame: Frame,
    last_backup: String,
    backup_command: String,
    check_command: String,
    /// The moment at which the running check began. None: no check runs.
    running_since: Option<String>,
    result: Option<ResultPart>,
}

/// The result of the last check.
struct ResultPart {
    at: String,
    /// Whether the check came to its end.
    is_complete: bool,
    /// Records and events. None: they could not be counted.
    counts: Option<(i64, i64)>,
    faults: Vec<String>,
    /// Faults that are not shown.
    faults_left: usize,
}

/// `GET /console/backups`.
pub(super) async fn backups(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let app = &request.app;
    // Where several teams share a server, its owners need not be its operators: the path stays theirs.
    let data = match operate::teams(&app.db).await.map_err(refused)?.len() {
        // The person types the command in another directory.
        1 => std::path::absolute(&app.config.data).unwrap_or_else(|_| app.config.data.clone()),
        _ => PathBuf::from(DATA_WORD),
    };
    let command = |words: &[&str]| shell_command(&data, words);
    let page = BackupsPage {
        frame: Frame::of(&session, "Backups and check"),
        last_backup: moment_or_never(backup::last_backup(&app.db).await.map_err(refused)?),
        backup_command: command(&["backup", "FILE"]),
        check_command: command(&["check"]),
        running_since: app.checks.running_since().map(moment_to_second),
        result: app.checks.last_of(&session.team).map(result_part),
    };
    render(200, &page)
}

/// `POST /console/check`: begins a check. Refused while another one runs.
pub(super) async fn begin_check(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let (app, team) = (request.app.clone(), session.team.clone());
    if !app.checks.begin(app.clock.now()) {
        let text = "A check runs already. Only one runs at a time; try again when it has ended.";
        return Ok(notice(409, Frame::of(&session, "A check runs"), text, Some(PAGE)));
    }
    tokio::spawn(async move {
        let shutdown = app.shutdown.clone();
        let checked = check_team(&app.db, &app.clock, team.clone(), move || shutdown.is_requested()).await;
        let report = checked.inspect_err(|error| tracing::warn!(%error, "a check of the database failed")).ok();
        app.checks.end(team, Finished { at: app.clock.now(), report });
    });
    Ok(redirect(PAGE.0.to_owned()))
}

fn result_part(Finished { at, report }: Finished) -> ResultPart {
    let is_complete = report.is_some();
    let (counts, mut faults) = report.map_or((None, Vec::new()), |report| (report.counts, report.faults));
    let faults_left = faults.len().saturating_sub(FAULTS_SHOWN);
    faults.truncate(FAULTS_SHOWN);
    let counts = counts.map(|counts| (counts.records, counts.events));
    ResultPart { at: moment_to_second(at), is_complete, counts, faults, faults_left }
}
