//! The cursor of a list of records, which carries the order and the filters of the list (contract 5). Pure; must not know
//! the parameters of a request.

use std::collections::BTreeSet;

use hearth_contract::formats::{format_date, parse_date, parse_id};
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use time::Date;
use uuid::Uuid;

use super::sealed::{CursorError, Usage, push_number, seal, take_bytes, take_number, unseal};
use crate::store::filter::{FILTER_VALUES_MAX, Filter};
use crate::store::records::{Direction, Sort};

/// A place in a list, with the order and the filters of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListCursor {
    /// The kind of the collection.
    pub kind: Kind,
    /// The order of the list.
    pub sort: Sort,
    /// The direction of the list.
    pub direction: Direction,
    /// The filter on the moment of creation, in milliseconds since 1970. None: no filter.
    pub created_since: Option<i64>,
    /// The filter on the moment of the last change, in milliseconds since 1970. None: no filter.
    pub updated_since: Option<i64>,
    /// The filters by fields, in the order of the table of kinds.
    pub filters: Vec<Filter>,
    /// The position of the last record that the page looked at.
    pub after: i64,
}

impl ListCursor {
    /// The text of the cursor, for a home.
    pub fn encode(&self, home: Uuid) -> String {
        let order = i64::from(self.sort == Sort::Updated) * 2 + i64::from(self.direction == Direction::Ascending);
        let since = |since: Option<i64>| since.unwrap_or(i64::MIN);
        let numbers = [self.kind as i64, order, since(self.created_since), since(self.updated_since), self.after];
        let mut content = Vec::new();
        for number in numbers {
            push_number(&mut content, number);
        }
        for Filter { field, values } in &self.filters {
            push_text(&mut content, field);
            push_number(&mut content, values.len() as i64);
            values.iter().for_each(|value| push_value(&mut content, value.as_deref()));
        }
        seal(Usage::List, home, &content)
    }

    /// The cursor in a text that was given to a client of this home.
    pub fn decode(text: &str, home: Uuid) -> Result<ListCursor, CursorError> {
        read(&unseal(Usage::List, text, home)?).ok_or(CursorError::Altered)
    }
}

fn read(mut content: &[u8]) -> Option<ListCursor> {
    let rest = &mut content;
    let (kind, order) = (take_number(rest)?, take_number(rest)?);
    let mut since = || take_number(rest).map(|since| (since != i64::MIN).then_some(since));
    let (created_since, updated_since) = (since()?, since()?);
    let after = take_number(rest)?;
    let kind = Kind::ALL.into_iter().find(|known| *known as i64 == kind)?;
    let mut filters = Vec::new();
    while !rest.is_empty() {
        let field = resource(kind).field(take_text(rest)?).filter(|field| field.is_filter())?.name;
        let count = take_number(rest).filter(|count| (1..=FILTER_VALUES_MAX as i64).contains(count))?;
        let values = (0..count).map(|_| take_value(rest)).collect::<Option<BTreeSet<_>>>()?;
        filters.push(Filter { field, values });
    }
    Some(ListCursor {
        kind,
        sort: if order & 2 == 0 { Sort::Created } else { Sort::Updated },
        direction: if order & 1 == 0 { Direction::Descending } else { Direction::Ascending },
        created_since,
        updated_since,
        filters,
        after,
    })
}

/// The forms of a value. Ids and dates are shorter than their texts: a cursor must not be longer than the parameters that it
/// stands for, because both must fit a request target.
const NULL: u8 = 0;
const ID: u8 = 1;
const DATE: u8 = 2;
const TEXT: u8 = 3;

fn push_value(content: &mut Vec<u8>, value: Option<&str>) {
    let Some(text) = value else { return content.push(NULL) };
    if let Some(id) = parse_id(text) {
        content.push(ID);
        content.extend_from_slice(id.as_bytes());
    } else if let Some(date) = parse_date(text) {
        content.push(DATE);
        push_number(content, date.to_julian_day().into());
    } else {
        content.push(TEXT);
        push_text(content, text);
    }
}

fn take_value(rest: &mut &[u8]) -> Option<Option<String>> {
    Some(match take_bytes(rest, 1)?[0] {
        NULL => None,
        ID => Some(Uuid::from_slice(take_bytes(rest, 16)?).ok()?.hyphenated().to_string()),
        DATE => Some(format_date(Date::from_julian_day(take_number(rest)?.try_into().ok()?).ok()?)),
        TEXT => Some(take_text(rest)?.to_owned()),
        _ => return None,
    })
}

fn push_text(content: &mut Vec<u8>, text: &str) {
    push_number(content, text.len() as i64);
    content.extend_from_slice(text.as_bytes());
}

fn take_text<'b>(rest: &mut &'b [u8]) -> Option<&'b str> {
    let length = usize::try_from(take_number(rest)?).ok()?;
    std::str::from_utf8(take_bytes(rest, length)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: Uuid = Uuid::from_u128(0xa);

    fn cursor(filters: &[(&'static str, &[Option<&str>])]) -> ListCursor {
        let filter = |(field, values): &(&'static str, &[Option<&str>])| Filter {
            field,
            values: values.iter().map(|value| value.map(str::to_owned)).collect(),
        };
        ListCursor {
            kind: Kind::Task,
            sort: Sort::Updated,
            direction: Direction::Ascending,
            created_since: Some(-1),
            updated_since: None,
            filters: filters.iter().map(filter).collect(),
            after: 77,
        }
    }

    #[test]
    fn list_cursor_round_trips() {
        let id = "0190a3b0-0000-7000-8000-00000000abcd";
        for list in [
            cursor(&[]),
            cursor(&[("status", &[Some("open"), Some("done")])]),
            cursor(&[("due_on", &[None, Some("2026-06-01"), Some("9999-12-31")]), ("subject_id", &[Some(id)])]),
        ] {
            assert_eq!(ListCursor::decode(&list.encode(HOME), HOME), Ok(list));
        }
    }

    #[test]
    fn cursor_is_shorter_than_its_filters() {
        let ids: Vec<String> = (0..50).map(|number| Uuid::from_u128(number << 64).hyphenated().to_string()).collect();
        let days: Vec<String> = (1..=28).map(|day| format!("2026-02-{day:02}")).collect();
        for (field, values) in [("subject_id", ids), ("due_on", days)] {
            let values_of: Vec<Option<&str>> = values.iter().map(|value| Some(value.as_str())).collect();
            let text = cursor(&[(field, &values_of)]).encode(HOME);
            assert!(text.len() < values.join(",").len(), "{field}: {}", text.len());
        }
    }

    #[test]
    fn forged_content_is_altered() {
        // The checksum is no secret, so a client can seal any content.
        let numbers = |more: &[u8]| {
            let mut content = Vec::new();
            [3, 0, i64::MIN, i64::MIN, 1].into_iter().for_each(|number| push_number(&mut content, number));
            content.extend_from_slice(more);
            ListCursor::decode(&seal(Usage::List, HOME, &content), HOME)
        };
        assert!(numbers(&[]).is_ok());
        let field = |name: &str, more: &[u8]| {
            let mut content = Vec::new();
            push_text(&mut content, name);
            content.extend_from_slice(more);
            content
        };
        // A count of 1 is the byte 2.
        assert!(numbers(&field("status", &[2, NULL])).is_ok());
        for more in [
            vec![9],
            vec![0xff; 20],
            field("titel", &[2, NULL]),
            field("title", &[2, NULL]),
            field("status", &[]),
            field("status", &[0]),
            field("status", &[1]),
            field("status", &[4, NULL]),
            field("status", &[2, 7]),
            field("status", &[2, ID, 1]),
            field("status", &[0xc8, 0x01, NULL]),
        ] {
            assert_eq!(numbers(&more), Err(CursorError::Altered), "{more:?}");
        }
    }
}
