//! Whole numbers in groups, areas and sums with their units, as people read them. The conversion belongs to the contract. Must not know where the units
//! of a home are stored.

use hearth_contract::amounts;
use hearth_contract::schema::{Field, Format};
use hearth_contract::units::{AreaUnit, Units};

/// Examples of the areas that a person can type in any home.
pub const AREA_EXAMPLES: &str = "215 sq ft or 19.9 m2";

/// A whole number in groups of three digits.
pub fn grouped(number: i64) -> String {
    amounts::grouped(&number.to_string())
}

/// An area of whole square feet in a unit, without the sign of the unit: `1,234.5`.
pub fn area(unit: AreaUnit, square_feet: i64) -> String {
    amounts::sum(&unit.number(square_feet), None)
}

/// The sign of a unit of areas.
pub const fn area_sign(unit: AreaUnit, ascii: bool) -> &'static str {
    match unit {
        AreaUnit::SquareMetres if ascii => "sq m",
        unit => unit.sign(),
    }
}

/// The text of a value with the currency of a sum and the unit of an area. An empty text stays empty.
pub fn with_unit(field: &Field, units: Units, text: String, ascii: bool) -> String {
    match field.format {
        _ if text.is_empty() => text,
        Format::Money => units.sum(&text),
        _ if field.is_area() => format!("{text} {}", area_sign(units.area, ascii)),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::resources::resource;
    use hearth_contract::schema::Kind;

    use super::*;

    #[test]
    fn values_have_the_units_of_the_home() {
        let metric = Units::new(Some("EUR"), Some("metric"));
        for (kind, name, units, text, expected) in [
            (Kind::Room, "area_sq_ft", metric, area(metric.area, 215), "20 m²"),
            (Kind::Property, "lot_area_sq_ft", metric, area(metric.area, 43_560), "4,046.9 m²"),
            (Kind::Room, "area_sq_ft", Units::default(), area(AreaUnit::SquareFeet, 1_215), "1,215 sq ft"),
            (Kind::Document, "amount", metric, "1,299.00".to_owned(), "1,299.00 EUR"),
            (Kind::Document, "amount", metric, String::new(), ""),
            (Kind::Inventory, "quantity", metric, "8".to_owned(), "8"),
        ] {
            assert_eq!(with_unit(resource(kind).field(name).unwrap(), units, text, false), expected);
        }
    }
}
