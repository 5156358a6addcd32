//! What was done in this session, step by step, so that it can be undone and done again: a step may be many edits. Knows edits by
//! their numbers alone; must not know what they change.

use std::collections::BTreeSet;

use hearth_replica::{Change, Decided, Edit, EditError, EditOutcome, EditProgress, Replica};

/// More steps than this nobody takes back.
const STEPS_MAX: usize = 200;

/// The steps that can be taken back, and those that can be taken again.
#[derive(Debug, Default)]
pub struct Steps {
    undo: Vec<Step>,
    redo: Vec<Step>,
    /// The edits that undoing has made here. To undo is not to take back what was undone before.
    made_by_undoing: BTreeSet<i64>,
}

/// Edits that were made together.
#[derive(Debug, Clone)]
struct Step {
    /// What was done, in words; None: it was done before this session, and only what undoes it says what it was.
    said: Option<String>,
    /// What the server has made of it and keeps when it is undone, in words.
    stays: Option<String>,
    /// The edits, in their order.
    edits: Vec<i64>,
}

impl Steps {
    /// Notes what one change through the replica has just made as a step. What changed nothing is none.
    pub fn note(&mut self, replica: &Replica, said: String, stays: Option<String>) {
        self.done(Step { said: Some(said), stays, edits: made(replica) });
    }

    /// Carries out changes, each for itself, and notes what they made as one step, named by how many of them changed
    /// something, which is given of each.
    pub fn note_all(
        &mut self,
        replica: &Replica,
        said: impl FnOnce(usize) -> String,
        changes: impl Iterator<Item = Result<(), EditError>>,
    ) -> Vec<Result<bool, EditError>> {
        let mut edits = Vec::new();
        let noted = |change: Result<(), EditError>| {
            change.map(|()| {
                let before = edits.len();
                edits.extend(made(replica));
                edits.len() > before
            })
        };
        let results: Vec<_> = changes.map(noted).collect();
        let done = results.iter().filter(|result| matches!(result, Ok(true))).count();
        self.done(Step { said: Some(said(done)), stays: None, edits });
        results
    }

    /// Notes the decision about an edit that has just been carried out as a step: what it made, or else the edits that gave way to
    /// it and come back when they are undone. Of what waited before, those are of its record and none is older.
    pub fn note_decision(&mut self, replica: &Replica, edit: i64, waited: &[Edit], said: String) {
        let mut edits = made(replica);
        // Where each field was decided for itself, its first number keeps what the server had of those that go to it as they are
        // here: those taken back, all is as the server had it. The others keep what was written here and gave way.
        edits.truncate(1);
        if edits.is_empty()
            && let Some(decided) = waited.iter().find(|one| one.id == edit)
        {
            let gave_way = |progress| {
                use EditOutcome::{Discarded, Superseded, Undone};
                matches!(progress, EditProgress::Ended(Undone | Discarded | Superseded))
            };
            let changes = replica.changes(decided.kind, &decided.record_id, STEPS_MAX).unwrap_or_default();
            let changes = changes.into_iter().filter(|change| gave_way(change.state) && change.edit >= edit);
            let did_wait = |change: &Change| waited.iter().any(|one| one.id == change.edit);
            edits = changes.filter(did_wait).map(|change| change.edit).collect();
        }
        self.done(Step { said: Some(said), stays: None, edits });
    }

    fn done(&mut self, step: Step) {
        if !step.edits.is_empty() {
            push(&mut self.undo, step);
            self.redo.clear();
        }
    }

    /// Takes the last step back; without one the newest change that was made here before. Says what was undone, and tells at
    /// each edit how many are done, of how many.
    pub fn undo(&mut self, replica: &Replica, tell: &mut dyn FnMut(usize, usize)) -> Result<String, EditError> {
        let Some(step) = self.undo.pop() else {
            let decided = replica.undo_newest(&self.made_by_undoing)?;
            self.made_by_undoing.extend(decided.edit);
            let edit = decided.edit.or_else(|| taken_back(replica));
            push(&mut self.redo, Step { said: None, stays: None, edits: edit.into_iter().collect() });
            return Ok(format!("Undone: {}", decided.said));
        };
        let back = back(replica, &step, tell).inspect_err(|error| keep(&mut self.undo, &step, error))?;
        let stays = step.stays.as_ref().filter(|_| back.was_sent).map(|stays| format!("; {stays}"));
        let said = format!("Undone: {}{}", back.said, stays.unwrap_or_default());
        self.made_by_undoing.extend(&back.edits);
        push(&mut self.redo, back.again(step));
        Ok(said)
    }

    /// Takes the step that was undone last again. Says what was done, and tells how far it is.
    pub fn redo(&mut self, replica: &Replica, tell: &mut dyn FnMut(usize, usize)) -> Result<String, EditError> {
        let Some(step) = self.redo.pop() else {
            return Err(EditError::Refused("There is nothing to do again.".to_owned()));
        };
        let back = back(replica, &step, tell).inspect_err(|error| keep(&mut self.redo, &step, error))?;
        let said = format!("Done again: {}", back.said);
        push(&mut self.undo, back.again(step));
        Ok(said)
    }
}

/// What came of undoing the edits of a step.
struct Back {
    /// The edits whose undoing would do them again.
    edits: Vec<i64>,
    /// What the step was, and what of it could not be undone.
    said: String,
    /// Whether the server had heard of any of them.
    was_sent: bool,
}

impl Back {
    /// The step that would do it again: what could not be undone is no part of it.
    fn again(self, step: Step) -> Step {
        let (left, all) = (self.edits.len(), step.edits.len());
        let is_number = |said: &String| said.starts_with(|letter: char| letter.is_ascii_digit());
        let said =
            step.said.map(|said| if left < all && is_number(&said) { format!("{left} of {said}") } else { said });
        Step { said, stays: step.stays, edits: self.edits }
    }
}

/// Undoes the edits of a step from the last to the first, each for itself. Err: none could be.
fn back(replica: &Replica, step: &Step, tell: &mut dyn FnMut(usize, usize)) -> Result<Back, EditError> {
    let (mut undone, mut refused) = (Vec::new(), Vec::new());
    let (mut sentence, mut was_sent) = (None, false);
    for (done, edit) in step.edits.iter().rev().enumerate() {
        tell(done, step.edits.len());
        match replica.undo(Some(*edit)) {
            // What was never sent is taken back without another edit; undoing its number again brings it back.
            Ok(Decided { edit: by, said, .. }) => {
                undone.push(by.unwrap_or(*edit));
                was_sent |= by.is_some();
                sentence.get_or_insert(said);
            }
            Err(error) => refused.push(error),
        }
    }
    let number = refused.len();
    let what = step.said.clone().or(sentence).unwrap_or_default();
    match refused.into_iter().next() {
        Some(error) if undone.is_empty() => Err(error),
        Some(error) => {
            let said = format!("{what}, but for {number} of {}: {error}", step.edits.len());
            Ok(Back { edits: undone, said, was_sent })
        }
        None => Ok(Back { edits: undone, said: what, was_sent }),
    }
}

/// Keeps a step that could not be taken for now. One that never can be makes way for the step before it.
fn keep(steps: &mut Vec<Step>, step: &Step, error: &EditError) {
    if !matches!(error, EditError::Refused(_) | EditError::NotFound) {
        push(steps, step.clone());
    }
}

/// The edits of the change that was just made. Where they cannot be read there is no step, rather than one with the edits of
/// others in it.
fn made(replica: &Replica) -> Vec<i64> {
    replica.made().unwrap_or_default()
}

/// The edit that was taken back last.
fn taken_back(replica: &Replica) -> Option<i64> {
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
    fn undoing_goes_back_past_what_it_has_made() {
        let directory = tempfile::tempdir().unwrap();
        let replica = Replica::open(&directory.path().join("replica.db"), Origin::Tui).unwrap();
        let hall = replica.create(Kind::Room, &named("Hall")).unwrap();
        replica.create(Kind::Room, &named("Attic")).unwrap();
        replica.delete(Kind::Room, &hall).unwrap();
        // What was taken back before it was sent stands again as an edit of its own.
        let mut steps = Steps::default();
        let first = replica.made().unwrap();
        replica.undo(Some(first[0])).unwrap();
        steps.done(Step { said: Some("a decision".to_owned()), stays: None, edits: first });
        let said = |steps: &mut Steps| steps.undo(&replica, &mut |_, _| {}).unwrap();
        assert_eq!(said(&mut steps), "Undone: a decision");
        assert!(said(&mut steps).contains("Attic"), "not the deletion of the hall, which undoing has made");
    }

    #[test]
    fn steps_are_undone_and_done_again_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let replica = Replica::open(&directory.path().join("replica.db"), Origin::Tui).unwrap();
        let mut steps = Steps::default();
        let names = || -> Vec<String> {
            let query = RowQuery::all(Kind::Room, Sort { column: "name", descending: false }, 9);
            replica.rows(&query).unwrap().rows.into_iter().map(|row| row.title).collect()
        };
        let both = ["Hall", "Attic"].into_iter().map(|name| replica.create(Kind::Room, &named(name)).map(drop));
        assert!(matches!(steps.note_all(&replica, |_| "two rooms".to_owned(), both)[..], [Ok(true), Ok(true)]));
        let query = RowQuery::all(Kind::Room, Sort { column: "name", descending: false }, 9);
        let hall = replica.rows(&query).unwrap().rows[1].id.clone();
        let same = [&hall].into_iter().map(|id| replica.update(Kind::Room, id, &named("Hall")));
        assert!(matches!(steps.note_all(&replica, |_| "nothing".to_owned(), same)[..], [Ok(false)]));
        for said in ["a name", "nothing"] {
            replica.update(Kind::Room, &hall, &named("Lobby")).unwrap();
            steps.note(&replica, said.to_owned(), None);
        }
        assert_eq!(names(), ["Attic", "Lobby"]);
        assert_eq!(steps.undo(&replica, &mut |_, _| {}).unwrap(), "Undone: a name");
        assert_eq!(names(), ["Attic", "Hall"]);
        assert_eq!(steps.undo(&replica, &mut |_, _| {}).unwrap(), "Undone: two rooms");
        assert_eq!(names(), [] as [&str; 0]);
        assert_eq!(steps.redo(&replica, &mut |_, _| {}).unwrap(), "Done again: two rooms");
        assert_eq!(steps.redo(&replica, &mut |_, _| {}).unwrap(), "Done again: a name");
        assert_eq!(names(), ["Attic", "Lobby"]);
        assert!(steps.redo(&replica, &mut |_, _| {}).is_err());
        steps.undo(&replica, &mut |_, _| {}).unwrap();
        assert_eq!(names(), ["Attic", "Hall"]);
    }

    /// A replica with one room, and the steps of a session on it.
    fn scene() -> (tempfile::TempDir, Replica, Steps, String) {
        let directory = tempfile::tempdir().unwrap();
        let replica = Replica::open(&directory.path().join("replica.db"), Origin::Tui).unwrap();
        let mut steps = Steps::default();
        let hall = replica.create(Kind::Room, &named("Hall")).unwrap();
        steps.note(&replica, "a room".to_owned(), None);
        (directory, replica, steps, hall)
    }

    fn name(replica: &Replica, id: &str) -> String {
        replica.row(Kind::Room, id).unwrap().map(|row| row.title).unwrap_or_default()
    }

    #[test]
    fn what_of_a_step_can_be_undone_is_and_the_rest_is_said() {
        let (_directory, replica, mut steps, hall) = scene();
        let attic = replica.create(Kind::Room, &named("Attic")).unwrap();
        let names = [(&hall, "A"), (&attic, "B")];
        let changes = names.into_iter().map(|(id, name)| replica.update(Kind::Room, id, &named(name)));
        steps.note_all(&replica, |_| "2 rooms".to_owned(), changes);
        // Somebody has taken one of them back by another way.
        let last = replica.made().unwrap();
        replica.undo(Some(last[0])).unwrap();
        replica.delete(Kind::Room, &attic).unwrap();
        let said = steps.undo(&replica, &mut |_, _| {}).unwrap();
        assert!(said.starts_with("Undone: 2 rooms, but for 1 of 2: "), "{said}");
        assert_eq!(name(&replica, &hall), "Hall");
        assert_eq!(steps.redo(&replica, &mut |_, _| {}).unwrap(), "Done again: 1 of 2 rooms");
        assert_eq!(name(&replica, &hall), "A");
    }

    #[test]
    fn a_change_that_was_given_up_comes_back_with_what_followed_it() {
        let (_directory, replica, mut steps, hall) = scene();
        replica.update(Kind::Room, &hall, &named("Lobby")).unwrap();
        let waited = replica.edits().unwrap();
        replica.discard(1).unwrap();
        steps.note_decision(&replica, 1, &waited, "a decision".to_owned());
        assert_eq!(name(&replica, &hall), "");
        assert_eq!(steps.undo(&replica, &mut |_, _| {}).unwrap(), "Undone: a decision");
        assert_eq!(name(&replica, &hall), "Lobby");
        assert_eq!(steps.redo(&replica, &mut |_, _| {}).unwrap(), "Done again: a decision");
        assert_eq!(name(&replica, &hall), "");
    }

    #[test]
    fn a_script_beside_the_screen_is_not_undone_by_it() {
        let (directory, replica, mut steps, hall) = scene();
        let script = Replica::open(&directory.path().join("replica.db"), Origin::Cli).unwrap();
        let barn = script.create(Kind::Room, &named("Barn")).unwrap();
        replica.update(Kind::Room, &hall, &named("Mine")).unwrap();
        let shed = script.create(Kind::Room, &named("Shed")).unwrap();
        steps.note(&replica, "a name".to_owned(), None);
        steps.undo(&replica, &mut |_, _| {}).unwrap();
        let names = [&hall, &barn, &shed].map(|id| name(&replica, id));
        assert_eq!(names, ["Hall", "Barn", "Shed"]);
    }

    #[test]
    fn a_script_that_was_quicker_than_a_decision_is_not_undone_with_it() {
        let (directory, replica, mut steps, hall) = scene();
        let script = Replica::open(&directory.path().join("replica.db"), Origin::Cli).unwrap();
        replica.update(Kind::Room, &hall, &named("Lobby")).unwrap();
        let waited = replica.edits().unwrap();
        // It held the database while the person decided.
        let sheds: Vec<String> =
            (0..20).map(|number| script.create(Kind::Room, &named(&format!("Shed {number}"))).unwrap()).collect();
        replica.discard(2).unwrap();
        steps.note_decision(&replica, 2, &waited, "a decision".to_owned());
        assert_eq!(name(&replica, &hall), "Hall");
        steps.undo(&replica, &mut |_, _| {}).unwrap();
        assert_eq!(name(&replica, &hall), "Lobby");
        assert!(sheds.iter().all(|shed| name(&replica, shed).starts_with("Shed")));
    }

    #[test]
    fn what_was_done_before_this_session_is_named_when_it_is_undone_and_done_again() {
        let (_directory, replica, _, hall) = scene();
        replica.update(Kind::Room, &hall, &named("Lobby")).unwrap();
        let mut later = Steps::default();
        let undone = later.undo(&replica, &mut |_, _| {}).unwrap();
        assert!(undone.starts_with("Undone: ") && undone.contains("Lobby"), "{undone}");
        let again = later.redo(&replica, &mut |_, _| {}).unwrap();
        assert!(again.starts_with("Done again: ") && (again.contains("Hall") || again.contains("Lobby")), "{again}");
    }

    #[test]
    fn what_stays_elsewhere_is_said_only_once_the_server_has_heard_of_it() {
        let (_directory, replica, mut steps, hall) = scene();
        replica.update(Kind::Room, &hall, &named("Lobby")).unwrap();
        steps.note(&replica, "a name".to_owned(), Some("the next one stays".to_owned()));
        assert_eq!(steps.undo(&replica, &mut |_, _| {}).unwrap(), "Undone: a name", "it was never sent");
    }
}
