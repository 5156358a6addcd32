//! Notifications after a commit: a subscriber of a home learns the new head and then reads the events. A lost or repeated
//! notification does no harm. Must not carry events.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::home_number::HomeNumber;

/// Subscribers that are woken at once. Waking a thousand at once would delay all other tasks, the next commit among
/// them. Between two shards other tasks run, and a later head replaces an earlier head.
const SHARD_SIZE: usize = 64;

/// The subscribers of all homes. Cheap to clone.
#[derive(Clone, Default)]
pub struct Notifier {
    homes: Arc<Mutex<HashMap<HomeNumber, Subscribers>>>,
}

/// The subscribers of one home.
#[derive(Default)]
struct Subscribers {
    /// Channels of at most [`SHARD_SIZE`] subscribers each. The value of a channel is the highest head sent.
    shards: Vec<watch::Sender<i64>>,
    /// The highest head to send.
    head: i64,
    /// True while a task goes from shard to shard.
    is_notifying: bool,
}

impl Notifier {
    /// Subscribes to a home. The value of the channel is the highest head sent so far; 0 before the first commit.
    pub fn subscribe(&self, home: HomeNumber) -> watch::Receiver<i64> {
        let mut homes = self.lock();
        let shards = &mut homes.entry(home).or_default().shards;
        if let Some(shard) = shards.iter().find(|shard| shard.receiver_count() < SHARD_SIZE) {
            return shard.subscribe();
        }
        let (shard, subscriber) = watch::channel(0);
        shards.push(shard);
        subscriber
    }

    /// Sends the head of a home to its subscribers: one shard at once, several shards one after another in a task.
    pub fn notify(&self, home: HomeNumber, head: i64) {
        let mut homes = self.lock();
        let Some(subscribers) = homes.get_mut(&home) else { return };
        subscribers.head = head.max(subscribers.head);
        match Handle::try_current() {
            _ if subscribers.is_notifying => (),
            Ok(runtime) if subscribers.shards.len() > 1 => {
                subscribers.is_notifying = true;
                runtime.spawn(self.clone().notify_in_turn(home));
            }
            _ => (0..subscribers.shards.len()).for_each(|shard| subscribers.notify_shard(shard)),
        }
    }

    /// Goes from shard to shard until each has received the highest head.
    async fn notify_in_turn(self, home: HomeNumber) {
        let (mut shard, mut round_head) = (0, 0);
        loop {
            {
                let mut homes = self.lock();
                let Some(subscribers) = homes.get_mut(&home) else { return };
                if shard == 0 {
                    round_head = subscribers.head;
                }
                subscribers.notify_shard(shard);
                shard += 1;
                if shard >= subscribers.shards.len() {
                    shard = 0;
                    subscribers.is_notifying = subscribers.head > round_head;
                }
                if !subscribers.is_notifying {
                    return;
                }
            }
            tokio::task::yield_now().await;
        }
    }

    /// Wakes all subscribers of all homes: another process may have written, or the service stops.
    pub fn notify_all(&self) {
        self.lock().values().flat_map(|home| &home.shards).for_each(|shard| shard.send_modify(|_| ()));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<HomeNumber, Subscribers>> {
        self.homes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscribers {
    fn notify_shard(&self, shard: usize) {
        if let Some(shard) = self.shards.get(shard) {
            shard.send_modify(|known| *known = self.head.max(*known));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: HomeNumber = HomeNumber(1);

    fn subscribe(notifier: &Notifier, count: usize) -> Vec<watch::Receiver<i64>> {
        (0..count).map(|_| notifier.subscribe(HOME)).collect()
    }

    #[tokio::test]
    async fn single_shard_is_notified_at_once() {
        let notifier = Notifier::default();
        let mut subscribers = subscribe(&notifier, SHARD_SIZE);
        for head in 1..4 {
            notifier.notify(HOME, head);
            assert_eq!(*subscribers[0].borrow_and_update(), head);
        }
    }

    #[tokio::test]
    async fn many_subscribers_get_highest_head_in_turn() {
        let notifier = Notifier::default();
        let mut subscribers = subscribe(&notifier, 3 * SHARD_SIZE);
        // This test does not yield: the notifying task runs only after all four heads are known.
        for head in [1, 2, 4, 3] {
            notifier.notify(HOME, head);
        }
        assert_eq!(*subscribers[0].borrow(), 0);
        assert!(subscribers[0].changed().await.is_ok());
        let head = |subscriber: usize| *subscribers[subscriber].borrow();
        assert_eq!((head(0), head(SHARD_SIZE), head(2 * SHARD_SIZE)), (4, 0, 0));
        // A head that arrives during the round reaches the later shards now and the earlier shards in a second round.
        notifier.notify(HOME, 5);
        for subscriber in &mut subscribers {
            assert!(subscriber.wait_for(|head| *head == 5).await.is_ok());
        }
    }

    #[tokio::test]
    async fn second_round_follows_a_finished_round() {
        let notifier = Notifier::default();
        let mut subscribers = subscribe(&notifier, 2 * SHARD_SIZE);
        for head in [1, 2] {
            notifier.notify(HOME, head);
            for subscriber in &mut subscribers {
                assert!(subscriber.wait_for(|known| *known == head).await.is_ok());
            }
        }
    }

    #[test]
    fn dropped_subscribers_make_room_in_their_shard() {
        let notifier = Notifier::default();
        let mut subscribers = subscribe(&notifier, 2 * SHARD_SIZE);
        subscribers.truncate(SHARD_SIZE);
        subscribers.extend(subscribe(&notifier, SHARD_SIZE));
        assert_eq!(notifier.lock()[&HOME].shards.len(), 2);
    }
}
