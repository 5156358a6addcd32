//! The columns of Snipe-IT: its list of assets as exported, its custom asset report, and the headings of its own import. Must not know rows.

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;

use super::target::{Target, folded, item_field};

/// The program in front of `import_ref`.
const REFERENCE: &str = "snipe-it:";

/// Whether a heading is one of Snipe-IT's.
pub(super) fn is(has: &dyn Fn(&str) -> bool) -> bool {
    has("asset_tag")
}

/// What a column becomes. Pictures, check-outs and depreciation have no place here.
pub(super) fn target(heading: &str) -> Target {
    let note = || Target::Note(heading.to_owned());
    match folded(heading).as_str() {
        "asset_tag" => Target::Reference(REFERENCE),
        "name" | "item_name" | "asset_name" => item_field("name"),
        "manufacturer" => item_field("make"),
        "model" | "model_name" | "asset_model" => item_field("model"),
        "serial" | "serial_number" => item_field("serial_number"),
        "category" => match resource(Kind::Inventory).field("category") {
            Some(field) => Target::ChoiceOrNote(field, heading.to_owned()),
            None => Target::Out,
        },
        "supplier" => item_field("purchased_from"),
        "location" => Target::Room,
        "purchase_date" | "purchased" => item_field("purchase_date"),
        "purchase_cost" | "cost" => item_field("purchase_price"),
        "current_value" | "value" => item_field("current_value"),
        "quantity" => item_field("quantity"),
        "warranty_expires" => item_field("warranty_expires_on"),
        "notes" | "asset_notes" => item_field("notes"),
        "company" | "order_number" | "model_number" | "model_no" | "model_notes" | "status" | "warranty" => note(),
        "warranty_months" => note(),
        _ => Target::Out,
    }
}
