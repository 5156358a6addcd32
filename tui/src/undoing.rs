//! What was done in this session, step by step, so that it can be undone and done again: a step may be many edits. Knows edits by
//! their numbers alone; must not know what they change.

use std::collections::BTreeSet;

use hearth_replica::{Decided, EditError, Replica};

/// More steps than this nobody takes back.
const STEPS_MAX: usize = 200;

/// The steps that can be taken back, and those that can be taken again.
#[derive(Debug, Default)]
pub struct Steps {
    undo: Vec<Step>,
    redo: Vec<Step>,
}

/// Edits that were made together.
#[derive(Debug, Clone)]
struct Step {
    /// What was done, in words.
    said: String,
    /// The edits, in their order.
    edits: Vec<i64>,
}

impl Steps {
    /// The number after which new edits come.
    pub fn before(replica: &Replica) -> i64 {
        let settled = replica.history(1).ok().and_then(|edits| edits.first().map(|edit| edit.id));
        let waiting = replica.edits().ok().and_then(|edits| edits.last().map(|edit| edit.id));
        settled.max(waiting).unwrap_or(0)
    }

    /// Notes the edits that came after a number as one step. What changed nothing is none.
    pub fn note(&mut self, replica: &Replica, before: i64, said: String) {
        // An edit may be on the server by now already.
        let settled = replica.history(STEPS_MAX).unwrap_or_default().into_iter().map(|edit| edit.id);
        let waiting = replica.edits().unwrap_or_default().into_iter().map(|edit| edit.id);
        let edits: BTreeSet<i64> = settled.chain(waiting).filter(|id| *id > before).collect();
        let edits: Vec<i64> = edits.into_iter().collect();
        if !edits.is_empty() {
            push(&mut self.undo, Step { said, edits });
            self.redo.clear();
        }
    }

    /// Takes the last step back; without one the newest change that was made here before. Says what was undone.
    pub fn undo(&mut self, replica: &Replica) -> Result<String, EditError> {
        let Some(step) = self.undo.pop() else {
            let decided = replica.undo(None)?;
            let edit = decided.edit.or_else(|| taken_back(replica));
            push(&mut self.redo, Step { said: "the change before".to_owned(), edits: edit.into_iter().collect() });
            return Ok(format!("Undone: {}", decided.said));
        };
        let edits = back(replica, &step)?;
        let said = format!("Undone: {}", step.said);
        push(&mut self.redo, Step { edits, ..step });
        Ok(said)
    }

    /// Takes the step that was undone last again. Says what was done.
    pub fn redo(&mut self, replica: &Replica) -> Result<String, EditError> {
        let Some(step) = self.redo.pop() else {
            return Err(EditError::Refused("There is nothing to do again.".to_owned()));
        };
        let edits = back(replica, &step)?;
        let said = format!("Done again: {}", step.said);
        push(&mut self.undo, Step { edits, ..step });
        Ok(said)
    }
}

/// Undoes the edits of a step from the last to the first; gives the edits whose undoing would do them again. The first failure
/// ends it only where nothing was undone yet.
fn back(replica: &Replica, step: &Step) -> Result<Vec<i64>, EditError> {
    let mut undone = Vec::new();
    for edit in step.edits.iter().rev() {
        match replica.undo(Some(*edit)) {
            // What was never sent is taken back without another edit; undoing its number again brings it back.
            Ok(Decided { edit: by, .. }) => undone.push(by.unwrap_or(*edit)),
            Err(error) if undone.is_empty() => return Err(error),
            Err(error) => tracing::info!(%error, edit, "one edit of a step was not undone"),
        }
    }
    Ok(undone)
}

/// The edit that was taken back last.
fn taken_back(replica: &Replica) -> Option<i64> {
    let history = replica.history(STEPS_MAX).ok()?;
    let undone = history.into_iter().filter(|edit| edit.outcome == "undone");
    undone.max_by(|a, b| a.settled_at.cmp(&b.settled_at)).map(|edit| edit.id)
}

fn push(steps: &mut Vec<Step>, step: Step) {
    if steps.len() == STEPS_MAX {
        steps.remove(0);
    }
    steps.push(step);
}

#[cfg(test)]
mod tests {
    use hearth_contract::check::Fields;
    use hearth_contract::schema::Kind;
    use hearth_replica::{Origin, RowQuery, Sort};

    use super::*;

    fn named(name: &str) -> Fields {
        Fields::from_iter([("name".to_owned(), name.into())])
    }

    #[test]
    fn steps_are_undone_and_done_again_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let replica = Replica::open(&directory.path().join("replica.db"), Origin::Tui).unwrap();
        let mut steps = Steps::default();
        let mut step = |said: &str, work: &dyn Fn()| {
            let before = Steps::before(&replica);
            work();
            steps.note(&replica, before, said.to_owned());
        };
        let names = || -> Vec<String> {
            let query = RowQuery::of(Kind::Room, Sort { column: "name", descending: false }, 9);
            replica.rows(&query).unwrap().rows.into_iter().map(|row| row.title).collect()
        };
        step("two rooms", &|| {
            replica.create(Kind::Room, &named("Hall")).unwrap();
            replica.create(Kind::Room, &named("Attic")).unwrap();
        });
        let query = RowQuery::of(Kind::Room, Sort { column: "name", descending: false }, 9);
        let hall = replica.rows(&query).unwrap().rows[1].id.clone();
        step("a name", &|| replica.update(Kind::Room, &hall, &named("Lobby")).unwrap());
        step("nothing", &|| replica.update(Kind::Room, &hall, &named("Lobby")).unwrap());
        assert_eq!(names(), ["Attic", "Lobby"]);
        assert_eq!(steps.undo(&replica).unwrap(), "Undone: a name");
        assert_eq!(names(), ["Attic", "Hall"]);
        assert_eq!(steps.undo(&replica).unwrap(), "Undone: two rooms");
        assert_eq!(names(), [] as [&str; 0]);
        assert_eq!(steps.redo(&replica).unwrap(), "Done again: two rooms");
        assert_eq!(steps.redo(&replica).unwrap(), "Done again: a name");
        assert_eq!(names(), ["Attic", "Lobby"]);
        assert!(steps.redo(&replica).is_err());
        steps.undo(&replica).unwrap();
        assert_eq!(names(), ["Attic", "Hall"]);
    }
}
