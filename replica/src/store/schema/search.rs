//! What holds `search` in step with the typed tables: triggers, row by row; or, where a sync fires none, once all of its
//! rows are written. Must not know what searches it.

use std::sync::OnceLock;

use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, Resource};
use rusqlite::{Connection, Transaction, params};

use crate::store::schema::triggers::{LOWER_GATE, RAISE_GATE, changed, trigger};
use crate::store::{StoreError, gate, open};

/// Notes that a row of the keeper's is another now, or gone, unless the triggers of its table see to that.
pub(crate) fn note(connection: &Connection, kind: Kind, id: &str) -> Result<(), StoreError> {
    if open::fires_triggers(connection)? {
        return Ok(());
    }
    let text = "INSERT OR IGNORE INTO temp._touched (kind, record_id) VALUES (?1, ?2)";
    connection.prepare_cached(text)?.execute((kind.as_str(), id))?;
    Ok(())
}

/// Pages of the index that are merged after one transaction, at most: more than any writes, and so few that nobody waits.
const MERGE_PAGES: i64 = 500;

/// Pieces of one age that lie side by side in the index before whoever adds one more merges them. FTS5 holds 2,000 of all
/// ages, and refuses one more as if the disk were full.
pub(crate) const PIECES_MAX: u32 = 1_000;

/// Whoever writes to search adds to its index, and only the keeper merges, as long as it can be so. SQLite's older versions
/// (3.41 is one, 3.44 is not) go by a mark on each word that the newer ones do not keep: where shells of both ages had merged
/// in turn, words that were gone were found again. Said once the table is full, because to fill it is quicker with merges.
fn only_add(tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    let mut set = tx.prepare("INSERT INTO search (search, rank) VALUES (?1, ?2)")?;
    set.execute(("automerge", 0))?;
    set.execute(("crisismerge", PIECES_MAX))?;
    Ok(())
}

/// Merges what was added to the index of search, by anybody: a question goes through all that lies side by side.
pub(crate) fn merge(tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    tx.prepare_cached("INSERT INTO search (search, rank) VALUES ('merge', ?1)")?.execute([MERGE_PAGES])?;
    Ok(())
}

const NEW: &str = "INSERT INTO search (rowid, kind, record_id, title, body) VALUES (?1, ?2, ?3, ?4, ?5)";
const ANY: &str = "INSERT OR REPLACE INTO search (rowid, kind, record_id, title, body) VALUES (?1, ?2, ?3, ?4, ?5)";

/// Brings search in step with what was noted. FTS5 writes out all it has gathered whenever a statement fires a trigger, so
/// that row by row costs many times what the words themselves do.
pub(crate) fn follow(tx: &Transaction<'_>) -> Result<(), StoreError> {
    if open::fires_triggers(tx)? {
        return Ok(merge(tx)?);
    }
    let noted: Vec<(String, String)> = tx
        .prepare_cached("SELECT kind, record_id FROM temp._touched")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    if noted.is_empty() || hearth_simulated::planted(hearth_simulated::PlantedFault::SearchNotUpdated) {
        return Ok(());
    }
    let touched = noted.iter().filter_map(|(word, id)| Some((Kind::parse(word)?, id)));
    let mut changes = Vec::with_capacity(noted.len());
    for (kind, id) in touched {
        let (texts, place): (Option<(String, String)>, Option<i64>) =
            tx.prepare_cached(texts_statement(kind))?.query_row([id], |row| {
                let exists: bool = row.get(3)?;
                Ok((exists.then(|| Ok::<_, rusqlite::Error>((row.get(0)?, row.get(1)?))).transpose()?, row.get(2)?))
            })?;
        match (texts, place) {
            (Some((title, body)), place) => {
                let stands = "SELECT EXISTS (SELECT 1 FROM search WHERE rowid = ?1 AND title IS ?2 AND body IS ?3)";
                let (place, is_new, stands) = match place {
                    Some(place) => {
                        let row = (place, &title, &body);
                        (place, false, tx.prepare_cached(stands)?.query_row(row, |row| row.get(0))?)
                    }
                    None => {
                        tx.prepare_cached("INSERT INTO _search_rows (kind, record_id) VALUES (?1, ?2)")?
                            .execute((kind.as_str(), id))?;
                        (tx.last_insert_rowid(), true, false)
                    }
                };
                if !stands {
                    changes.push((place, Some((kind, id, title, body, is_new))));
                }
            }
            (None, Some(place)) => {
                tx.prepare_cached("DELETE FROM _search_rows WHERE id = ?1")?.execute([place])?;
                changes.push((place, None));
            }
            (None, None) => {}
        }
    }
    // FTS5 writes out what it has gathered whenever a place comes that is before the one it had.
    // The number of an entry that is gone may be given anew: what comes first stays first.
    changes.sort_by_key(|(place, _)| *place);
    for (place, change) in changes {
        let Some((kind, id, title, body, is_new)) = change else {
            tx.prepare_cached("DELETE FROM search WHERE rowid = ?1")?.execute([place])?;
            continue;
        };
        let values = params![place, kind.as_str(), id, title, body];
        // To replace is to look for what there was in three places. But anybody can write to an FTS5 table, as it can have no
        // trigger: whatever stands there gives way.
        if !(is_new && tx.prepare_cached(NEW)?.execute(values).is_ok()) {
            tx.prepare_cached(ANY)?.execute(values)?;
        }
    }
    tx.prepare_cached("DELETE FROM temp._touched")?.execute([])?;
    Ok(merge(tx)?)
}

/// Makes search anew from the records, whatever was done to it.
pub(crate) fn refill(connection: &mut Connection) -> Result<(), StoreError> {
    gate::keep(connection, |tx| {
        let made: String =
            tx.query_row("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = 'search'", [], |r| r.get(0))?;
        tx.execute_batch(&format!("DROP TABLE search; {made}; DELETE FROM _search_rows;"))?;
        for kind in Kind::ALL {
            let (title, body) = texts(resource(kind), "t");
            let table = kind.collection();
            tx.execute_batch(&format!(
                "INSERT INTO _search_rows (kind, record_id) SELECT '{kind}', id FROM {table};
                 INSERT INTO search (rowid, kind, record_id, title, body)
                     SELECT s.id, s.kind, s.record_id, {title}, {body}
                     FROM _search_rows s JOIN {table} t ON t.id = s.record_id WHERE s.kind = '{kind}' ORDER BY s.id;"
            ))?;
        }
        Ok(only_add(tx)?)
    })
}

/// Whether search has a row for every record in its place, with its texts, and none besides, and its index the words of each.
pub(crate) fn is_complete(connection: &Connection) -> Result<bool, StoreError> {
    Ok(has_its_rows(connection)? && index_faults(connection)?.is_empty())
}

/// What is wrong with the index, in FTS5's words.
pub(crate) fn index_faults(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare("PRAGMA integrity_check(search)")?;
    let found = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    Ok(found.into_iter().filter(|line| line != "ok").collect())
}

fn has_its_rows(connection: &Connection) -> Result<bool, StoreError> {
    let count = |text: &str| connection.query_row(text, [], |row| row.get::<_, i64>(0));
    let mut records = 0;
    for kind in Kind::ALL {
        let (title, body) = texts(resource(kind), "t");
        let table = kind.collection();
        let all = count(&format!("SELECT count(*) FROM {table}"))?;
        let found = count(&format!(
            "SELECT count(*) FROM {table} t CROSS JOIN _search_rows s CROSS JOIN search f
             WHERE s.kind = '{kind}' AND s.record_id = t.id AND f.rowid = s.id AND f.kind = s.kind
                 AND f.record_id = s.record_id AND f.title IS {title} AND f.body IS {body}"
        ))?;
        if found != all {
            return Ok(false);
        }
        records += all;
    }
    Ok(count("SELECT count(*) FROM search")? == records)
}

/// The texts of the six statements that read what a record is found by and where that stands, made once.
fn texts_statement(kind: Kind) -> &'static str {
    static TEXTS: OnceLock<Vec<String>> = OnceLock::new();
    let all = TEXTS.get_or_init(|| {
        Kind::ALL
            .into_iter()
            .map(|kind| {
                let (title, body) = texts(resource(kind), "t");
                format!(
                    "SELECT {title}, {body}, (SELECT id FROM _search_rows WHERE kind = '{kind}' AND record_id = ?1),
                         t.id IS NOT NULL
                     FROM (SELECT 1) LEFT JOIN {} t ON t.id = ?1",
                    kind.collection()
                )
            })
            .collect()
    });
    &all[kind as usize]
}

/// What a row is found by, as SQL: its title, and the rest.
fn texts(resource: &Resource, row: &str) -> (String, String) {
    let body = resource
        .searchable()
        .filter(|field| field.name != resource.title)
        .map(|field| format!("coalesce({row}.{} || char(10), '')", field.name))
        .collect::<Vec<_>>()
        .join(" || ");
    (format!("coalesce({row}.{}, '')", resource.title), body)
}

/// Search follows every row, whoever writes it.
pub(crate) fn triggers(resource: &Resource) -> [String; 3] {
    let kind = resource.kind.as_str();
    let table = resource.kind.collection();
    let (title, body) = texts(resource, "t");
    let changed = resource.searchable().map(changed).collect::<Vec<_>>().join(" OR ");
    let old = format!("FROM _search_rows WHERE kind = '{kind}' AND record_id = OLD.id");
    let removed = vec![format!("DELETE FROM search WHERE rowid = (SELECT id {old});"), format!("DELETE {old};")];
    // The profile's id is set by another AFTER INSERT trigger, before this one or after it; the table knows.
    let id = if resource.kind.is_singleton() { "(SELECT id FROM property)" } else { "NEW.id" };
    let place = format!("_search_rows s WHERE s.kind = '{kind}' AND s.record_id = {id}");
    // As the row is by now: a trigger that is not ours may have changed it before this one, or taken it away. Never in the
    // way of a change: what a stranger put into its place, left there, or took away, is made good. The verbs stand apart,
    // because a statement's own ON CONFLICT would take the place of one that is written here.
    let entered = vec![
        format!(
            "INSERT INTO _search_rows (kind, record_id) SELECT '{kind}', t.id FROM {table} t WHERE t.id = {id} AND NOT \
             EXISTS (SELECT 1 FROM {place});"
        ),
        format!("DELETE FROM search WHERE rowid = (SELECT s.id FROM {place});"),
        format!(
            "INSERT INTO search (rowid, kind, record_id, title, body) SELECT s.id, s.kind, t.id, {title}, {body} FROM \
             {table} t CROSS JOIN {place} AND t.id = {id};"
        ),
    ];
    let follow = |name: &str, when: &str, condition: &str, body: &[String]| {
        let [raise, lower] = [RAISE_GATE, LOWER_GATE].map(str::to_owned);
        trigger(resource, name, when, condition, &[&[raise], body, &[lower]].concat())
    };
    // No other id ever changes.
    let mut moved = if resource.kind.is_singleton() { removed.clone() } else { Vec::new() };
    moved.extend(entered.clone());
    let changes = format!("NEW.id IS NOT OLD.id OR {changed}");
    [
        follow("search_insert", "AFTER INSERT", "1", &entered),
        follow("search_update", "AFTER UPDATE", &changes, &moved),
        follow("search_delete", "AFTER DELETE", "1", &removed),
    ]
}
