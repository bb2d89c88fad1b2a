//! `windows` of an `OtaRollout` as typed. The doc comments are what `kubectl explain` prints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A time of some days in which updates may start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "self.start != self.end",
    "message": "start and end are the same; for a whole day write 00:00 to 24:00, for always leave windows out",
}]))]
pub struct Window {
    /// The days on which it opens. Default: every day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 7))]
    pub days: Option<Vec<Day>>,
    /// When it opens, such as "22:00".
    #[schemars(length(max = 5), regex(pattern = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"))]
    pub start: String,
    /// When it ends, such as "06:00"; up to "24:00". Not later than the start: on the next day.
    #[schemars(length(max = 5), regex(pattern = r"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"))]
    pub end: String,
    /// No update starts from this time on although the window is open; what started goes on. Default: the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 5), regex(pattern = r"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"))]
    pub last_start: Option<String>,
    /// Whose clock counts: an IANA name such as Europe/Berlin. Default: the site's, timeZone in its site file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub time_zone: Option<String>,
}

/// A day of the week.
// No doc comments on the variants: they would turn the enum into a `oneOf` of constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the days of the week")]
pub enum Day {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

/// What windows are worth without a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the field that has this type says what they mean")]
pub enum WhenClockUnknown {
    Hold,
    Allow,
}
