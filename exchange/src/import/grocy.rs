//! The columns of Grocy: the list of products (as its table or its database names them), the stock overview, the stock entries.
//! Must not know rows. Names are those of the English interface; a mapping names others.

use hearth_contract::check::Fields;
use serde_json::Value;

use super::target::{NOTES, Target, folded, item_field};

/// The program in front of `import_ref`.
const REFERENCE: &str = "grocy:";
/// The category of all its products.
pub(super) const CATEGORY: &str = "consumable";

/// The field of the amount.
const QUANTITY: &str = "quantity";

/// Whether a heading is one of Grocy's.
pub(super) fn is(has: &dyn Fn(&str) -> bool) -> bool {
    let is_products = has("name") && (has("qu_stock") || has("qu_id_stock") || has("quantity_unit_stock"));
    let is_products = is_products || (has("name") && has("product_group") && has("min_stock_amount"));
    is_products || (has("product") && has("amount"))
}

/// What a column becomes. Settings of the shopping list and ids of other tables of Grocy have no place here.
pub(super) fn target(heading: &str) -> Target {
    let note = || Target::Note(heading.to_owned());
    match folded(heading).as_str() {
        "id" | "product_id" => Target::Reference(REFERENCE),
        "name" | "product" => item_field("name"),
        "description" => item_field("description"),
        "location" | "default_location" | "hidden_location" => Target::Room,
        "amount" => Target::Amount(heading.to_owned()),
        "price" | "unit_price" | "last_price" | "last_price_unit" => item_field("purchase_price"),
        "store" | "default_store" | "shopping_location" => item_field("purchased_from"),
        "purchased_date" => item_field("purchase_date"),
        "barcode" | "barcodes" | "product_barcodes" => item_field("barcode"),
        "note" | "notes" => item_field("notes"),
        "product_group" | "value" | "min_stock_amount" | "calories" | "due_date" | "next_due_date" => note(),
        "next_best_before_date" | "best_before_date" | "qu_stock" | "quantity_unit_stock" => note(),
        _ => Target::Out,
    }
}

/// Adds the amount and the notes of a further stock entry to the item of the product.
pub(super) fn add_entry(item: &mut Fields, entry: &Fields) {
    let whole = |fields: &Fields| fields.get(QUANTITY).and_then(Value::as_i64);
    if let Some(sum) = whole(item).map_or(whole(entry), |first| first.checked_add(whole(entry).unwrap_or(0))) {
        item.insert(QUANTITY.to_owned(), sum.into());
    }
    let notes = |fields: &Fields| fields.get(NOTES).and_then(Value::as_str).map(str::to_owned);
    if let Some(further) = notes(entry) {
        let joined = notes(item).map_or_else(|| further.clone(), |first| format!("{first}\n{further}"));
        item.insert(NOTES.to_owned(), joined.into());
    }
}
