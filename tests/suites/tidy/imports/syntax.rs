//! Small questions about syntax: names, paths and attributes. Must not know scopes.

use syn::buffer::Cursor;
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::{Attribute, Item, Meta, Token};

/// The segments of a path: `["crate", "store", "Db"]`. The first segment of a path with leading colons is `::`.
pub(super) type Segments = Vec<String>;

/// A name without `r#`.
pub(super) fn plain(name: &syn::Ident) -> String {
    name.unraw().to_string()
}

pub(super) fn is_upper(name: &str) -> bool {
    name.starts_with(|first: char| first.is_uppercase())
}

pub(super) fn segments(path: &syn::Path) -> Segments {
    let start = path.leading_colon.as_ref().map(|_| "::".to_owned());
    start.into_iter().chain(path.segments.iter().map(|segment| plain(&segment.ident))).collect()
}

/// The position behind `::`, if the position is before `::`.
pub(super) fn colons(at: Cursor<'_>) -> Option<Cursor<'_>> {
    let (first, next) = at.punct()?;
    let (second, next) = next.punct()?;
    (first.as_char() == ':' && second.as_char() == ':').then_some(next)
}

/// Whether an item exists in a build without tests.
pub(super) fn is_production(attributes: &[Attribute]) -> bool {
    attributes.iter().all(|attribute| match &attribute.meta {
        Meta::Path(path) => !path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => list.parse_args().is_ok_and(|cfg| holds_without_test(&cfg)),
        _ => true,
    })
}

/// Whether a predicate of `cfg` can hold in a build without tests.
fn holds_without_test(predicate: &Meta) -> bool {
    let inner = |list: &syn::MetaList| list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    match predicate {
        Meta::Path(path) => !path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("all") => {
            inner(list).is_ok_and(|parts| parts.iter().all(holds_without_test))
        }
        Meta::List(list) if list.path.is_ident("any") => {
            inner(list).is_ok_and(|parts| parts.iter().any(holds_without_test))
        }
        _ => true,
    }
}

pub(super) fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The value of `#[path = "value"]`.
pub(super) fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find(|attribute| attribute.path().is_ident("path")).and_then(|attribute| match &attribute.meta {
        Meta::NameValue(pair) => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) => Some(path.value()),
            _ => None,
        },
        _ => None,
    })
}
