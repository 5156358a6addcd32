//! The columns of a list that fit a width. Must not know what is drawn.

use crate::words::columns::{Column, GAP};

/// The terminal columns that a column of a list needs to show everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// The width of the heading.
    pub heading: usize,
    /// The width of the widest visible value; 0: no visible row has a value.
    pub values: usize,
    /// Whether the column may give way to a cut title while it has no visible value.
    pub is_optional: bool,
}

/// The columns that fit into `width`, each with the width that the column gets. No value is cut while another column has
/// unused space, and no title beside an optional column without values.
pub fn fit_columns(columns: Vec<Column>, contents: &[Content], width: usize) -> Vec<(Column, usize)> {
    let needed = |most: usize| -> usize {
        let kept = columns.iter().filter(|column| column.rank <= most);
        kept.map(|column| column.width + GAP).sum::<usize>().saturating_sub(GAP)
    };
    // By the usual widths, so that columns do not come and go while the list is scrolled.
    let ranks = columns.iter().map(|column| column.rank);
    let most = ranks.filter(|most| needed(*most) <= width).max().unwrap_or(0);
    let all = columns.into_iter().zip(contents.iter().copied());
    let mut kept: Vec<(Column, Content)> = all.filter(|(column, _)| column.rank <= most).collect();
    loop {
        let wide = shared_widths(&kept, width);
        let is_cut_title =
            |((column, content), wide): (&(Column, Content), &usize)| column.rank == 0 && *wide < content.values;
        let unused = kept.iter().enumerate().filter(|(_, (_, content))| content.is_optional && content.values == 0);
        let unused = unused.max_by_key(|(_, (column, _))| column.rank).map(|(at, _)| at);
        match unused.filter(|_| kept.iter().zip(&wide).any(is_cut_title)) {
            Some(at) => drop(kept.remove(at)),
            None => return kept.into_iter().map(|(column, _)| column).zip(wide).collect(),
        }
    }
}

/// The widths of columns that share `width`: first what each needs, then the usual widths, then the rest by shares.
fn shared_widths(kept: &[(Column, Content)], width: usize) -> Vec<usize> {
    let needs: Vec<usize> = kept.iter().map(|(_, content)| content.heading.max(content.values)).collect();
    let mut wide: Vec<usize> =
        kept.iter().zip(&needs).map(|((column, _), need)| column.width.min(*need).min(width)).collect();
    let gaps = GAP * kept.len().saturating_sub(1);
    let mut spare = width.saturating_sub(gaps + wide.iter().sum::<usize>());
    widen_cut_columns(&mut wide, &mut spare, &needs);
    for (own, (column, _)) in wide.iter_mut().zip(kept) {
        let more = column.width.saturating_sub(*own).min(spare);
        (*own, spare) = (*own + more, spare - more);
    }
    // The rest by shares of the running sum: the widths add up exactly, without rounding loss.
    let shares: usize = kept.iter().map(|(column, _)| column.grow).sum();
    let (mut seen, mut given) = (0, 0);
    for (own, (column, _)) in wide.iter_mut().zip(kept) {
        seen += column.grow;
        let until = (spare * seen).checked_div(shares).unwrap_or(0);
        *own += until - given;
        given = until;
    }
    wide
}

/// Gives the spare width to the columns whose content does not fit: to each what it needs, or else an equal part.
fn widen_cut_columns(wide: &mut [usize], spare: &mut usize, needs: &[usize]) {
    let missing = needs.iter().zip(&*wide).map(|(need, own)| need.saturating_sub(*own));
    let mut cut: Vec<(usize, usize)> = missing.enumerate().map(|(at, missing)| (missing, at)).collect();
    cut.retain(|(missing, _)| *missing > 0);
    cut.sort_unstable();
    let number = cut.len();
    for (index, (missing, at)) in cut.into_iter().enumerate() {
        let more = missing.min(*spare / (number - index));
        wide[at] += more;
        *spare -= more;
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::schema::Kind;
    use hearth_replica::WORTH;

    use super::*;
    use crate::words::columns::{column_choices, is_grouping, list_columns, orders};

    /// Optional columns whose values have these widths.
    fn optional(values: &[usize]) -> Vec<Content> {
        values.iter().map(|values| Content { heading: 4, values: *values, is_optional: true }).collect()
    }

    /// The fields and widths of a list with these content widths.
    fn fitted(kind: Kind, contents: &[usize], width: usize) -> Vec<(&'static str, usize)> {
        let columns = list_columns(kind, None, orders(kind, None)[0].column, None);
        fit_columns(columns, &optional(contents), width)
            .into_iter()
            .map(|(column, wide)| (column.field, wide))
            .collect()
    }

    #[test]
    fn columns_never_exceed_the_width() {
        for kind in Kind::COLLECTIONS {
            let choices = column_choices(kind);
            for order in orders(kind, Some(&choices)) {
                let group = is_grouping(kind, order.column).then_some(order.column);
                for (width, grouped_by) in (0..200).step_by(3).flat_map(|width| [(width, None), (width, group)]) {
                    for (chosen, content) in [(None, 4), (None, 40), (Some(&choices[..]), 12)] {
                        let columns = list_columns(kind, chosen, order.column, grouped_by);
                        let contents = optional(&vec![content; columns.len()]);
                        let fitted = fit_columns(columns, &contents, width);
                        let total: usize = fitted.iter().map(|(_, wide)| wide + GAP).sum::<usize>() - GAP;
                        assert!(total <= width.max(1), "{kind} at {width}: {total}");
                        assert!(!fitted.is_empty());
                    }
                }
            }
        }
        assert_eq!(fitted(Kind::Task, &[9; 7], 120).len(), 7);
        assert_eq!(fitted(Kind::Task, &[9; 7], 36), [("title", 21), ("due_on", 13)]);
        assert_eq!(list_columns(Kind::Task, None, "status", Some("status")).len(), 6);
        assert_eq!(list_columns(Kind::Task, None, "due_on", Some("due_on")).len(), 7);
    }

    #[test]
    fn value_that_sorts_the_list_has_a_column() {
        let columns = list_columns(Kind::Document, None, "issued_on", None);
        assert!(columns.iter().any(|column| column.field == "issued_on" && column.heading == "Issued on"));
        let fitted = fit_columns(columns, &optional(&[8; 7]), 38);
        let names: Vec<&str> = fitted.iter().map(|(column, _)| column.field).collect();
        assert_eq!(names, ["title", "issued_on"], "the sorted value stays longest beside the title");
        assert_eq!(list_columns(Kind::Room, Some(&["floor"]), "name", None).len(), 2);
    }

    #[test]
    fn chosen_columns_stay_longest_and_usual_ones_keep_their_rank() {
        let usual = ["room_id", "category", "quantity", "make", "warranty_expires_on", WORTH];
        let names = |chosen: &[&'static str], width| {
            let columns = list_columns(Kind::Inventory, Some(chosen), "name", None);
            let contents = optional(&vec![4; columns.len()]);
            let fitted = fit_columns(columns, &contents, width).into_iter();
            fitted.map(|(column, _)| column.field).collect::<Vec<_>>()
        };
        assert_eq!(names(&usual, 60), ["name", "room_id", "category", WORTH], "as without a choice");
        let chosen = ["room_id", "category", "quantity", "make", "serial_number", "warranty_expires_on", WORTH];
        assert_eq!(names(&chosen, 94), ["name", "room_id", "category", "make", "serial_number", WORTH]);
        assert_eq!(names(&chosen, 36), ["name", "serial_number"]);
    }

    #[test]
    fn no_value_is_cut_beside_unused_space() {
        // Item, room, category, make, warranty, quantity, value.
        let contents = [34, 6, 9, 5, 14, 3, 9];
        let fitted = fitted(Kind::Inventory, &contents, 94);
        assert_eq!(fitted.iter().map(|(_, wide)| wide + GAP).sum::<usize>() - GAP, 94);
        assert_eq!(fitted[0], ("name", 34), "{fitted:?}");
        // Rooms without a value give way, but only to a title that is cut.
        let empty = [60, 0, 9, 0, 14, 3, 9];
        let names = |fitted: Vec<(&'static str, usize)>| fitted.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(
            names(self::fitted(Kind::Inventory, &empty, 94)),
            ["name", "category", "warranty_expires_on", WORTH]
        );
        let short = [20, 0, 9, 0, 14, 3, 9];
        assert_eq!(names(self::fitted(Kind::Inventory, &short, 94)).len(), 6);
        // With little content the widths are the usual ones.
        let usual = self::fitted(Kind::Inventory, &[4; 7], 95);
        assert_eq!(usual.iter().map(|(_, wide)| *wide).collect::<Vec<_>>(), [20, 12, 11, 10, 14, 5, 11]);
    }
}
