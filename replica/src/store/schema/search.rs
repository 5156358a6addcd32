//! Keeps `search` in step with the typed tables. Triggers update it row by row; a sync that fires no triggers updates it at the
//! end of its transaction. Must not know queries.

use std::sync::LazyLock;

use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, Resource};
use rusqlite::{Connection, Transaction, params};

use super::plain_words::{plain_form, plain_form_sql};
use super::trigger_sql::{LOWER_GATE, RAISE_GATE, changed, trigger};
use crate::model::FILE_SHA256;
use crate::store::connection::{faults, fires_triggers};
use crate::store::{StoreError, select};

/// Marks a row that a sync transaction has changed or deleted. Does nothing on a connection that fires triggers.
pub(crate) fn mark_touched(connection: &Connection, kind: Kind, id: &str) -> Result<(), StoreError> {
    if fires_triggers(connection)? {
        return Ok(());
    }
    let text = "INSERT OR IGNORE INTO temp._touched (kind, record_id) VALUES (?1, ?2)";
    connection.prepare_cached(text)?.execute((kind.as_str(), id))?;
    Ok(())
}

/// The most index pages that are merged after one transaction: more than a transaction writes, and few enough to be quick.
const MERGE_PAGES: i64 = 500;

/// The number of index segments of one level at which a writer merges them. FTS5 allows 2,000 segments in all levels, and
/// refuses one more as if the disk were full.
pub(crate) const CRISIS_SEGMENTS: u32 = 1_000;

/// Turns automatic merges off: scripts only add segments, and the sync merges them. Older SQLite versions (such as 3.41, but not
/// 3.44) use a mark on each word that newer versions do not keep. After merges of both, deleted words were found again. Called
/// after the table is filled, because filling is faster with merges.
fn disable_automatic_merges(tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    let mut set = tx.prepare("INSERT INTO search (search, rank) VALUES (?1, ?2)")?;
    set.execute(("automerge", 0))?;
    set.execute(("crisismerge", CRISIS_SEGMENTS))?;
    Ok(())
}

/// Merges segments that scripts or the sync have added to the index. A query reads every segment.
pub(crate) fn merge_index(tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    tx.prepare_cached("INSERT INTO search (search, rank) VALUES ('merge', ?1)")?.execute([MERGE_PAGES])?;
    Ok(())
}

/// Updates `search` for the rows that [`mark_touched`] has marked. FTS5 flushes its buffer whenever a statement fires a trigger,
/// so updating row by row costs many times as much as the words themselves.
pub(crate) fn update_touched(tx: &Transaction<'_>) -> Result<(), StoreError> {
    if fires_triggers(tx)? {
        return Ok(merge_index(tx)?);
    }
    let touched: Vec<(String, String)> =
        select::all(tx, "SELECT kind, record_id FROM temp._touched", [], |row| Ok(row.try_into()?))?;
    if touched.is_empty() || hearth_simulated::planted(hearth_simulated::PlantedFault::SearchNotUpdated) {
        return Ok(());
    }
    let mut changes = Vec::with_capacity(touched.len());
    for (word, id) in &touched {
        if let Some(kind) = Kind::parse(word) {
            changes.extend(entry_change(tx, kind, id)?);
        }
    }
    // FTS5 also flushes its buffer when a rowid is lower than the one before. The sort is stable: the rowid of a deleted entry
    // may be given to a new entry, and the delete must come first.
    changes.sort_by_key(|change| change.rowid);
    for change in &changes {
        write_entry(tx, change)?;
    }
    tx.prepare_cached("DELETE FROM temp._touched")?.execute([])?;
    Ok(merge_index(tx)?)
}

/// A pending change of one row of `search`.
struct EntryChange<'a> {
    rowid: i64,
    kind: Kind,
    record: &'a str,
    /// Title and body. None: the record is gone, and its entry is deleted.
    texts: Option<(String, String)>,
    /// True when the record has had no row of `search` yet.
    is_new: bool,
}

/// The change that brings the entry of a record up to date; None when the entry is up to date. Updates `_search_rows`.
fn entry_change<'a>(tx: &Connection, kind: Kind, record: &'a str) -> Result<Option<EntryChange<'a>>, StoreError> {
    let (texts, rowid): (Option<(String, String)>, Option<i64>) =
        tx.prepare_cached(select_texts(kind))?.query_row([record], |row| {
            let exists: bool = row.get(3)?;
            Ok((exists.then(|| Ok::<_, rusqlite::Error>((row.get(0)?, row.get(1)?))).transpose()?, row.get(2)?))
        })?;
    let is_new = rowid.is_none();
    let rowid = match (&texts, rowid) {
        (Some((title, body)), Some(rowid)) => {
            let is_current = "SELECT EXISTS (SELECT 1 FROM search WHERE rowid = ?1 AND title IS ?2 AND body IS ?3)";
            if select::value(tx, is_current, (rowid, title, body))? {
                return Ok(None);
            }
            rowid
        }
        (Some(_), None) => {
            tx.prepare_cached("INSERT INTO _search_rows (kind, record_id) VALUES (?1, ?2)")?
                .execute((kind.as_str(), record))?;
            tx.last_insert_rowid()
        }
        (None, Some(rowid)) => {
            tx.prepare_cached("DELETE FROM _search_rows WHERE id = ?1")?.execute([rowid])?;
            rowid
        }
        (None, None) => return Ok(None),
    };
    Ok(Some(EntryChange { rowid, kind, record, texts, is_new }))
}

/// Brings the entry of one record up to date at once; deletes the entry of an id that no record has.
pub(crate) fn renew_entry(tx: &Connection, kind: Kind, id: &str) -> Result<(), StoreError> {
    entry_change(tx, kind, id)?.map_or(Ok(()), |change| write_entry(tx, &change))
}

fn write_entry(tx: &Connection, change: &EntryChange<'_>) -> Result<(), StoreError> {
    const INSERT: &str =
        "INSERT INTO search (rowid, kind, record_id, title, body, plain) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    const REPLACE: &str =
        "INSERT OR REPLACE INTO search (rowid, kind, record_id, title, body, plain) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let Some((title, body)) = &change.texts else {
        tx.prepare_cached("DELETE FROM search WHERE rowid = ?1")?.execute([change.rowid])?;
        return Ok(());
    };
    let values = params![change.rowid, change.kind.as_str(), change.record, title, body, plain_form(title, body)];
    // REPLACE reads three tables for the old row. It is necessary for a new entry too when a script has written to `search`,
    // which can have no guard: the script's row gives way.
    if !(change.is_new && tx.prepare_cached(INSERT)?.execute(values).is_ok()) {
        tx.prepare_cached(REPLACE)?.execute(values)?;
    }
    Ok(())
}

/// Makes `search` anew from the records, whatever scripts have written to it.
pub(crate) fn refill(tx: &Transaction<'_>) -> Result<(), StoreError> {
    let create = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = 'search'";
    let create: String = select::value(tx, create, [])?;
    tx.execute_batch(&format!("DROP TABLE search; {create}; DELETE FROM _search_rows;"))?;
    let plain = plain_form_sql("title", "body");
    for kind in Kind::ALL {
        let (title, body) = text_columns(resource(kind), "t");
        let table = kind.collection();
        tx.execute_batch(&format!(
            "INSERT INTO _search_rows (kind, record_id) SELECT '{kind}', id FROM {table};
             INSERT INTO search (rowid, kind, record_id, title, body, plain)
                 SELECT id, kind, record_id, title, body, {plain}
                 FROM (SELECT s.id, s.kind, s.record_id, {title} AS title, {body} AS body
                       FROM _search_rows s JOIN {table} t ON t.id = s.record_id WHERE s.kind = '{kind}') ORDER BY id;"
        ))?;
    }
    Ok(disable_automatic_merges(tx)?)
}

/// True when `search` has exactly one row for each record, with the record's texts, and its index is sound.
pub(crate) fn is_complete(connection: &Connection) -> Result<bool, StoreError> {
    Ok(has_all_rows(connection)? && index_faults(connection)?.is_empty())
}

/// The faults that FTS5 finds in the index, in its words.
pub(crate) fn index_faults(connection: &Connection) -> Result<Vec<String>, StoreError> {
    faults(connection, "integrity_check(search)")
}

/// True when `search` has exactly one row for each record, with the record's texts.
pub(crate) fn has_all_rows(connection: &Connection) -> Result<bool, StoreError> {
    let count = |text: &str| select::count(connection, text, []);
    let mut records = 0;
    let plain = plain_form_sql("f.title", "f.body");
    for kind in Kind::ALL {
        let (title, body) = text_columns(resource(kind), "t");
        let table = kind.collection();
        let all = count(&format!("SELECT count(*) FROM {table}"))?;
        let found = count(&format!(
            "SELECT count(*) FROM {table} t CROSS JOIN _search_rows s CROSS JOIN search f
             WHERE s.kind = '{kind}' AND s.record_id = t.id AND f.rowid = s.id AND f.kind = s.kind
                 AND f.record_id = s.record_id AND f.title IS {title} AND f.body IS {body} AND f.plain IS {plain}"
        ))?;
        if found != all {
            return Ok(false);
        }
        records += all;
    }
    Ok(count("SELECT count(*) FROM search")? == records)
}

/// The statement that selects the texts of a record and the rowid of its entry. The texts are made once.
fn select_texts(kind: Kind) -> &'static str {
    static TEXTS: LazyLock<[String; 6]> = LazyLock::new(|| {
        Kind::ALL.map(|kind| {
            let (title, body) = text_columns(resource(kind), "t");
            format!(
                "SELECT {title}, {body}, (SELECT id FROM _search_rows WHERE kind = '{kind}' AND record_id = ?1),
                     t.id IS NOT NULL
                 FROM (SELECT 1) LEFT JOIN {} t ON t.id = ?1",
                kind.collection()
            )
        })
    });
    &TEXTS[kind as usize]
}

/// SQL for the two searched texts of a row: the title; and all other searchable fields, with the text of the file that it names.
fn text_columns(resource: &Resource, row: &str) -> (String, String) {
    let body = resource
        .searchable()
        .filter(|field| field.name != resource.title)
        .map(|field| format!("coalesce({row}.{} || char(10), '')", field.name))
        .collect::<Vec<_>>()
        .join(" || ");
    let body = match resource.field(FILE_SHA256) {
        None => body,
        Some(_) => format!(
            "{body} || coalesce((SELECT ft.text || char(10) FROM file_texts ft WHERE ft.sha256 = {row}.{FILE_SHA256}), '')"
        ),
    };
    (format!("coalesce({row}.{}, '')", resource.title), body)
}

/// The triggers that update `search` for every writer.
pub(crate) fn triggers(resource: &Resource) -> [String; 3] {
    let kind = resource.kind.as_str();
    let table = resource.kind.collection();
    let (title, body) = text_columns(resource, "t");
    let file = resource.field(FILE_SHA256).filter(|field| !resource.searchable().any(|other| other.name == field.name));
    let changed = resource.searchable().chain(file).map(changed).collect::<Vec<_>>().join(" OR ");
    let old = format!("FROM _search_rows WHERE kind = '{kind}' AND record_id = OLD.id");
    let removed = vec![format!("DELETE FROM search WHERE rowid = (SELECT id {old});"), format!("DELETE {old};")];
    // Another AFTER INSERT trigger sets the id of the profile, before or after this trigger; the table holds the id.
    let id = if resource.kind.is_singleton() { "(SELECT id FROM property)" } else { "NEW.id" };
    let entry = format!("_search_rows s WHERE s.kind = '{kind}' AND s.record_id = {id}");
    // The texts are read from the table: a person's trigger may have changed or deleted the row before this trigger. A row that
    // a script has put into `search` never makes a change fail. DELETE and INSERT are separate, because the conflict clause of
    // the statement that fires a trigger overrules a conflict clause inside the trigger.
    let entered = vec![
        format!(
            "INSERT INTO _search_rows (kind, record_id) SELECT '{kind}', t.id FROM {table} t WHERE t.id = {id} AND NOT \
             EXISTS (SELECT 1 FROM {entry});"
        ),
        format!("DELETE FROM search WHERE rowid = (SELECT s.id FROM {entry});"),
        format!(
            "INSERT INTO search (rowid, kind, record_id, title, body, plain) SELECT r, k, i, title, body, {plain} FROM \
             (SELECT s.id AS r, s.kind AS k, t.id AS i, {title} AS title, {body} AS body FROM {table} t CROSS JOIN {entry} \
             AND t.id = {id});",
            plain = plain_form_sql("title", "body")
        ),
    ];
    let follow = |name: &str, when: &str, condition: &str, body: &[String]| {
        let [raise, lower] = [RAISE_GATE, LOWER_GATE].map(str::to_owned);
        trigger(resource, name, when, condition, &[&[raise], body, &[lower]].concat())
    };
    // Scripts cannot change the id of another row.
    let mut moved = if resource.kind.is_singleton() { removed.clone() } else { Vec::new() };
    moved.extend(entered.clone());
    let changes = format!("NEW.id IS NOT OLD.id OR {changed}");
    [
        follow("search_insert", "AFTER INSERT", "1", &entered),
        follow("search_update", "AFTER UPDATE", &changes, &moved),
        follow("search_delete", "AFTER DELETE", "1", &removed),
    ]
}
