//! A bell for each home: it rings after a commit and says only how far the home's log reaches now. Whoever hears it
//! reads the log; a bell that is missed or rung twice does no harm. Must not carry events.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::HomeNo;

/// Listeners that are woken at once. Were all of a thousand, then whatever else happens would have its turn after them:
/// the next commit too, which so is told to those together who have not heard of this one yet.
const ROPE: usize = 64;

/// The bells of all homes. Cheap to clone.
#[derive(Clone, Default)]
pub struct Tail {
    bells: Arc<Mutex<HashMap<HomeNo, Bell>>>,
}

#[derive(Default)]
struct Bell {
    /// Each rings for at most [`ROPE`] listeners; its value is the highest head that it rang for.
    ropes: Vec<watch::Sender<i64>>,
    /// The highest head that is to be rung for.
    head: i64,
    /// Somebody goes from rope to rope.
    is_ringing: bool,
}

impl Tail {
    /// Hears a home's bell. The value is the highest head that was rung.
    pub fn listen(&self, home: HomeNo) -> watch::Receiver<i64> {
        let mut bells = self.lock();
        let ropes = &mut bells.entry(home).or_default().ropes;
        if let Some(rope) = ropes.iter().find(|rope| rope.receiver_count() < ROPE) {
            return rope.subscribe();
        }
        let (rope, listener) = watch::channel(0);
        ropes.push(rope);
        listener
    }

    /// Rings a home's bell: at once for few, else rope by rope, so that others have their turn in between.
    pub fn ring(&self, home: HomeNo, head: i64) {
        let mut bells = self.lock();
        let Some(bell) = bells.get_mut(&home) else { return };
        bell.head = head.max(bell.head);
        match Handle::try_current() {
            _ if bell.is_ringing => (),
            Ok(runtime) if bell.ropes.len() > 1 => {
                bell.is_ringing = true;
                runtime.spawn(self.clone().ring_in_turn(home));
            }
            _ => (0..bell.ropes.len()).for_each(|rope| bell.pull(rope)),
        }
    }

    /// Goes from rope to rope until all have rung for the highest head there is.
    async fn ring_in_turn(self, home: HomeNo) {
        let (mut rope, mut first) = (0, 0);
        loop {
            {
                let mut bells = self.lock();
                let Some(bell) = bells.get_mut(&home) else { return };
                if rope == 0 {
                    first = bell.head;
                }
                bell.pull(rope);
                rope += 1;
                if rope >= bell.ropes.len() {
                    rope = 0;
                    bell.is_ringing = bell.head > first;
                }
                if !bell.is_ringing {
                    return;
                }
            }
            tokio::task::yield_now().await;
        }
    }

    /// Rings every bell: another process may have written, or the service stops.
    pub fn ring_all(&self) {
        self.lock().values().flat_map(|bell| &bell.ropes).for_each(|rope| rope.send_modify(|_| ()));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<HomeNo, Bell>> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bell {
    fn pull(&self, rope: usize) {
        if let Some(rope) = self.ropes.get(rope) {
            rope.send_modify(|known| *known = self.head.max(*known));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: HomeNo = HomeNo(1);

    fn listen(tail: &Tail, count: usize) -> Vec<watch::Receiver<i64>> {
        (0..count).map(|_| tail.listen(HOME)).collect()
    }

    #[tokio::test]
    async fn few_listeners_hear_every_ring_at_once() {
        let tail = Tail::default();
        let mut listeners = listen(&tail, ROPE);
        for head in 1..4 {
            tail.ring(HOME, head);
            assert_eq!(*listeners[0].borrow_and_update(), head);
        }
    }

    #[tokio::test]
    async fn many_listeners_hear_of_the_highest_head_rope_by_rope() {
        let tail = Tail::default();
        let mut listeners = listen(&tail, 3 * ROPE);
        // This task does not wait, so that the one that rings has no turn before all is said.
        for head in [1, 2, 4, 3] {
            tail.ring(HOME, head);
        }
        assert_eq!(*listeners[0].borrow(), 0);
        assert!(listeners[0].changed().await.is_ok());
        let heard = |listener: usize| *listeners[listener].borrow();
        assert_eq!((heard(0), heard(ROPE), heard(2 * ROPE)), (4, 0, 0));
        // What comes meanwhile is told with the rest, and then to those who had their turn.
        tail.ring(HOME, 5);
        for listener in &mut listeners {
            assert!(listener.wait_for(|head| *head == 5).await.is_ok());
        }
    }

    #[tokio::test]
    async fn a_bell_can_ring_again_when_it_has_rung() {
        let tail = Tail::default();
        let mut listeners = listen(&tail, 2 * ROPE);
        for head in [1, 2] {
            tail.ring(HOME, head);
            for listener in &mut listeners {
                assert!(listener.wait_for(|known| *known == head).await.is_ok());
            }
        }
    }

    #[test]
    fn places_that_were_left_are_taken_again() {
        let tail = Tail::default();
        let mut listeners = listen(&tail, 2 * ROPE);
        listeners.truncate(ROPE);
        listeners.extend(listen(&tail, ROPE));
        assert_eq!(tail.lock()[&HOME].ropes.len(), 2);
    }
}
