//! Which routes stand at a path: a table of routes, put in order to be looked up by the target of a request. Must not know
//! what a route does.

use std::borrow::Cow;
use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

use super::route::Route;

/// The paths of a table of routes.
pub struct RouteMap {
    router: matchit::Router<PathEntry>,
    paths: Vec<&'static str>,
}

/// A path and what can be asked there.
pub struct PathEntry {
    /// The path as the table has it, with `{id}` for an open segment.
    pub path: &'static str,
    /// What can be asked there, one for each method.
    pub routes: Vec<&'static Route>,
}

/// The place that a request's target names.
#[derive(Clone)]
pub struct RouteMatch<'m> {
    /// The place.
    pub entry: &'m PathEntry,
    /// What stands in the open segment, decoded. None: there is no such segment, or it is not UTF-8.
    pub segment: Option<String>,
}

impl RouteMap {
    /// The map of a table.
    pub fn new(routes: &'static [Route]) -> RouteMap {
        let mut places: BTreeMap<&'static str, Vec<&'static Route>> = BTreeMap::new();
        for route in routes {
            places.entry(&route.path).or_default().push(route);
        }
        let paths = places.keys().copied().collect();
        let mut router = matchit::Router::new();
        for (path, routes) in places {
            router.insert(path, PathEntry { path, routes }).expect("no two paths of the table mean the same targets");
        }
        RouteMap { router, paths }
    }

    /// All its paths.
    pub fn paths(&self) -> &[&'static str] {
        &self.paths
    }

    /// The place of a target's path, as it came.
    pub fn find(&self, target: &str) -> Option<RouteMatch<'_>> {
        let found = self.router.at(target).ok()?;
        let name = found.params.iter().next().and_then(|(_, value)| decoded(value));
        Some(RouteMatch { entry: found.value, segment: name })
    }
}

/// A segment as it was meant, unless that is not UTF-8.
fn decoded(segment: &str) -> Option<String> {
    match segment.contains('%') {
        true => percent_decode_str(segment).decode_utf8().ok().map(Cow::into_owned),
        false => Some(segment.to_owned()),
    }
}
