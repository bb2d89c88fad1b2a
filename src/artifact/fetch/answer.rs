//! What an answer means for the bytes that are there already. Pure.

use reqwest::StatusCode;
use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderName,
    HeaderValue, IF_RANGE, LAST_MODIFIED, RANGE,
};

use super::error::RemoteError;
use crate::artifact::part::Validators;

/// Validators are short; a longer one is none.
const LONGEST_VALIDATOR: usize = 1024;

/// What to do with an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Its body goes behind the bytes that are there.
    Rest,
    /// Its body is the whole file.
    Whole,
    /// Nothing that can be used: ask for the whole file.
    StartOver,
}

/// The headers that ask for what is missing behind `offset`.
pub(super) fn ask(offset: u64, known: Option<&Validators>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if offset == 0 {
        return headers;
    }
    if let Ok(range) = HeaderValue::from_str(&format!("bytes={offset}-")) {
        headers.insert(RANGE, range);
    }
    let strong = |known: &Validators| known.etag.clone().filter(|etag| !etag.starts_with("W/"));
    let validator = known.and_then(|known| strong(known).or_else(|| known.last_modified.clone()));
    if let Some(Ok(validator)) = validator.map(|text| HeaderValue::from_str(&text)) {
        headers.insert(IF_RANGE, validator);
    }
    headers
}

/// What the server says of the file.
pub(super) fn validators(headers: &HeaderMap) -> Validators {
    let text = |name: HeaderName| {
        let value = headers.get(name)?.to_str().ok()?;
        (value.len() <= LONGEST_VALIDATOR).then(|| value.to_owned())
    };
    Validators { etag: text(ETAG), last_modified: text(LAST_MODIFIED) }
}

/// Is it a page for people?
pub(super) fn is_html(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/html"))
}

/// Judges an answer to [`ask`].
pub(super) fn judge(
    status: StatusCode,
    headers: &HeaderMap,
    (offset, size): (u64, u64),
    known: Option<&Validators>,
) -> Result<Meaning, RemoteError> {
    if status == StatusCode::RANGE_NOT_SATISFIABLE && offset > 0 {
        return Ok(Meaning::StartOver);
    }
    if status != StatusCode::OK && (status != StatusCode::PARTIAL_CONTENT || offset == 0) {
        return Err(RemoteError::status(status, headers));
    }
    if let Some(encoding) = headers.get(CONTENT_ENCODING).filter(|encoding| *encoding != "identity") {
        let shown: String = String::from_utf8_lossy(encoding.as_bytes()).chars().take(40).collect();
        return Err(RemoteError::Encoded(shown));
    }
    if status == StatusCode::PARTIAL_CONTENT {
        let fits =
            range(headers).is_some_and(|(start, total)| start == offset && total.is_none_or(|total| total == size));
        let now = validators(headers).etag;
        let changed = known.is_some_and(|known| known.etag.is_some() && now.is_some() && known.etag != now);
        return Ok(if fits && !changed { Meaning::Rest } else { Meaning::StartOver });
    }
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length != size) {
        return Err(RemoteError::Length { said: size, html: is_html(headers) });
    }
    Ok(Meaning::Whole)
}

/// `bytes 5-9/10` gives 5 and 10; a total of `*` gives none.
fn range(headers: &HeaderMap) -> Option<(u64, Option<u64>)> {
    let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    let (span, total) = text.trim().strip_prefix("bytes ")?.trim().split_once('/')?;
    let (start, end) = span.split_once('-')?;
    let (start, end): (u64, u64) = (start.trim().parse().ok()?, end.trim().parse().ok()?);
    let total = match total.trim() {
        "*" => None,
        total => Some(total.parse().ok()?),
    };
    (start <= end && total.is_none_or(|total| end < total)).then_some((start, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        lines.iter().map(pair).collect()
    }

    fn known() -> Validators {
        Validators { etag: Some("\"a\"".into()), last_modified: Some("Mon".into()) }
    }

    #[test]
    fn a_rest_must_begin_where_we_are_and_belong_to_the_same_file() {
        let judge = |lines: &[(&'static str, &'static str)]| {
            judge(StatusCode::PARTIAL_CONTENT, &headers(lines), (5, 10), Some(&known())).unwrap()
        };
        for good in ["bytes 5-9/10", "bytes 5-9/*", "bytes 5-7/10"] {
            assert_eq!(judge(&[("content-range", good)]), Meaning::Rest, "{good}");
        }
        for bad in ["bytes 4-9/10", "bytes 5-9/11", "bytes 5-10/10", "bytes */10", "5-9/10", "bytes 5-4/10", ""] {
            assert_eq!(judge(&[("content-range", bad)]), Meaning::StartOver, "{bad}");
        }
        assert_eq!(judge(&[]), Meaning::StartOver, "such as multipart/byteranges");
        assert_eq!(judge(&[("content-range", "bytes 5-9/10"), ("etag", "\"b\"")]), Meaning::StartOver);
        assert_eq!(judge(&[("content-range", "bytes 5-9/10"), ("etag", "\"a\"")]), Meaning::Rest);
    }

    #[test]
    fn a_whole_file_must_have_its_length_and_no_encoding() {
        let judge = |status, lines: &[(&'static str, &'static str)]| judge(status, &headers(lines), (5, 10), None);
        assert_eq!(judge(StatusCode::OK, &[]).unwrap(), Meaning::Whole);
        assert_eq!(judge(StatusCode::OK, &[("content-length", "10")]).unwrap(), Meaning::Whole);
        let page = judge(StatusCode::OK, &[("content-length", "99"), ("content-type", "text/html; charset=utf-8")]);
        assert!(page.unwrap_err().to_string().contains("captive portal"));
        assert!(matches!(judge(StatusCode::OK, &[("content-encoding", "gzip")]), Err(RemoteError::Encoded(_))));
        assert_eq!(judge(StatusCode::RANGE_NOT_SATISFIABLE, &[]).unwrap(), Meaning::StartOver);
        assert!(matches!(judge(StatusCode::NOT_FOUND, &[]), Err(RemoteError::Status { .. })));
        assert!(matches!(judge(StatusCode::NO_CONTENT, &[]), Err(RemoteError::Status { .. })));
    }

    #[test]
    fn a_rest_is_asked_for_with_the_strongest_validator() {
        let asked = |known: Option<Validators>| ask(5, known.as_ref()).get(IF_RANGE).cloned();
        assert_eq!(asked(Some(known())).unwrap(), "\"a\"");
        let weak = Validators { etag: Some("W/\"a\"".into()), ..known() };
        assert_eq!(asked(Some(weak)).unwrap(), "Mon");
        assert_eq!(asked(None), None);
        assert_eq!(ask(5, None).get(RANGE).unwrap(), "bytes=5-");
        assert!(ask(0, None).get(RANGE).is_none());
    }
}
