//! The queue of the writer. Homes take turns: after each job, another home is next, so a home with many writes does not hold up
//! the writes of others. Must not know what the jobs write.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::StoreError;
use super::home_number::HomeNumber;

/// The jobs that take turns with others: those of one home, or those of no home (keys, exports, cleanup).
pub(super) type Lane = Option<HomeNumber>;

/// Jobs of one lane that may wait in the queue. Further callers of the lane wait until there is room (back-pressure).
const WAITING_MAX: usize = 256;

/// What the writer does next.
pub(super) enum Next<J> {
    Job(J),
    /// No job waits, and someone has asked to tidy up.
    TidyUp,
    /// The queue is closed, and empty.
    End,
}

/// A queue of jobs from many tasks for one thread.
pub(super) struct Queue<J> {
    state: Mutex<State<J>>,
    /// Signals a job, a wish to tidy up, or the end.
    changed: Condvar,
    /// The room for waiting jobs of each lane. An entry stays: it is small, and there are as many lanes as homes at most.
    room: Mutex<HashMap<Lane, Arc<Semaphore>>>,
}

struct State<J> {
    /// The jobs of each lane in their order. Empty lanes have no entry.
    lanes: HashMap<Lane, VecDeque<(J, OwnedSemaphorePermit)>>,
    /// The lanes that have jobs, in the order of their turns.
    turns: VecDeque<Lane>,
    /// Number of all waiting jobs.
    len: usize,
    is_tidy_up_wanted: bool,
    is_closed: bool,
}

impl<J> Queue<J> {
    pub(super) fn new() -> Queue<J> {
        let state =
            State { lanes: HashMap::new(), turns: VecDeque::new(), len: 0, is_tidy_up_wanted: false, is_closed: false };
        Queue { state: Mutex::new(state), changed: Condvar::new(), room: Mutex::default() }
    }

    /// Adds a job; waits while its lane is full. Error: the queue is closed. `on_queued` runs before the writer can see
    /// the job.
    pub(super) async fn push(&self, lane: Lane, job: J, on_queued: impl FnOnce()) -> Result<(), StoreError> {
        let room = {
            let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
            room.entry(lane).or_insert_with(|| Arc::new(Semaphore::new(WAITING_MAX))).clone()
        };
        let closed = || StoreError::Busy("stopping");
        let permit = room.acquire_owned().await.map_err(|_| closed())?;
        let mut state = self.state();
        if state.is_closed {
            return Err(closed());
        }
        on_queued();
        state.add(lane, job, permit);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Asks the writer to tidy up when no job waits.
    pub(super) fn want_tidy_up(&self) {
        self.state().is_tidy_up_wanted = true;
        self.changed.notify_one();
    }

    /// Refuses new jobs. The waiting jobs stay.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        let room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        room.values().for_each(|lane| lane.close());
        self.changed.notify_one();
    }

    /// Waits for something to do.
    pub(super) fn next(&self) -> Next<J> {
        let is_idle = |state: &mut State<J>| state.len == 0 && !state.is_tidy_up_wanted && !state.is_closed;
        let mut state = self.changed.wait_while(self.state(), is_idle).unwrap_or_else(PoisonError::into_inner);
        match state.take() {
            Some(job) => Next::Job(job),
            None if std::mem::take(&mut state.is_tidy_up_wanted) && !state.is_closed => Next::TidyUp,
            None => Next::End,
        }
    }

    /// The next job, if one waits.
    pub(super) fn try_next(&self) -> Option<J> {
        self.state().take()
    }

    /// The number of waiting jobs.
    pub(super) fn len(&self) -> usize {
        self.state().len
    }

    fn state(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J> State<J> {
    fn add(&mut self, lane: Lane, job: J, permit: OwnedSemaphorePermit) {
        let jobs = self.lanes.entry(lane).or_default();
        if jobs.is_empty() {
            self.turns.push_back(lane);
        }
        jobs.push_back((job, permit));
        self.len += 1;
    }

    /// The first job of the lane whose turn it is. The lane is then behind all others.
    fn take(&mut self) -> Option<J> {
        let lane = self.turns.pop_front()?;
        let jobs = self.lanes.get_mut(&lane)?;
        let (job, _permit) = jobs.pop_front()?;
        self.len -= 1;
        if jobs.is_empty() {
            self.lanes.remove(&lane);
        } else {
            self.turns.push_back(lane);
        }
        Some(job)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const FIRST: Lane = Some(HomeNumber(1));
    const SECOND: Lane = Some(HomeNumber(2));

    #[tokio::test]
    async fn homes_take_turns_and_keep_their_order() {
        let queue = Queue::new();
        for (lane, job) in [(FIRST, 1), (FIRST, 2), (FIRST, 3), (SECOND, 10), (None, 100), (SECOND, 11)] {
            queue.push(lane, job, || ()).await.unwrap();
        }
        let order: Vec<i32> = std::iter::from_fn(|| queue.try_next()).collect();
        assert_eq!((order, queue.len()), (vec![1, 10, 100, 2, 11, 3], 0));
    }

    #[tokio::test]
    async fn full_lane_waits_and_others_do_not() {
        let queue = Arc::new(Queue::new());
        for job in 0..WAITING_MAX {
            queue.push(FIRST, job, || ()).await.unwrap();
        }
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.push(FIRST, WAITING_MAX, || ()).await }
        });
        queue.push(SECOND, 0, || ()).await.unwrap();
        assert_eq!(queue.len(), WAITING_MAX + 1);
        assert!(matches!(queue.next(), Next::Job(0)));
        tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap().unwrap().unwrap();
        assert_eq!(queue.len(), WAITING_MAX + 1);
    }

    #[tokio::test]
    async fn closed_queue_gives_its_jobs_and_ends() {
        let queue = Queue::new();
        queue.push(FIRST, 1, || ()).await.unwrap();
        queue.want_tidy_up();
        queue.close();
        assert!(queue.push(FIRST, 2, || ()).await.is_err() && queue.push(SECOND, 3, || ()).await.is_err());
        assert!(matches!(queue.next(), Next::Job(1)));
        assert!(matches!(queue.next(), Next::End));
    }

    #[tokio::test]
    async fn jobs_go_before_tidying_up() {
        let queue = Queue::new();
        queue.want_tidy_up();
        queue.push(FIRST, 1, || ()).await.unwrap();
        assert!(matches!(queue.next(), Next::Job(1)));
        assert!(matches!(queue.next(), Next::TidyUp));
    }
}
