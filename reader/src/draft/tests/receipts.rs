//! Receipts of six languages: date, total and shop of each.

use super::{draft, field, sure};

/// Each receipt begins with `=== date | total | how sure the total is | shop`.
const RECEIPTS: &str = include_str!("receipts.txt");

#[test]
fn receipts_give_date_total_and_shop() {
    let mut wrong = Vec::new();
    let blocks: Vec<&str> = RECEIPTS.split("=== ").filter(|block| block.contains('|')).collect();
    assert!(blocks.len() >= 60, "{} receipts", blocks.len());
    for block in blocks {
        let (head, text) = block.split_once('\n').expect("a head");
        let draft = draft(text, "document");
        let read =
            [field(&draft, "issued_on"), field(&draft, "amount"), sure(&draft, "amount"), field(&draft, "issuer")];
        let expected: Vec<&str> = head.split('|').map(str::trim).collect();
        if read[..] != expected[..] {
            wrong.push(format!("expected {}\nread     {}\n{:?}", head, read.join(" | "), draft.evidence.get("amount")));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
