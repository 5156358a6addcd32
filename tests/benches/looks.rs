//! What screens and scripts read of a replica, by the library that they read it with: how each look costs as the home
//! grows. Must not know the service or the screens.

use std::hint::black_box;
use std::time::Instant;

use hearth_contract::schema::Kind;
use hearth_replica::{Days, Origin, Replica, RowQuery, Sort};

use crate::screens;
use crate::stand::Stand;

/// Looks of one sort in each run.
const LOOKS: usize = 20;
/// Rows of a page.
const PAGE: usize = 50;

/// All looks, each as the time of one.
pub(crate) fn looks(stand: &mut Stand) -> anyhow::Result<()> {
    let db = stand.file("looks.db");
    screens::fill(&db, stand.scale.records)?;
    let replica = Replica::open(&db, Origin::Cli)?;
    let by_name = Sort { column: "name", descending: false };
    let first = RowQuery::all(Kind::Inventory, by_name, PAGE);
    let items = replica.rows(&first)?.total;
    let deep = RowQuery { offset: items * 4 / 5, ..first.clone() };
    let days = Days {
        today: "2026-06-01".to_owned(),
        week: "2026-06-07".to_owned(),
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
        for _ in 0..stand.scale.runs {
            let began = Instant::now();
            (0..LOOKS).try_for_each(|_| look())?;
            runs.push(began.elapsed().as_secs_f64() * 1e3 / LOOKS as f64);
        }
        times.push((*name, runs));
    }
    drop(looks);
    for (name, runs) in times {
        stand.note(name, "ms", &runs, None);
    }
    Ok(std::fs::remove_file(db)?)
}

/// Keeps the compiler from leaving out what nobody uses.
fn seen<T>(found: T) -> anyhow::Result<()> {
    black_box(found);
    Ok(())
}
