//! Whether the images of a home say what the tables beside them say: each image is its entry's, and the index of links
//! holds just the references in the images. Looks only.

use hearth_contract::check::references;
use hearth_contract::record::Record;
use hearth_contract::schema::Kind;

use crate::store::records::{self, Bounds, Direction, Sort};
use crate::store::{Fault, HomeNo, Tx, check};

/// Images looked at in one step.
const PAGE: usize = 500;

/// Sentences about what does not agree.
pub fn images(tx: &Tx<'_>, number: HomeNo) -> Result<Vec<String>, Fault> {
    let mut faults = Vec::new();
    let mut links = check::links(tx, number)?;
    for kind in Kind::ALL {
        let mut bounds = Bounds::default();
        loop {
            let page = records::page(tx, number, kind, (Sort::Updated, Direction::Ascending), bounds, PAGE)?;
            for (rev, json) in &page {
                let Some(record) = Record::from_json(kind, json).filter(|record| record.rev == *rev) else {
                    faults.push(format!("the image at {rev} is no {kind} of that revision"));
                    continue;
                };
                if records::entry(tx, number, record.id)?.is_none_or(|entry| entry.rev != *rev) {
                    faults.push(format!("the image at {rev} is of another {kind}: {}", record.id));
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
    faults.extend(links.into_iter().map(|(target, kind, id)| format!("{kind} {id} is linked to {target} for nothing")));
    Ok(faults)
}
