//! Why a member waits, failed or was skipped, and why a rollout is not done: machine-readable, and each with what a person
//! can do.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An enum of unit variants with a text for each, so that no variant can lack one.
macro_rules! reasons {
    ($(#[$outer:meta])* $name:ident { $($variant:ident: $meaning:literal, $remedy:literal;)+ }) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $(#[doc = $meaning] $variant,)+ }

        impl $name {
            /// Every reason, in the order in which they are documented.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// What it means, for a person.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }
            }

            /// What a person can do about it.
            pub fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy,)+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self, f)
            }
        }
    };
}

reasons! {
    /// Why a member has not been offered its update yet. The first that applies is shown, in this order.
    WaitingReason {
        StoreLost: "the site's memory was lost, so holds and pauses are unknown",
            "look at what was set aside, then run `lamplighter resume`";
        Unlisted: "nothing that is accepted declares the rollout or the gateway any more",
            "put it back or correct it, or leave it: nothing new starts; `lamplighter status` shows what is refused";
        Held: "the gateway is held, by its EdgeGateway or on the spot",
            "`lamplighter why` says whose hold it is: set `hold: false` on its EdgeGateway, or run `lamplighter unhold`";
        DuplicateIdentity: "two machines use the gateway's id: from two addresses in turns it reports different versions",
            "give each machine an id and a token of its own; it goes on once only one was seen for two intervals, or both report the same version";
        UnknownVersion: "what the gateway runs is not known, because the site's memory was lost or the gateway answers to orders that this site never gave",
            "let the gateway report its version as an attribute";
        Paused: "the rollout is paused, by its spec, on the spot or because too many members failed",
            "`lamplighter status` says by what: set `paused: false`, or run `lamplighter resume`; after failures run `lamplighter retry`, or give the rollout another artifact version";
        ArtifactNotVerified: "the artifact is not in the cache yet, or does not match its digest",
            "see the artifact's state in `lamplighter status`";
        WaveNotOpen: "an earlier wave is not proven yet",
            "wait for the wave before; `lamplighter status` shows it";
        Cancelling: "the gateway was told to drop a cancelled order, and has not answered or not said yet what it runs",
            "wait: without an answer the order is closed by force after `deadlines.cancel`";
        ActionOpen: "the gateway is busy with another order",
            "wait until that order ends";
        Offline: "the gateway is not polling",
            "look at the gateway's power and network; it goes on by itself";
        OutsideWindow: "none of the rollout's `windows` is open, or the last start of the one that is has passed",
            "wait: `lamplighter why` says when one opens; or change `windows`";
        WaitingForClock: "the site does not know what time it is, so the rollout's `windows` are closed",
            "give the site a time server or set its clock: `lamplighter status` says what is wrong with it; or set `whenClockUnknown: Allow`";
        Backoff: "the last attempt failed and the next one waits a while",
            "read the failure in `lamplighter why`; the next attempt starts by itself";
        NotFetched: "the gateway polls but did not fetch the order",
            "look at the gateway's update client; it is offered again by itself";
        MaxInFlight: "as many members as allowed are being updated",
            "wait, or raise `strategy.maxInFlight`";
        DownloadSlot: "as many gateways as allowed are downloading",
            "wait, or raise `devices.downloads.concurrent` in the site file";
    }
}

reasons! {
    /// Why a member's update ended without success.
    FailedReason {
        Reported: "the gateway reported a failure",
            "read what it said in `lamplighter why`";
        Rejected: "the gateway rejected the order",
            "read what it said in `lamplighter why`";
        NoFeedback: "the gateway took the order and was not heard of before the deadline",
            "look at the gateway; if it comes back with the new version it counts as updated";
        WrongVersion: "the gateway came back with another version",
            "look at why the gateway fell back";
        NotFetched: "the gateway polls but let the offer lie three times",
            "look at the gateway's update client";
        SuccessWithoutDownload: "the gateway reported success without having downloaded the artifact",
            "look at the gateway's update client and its saved state";
        BytesSpent: "the gateway was sent so much of the artifact, again and again, that its budget of bytes is spent",
            "look at why its downloads come to nothing; then give the rollout another version, with a higher `maxBytes` if its link is just bad";
        Regressed: "the gateway went silent or fell back to another version while its wave was being watched",
            "look at the gateway";
    }
}

reasons! {
    /// Why a member needs no update from this rollout.
    SkippedReason {
        AlreadyInstalled: "the gateway reports the artifact's version already",
            "nothing";
        NoVariant: "the rollout has no variant for the gateway's hardware",
            "nothing, or correct the gateway's labels or the `match` of a variant: then it is taken after the last wave";
        NotSelected: "the rollout no longer selects the gateway",
            "nothing, or correct the selector";
        Superseded: "a newer rollout of the same artifact took over",
            "nothing";
        Cancelled: "the rollout was cancelled before the gateway had the whole artifact",
            "nothing, or give the rollout another version";
    }
}

reasons! {
    /// Why a rollout is under way and not done.
    ReconcilingReason {
        Cancelling: "it is cancelled, and gateways have not dropped their orders yet or are installing",
            "wait; `lamplighter why GATEWAY` says what a gateway does";
        Unlisted: "nothing that is accepted declares it any more; nothing new starts",
            "put it back or correct it, or leave it";
        AwaitingApi: "the API server, which may have more gateways for it, never answered yet",
            "see in `lamplighter status` why it does not answer, or do without it: `lamplighter run --no-kube`";
        Paused: "its spec pauses it, or somebody did on the spot",
            "set `spec.paused` to false, or run `lamplighter resume`; the message says which";
        ArtifactNotVerified: "its artifact is not in the cache yet",
            "wait; `lamplighter artifacts` shows how far it is";
        OutsideWindow: "a wave waits for the next of its `windows` to open",
            "wait, or change `windows`";
        WaitingForClock: "a wave waits, as the site does not know what time it is, and so whether a window is open",
            "give the site a time server or set its clock: `lamplighter status` says what is wrong with it; or set `whenClockUnknown: Allow`";
        WaveOpen: "a wave is being updated",
            "wait; `lamplighter why GATEWAY` says what a gateway waits for";
        Soaking: "a wave is updated and is being watched",
            "wait";
    }
}

reasons! {
    /// Why a rollout needs a person.
    StalledReason {
        Cancelled: "it was cancelled; nothing of it is offered any more, also if `cancelled` is taken away again",
            "nothing, or give it another version without `cancelled`; if it was cancelled on the spot, run `lamplighter resume` too";
        StoreLost: "the site's memory was lost, so holds and pauses are unknown",
            "look at what was set aside, then run `lamplighter resume`";
        ArtifactFailed: "the artifact could not be had from any of its sources, or has another size or digest than the rollout says",
            "do what the message says: copy the right file, or correct the manifest; it is tried again by itself, and nothing is offered before it matches";
        NoMembers: "no gateway has the labels that the selector asks for",
            "correct the selector or the gateways' labels";
        FailureLimit: "so many members failed that it stopped; unfetched offers are withdrawn, what is under way ends",
            "find out why with `lamplighter why`, then give the rollout another version, or run `lamplighter retry`";
        WaveUnproven: "too few members of a wave are updated for the next to open",
            "look at its failed and silent members";
        Superseded: "a newer rollout of the same artifact took its gateways over before it was done",
            "remove its manifest";
    }
}
