//! Whether the days of a field lie in the past or in the future. A day without a year, such as `1 dec`, is the nearest
//! such day in that direction. Must not know how days are parsed.

use hearth_contract::schema::{Field, Format};

/// The direction in which a field looks from today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Something that has happened: bought, issued, serviced, estimated, completed.
    Past,
    /// Something to come: due, expiring.
    Future,
}

/// Endings of the names of fields with days to come.
const FUTURE: [&str; 2] = ["due_on", "expires_on"];

impl Direction {
    /// The direction of a field. Timestamps are set by the server, therefore all of them lie in the past.
    pub fn of(field: &Field) -> Direction {
        let is_future = field.format == Format::Date && FUTURE.iter().any(|ending| field.name.ends_with(ending));
        if is_future { Direction::Future } else { Direction::Past }
    }

    /// Examples of the days that a person can type.
    pub const fn examples(self) -> &'static str {
        match self {
            Direction::Past => "yesterday, fri, -2w, 1 dec or 2026-12-01",
            Direction::Future => "tomorrow, fri, +2w, 1 dec or 2026-12-01",
        }
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::resources::RESOURCES;

    use super::*;

    #[test]
    fn every_day_field_has_its_direction() {
        let fields = RESOURCES.iter().flat_map(|resource| resource.fields.iter().map(|field| (resource.kind, field)));
        let days = fields.filter(|(_, field)| matches!(field.format, Format::Date | Format::Timestamp));
        let (future, past): (Vec<_>, Vec<_>) = days.partition(|(_, field)| Direction::of(field) == Direction::Future);
        let names = |fields: Vec<(hearth_contract::schema::Kind, &Field)>| -> Vec<String> {
            fields.into_iter().map(|(kind, field)| format!("{kind}.{}", field.name)).collect()
        };
        assert_eq!(
            names(future),
            [
                "inventory.warranty_expires_on",
                "vehicle.insurance_expires_on",
                "vehicle.registration_expires_on",
                "document.expires_on",
                "task.due_on",
            ]
        );
        assert_eq!(
            names(past),
            [
                "inventory.purchase_date",
                "vehicle.purchase_date",
                "document.issued_on",
                "task.completed_at",
                "task.recurrence_anchor",
                "property.purchase_date",
                "property.estimated_value_on",
                "property.hvac_last_serviced_on",
            ]
        );
    }
}
