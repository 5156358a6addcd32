//! Whether the images of a home say what the tables beside them say: each image is its entry's, and the index of links
//! holds just the references in the images, and search finds just what is in them. Looks only.

use hearth_contract::check::references;
use hearth_contract::record::Record;
use hearth_contract::schema::Kind;
use hearth_contract::search_text;

use crate::store::records::{self, Bounds, Direction, Sort};
use crate::store::{self, Fault, HomeNo, Tx, check};

/// Images looked at in one step.
const PAGE: usize = 500;

/// Sentences about what does not agree.
pub fn images(tx: &Tx<'_>, number: HomeNo) -> Result<Vec<String>, Fault> {
    let mut faults = Vec::new();
    let mut links = check::links(tx, number)?;
    let mut findable = 0;
    for kind in Kind::ALL {
        let mut bounds = Bounds::default();
        loop {
            let page = records::page(tx, number, kind, (Sort::Updated, Direction::Ascending), bounds, PAGE)?;
            for (rev, json) in &page {
                let Some(record) = Record::from_json(kind, json).filter(|record| record.rev == *rev) else {
                    faults.push(format!("the image at {rev} is no {kind} of that revision"));
                    continue;
                };
                let entry = records::entry(tx, number, record.id)?.filter(|entry| entry.rev == *rev);
                let Some(entry) = entry else {
                    faults.push(format!("the image at {rev} is of another {kind}: {}", record.id));
                    continue;
                };
                if !kind.is_singleton() {
                    findable += 1;
                    if store::search::kept(tx, number, entry.created)?
                        != Some(search_text::folded_title_and_rest(kind, &record.fields))
                    {
                        faults.push(format!("{kind} {} is found by other words than its own", record.id));
                    }
                }
                for (field, target_kind, target) in references(kind, &record.fields) {
                    if !links.remove(&(target, kind, record.id)) {
                        faults.push(format!("the link of {kind} {} by {} is missing", record.id, field.name));
                    }
                    let entry = records::entry(tx, number, target)?;
                    if !entry.is_some_and(|entry| entry.kind == target_kind && !entry.deleted) {
                        faults.push(format!("{} of {kind} {} names no {target_kind}", field.name, record.id));
                    }
                }
            }
            bounds.after = page.last().map(|(rev, _)| *rev);
            if page.len() < PAGE {
                break;
            }
        }
    }
    let found = store::search::count(tx, number)?;
    if found != findable {
        faults.push(format!("search holds {found} records, there are {findable}"));
    }
    faults.extend(links.into_iter().map(|(target, kind, id)| format!("{kind} {id} is linked to {target} for nothing")));
    Ok(faults)
}
