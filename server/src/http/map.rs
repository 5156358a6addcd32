//! Finds the routes of a path. Must not know the meaning of a route.

use std::borrow::Cow;
use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

use super::route::{Route, WebRefusal};

/// The paths of a route table, prepared for look-ups.
pub struct RouteMap {
    router: matchit::Router<PathEntry>,
    paths: Vec<&'static str>,
}

/// A path with its routes.
pub struct PathEntry {
    /// The path as the table has it, with `{id}` for an open segment.
    pub path: &'static str,
    /// The routes of the path, one for each method.
    pub routes: Vec<&'static Route>,
}

/// The path that matches the target of a request.
#[derive(Clone)]
pub struct RouteMatch<'m> {
    /// The path with its routes.
    pub entry: &'m PathEntry,
    /// The text in the open segment, percent-decoded. None: the path has no open segment, or the text is not UTF-8.
    pub segment: Option<String>,
    /// The text in the second open segment, as `segment`.
    pub second: Option<String>,
}

impl PathEntry {
    /// The function that writes the refusals of the path. None: a path of the API.
    pub fn web_refusal(&self) -> Option<WebRefusal> {
        self.routes.iter().find_map(|route| route.web_refusal())
    }

    /// The methods of the path, HEAD included.
    pub fn methods(&self) -> Vec<&'static str> {
        let mut methods: Vec<&str> = self.routes.iter().map(|route| route.method.as_str()).collect();
        if methods.contains(&"GET") {
            methods.push("HEAD");
        }
        methods
    }
}

impl RouteMap {
    /// Prepares route tables. Panics if two paths match the same targets.
    pub fn new(routes: impl IntoIterator<Item = &'static Route>) -> RouteMap {
        let mut places: BTreeMap<&'static str, Vec<&'static Route>> = BTreeMap::new();
        for route in routes {
            places.entry(&route.path).or_default().push(route);
        }
        let paths = places.keys().copied().collect();
        let mut router = matchit::Router::new();
        for (path, routes) in places {
            let mut insert = |target: String| {
                let entry = PathEntry { path, routes: routes.clone() };
                router.insert(target, entry).expect("no two paths of the table mean the same targets");
            };
            insert(path.to_owned());
            // People write the address of a page with and without a slash at the end.
            if routes.iter().all(|route| route.response_body.is_page()) {
                insert(format!("{path}/"));
            }
        }
        RouteMap { router, paths }
    }

    /// All paths, in alphabetical order.
    pub fn paths(&self) -> &[&'static str] {
        &self.paths
    }

    /// Finds the path of a request target. The target is the path of the URL, still percent-encoded.
    pub fn find(&self, target: &str) -> Option<RouteMatch<'_>> {
        let found = self.router.at(target).ok()?;
        let mut names = found.params.iter().map(|(_, value)| decoded(value));
        let (segment, second) = (names.next().flatten(), names.next().flatten());
        Some(RouteMatch { entry: found.value, segment, second })
    }

    /// The function that writes the refusal of an unknown target: that of the nearest path above it. None: the API.
    pub fn refusal_above(&self, target: &str) -> Option<WebRefusal> {
        let above = std::iter::successors(target.rsplit_once('/'), |(above, _)| above.rsplit_once('/'));
        above.take_while(|(above, _)| !above.is_empty()).find_map(|(above, _)| self.find(above))?.entry.web_refusal()
    }
}

/// Percent-decodes a segment. None: the result is not UTF-8.
fn decoded(segment: &str) -> Option<String> {
    match segment.contains('%') {
        true => percent_decode_str(segment).decode_utf8().ok().map(Cow::into_owned),
        false => Some(segment.to_owned()),
    }
}
