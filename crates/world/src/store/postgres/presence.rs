//! The connection by which a process shows that it lives, and by which it hears of others' writes.
//!
//! One connection does both: if it breaks or falls silent, the next heartbeat finds out, a new connection listens,
//! and everybody who waits reads again. So a lost notification is never a lost event.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_postgres::{AsyncMessage, Error};

use super::transaction::Database;

/// How often a process says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(3);
/// How long the answer to a heartbeat may take.
const ANSWER: Duration = Duration::from_secs(3);
/// The wait between two tries to connect.
const PAUSE: Duration = Duration::from_millis(200);
/// Notifications that come in a row count as one: whoever waits reads everything anyway.
const GAP: Duration = Duration::from_millis(20);

/// The condition under which the owner in `o` lives. The clock is the server's own, and while the server was down, nobody
/// could say anything.
pub(super) const LIVES: &str =
    "greatest(o.beat, pg_postmaster_start_time()) > clock_timestamp() - interval '8 seconds'";

/// Marks are asked for within a minute, if at all.
const SWEEP: &str = "DELETE FROM commits WHERE made < clock_timestamp() - interval '10 minutes'";
/// Heartbeats from one sweep to the next: some minutes.
const SWEEP_EVERY: u32 = 100;

const BEAT: &str = "INSERT INTO owners (name, beat) VALUES ($1, clock_timestamp())
     ON CONFLICT (name) DO UPDATE SET beat = excluded.beat";

/// Says once that this process lives, and forgets processes that are gone for a day.
pub(super) async fn enter(database: &Database) -> super::Result<()> {
    database
        .read(async |tx| {
            tx.execute("DELETE FROM owners WHERE beat < clock_timestamp() - interval '1 day'", &[]).await?;
            tx.execute(BEAT, &[&tx.owner]).await.map(drop)
        })
        .await
}

/// Gives up everything that this process owns.
pub(super) async fn leave(database: &Database) -> super::Result<()> {
    database.write(async |tx| tx.execute("DELETE FROM owners WHERE name = $1", &[&tx.owner]).await.map(drop)).await
}

/// Beats and listens until the store is gone. Each change of `news` is a moment.
pub(super) async fn keep_up(database: Rc<Database>, news: watch::Sender<u64>) {
    loop {
        if let Err(error) = listen(&database, &news).await {
            tracing::warn!(%error, "the connection for notifications broke");
        }
        sleep(PAUSE).await;
    }
}

async fn listen(database: &Database, news: &watch::Sender<u64>) -> Result<(), Error> {
    let address = &database.address;
    let (client, mut connection) = address.config.connect(address.tls.clone()).await?;
    let heard = Cell::new(None::<Instant>);
    let messages = async {
        let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
        let (mut last, mut due) = (Instant::now(), None);
        loop {
            let at: Option<Instant> = due;
            tokio::select! {
                message = messages.next() => match message {
                    Some(Ok(AsyncMessage::Notification(told))) if told.payload() != database.owner => {
                        if last.elapsed() >= GAP {
                            news.send_modify(|moment| *moment += 1);
                            last = Instant::now();
                        } else {
                            due.get_or_insert(last + GAP);
                        }
                    }
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(error),
                    None => return Ok(()),
                },
                () = sleep_until(at.unwrap_or(last)), if at.is_some() => {
                    news.send_modify(|moment| *moment += 1);
                    (last, due) = (Instant::now(), None);
                }
            }
        }
    };
    let beats = async {
        client.batch_execute(&format!("LISTEN {}", database.channel)).await?;
        // What was written while nobody listened is found by reading.
        news.send_modify(|moment| *moment += 1);
        let beat = client.prepare(BEAT).await?;
        let mut beats = 0_u32;
        loop {
            heard.set(Some(Instant::now()));
            client.execute(&beat, &[&database.owner]).await?;
            if beats.is_multiple_of(SWEEP_EVERY) {
                client.batch_execute(SWEEP).await?;
            }
            beats = beats.wrapping_add(1);
            heard.set(None);
            sleep(HEARTBEAT).await;
        }
    };
    let silence = async {
        loop {
            sleep(ANSWER).await;
            if heard.get().is_some_and(|since| since.elapsed() >= ANSWER) {
                return;
            }
        }
    };
    tokio::select! {
        ended = messages => ended,
        ended = beats => ended,
        () = silence => Ok(()),
    }
}

/// The first moment: when the first connection listens.
pub(super) async fn listening(news: &mut watch::Receiver<u64>) -> bool {
    matches!(timeout(Duration::from_secs(10), news.wait_for(|moment| *moment > 0)).await, Ok(Ok(_)))
}
