//! What was done in this session, step by step, so that it can be undone and done again: a step may be many edits. Knows edits by
//! their numbers alone; must not know what they change.

use hearth_replica::{Decided, EditError, Origin, Replica};

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
        replica.newest_edit().unwrap_or(0)
    }

    /// Notes the edits that were made here after a number as one step. What changed nothing is none.
    pub fn note(&mut self, replica: &Replica, before: i64, said: String) {
        let edits = replica.edits_after(before, Some(Origin::Tui)).unwrap_or_default();
        self.done(Step { said, edits });
    }

    /// Notes a decision about edits that waited as a step: what it queued, or else the edits that gave way to it and come back
    /// when they are undone, in the order in which they were made.
    pub fn note_decision(&mut self, replica: &Replica, before: i64, waited: &[i64], said: String) {
        let mut edits = replica.edits_after(before, None).unwrap_or_default();
        if edits.is_empty() {
            let gave_way = |outcome: &str| matches!(outcome, "undone" | "discarded" | "superseded");
            let settled = replica.history(STEPS_MAX).unwrap_or_default();
            let settled = settled.into_iter().filter(|edit| gave_way(&edit.outcome) && waited.contains(&edit.id));
            edits = settled.map(|edit| edit.id).collect();
        }
        self.done(Step { said, edits });
    }

    fn done(&mut self, step: Step) {
        if !step.edits.is_empty() {
            push(&mut self.undo, step);
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
        let (edits, but) = back(replica, &step).inspect_err(|error| keep(&mut self.undo, &step, error))?;
        let said = format!("Undone: {}{but}", step.said);
        push(&mut self.redo, Step { edits, ..step });
        Ok(said)
    }

    /// Takes the step that was undone last again. Says what was done.
    pub fn redo(&mut self, replica: &Replica) -> Result<String, EditError> {
        let Some(step) = self.redo.pop() else {
            return Err(EditError::Refused("There is nothing to do again.".to_owned()));
        };
        let (edits, but) = back(replica, &step).inspect_err(|error| keep(&mut self.redo, &step, error))?;
        let said = format!("Done again: {}{but}", step.said);
        push(&mut self.undo, Step { edits, ..step });
        Ok(said)
    }
}

/// Undoes the edits of a step from the last to the first, each for itself; gives the edits whose undoing would do them again, and
/// what to say of those that could not be undone. Err: none could.
fn back(replica: &Replica, step: &Step) -> Result<(Vec<i64>, String), EditError> {
    let (mut undone, mut refused) = (Vec::new(), Vec::new());
    for edit in step.edits.iter().rev() {
        match replica.undo(Some(*edit)) {
            // What was never sent is taken back without another edit; undoing its number again brings it back.
            Ok(Decided { edit: by, .. }) => undone.push(by.unwrap_or(*edit)),
            Err(error) => refused.push(error),
        }
    }
    let number = refused.len();
    match refused.into_iter().next() {
        Some(error) if undone.is_empty() => Err(error),
        Some(error) => Ok((undone, format!(", but for {number} of {}: {error}", step.edits.len()))),
        None => Ok((undone, String::new())),
    }
}

/// Keeps a step that could not be taken for now. One that never can be makes way for the step before it.
fn keep(steps: &mut Vec<Step>, step: &Step, error: &EditError) {
    if !matches!(error, EditError::Refused(_) | EditError::NotFound) {
        push(steps, step.clone());
    }
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
    use hearth_replica::{RowQuery, Sort};

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

    /// A replica with one room, and the steps of a session on it.
    fn scene() -> (tempfile::TempDir, Replica, Steps, String) {
        let directory = tempfile::tempdir().unwrap();
        let replica = Replica::open(&directory.path().join("replica.db"), Origin::Tui).unwrap();
        let mut steps = Steps::default();
        let before = Steps::before(&replica);
        let hall = replica.create(Kind::Room, &named("Hall")).unwrap();
        steps.note(&replica, before, "a room".to_owned());
        (directory, replica, steps, hall)
    }

    fn name(replica: &Replica, id: &str) -> String {
        replica.row(Kind::Room, id).unwrap().map(|row| row.title).unwrap_or_default()
    }

    #[test]
    fn what_of_a_step_can_be_undone_is_and_the_rest_is_said() {
        let (_directory, replica, mut steps, hall) = scene();
        let attic = replica.create(Kind::Room, &named("Attic")).unwrap();
        let before = Steps::before(&replica);
        replica.update(Kind::Room, &hall, &named("A")).unwrap();
        replica.update(Kind::Room, &attic, &named("B")).unwrap();
        steps.note(&replica, before, "2 rooms".to_owned());
        // Somebody has taken one of them back by another way.
        let last = Steps::before(&replica);
        replica.undo(Some(last)).unwrap();
        replica.delete(Kind::Room, &attic).unwrap();
        let said = steps.undo(&replica).unwrap();
        assert!(said.starts_with("Undone: 2 rooms, but for 1 of 2: "), "{said}");
        assert_eq!(name(&replica, &hall), "Hall");
        assert_eq!(steps.redo(&replica).unwrap(), "Done again: 2 rooms");
        assert_eq!(name(&replica, &hall), "A");
    }

    #[test]
    fn a_change_that_was_given_up_comes_back_with_what_followed_it() {
        let (_directory, replica, mut steps, hall) = scene();
        replica.update(Kind::Room, &hall, &named("Lobby")).unwrap();
        let (before, waited) = (Steps::before(&replica), [1, 2]);
        replica.discard(1).unwrap();
        steps.note_decision(&replica, before, &waited, "a decision".to_owned());
        assert_eq!(name(&replica, &hall), "");
        assert_eq!(steps.undo(&replica).unwrap(), "Undone: a decision");
        assert_eq!(name(&replica, &hall), "Lobby");
        assert_eq!(steps.redo(&replica).unwrap(), "Done again: a decision");
        assert_eq!(name(&replica, &hall), "");
    }

    #[test]
    fn a_script_beside_the_screen_is_not_undone_by_it() {
        let (directory, replica, mut steps, hall) = scene();
        let script = Replica::open(&directory.path().join("replica.db"), Origin::Cli).unwrap();
        let before = Steps::before(&replica);
        replica.update(Kind::Room, &hall, &named("Mine")).unwrap();
        let shed = script.create(Kind::Room, &named("Shed")).unwrap();
        steps.note(&replica, before, "a name".to_owned());
        steps.undo(&replica).unwrap();
        assert_eq!((name(&replica, &hall).as_str(), name(&replica, &shed).as_str()), ("Hall", "Shed"));
    }
}
