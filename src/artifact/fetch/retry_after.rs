//! `Retry-After`: how long a busy server asks to be left alone. Pure.

use std::time::Duration;

use jiff::fmt::rfc2822;
use reqwest::StatusCode;
use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};

/// Whatever a server says: a typing error there must not keep a site waiting for days.
const LONGEST: Duration = Duration::from_secs(3_600);

/// What a 429 or 503 asks for, at most an hour. A date is held against the server's own clock: ours may be wrong.
pub(super) fn retry_after(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    if !matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        return None;
    }
    let text = |name: HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let asked = text(RETRY_AFTER)?;
    let wait = match asked.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let (until, now) = (rfc2822::parse(asked).ok()?, rfc2822::parse(text(DATE)?).ok()?);
            until.timestamp().duration_since(now.timestamp()).try_into().ok()?
        }
    };
    Some(wait.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn asked(status: u16, after: &'static str, date: Option<&'static str>) -> Option<u64> {
        let mut headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(after))]);
        headers.extend(date.map(|date| (DATE, HeaderValue::from_static(date))));
        retry_after(StatusCode::from_u16(status).unwrap(), &headers).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_and_dates_count_up_to_an_hour_and_nonsense_does_not() {
        let now = Some("Wed, 21 Oct 2015 07:28:00 GMT");
        assert_eq!(asked(503, "120", None), Some(120));
        assert_eq!(asked(429, "1000000", None), Some(3_600));
        assert_eq!(asked(503, "Wed, 21 Oct 2015 07:30:00 GMT", now), Some(120));
        assert_eq!(asked(503, "Thu, 21 Oct 2100 07:30:00 GMT", now), Some(3_600));
        assert_eq!(asked(503, "Wed, 21 Oct 2015 07:20:00 GMT", now), None, "over already");
        assert_eq!(asked(503, "Wed, 21 Oct 2015 07:30:00 GMT", None), None, "held against nothing");
        for nonsense in ["", "-5", "soon", "1e9", "99999999999999999999999"] {
            assert_eq!(asked(503, nonsense, now), None, "{nonsense}");
        }
        assert_eq!(asked(404, "120", None), None);
    }
}
