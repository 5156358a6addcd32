//! Applies the plan of an import. Up to [`ONE_TRANSACTION_MAX`] changes are one transaction: all or none. More changes go in steps,
//! because one transaction would hold up the writes of all homes: everything was checked before, and a row that fails late,
//! because the home or the key has changed meanwhile, is told. Must not know files.

use hearth_contract::check::CheckedBody;
use hearth_contract::command::{Command, Preconditions};
use hearth_contract::formats::Timestamp;
use hearth_contract::problem::Problem;
use hearth_exchange::import::{Action, Plan, PlannedRow, RowCode, RowFault};

use super::permission;
use crate::app::App;
use crate::home::apply::HomeWriter;
use crate::random::fresh_id;
use crate::store::imports::{self, Failure, FailureCause, Job};
use crate::store::{StoreError, Tx, homes};

/// The most changes in one transaction.
pub(super) const ONE_TRANSACTION_MAX: usize = 2000;
/// The changes of one step of a larger import.
const STEP: usize = 500;

/// How a plan was applied.
pub(super) enum Written {
    /// All changes are committed; refused rows are marked in the plan.
    All,
    /// A step was refused. Rows that are not written are marked in the plan.
    Stopped {
        /// Changes that were committed before.
        done: usize,
        /// What the refusal lies in.
        cause: FailureCause,
        /// One sentence.
        why: String,
    },
    /// The job was deleted.
    Deleted,
}

/// The end of one transaction.
enum Step {
    /// The changes are committed, but for the refused ones: their positions in the step.
    Done(Vec<(usize, Problem)>),
    /// Nothing is committed, because of the row at this position in the step.
    Refused(usize, Problem),
    /// Nothing is committed: the home has no room.
    Full,
    /// Nothing is committed: the key may not write any more.
    Forbidden(Failure),
    Deleted,
}

/// Applies a plan. `partial`: a row that fails late does not stop the others.
pub(super) async fn apply(app: &App, job: &Job, plan: &mut Plan, partial: bool) -> Result<Written, StoreError> {
    let changes = plan.steps();
    let size = if changes.len() <= ONE_TRANSACTION_MAX { ONE_TRANSACTION_MAX } else { STEP };
    let mut done = 0;
    for step in changes.chunks(size) {
        let now = app.clock_guard.now_or_expected(&app.clock);
        let (rows, of, epoch, limit) = (
            step.iter().map(|at| plan.rows[*at].clone()).collect::<Vec<_>>(),
            job.clone(),
            app.db.epoch(),
            app.config.home_bytes_max,
        );
        let made = app.db.write_for(job.home, move |tx| write_step(tx, &of, &rows, epoch, now, limit, partial)).await?;
        match made {
            Step::Done(late) => {
                done += step.len() - late.len();
                late.into_iter().for_each(|(at, problem)| refuse(plan, step[at], &problem));
            }
            Step::Refused(at, problem) => {
                stop(plan, &changes[done..], step[at], &problem);
                let why = "A row could not be written, because the home has changed.".to_owned();
                return Ok(Written::Stopped { done, cause: FailureCause::Changed, why });
            }
            Step::Full => {
                let code = RowCode::NoRoom;
                give_up(plan, &changes[done..], code, "The home was full before this row was written.");
                let why = "The home has reached the most bytes that it may take.".to_owned();
                return Ok(Written::Stopped { done, cause: FailureCause::Full, why });
            }
            Step::Forbidden(Failure { cause, sentence: why }) => {
                give_up(plan, &changes[done..], RowCode::InsufficientScope, &why);
                return Ok(Written::Stopped { done, cause, why });
            }
            Step::Deleted => return Ok(Written::Deleted),
        }
    }
    Ok(Written::All)
}

/// Marks a row that failed late. `at`: its position in the plan, because row numbers occur once for each table.
fn refuse(plan: &mut Plan, at: usize, problem: &Problem) {
    let message = format!("The home has changed since the file was checked: {}", problem.message);
    plan.rows[at].action = Action::Fail(RowFault::of_row(RowCode::ChangedMeanwhile, message));
}

/// Marks the row at `at`, which failed late, and the rest, which is not written for that reason.
fn stop(plan: &mut Plan, rest: &[usize], at: usize, problem: &Problem) {
    give_up(plan, rest, RowCode::ChangedMeanwhile, "The import stopped at another row before this row was written.");
    refuse(plan, at, problem);
}

/// Marks rows that are not written.
pub(super) fn give_up(plan: &mut Plan, rest: &[usize], code: RowCode, why: &str) {
    for at in rest {
        plan.rows[*at].action = Action::Fail(RowFault::of_row(code, why));
    }
}

fn write_step(
    tx: &Tx<'_>,
    job: &Job,
    rows: &[PlannedRow],
    epoch: i64,
    now: Timestamp,
    home_bytes_max: i64,
    partial: bool,
) -> Result<Step, StoreError> {
    let scopes = match permission::scopes(tx, job, now)? {
        Ok(scopes) => scopes,
        Err(failure) => return Ok(Step::Forbidden(failure)),
    };
    if let Some(lacking) = rows.iter().map(|row| permission::needed(row.kind)).find(|scope| !scopes.contains(scope)) {
        let sentence = format!("The key of this import lacks the scope {lacking} now.");
        return Ok(Step::Forbidden(Failure::new(FailureCause::Scope, sentence)));
    }
    if !imports::add_applied(tx, job.number, rows.len())? {
        return Ok(Step::Deleted);
    }
    let mut writer = HomeWriter::begin(tx, job.home, epoch, now, job.author.clone(), None)?;
    let mut late = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let Some(command) = command(row) else { continue };
        match writer.apply(command, &mut || fresh_id(now))? {
            Ok(_) => (),
            Err(problem) if partial => late.push((at, problem)),
            Err(problem) => {
                writer.finish()?;
                tx.roll_back();
                return Ok(Step::Refused(at, problem));
            }
        }
    }
    writer.finish()?;
    if homes::used_bytes(tx, job.home)? > home_bytes_max {
        tx.roll_back();
        return Ok(Step::Full);
    }
    Ok(Step::Done(late))
}

/// The command of a row. None: the row changes nothing.
fn command(row: &PlannedRow) -> Option<Command> {
    let body = |fields: &hearth_contract::check::Fields| CheckedBody {
        id: row.id,
        fields: fields.clone(),
        faults: Vec::new(),
    };
    match &row.action {
        Action::Create(fields) => Some(Command::Create { kind: row.kind, body: body(fields) }),
        Action::Update(fields) => Some(Command::Update {
            kind: row.kind,
            id: row.id.filter(|_| !row.kind.is_singleton()),
            body: CheckedBody { id: None, ..body(fields) },
            preconditions: Preconditions::default(),
        }),
        Action::Unchanged | Action::Fail(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::problem::ProblemType;
    use hearth_contract::schema::Kind;

    use super::*;

    #[test]
    fn late_refusal_marks_rows_of_its_table_alone() {
        let row =
            |kind| PlannedRow { number: 2, kind, id: None, title: None, action: Action::Create(Default::default()) };
        let kinds = [Kind::Room, Kind::Inventory, Kind::Task];
        let mut plan = Plan { tables: Vec::new(), rows: kinds.map(row).to_vec() };
        // The room is committed; the item is refused, and the task is not written.
        stop(&mut plan, &[1, 2], 1, &Problem::new(ProblemType::NotFound, "It was deleted."));
        let counts = plan.counts();
        assert_eq!((counts.created, counts.failed), (1, 2));
        assert!(plan.rows[0].changes_something());
    }
}
