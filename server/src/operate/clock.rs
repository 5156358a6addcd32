//! The clocks of the homes: which are ahead of the machine's clock, and how they are set back. Must not know the command
//! line.

use hearth_contract::formats::Timestamp;
use uuid::Uuid;

use super::error::Error;
use crate::clock::Clock;
use crate::home::{clock_reset, retention};
use crate::store::{Db, homes};

/// The clock of a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeClock {
    /// The id of the home.
    pub home: Uuid,
    /// The latest moment that the home gave out. None: the home has no events.
    pub last_updated_at: Option<Timestamp>,
    /// Whether that moment is ahead of the machine's clock.
    pub is_ahead: bool,
    /// Records that this command wrote anew. None: the clock was not set back.
    pub corrected: Option<usize>,
}

/// The clock of each home, or of one home. With `reset`, clocks that are ahead are set back. Refused for an unknown home.
pub async fn clocks(db: &Db, clock: &Clock, home: Option<Uuid>, reset: bool) -> Result<Vec<HomeClock>, Error> {
    let (now, epoch) = (clock.now(), db.epoch());
    let read = db.read(move |tx| {
        let all = homes::numbers(tx)?.into_iter().map(|number| homes::load(tx, number));
        all.collect::<Result<Vec<_>, _>>()
    });
    let mut clocks = Vec::new();
    for found in read.await?.into_iter().filter(|found| home.is_none_or(|id| id == found.id)) {
        let is_ahead = clock_reset::ahead(&found, now).is_some();
        let number = found.number;
        let corrected = match reset && is_ahead {
            true => {
                // In steps, because other writes wait for a transaction.
                let all = Timestamp::from_millis(i64::MAX);
                while db.write_for(number, move |tx| retention::compact_step(tx, number, all)).await? {}
                db.write_for(number, move |tx| clock_reset::reset(tx, number, epoch, now)).await?
            }
            false => None,
        };
        let home = db.read(move |tx| homes::load(tx, number)).await?;
        let is_ahead = clock_reset::ahead(&home, now).is_some();
        clocks.push(HomeClock { home: home.id, last_updated_at: home.last_updated_at, is_ahead, corrected });
    }
    match home.filter(|_| clocks.is_empty()) {
        Some(id) => Err(Error::Refused(format!("there is no home {id}; see `hearth-server home clock`"))),
        None => Ok(clocks),
    }
}
