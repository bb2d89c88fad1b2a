//! Every family of figures that a site has. `docs/reference/metrics.md` has the same table; a test compares.

use super::family::{Family, Kind, Unit};

/// Families, and a list of them all.
macro_rules! families {
    ($($id:ident: $name:literal $kind:ident $(in $unit:ident)? [$($label:literal),*] $help:literal;)+) => {
        $(#[doc = $help] pub const $id: &Family = &Family {
            name: concat!("lamplighter_", $name),
            kind: Kind::$kind,
            unit: families!(@unit $($unit)?),
            labels: &[$($label),*],
            help: $help,
        };)+

        /// Every family, in the order in which they are documented.
        pub const FAMILIES: &[&Family] = &[$($id,)+];
    };
    (@unit) => { None };
    (@unit $unit:ident) => { Some(Unit::$unit) };
}

families! {
    BUILD: "build" Info ["version"]
        "Which version runs";
    UPTIME: "uptime" Gauge in Seconds []
        "How long the process has run";
    READY: "ready" Gauge []
        "1 if the store is open and gateways are served, as /ready says";
    CLOCK_TRUSTED: "clock_trusted" Gauge []
        "1 if the wall clock is believed; else windows stay closed";
    CLOCK_SYNCHRONISED: "clock_synchronised" Gauge []
        "1 if a time server keeps the wall clock right";
    SITE_FILE_ACCEPTED: "site_file_accepted" Gauge []
        "1 if what the site file says now is accepted";
    STORE_LOST: "store_lost" Gauge []
        "1 if the store before this one was lost and nobody said resume yet: nothing is offered";
    SITE_SILENT: "site_silent" Gauge []
        "1 if so many gateways are silent that deadlines stand still and nothing is offered";
    GATEWAYS: "gateways" Gauge ["presence"]
        "Gateways that are known, by whether they poll";
    ROLLOUTS: "rollouts" Gauge ["phase"]
        "Rollouts in force, by how they stand; Stalled ones need a person";
    ROLLOUT_PHASE: "rollout_phase" Gauge ["rollout", "phase", "reason"]
        "1 for the phase and the reason in which a rollout is";
    MEMBERS: "members" Gauge ["rollout", "step"]
        "Members of a rollout by how far they are";
    MEMBERS_WAITING: "members_waiting" Gauge ["rollout", "reason"]
        "Members that wait, by why";
    MEMBERS_FAILED: "members_failed" Gauge ["rollout", "reason"]
        "Members that failed, by why";
    ACTIONS: "actions" Gauge ["state"]
        "Orders that gateways may have in hand, by how far they are";
    JOURNAL_ROWS: "journal_rows" Counter ["what"]
        "What happened, by kinds of rows of the journal";
    OBJECTS_REFUSED: "objects_refused" Gauge ["source"]
        "Objects that are not accepted, by where they are";
    RECONCILE: "reconcile" Counter ["kind", "result"]
        "Facts that the site took in, by what they are about and what came of the step that took them";
    RECONCILE_DURATION: "reconcile_duration" Histogram in Seconds []
        "How long steps took to decide, without the commit; a step takes up to 64 facts";
    QUEUE_DEPTH: "queue_depth" Gauge ["queue"]
        "What waits: facts for the loop, objects to be written into the API";
    STORE_COMMIT_DURATION: "store_commit_duration" Histogram in Seconds []
        "How long commits to the store took, until they were on disk";
    STORE_COMMITS_FAILED: "store_commits_failed" Counter []
        "Commits that failed; the store is opened again after each";
    STORE_WRITTEN: "store_written" Counter in Bytes []
        "Bytes written to the store's file";
    ARTIFACT_FETCHED: "artifact_fetched" Counter in Bytes []
        "Bytes of artifacts that came over the uplink";
    ARTIFACT_SERVED: "artifact_served" Counter in Bytes []
        "Bytes of artifacts sent to gateways";
    DEVICE_REQUESTS: "device_requests" Counter ["answer"]
        "Requests of gateways, by how they were answered";
    DEVICE_CONNECTIONS: "device_connections" Gauge []
        "Connections of gateways that are open";
    DEVICE_CONNECTIONS_ACCEPTED: "device_connections_accepted" Counter []
        "Connections of gateways that were accepted";
    DEVICE_CONNECTIONS_CLOSED: "device_connections_closed_for_others" Counter []
        "Connections without a request that were closed to make room";
    DEVICE_CONNECTIONS_HELD_BACK: "device_connections_held_back" Counter []
        "Connections that waited because their address had its share";
    DEVICE_HANDSHAKES_FAILED: "device_handshakes_failed" Counter []
        "TLS handshakes of gateways that failed or took too long";
    API_LINK: "api_link" Gauge ["state"]
        "1 for the state in which the link to the API server is; absent where none is followed";
    API_REQUESTS: "api_requests" Counter ["verb", "code"]
        "Requests to the API server, by verb and by the code of the answer, none if there was no answer";
    API_OBJECTS_UNDECODABLE: "api_objects_undecodable" Counter ["kind"]
        "Objects of the API that could not be read at all, and were skipped";
}
