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
        NotComparable: "whether the gateway's version is older than the rollout's cannot be told from their texts",
            "set `allowDowngrade: true` if it is to be updated all the same";
        Paused: "the rollout is paused, by its spec, on the spot or because too many members failed",
            "`lamplighter status` says by what: set `paused: false`, or run `lamplighter resume`; after failures run `lamplighter retry`, or give the rollout another artifact version";
        DigestConflict: "gateways were served another file of the same name and version already",
            "give the rollout another version";
        ArtifactNotVerified: "the artifact is not in the cache yet, or does not match its digest",
            "see the artifact's state in `lamplighter status`";
        SiteSilent: "many gateways that nobody was updating fell silent at once, so the fault is more likely the site's than theirs",
            "look at the site's network and power; it goes on by itself when they are back, after 24h at the latest";
        WaveNotOpen: "an earlier wave is not proven yet",
            "wait for the wave before; `lamplighter status` shows it";
        NotApproved: "its wave is the next, and opens only once a person approves it",
            "add WAVE@VERSION, as `lamplighter status` shows it, to the rollout's `spec.approvedWaves`, or run `lamplighter approve`";
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
        MaxInFlight: "as many members as allowed are being updated, of the rollout or of the whole site",
            "wait, or raise `strategy.maxInFlight`, or `limits.maxInFlight` in the site file; `lamplighter why` says which";
        Spread: "as many gateways of its line as allowed are being updated, or it lacks the label that says which line is its own",
            "wait, or raise `strategy.spread.maxInFlight`; give it the label of `strategy.spread.label` if `lamplighter why` says that it has none";
        MinHealthy: "too few of the other gateways of its line or pair are healthy for this one to be touched",
            "look at those that `lamplighter why` names; it goes on by itself once enough of them are healthy; of one that was mended by hand say `lamplighter unhold GATEWAY --repaired`";
        DownloadSlot: "as many gateways as allowed are downloading",
            "wait, or raise `devices.downloads.concurrent` in the site file";
        Gate: "a gate of the rollout is closed, or does not say that it is open",
            "see in `lamplighter why` which gate it is and what it said; it is asked again every few seconds";
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
        DowngradeRefused: "the gateway reports a newer version than the rollout's",
            "nothing, or set `allowDowngrade: true`: then it goes on";
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
        RollingBack: "too many members failed, and those that have the version go back to what they ran before",
            "wait; `lamplighter why GATEWAY` says what a gateway waits for";
        ArtifactNotVerified: "its artifact is not in the cache yet",
            "wait; `lamplighter artifacts` shows how far it is";
        SiteSilent: "many gateways fell silent at once: nothing is offered, and deadlines stand still",
            "look at the site's network and power; it goes on by itself, after 24h at the latest";
        OutsideWindow: "a wave waits for the next of its `windows` to open",
            "wait, or change `windows`";
        WaitingForClock: "a wave waits, as the site does not know what time it is, and so whether a window is open",
            "give the site a time server or set its clock: `lamplighter status` says what is wrong with it; or set `whenClockUnknown: Allow`";
        WaitingForApproval: "the next wave opens only once a person approves it",
            "run `lamplighter approve`, or add what the message names to `spec.approvedWaves`";
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
        DigestConflict: "gateways were served another file of the same name and version already",
            "give this one another version: what a gateway reports must say which file it runs";
        ArtifactFailed: "the artifact could not be had from any of its sources, or has another size or digest than the rollout says",
            "do what the message says: copy the right file, or correct the manifest; it is tried again by itself, and nothing is offered before it matches";
        NoMembers: "no gateway has the labels that the selector asks for",
            "correct the selector or the gateways' labels";
        RollbackImpossible: "it is to be rolled back if it fails, and the site lacks what its gateways would go back to; nothing is offered",
            "bring the versions that the message names to the site, see Going back in docs/operations.md, or set `failureAction: Pause`";
        RollbackFailed: "a gateway that was to go back to what it ran before did not",
            "look at it with `lamplighter why`; another `retryToken` lets those that failed try again";
        RolledBack: "so many members failed that it stopped, and who had the version is back on what it ran before",
            "find out why with `lamplighter why`, then give the rollout another version";
        WavesImpossible: "a wave that has not opened yet could never be proven or never get a member, for what the message says",
            "correct `strategy.waves`, or the gateways' labels";
        FailureLimit: "so many members failed that it stopped; unfetched offers are withdrawn, what is under way ends",
            "find out why with `lamplighter why`, then give the rollout another version, or run `lamplighter retry`";
        WaveUnproven: "too few members of a wave are updated for the next to open",
            "look at its failed and silent members";
        SpreadImpossible: "`strategy.spread` can never be met by the gateways that are left, and nothing else of it can move",
            "do what the message says: lower `minHealthy`, or give the gateways the label";
        Superseded: "a newer rollout of the same artifact took its gateways over before it was done",
            "remove its manifest";
    }
}

reasons! {
    /// Why a service does not run with the configuration that is there, or is not looked after.
    ServiceReason {
        Unlisted: "no manifest that is accepted declares the service any more",
            "put the manifest back or correct it, or leave it: nothing is restarted";
        UnitRefused: "the site file does not allow its unit to be restarted",
            "add the unit to `services.allowUnits` of the site file, or correct `spec.restart.unit`";
        PathRefused: "the site file does not allow its configuration to be read, or a link leads out of what it allows",
            "add the path to `services.allowPaths` of the site file, or correct `spec.config`";
        ConfigMissing: "some of its configuration is not there, or is empty",
            "put it there or correct `spec.config`; nothing is restarted before all of it can be read";
        ConfigUnreadable: "some of its configuration cannot be read",
            "do what the message says; nothing is restarted before all of it can be read";
        UnitMissing: "systemd knows no such unit, or cannot load it",
            "install or correct the unit, or correct `spec.restart.unit`; it is looked for again every minute";
        UnitMasked: "the unit is masked, so systemd starts it for nobody",
            "run `systemctl unmask`, or leave it so; it is looked at again every minute";
        BusUnavailable: "systemd cannot be reached over D-Bus, or does not let this process restart units",
            "do what the message says, see Permissions in docs/reference/service.md; it is tried again every minute";
        RestartFailed: "the unit did not come back with the new configuration",
            "look at `journalctl -u UNIT`, then change the configuration, or run `lamplighter restart`";
        Unhealthy: "the unit came back, and its health check failed",
            "look at `journalctl -u UNIT`, then change the configuration, or run `lamplighter restart`";
        NodeUpdating: "firmware is being installed on the machine that the unit runs on",
            "wait until that is over";
        Restarting: "the unit is being restarted, or its health is being looked at",
            "wait";
        Settling: "the configuration changed just now, and more may follow",
            "wait, or change `settle`";
        TooSoon: "the unit was restarted just now",
            "wait, or change `minInterval`";
        NotRead: "its configuration has not been read yet since the site was started",
            "wait";
        Recording: "it is seen for the first time, and systemd is asked how the unit stands",
            "wait";
    }
}

impl ServiceReason {
    /// Nothing goes on before a person, or something else than this site, does something.
    pub fn is_stalled(self) -> bool {
        self <= Self::Unhealthy
    }
}
