//! A hook in front of every request, for tests of clients: the holder of the service may delay, repeat, refuse or drop a
//! request. A normal service has none. Must not know what an interceptor does, nor how requests are answered.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Extensions, Request, Response};
use futures_util::future::BoxFuture;
use hearth_contract::problem::Problem;
use serde_json::Value;

use crate::app::limits::RateWindow;
use crate::store::keys::Key;

/// Answers a request as the service does without an interceptor.
pub type Handle<'a> = &'a (dyn Fn(Request<Body>) -> BoxFuture<'a, Response<Body>> + Send + Sync);

/// A hook in front of every request. `A` is the service, which the interceptor may consult.
pub trait Interceptor<A>: Send + Sync {
    /// Answers a request. The interceptor may call `handle` once, several times, or never.
    fn intercept<'a>(
        &'a self,
        app: &'a Arc<A>,
        request: Request<Body>,
        handle: Handle<'a>,
    ) -> BoxFuture<'a, Response<Body>>;

    /// The member `faults` of `GET /v1/me`: a JSON object that warns the owner of this key.
    fn describe(&self, key: &Key) -> Value;
}

/// A refusal that an interceptor orders. The service sends this refusal in place of its own response, after the route
/// was found and before any other check.
#[derive(Clone)]
pub struct ForcedRefusal {
    /// The body of the refusal.
    pub problem: Problem,
    /// The rate limit window of the key, for the `X-RateLimit-*` headers. None: the response has no such headers.
    pub rate_window: Option<RateWindow>,
}

impl ForcedRefusal {
    /// The refusal that an interceptor put into the extensions of a request, if any.
    pub fn find(extensions: &Extensions) -> Option<ForcedRefusal> {
        extensions.get().cloned()
    }
}
