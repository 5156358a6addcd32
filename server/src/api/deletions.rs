//! `GET /v1/deletions`: the ids that were deleted since a revision (contract 18). Must not know how deletes are stored.

use hearth_contract::envelope::Page;
use hearth_contract::problem::{Problem, ProblemType};
use hearth_contract::schema::Kind;
use serde_json::json;
use uuid::Uuid;

use super::events::kinds;
use super::records::{as_of_meta, contradiction};
use crate::home::cursor::DeletionsCursor;
use crate::home::feed::cursor_problem;
use crate::http::call::Call;
use crate::http::parameters::DELETIONS_PAGE;
use crate::http::query::Query;
use crate::http::reply::{Refusal, Reply};
use crate::store::deletions::Deletion;
use crate::store::{deletions, homes};

/// Lists the deletions after a revision, the oldest first.
pub async fn list(call: Call) -> Result<Reply, Refusal> {
    let limit = call.query.limit(DELETIONS_PAGE)?;
    let home = call.principal.home_id();
    let start = start(&call.query, home)?;
    let number = call.principal.key.home;
    let (asked, most) = (start.clone(), limit + 1);
    let (mut found, head) = call
        .app
        .db
        .read(move |tx| {
            let found = deletions::page(tx, number, asked.after, &asked.kinds, most)?;
            Ok((found, homes::load(tx, number)?.head))
        })
        .await?;
    if start.since > head {
        let (value, message) = (start.since.to_string(), format!("since is above the head of the feed, {head}."));
        let fix = "Read the lists again: the server was put back to an older copy, or the revision is of another home.";
        return Err(Problem::parameter("since", &value, None, message).with_fix(fix).into());
    }
    if start.after > head {
        return Err(history_problem().into());
    }
    let has_more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().filter(|_| has_more).map(|deletion| deletion.rev);
    let next_cursor = last.map(|after| DeletionsCursor { after, ..start }.encode(home));
    let texts: Vec<String> = found.iter().map(deletion_json).collect();
    Ok(call.context.list_reply(&texts, &Page { has_more, next_cursor }, &as_of_meta(head)))
}

/// Reads the start of the list from the cursor or the parameters. With a cursor, the parameters may repeat its values but not
/// contradict them.
fn start(query: &Query, home: Uuid) -> Result<DeletionsCursor, Problem> {
    let since = query.revision("since")?;
    let named = kinds(query)?;
    // In a fixed order, because the order of the parameter does not count.
    let named: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| named.contains(kind)).collect();
    let Some(text) = query.get("cursor") else {
        let missing = "The parameter `since` says after which revision the list begins; it is missing.";
        let since = since.ok_or_else(|| {
            Problem::parameter("since", "", None, missing)
                .with_fix("Send the revision up to which you know the home, or 0 for all deletions.")
        })?;
        return Ok(DeletionsCursor { since, kinds: named, after: since });
    };
    let cursor = DeletionsCursor::decode(text, home).map_err(cursor_problem)?;
    let differs = [
        ("since", since.is_some_and(|since| since != cursor.since)),
        ("types", !named.is_empty() && named != cursor.kinds),
    ];
    match differs.into_iter().find(|(_, differs)| *differs) {
        Some((name, _)) => {
            let fix = format!("Leave {name} out, or send it as for the first page; or start again without cursor.");
            Err(contradiction(name, &fix))
        }
        None => Ok(cursor),
    }
}

/// The refusal of a cursor of a history that a restore discarded.
fn history_problem() -> Problem {
    Problem::new(
        ProblemType::InvalidCursor,
        "The cursor is ahead of the home: the server was put back to an older copy.",
    )
    .with("parameter", "cursor")
    .with_fix("Read the lists again from their beginning.")
}

fn deletion_json(deletion: &Deletion) -> String {
    json!({
        "type": deletion.kind.as_str(),
        "id": deletion.id,
        "rev": deletion.rev,
        "deleted_at": deletion.deleted_at,
    })
    .to_string()
}
