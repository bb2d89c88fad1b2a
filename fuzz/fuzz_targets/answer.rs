//! Any request at all to the device API, with the gateway's own token or without it.
//!
//! The input is a request as text: a byte of switches, the method, the path, the headers one a line, an empty line, the body.
//! Whatever it is, the answer is one of the contract, small, fit for a device to repeat, and about nobody else.
#![no_main]

use std::rc::Rc;
use std::time::Duration;

use hyper::Method;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use lamplighter::device::ddi::{self, Answer, Head, Settings};
use lamplighter::device::{Artifact, Attendance, Board, Entry, Offer, Pacing};
use lamplighter::model::{ActionId, ArtifactKey, Digest, Presence, SiteTime, Sums, TokenHash, Verdict};
use libfuzzer_sys::fuzz_target;
use sha2::Digest as _;

/// The statuses of the contract.
const STATUSES: [u16; 11] = [200, 206, 400, 401, 404, 405, 406, 412, 415, 416, 429];

fn board(switches: u8) -> Board {
    let artifact = Artifact {
        key: ArtifactKey { name: "os".into(), version: "2".parse().unwrap(), digest: Digest::new([7; 32]) },
        file_name: "gateway os.swu".into(),
        size: 1000,
        sums: Sums { sha1: "a1".repeat(20), md5: "b2".repeat(16) },
    };
    let cancel = switches & 4 != 0;
    let offer = Offer {
        action: ActionId::base(7),
        link: !cancel,
        cancel,
        fetched: switches & 1 != 0,
        served: switches & 2 != 0,
        artifact: Rc::new(artifact),
    };
    let mut board = Board::default();
    let token = Some(TokenHash::new(sha2::Sha256::digest("token").into()));
    board.put("gw-1".parse().unwrap(), Entry { token, offer: Some(offer), ..Entry::default() });
    board.put("other".parse().unwrap(), Entry { token: Some(TokenHash::new([1; 32])), ..Entry::default() });
    board.complete();
    board
}

fuzz_target!(|input: &[u8]| {
    let Some((switches, input)) = input.split_first() else { return };
    let split = input.windows(2).position(|pair| pair == b"\n\n").unwrap_or(input.len());
    let body = input.get(split + 2..).unwrap_or_default();
    let mut lines = input[..split].split(|byte| *byte == b'\n');
    let Some(method) = lines.next().and_then(|line| Method::from_bytes(line).ok()) else { return };
    let Some(target) = lines.next().and_then(|line| std::str::from_utf8(line).ok()) else { return };
    let path = target.split('?').next().unwrap_or_default();
    let mut headers = HeaderMap::new();
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(&line[..colon]), HeaderValue::from_bytes(&line[colon + 1..]))
        {
            headers.append(name, value);
        }
    }
    if switches & 8 != 0 {
        headers.insert("authorization", HeaderValue::from_static("TargetToken token"));
    }
    let settings = Settings {
        tenants: vec!["DEFAULT".into()],
        poll_interval: Duration::from_secs(60),
        url: None,
        tokens: Default::default(),
    };
    let told = Duration::from_secs(60);
    let mut presence = Attendance::new(Pacing { told, offline_after: told * 10 });
    let head = Head {
        method: &method,
        path,
        headers: &headers,
        local: "127.0.0.1:9",
        peer: None,
        secure: false,
        certificate: None,
    };
    let board = board(*switches);
    let verdict = [None, Some(Verdict::Accepted), Some(Verdict::Withdrawn), Some(Verdict::Deploy)]
        [usize::from(switches >> 4) % 4];
    _ = (ddi::about(&board, path), ddi::knocks(&board, &settings, &head));
    let admitted = ddi::admit(&board, &settings, &head);
    let reply = ddi::answer(&board, &mut presence, &settings, SiteTime(0), &head, body);
    match &admitted {
        Ok(admitted) => assert_eq!(admitted.gateway.as_str(), "gw-1"),
        // what is refused without a look at the body is refused with it, and nobody hears of it
        Err(refusal) => {
            assert!(reply.seen.is_empty());
            assert!(matches!(&reply.answer, Answer::Now(response) if response == refusal));
        }
    }
    let response = match reply.answer {
        Answer::Now(response) => response,
        Answer::Ask(_, pending) => pending.respond(&mut presence, verdict),
        Answer::Send(download) => {
            assert!(download.first <= download.last && download.last < 1000);
            download.respond(&mut presence, verdict).unwrap_or_else(|refusal| refusal)
        }
    };
    assert!(STATUSES.contains(&response.status.as_u16()));
    assert!(response.body.len() <= 4096);
    assert!(!response.body.iter().any(|byte| matches!(byte, b'<' | b'>' | 0..32)));
    assert_eq!(presence.state("other"), Presence::Never);
});
