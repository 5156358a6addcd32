//! The workload `look`: the time of each kind of read of a replica, as screens and scripts read by the library. Must not
//! know the service or the screens.

use std::hint::black_box;
use std::time::Instant;

use hearth_contract::schema::Kind;
use hearth_replica::{Days, Origin, Replica, RowQuery, Sort, Weeks};

use crate::screens;
use crate::testbed::Testbed;

/// Reads of one kind in each run.
const LOOKS: usize = 20;
/// Rows on a page.
const PAGE: usize = 50;

/// Measures all kinds of reads, each as the time of one read.
pub(crate) fn measure(testbed: &mut Testbed) -> anyhow::Result<()> {
    let db = testbed.file("looks.db");
    screens::fill(&db, testbed.scale.records)?;
    let replica = Replica::open(&db, Origin::Cli)?;
    let by_name = Sort { column: "name", descending: false };
    let first = RowQuery::all(Kind::Inventory, by_name, PAGE);
    let items = replica.rows(&first)?.total;
    let deep = RowQuery { offset: items * 4 / 5, ..first.clone() };
    let days = Days {
        weeks: Weeks { today: "2026-06-01".to_owned(), this: "2026-06-07".to_owned(), next: "2026-06-14".to_owned() },
        from: "2026-05-01".to_owned(),
        until: "2026-07-01".to_owned(),
    };
    type Look<'a> = (&'static str, Box<dyn Fn() -> anyhow::Result<()> + 'a>);
    let looks: [Look<'_>; 7] = [
        ("status", Box::new(|| seen(replica.status()?))),
        ("overview", Box::new(|| seen(replica.overview(&days)?))),
        ("figures", Box::new(|| seen(replica.figures("2026-05-01")?))),
        ("first page of a list", Box::new(|| seen(replica.rows(&first)?))),
        ("page at 80 % depth, unannounced", Box::new(|| seen(replica.rows(&deep)?))),
        ("search, few match", Box::new(|| seen(replica.search("lamp 77", PAGE)?))),
        ("search, a fifth matches", Box::new(|| seen(replica.search("receipt", PAGE)?))),
    ];
    let mut times = Vec::new();
    for (name, look) in &looks {
        look()?;
        let mut runs = Vec::new();
        for _ in 0..testbed.scale.runs {
            let began = Instant::now();
            (0..LOOKS).try_for_each(|_| look())?;
            runs.push(began.elapsed().as_secs_f64() * 1e3 / LOOKS as f64);
        }
        times.push((*name, runs));
    }
    drop(looks);
    for (name, runs) in times {
        testbed.record(name, "ms", &runs, None);
    }
    Ok(std::fs::remove_file(db)?)
}

/// Keeps the compiler from removing an unused read.
fn seen<T>(found: T) -> anyhow::Result<()> {
    black_box(found);
    Ok(())
}
