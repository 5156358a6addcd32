//! The choice of a list's columns: every value of the kind, shown or hidden. Must not know the list.

use hearth_contract::schema::Kind;

use crate::words::columns::{column_choices, is_usual};

/// The choice of columns over a list.
#[derive(Debug)]
pub struct ColumnChoice {
    /// The kind of the list.
    pub kind: Kind,
    /// The values that can be shown, in the contract's order.
    pub all: Vec<&'static str>,
    /// The values that the person has chosen; None: the usual columns.
    pub chosen: Option<Vec<&'static str>>,
    /// The index of the value under the cursor.
    pub selected: usize,
}

impl ColumnChoice {
    /// The choice for a list that shows these columns.
    pub fn new(kind: Kind, chosen: Option<&[&'static str]>) -> ColumnChoice {
        ColumnChoice { kind, all: column_choices(kind), chosen: chosen.map(<[_]>::to_vec), selected: 0 }
    }

    /// Whether the list shows a value.
    pub fn is_shown(&self, name: &str) -> bool {
        match &self.chosen {
            Some(chosen) => chosen.contains(&name),
            None => is_usual(self.kind, name),
        }
    }

    /// Shows or hides the value under the cursor. Columns keep the contract's order.
    pub fn toggle(&mut self) {
        let Some(name) = self.all.get(self.selected).copied() else { return };
        let shown = |one: &&'static str| self.is_shown(one) != (*one == name);
        self.chosen = Some(self.all.iter().copied().filter(shown).collect());
    }

    /// Shows the usual columns again.
    pub fn reset(&mut self) {
        self.chosen = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toggle_shows_and_hides_one_value() {
        let mut choice = ColumnChoice::new(Kind::Inventory, None);
        choice.selected = choice.all.iter().position(|name| *name == "make").unwrap();
        choice.toggle();
        assert!(!choice.is_shown("make") && choice.is_shown("room_id"));
        choice.selected = choice.all.iter().position(|name| *name == "purchase_date").unwrap();
        choice.toggle();
        let shown = ["room_id", "category", "quantity", "purchase_date", "warranty_expires_on", "worth"];
        assert_eq!(choice.chosen.as_deref(), Some(&shown[..]));
        choice.reset();
        assert!(choice.is_shown("make") && !choice.is_shown("purchase_date"));
    }
}
