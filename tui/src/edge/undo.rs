//! The undo history of this session. One step may contain many edits. Knows edits by their ids only; must not know the
//! changes that an edit makes.

use std::collections::BTreeSet;

use hearth_replica::{Change, Edit, EditError, EditOutcome, EditProgress, Replica};

/// The most steps that can be undone.
const STEPS_MAX: usize = 200;

/// The steps that can be undone, and the steps that can be redone.
#[derive(Debug, Default)]
pub struct UndoHistory {
    undo: Vec<Step>,
    redo: Vec<Step>,
    /// Edits that undo itself has made. Undo of older changes skips these edits.
    made_by_undo: BTreeSet<i64>,
}

/// The name of a step, for people.
#[derive(Debug, Clone)]
enum StepName {
    /// A text: `the deletion of “Kettle”`.
    Text(String),
    /// A number of records: `12 tasks`. A step that was undone in part is `10 of 12 tasks`.
    Count(String),
    /// Unknown: the change was made before this session. The replica's answer to the undo names the change.
    Unknown,
}

/// Edits that were made together.
#[derive(Debug, Clone)]
struct Step {
    name: StepName,
    /// What undo leaves on the server, as a text for people. None: undo leaves nothing.
    remains: Option<String>,
    /// The ids of the edits, in the order in which they were made.
    edits: Vec<i64>,
}

impl UndoHistory {
    /// Adds the last change through `replica` as a step. A change that made no edit adds no step.
    pub fn add_last_change(&mut self, replica: &Replica, name: String, remains: Option<String>) {
        self.add_step(Step { name: StepName::Text(name), remains, edits: last_edits(replica) });
    }

    /// Runs `changes` one by one and adds all their edits as one step. `name` receives the number of changes that made
    /// an edit. Returns for each change whether an edit was made.
    pub fn run_changes(
        &mut self,
        replica: &Replica,
        name: impl FnOnce(usize) -> String,
        changes: impl Iterator<Item = Result<(), EditError>>,
    ) -> Vec<Result<bool, EditError>> {
        let mut edits = Vec::new();
        let with_edits = |change: Result<(), EditError>| {
            change.map(|()| {
                let before = edits.len();
                edits.extend(last_edits(replica));
                edits.len() > before
            })
        };
        let results: Vec<_> = changes.map(with_edits).collect();
        let done = results.iter().filter(|result| matches!(result, Ok(true))).count();
        self.add_step(Step { name: StepName::Count(name(done)), remains: None, edits });
        results
    }

    /// Adds the decision about an edit that was just carried out as a step. `before`: the pending edits before the
    /// decision.
    ///
    /// The step contains the edits that the decision made. A decision without new edits removed pending edits of the
    /// same record; then the step contains the removed edits, because undoing them brings them back. None is older than
    /// the decided edit.
    pub fn add_decision(&mut self, replica: &Replica, edit: i64, before: &[Edit], name: String) {
        let mut edits = last_edits(replica);
        // A resolution field by field makes several edits. Undoing the first restores the record as the server had it.
        // The others hold the values that were written here and lost.
        edits.truncate(1);
        if edits.is_empty()
            && let Some(decided) = before.iter().find(|pending| pending.id == edit)
        {
            let gave_way = |progress| {
                use EditOutcome::{Discarded, Superseded, Undone};
                matches!(progress, EditProgress::Ended(Undone | Discarded | Superseded))
            };
            let changes = replica.changes(decided.kind, &decided.record_id, STEPS_MAX).unwrap_or_default();
            let changes = changes.into_iter().filter(|change| gave_way(change.state) && change.edit >= edit);
            let was_pending = |change: &Change| before.iter().any(|pending| pending.id == change.edit);
            edits = changes.filter(was_pending).map(|change| change.edit).collect();
        }
        self.add_step(Step { name: StepName::Text(name), remains: None, edits });
    }

    fn add_step(&mut self, step: Step) {
        if !step.edits.is_empty() {
            push(&mut self.undo, step);
            self.redo.clear();
        }
    }

    /// Undoes the last step. Without a step: undoes the newest change in the replica from before this session.
    /// `progress` receives the number of edits done and the number of all edits. Returns a sentence for the person.
    pub fn undo(&mut self, replica: &Replica, progress: &mut dyn FnMut(usize, usize)) -> Result<String, EditError> {
        let Some(step) = self.undo.pop() else {
            let decided = replica.undo_newest(&self.made_by_undo)?;
            self.made_by_undo.extend(decided.edit);
            let edit = decided.edit.or_else(|| newest_undone_edit(replica));
            push(&mut self.redo, Step { name: StepName::Unknown, remains: None, edits: edit.into_iter().collect() });
            return Ok(format!("Undone: {}", decided.sentence));
        };
        let reverted = revert(replica, &step, progress).inspect_err(|error| keep_step(&mut self.undo, &step, error))?;
        let remains = step.remains.as_ref().filter(|_| reverted.was_sent).map(|remains| format!("; {remains}"));
        let sentence = format!("Undone: {}{}", reverted.sentence, remains.unwrap_or_default());
        self.made_by_undo.extend(&reverted.edits);
        push(&mut self.redo, reverted.into_step(step));
        Ok(sentence)
    }

    /// Redoes the step that was undone last. Returns a sentence for the person.
    pub fn redo(&mut self, replica: &Replica, progress: &mut dyn FnMut(usize, usize)) -> Result<String, EditError> {
        let Some(step) = self.redo.pop() else {
            return Err(EditError::Refused("There is nothing to do again.".to_owned()));
        };
        let reverted = revert(replica, &step, progress).inspect_err(|error| keep_step(&mut self.redo, &step, error))?;
        let sentence = format!("Done again: {}", reverted.sentence);
        push(&mut self.undo, reverted.into_step(step));
        Ok(sentence)
    }
}

/// The outcome of undoing the edits of a step.
struct Reverted {
    /// The edits to undo in order to bring the step back.
    edits: Vec<i64>,
    /// The name of the step, and the part that could not be undone.
    sentence: String,
    /// Whether the server may have received any edit of the step.
    was_sent: bool,
}

impl Reverted {
    /// The step that brings `step` back, with only the edits that were undone.
    fn into_step(self, step: Step) -> Step {
        let (left, all) = (self.edits.len(), step.edits.len());
        let name = match step.name {
            StepName::Count(records) if left < all => StepName::Count(format!("{left} of {records}")),
            name => name,
        };
        Step { name, remains: step.remains, edits: self.edits }
    }
}

/// Undoes the edits of a step one by one, the last edit first. Err: no edit could be undone.
fn revert(replica: &Replica, step: &Step, progress: &mut dyn FnMut(usize, usize)) -> Result<Reverted, EditError> {
    let (mut undone, mut refused) = (Vec::new(), Vec::new());
    let (mut sentence, mut was_sent) = (None, false);
    for (done, edit) in step.edits.iter().rev().enumerate() {
        progress(done, step.edits.len());
        match replica.undo(Some(*edit)) {
            // An edit that was never sent is undone without a new edit. Undoing the same id again brings the edit back.
            Ok(decided) => {
                undone.push(decided.edit.unwrap_or(*edit));
                was_sent |= decided.edit.is_some();
                sentence.get_or_insert(decided.sentence);
            }
            Err(error) => refused.push(error),
        }
    }
    let number = refused.len();
    let name = match &step.name {
        StepName::Text(name) | StepName::Count(name) => name.clone(),
        StepName::Unknown => sentence.unwrap_or_default(),
    };
    match refused.into_iter().next() {
        Some(error) if undone.is_empty() => Err(error),
        Some(error) => {
            let sentence = format!("{name}, but for {number} of {}: {error}", step.edits.len());
            Ok(Reverted { edits: undone, sentence, was_sent })
        }
        None => Ok(Reverted { edits: undone, sentence: name, was_sent }),
    }
}

/// Puts a step back that failed for now, such as with a busy database. A step that can never be undone is dropped, and
/// the step before becomes the next.
fn keep_step(steps: &mut Vec<Step>, step: &Step, error: &EditError) {
    if !matches!(error, EditError::Refused(_) | EditError::NotFound) {
        push(steps, step.clone());
    }
}

/// The ids of the edits of the last change. Empty if the ids cannot be read: no step is better than a step with wrong
/// edits.
fn last_edits(replica: &Replica) -> Vec<i64> {
    replica.last_write_ids().unwrap_or_default()
}

/// The edit that was undone last.
fn newest_undone_edit(replica: &Replica) -> Option<i64> {
    let history = replica.history(STEPS_MAX).ok()?;
    let undone = history.into_iter().filter(|edit| edit.outcome == EditOutcome::Undone);
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
    fn undo_skips_edits_made_by_undo() {
        let directory = tempfile::tempdir().unwrap();
        let replica = Replica::open(&directory.path().join("replica.db"), Origin::Tui).unwrap();
        let hall = replica.create(Kind::Room, &named("Hall")).unwrap();
        replica.create(Kind::Room, &named("Attic")).unwrap();
        replica.delete(Kind::Room, &hall).unwrap();
        let mut history = UndoHistory::default();
        let first = replica.last_write_ids().unwrap();
        replica.undo(Some(first[0])).unwrap();
        history.add_step(Step { name: StepName::Text("a decision".to_owned()), remains: None, edits: first });
        let undo = |history: &mut UndoHistory| history.undo(&replica, &mut |_, _| {}).unwrap();
        assert_eq!(undo(&mut history), "Undone: a decision");
        assert!(undo(&mut history).contains("Attic"), "the deletion of the hall was made by undo");
    }

    #[test]
    fn undo_and_redo_follow_step_order() {
        let directory = tempfile::tempdir().unwrap();
        let replica = Replica::open(&directory.path().join("replica.db"), Origin::Tui).unwrap();
        let mut history = UndoHistory::default();
        let names = || -> Vec<String> {
            let query = RowQuery::all(Kind::Room, Sort { column: "name", descending: false }, 9);
            replica.rows(&query).unwrap().rows.into_iter().map(|row| row.title).collect()
        };
        let both = ["Hall", "Attic"].into_iter().map(|name| replica.create(Kind::Room, &named(name)).map(drop));
        assert!(matches!(history.run_changes(&replica, |_| "two rooms".to_owned(), both)[..], [Ok(true), Ok(true)]));
        let query = RowQuery::all(Kind::Room, Sort { column: "name", descending: false }, 9);
        let hall = replica.rows(&query).unwrap().rows[1].id.clone();
        let same = [&hall].into_iter().map(|id| replica.update(Kind::Room, id, &named("Hall")));
        assert!(matches!(history.run_changes(&replica, |_| "nothing".to_owned(), same)[..], [Ok(false)]));
        for step in ["a name", "nothing"] {
            replica.update(Kind::Room, &hall, &named("Lobby")).unwrap();
            history.add_last_change(&replica, step.to_owned(), None);
        }
        assert_eq!(names(), ["Attic", "Lobby"]);
        assert_eq!(history.undo(&replica, &mut |_, _| {}).unwrap(), "Undone: a name");
        assert_eq!(names(), ["Attic", "Hall"]);
        assert_eq!(history.undo(&replica, &mut |_, _| {}).unwrap(), "Undone: two rooms");
        assert_eq!(names(), [] as [&str; 0]);
        assert_eq!(history.redo(&replica, &mut |_, _| {}).unwrap(), "Done again: two rooms");
        assert_eq!(history.redo(&replica, &mut |_, _| {}).unwrap(), "Done again: a name");
        assert_eq!(names(), ["Attic", "Lobby"]);
        assert!(history.redo(&replica, &mut |_, _| {}).is_err());
        history.undo(&replica, &mut |_, _| {}).unwrap();
        assert_eq!(names(), ["Attic", "Hall"]);
    }

    /// A replica with one room, and the undo history with that room.
    fn scene() -> (tempfile::TempDir, Replica, UndoHistory, String) {
        let directory = tempfile::tempdir().unwrap();
        let replica = Replica::open(&directory.path().join("replica.db"), Origin::Tui).unwrap();
        let mut history = UndoHistory::default();
        let hall = replica.create(Kind::Room, &named("Hall")).unwrap();
        history.add_last_change(&replica, "a room".to_owned(), None);
        (directory, replica, history, hall)
    }

    fn name(replica: &Replica, id: &str) -> String {
        replica.row(Kind::Room, id).unwrap().map(|row| row.title).unwrap_or_default()
    }

    #[test]
    fn step_undone_in_part_says_the_rest() {
        let (_directory, replica, mut history, hall) = scene();
        let attic = replica.create(Kind::Room, &named("Attic")).unwrap();
        let names = [(&hall, "A"), (&attic, "B")];
        let changes = names.into_iter().map(|(id, name)| replica.update(Kind::Room, id, &named(name)));
        history.run_changes(&replica, |_| "2 rooms".to_owned(), changes);
        // Undo the first edit outside the history.
        let last = replica.last_write_ids().unwrap();
        replica.undo(Some(last[0])).unwrap();
        replica.delete(Kind::Room, &attic).unwrap();
        let sentence = history.undo(&replica, &mut |_, _| {}).unwrap();
        assert!(sentence.starts_with("Undone: 2 rooms, but for 1 of 2: "), "{sentence}");
        assert_eq!(name(&replica, &hall), "Hall");
        assert_eq!(history.redo(&replica, &mut |_, _| {}).unwrap(), "Done again: 1 of 2 rooms");
        assert_eq!(name(&replica, &hall), "A");
    }

    #[test]
    fn undo_of_discard_restores_later_edits() {
        let (_directory, replica, mut history, hall) = scene();
        replica.update(Kind::Room, &hall, &named("Lobby")).unwrap();
        let waited = replica.edits().unwrap();
        replica.discard(1).unwrap();
        history.add_decision(&replica, 1, &waited, "a decision".to_owned());
        assert_eq!(name(&replica, &hall), "");
        assert_eq!(history.undo(&replica, &mut |_, _| {}).unwrap(), "Undone: a decision");
        assert_eq!(name(&replica, &hall), "Lobby");
        assert_eq!(history.redo(&replica, &mut |_, _| {}).unwrap(), "Done again: a decision");
        assert_eq!(name(&replica, &hall), "");
    }

    #[test]
    fn undo_leaves_script_edits_alone() {
        let (directory, replica, mut history, hall) = scene();
        let script = Replica::open(&directory.path().join("replica.db"), Origin::Cli).unwrap();
        let barn = script.create(Kind::Room, &named("Barn")).unwrap();
        replica.update(Kind::Room, &hall, &named("Mine")).unwrap();
        let shed = script.create(Kind::Room, &named("Shed")).unwrap();
        history.add_last_change(&replica, "a name".to_owned(), None);
        history.undo(&replica, &mut |_, _| {}).unwrap();
        let names = [&hall, &barn, &shed].map(|id| name(&replica, id));
        assert_eq!(names, ["Hall", "Barn", "Shed"]);
    }

    #[test]
    fn undo_of_decision_leaves_script_edits_alone() {
        let (directory, replica, mut history, hall) = scene();
        let script = Replica::open(&directory.path().join("replica.db"), Origin::Cli).unwrap();
        replica.update(Kind::Room, &hall, &named("Lobby")).unwrap();
        let waited = replica.edits().unwrap();
        // The script writes between the reading of the edits and the decision.
        let sheds: Vec<String> =
            (0..20).map(|number| script.create(Kind::Room, &named(&format!("Shed {number}"))).unwrap()).collect();
        replica.discard(2).unwrap();
        history.add_decision(&replica, 2, &waited, "a decision".to_owned());
        assert_eq!(name(&replica, &hall), "Hall");
        history.undo(&replica, &mut |_, _| {}).unwrap();
        assert_eq!(name(&replica, &hall), "Lobby");
        assert!(sheds.iter().all(|shed| name(&replica, shed).starts_with("Shed")));
    }

    #[test]
    fn undo_names_change_of_earlier_session() {
        let (_directory, replica, _, hall) = scene();
        replica.update(Kind::Room, &hall, &named("Lobby")).unwrap();
        let mut later = UndoHistory::default();
        let undone = later.undo(&replica, &mut |_, _| {}).unwrap();
        assert!(undone.starts_with("Undone: ") && undone.contains("Lobby"), "{undone}");
        let again = later.redo(&replica, &mut |_, _| {}).unwrap();
        assert!(again.starts_with("Done again: ") && (again.contains("Hall") || again.contains("Lobby")), "{again}");
    }

    #[test]
    fn remains_note_needs_a_sent_edit() {
        let (_directory, replica, mut history, hall) = scene();
        replica.update(Kind::Room, &hall, &named("Lobby")).unwrap();
        history.add_last_change(&replica, "a name".to_owned(), Some("the next one stays".to_owned()));
        assert_eq!(history.undo(&replica, &mut |_, _| {}).unwrap(), "Undone: a name", "it was never sent");
    }
}
