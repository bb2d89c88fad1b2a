//! Which resource a path means.

use std::borrow::Cow;

use hyper::Method;
use percent_encoding::percent_decode_str;

use crate::model::ActionId;

/// `/{tenant}/controller/v1/{gateway}` and what follows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Path<'a> {
    pub(super) tenant: Cow<'a, str>,
    pub(super) gateway: Cow<'a, str>,
    rest: Vec<Cow<'a, str>>,
}

/// A resource of a gateway.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route<'a> {
    /// The root, which gateways poll.
    Poll,
    /// Where attributes are put.
    Attributes,
    /// The order itself; `None` if the id is none.
    Deployment(Option<ActionId>),
    /// Words on an order.
    Feedback(Option<ActionId>),
    /// That it is cancelled.
    Cancel(Option<ActionId>),
    /// Words on that.
    CancelFeedback(Option<ActionId>),
    /// The artifacts of a software module.
    Artifacts(&'a str),
    /// One of them.
    Artifact(&'a str, &'a str),
    /// Its md5 sum as a file.
    Md5(&'a str, &'a str),
}

impl<'a> Path<'a> {
    /// `None` if no resource of ours is named that way. Doubled and trailing slashes are ignored.
    pub(super) fn parse(path: &'a str) -> Option<Self> {
        let mut segments = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            // What is no text in any encoding of ours is then no name of ours either.
            .map(|segment| percent_decode_str(segment).decode_utf8_lossy());
        let tenant = segments.next()?;
        let prefix = (segments.next()?, segments.next()?);
        if prefix != (Cow::Borrowed("controller"), Cow::Borrowed("v1")) {
            return None;
        }
        let gateway = segments.next()?;
        // The longest route has four; more is nothing of ours, and must not cost memory.
        let rest = segments.take(5).collect();
        Some(Self { tenant, gateway, rest })
    }

    /// The resource, if there is one.
    pub(super) fn route(&self) -> Option<Route<'_>> {
        let rest: Vec<&str> = self.rest.iter().map(AsRef::as_ref).collect();
        Some(match *rest.as_slice() {
            [] => Route::Poll,
            ["configData"] => Route::Attributes,
            ["deploymentBase", id] => Route::Deployment(id.parse().ok()),
            ["deploymentBase", id, "feedback"] => Route::Feedback(id.parse().ok()),
            ["cancelAction", id] => Route::Cancel(id.parse().ok()),
            ["cancelAction", id, "feedback"] => Route::CancelFeedback(id.parse().ok()),
            ["softwaremodules", module, "artifacts"] => Route::Artifacts(module),
            ["softwaremodules", module, "artifacts", file] => match file.strip_suffix(".MD5SUM") {
                Some(file) => Route::Md5(module, file),
                None => Route::Artifact(module, file),
            },
            _ => return None,
        })
    }
}

impl Route<'_> {
    /// What `Allow` says.
    pub(super) fn methods(&self) -> &'static str {
        match self {
            Self::Poll | Self::Deployment(_) | Self::Cancel(_) | Self::Artifacts(_) => "GET",
            Self::Attributes => "PUT",
            Self::Feedback(_) | Self::CancelFeedback(_) => "POST",
            Self::Artifact(..) | Self::Md5(..) => "GET, HEAD",
        }
    }

    pub(super) fn allows(&self, method: &Method) -> bool {
        self.methods().split(", ").any(|allowed| allowed == method.as_str())
    }

    /// Does a request to it carry a body that we read?
    pub(super) fn takes_body(&self) -> bool {
        matches!(self, Self::Attributes | Self::Feedback(_) | Self::CancelFeedback(_))
    }

    /// Is its answer JSON?
    pub(super) fn gives_json(&self) -> bool {
        matches!(self, Self::Poll | Self::Deployment(_) | Self::Cancel(_) | Self::Artifacts(_))
    }
}
