//! *Model → as typed*: a rollout as a person could have written it, for one that somebody should be able to edit elsewhere.
//! What it would be by default is said all the same: the defaults of another version may be others.

use super::{
    Approval, Artifact, ConfirmBy, Day, Deadlines, FailureAction, Gate, IntOrBytes, IntOrPercent, MatchLabels,
    OtaRolloutSpec, Spread, Strategy, Variant, Wave, WhenClockUnknown, Window,
};
use crate::model::{self, Amount, ArtifactSpec, GateQuestion, RolloutSpec, Selector, Source, format_duration};

/// A rollout's spec, which converts to the same rollout.
pub fn typed(spec: &RolloutSpec) -> OtaRolloutSpec {
    let deadlines = &spec.deadlines;
    let some = |duration| Some(format_duration(duration));
    OtaRolloutSpec {
        artifact: artifact(spec),
        selector: labels(&spec.selector),
        strategy: Some(strategy(&spec.strategy)),
        gates: (!spec.gates.is_empty()).then(|| spec.gates.iter().map(gate).collect()),
        deadlines: Some(Deadlines {
            download: some(deadlines.download),
            install: some(deadlines.install),
            confirm: some(deadlines.confirm),
            cancel: some(deadlines.cancel),
        }),
        attempts: Some(spec.attempts.into()),
        max_bytes: spec.max_bytes.map(|bytes| IntOrBytes(bytes.to_string())),
        confirm_by: Some(match spec.confirm_by {
            model::ConfirmBy::Auto => ConfirmBy::Auto,
            model::ConfirmBy::ReportedVersion => ConfirmBy::ReportedVersion,
            model::ConfirmBy::Feedback => ConfirmBy::Feedback,
        }),
        windows: (!spec.windows.list.is_empty()).then(|| spec.windows.list.iter().map(window).collect()),
        when_clock_unknown: Some(match spec.windows.when_clock_unknown {
            model::WhenClockUnknown::Hold => WhenClockUnknown::Hold,
            model::WhenClockUnknown::Allow => WhenClockUnknown::Allow,
        }),
        allow_downgrade: Some(spec.allow_downgrade),
        paused: Some(spec.paused),
        cancelled: Some(spec.cancelled),
        retry_token: spec.retry_token.clone(),
        approved_waves: approved(spec),
    }
}

fn artifact(spec: &RolloutSpec) -> Artifact {
    let (file, key) = (&spec.artifact, &spec.artifact.key);
    let (name, version) = (key.name.clone(), key.version.to_string());
    match &spec.variants {
        None => Artifact {
            name,
            version,
            sources: Some(sources(file)),
            digest: Some(key.digest.to_string()),
            size_bytes: Some(size(file)),
            variants: None,
        },
        Some(variants) => {
            let others = variants.others.iter().map(|other| variant(&other.matches, &other.artifact));
            let all = [variant(&variants.first, file)].into_iter().chain(others).collect();
            Artifact { name, version, sources: None, digest: None, size_bytes: None, variants: Some(all) }
        }
    }
}

fn variant(matches: &Selector, file: &ArtifactSpec) -> Variant {
    let digest = file.key.digest.to_string();
    Variant { matches: labels(matches), sources: sources(file), digest, size_bytes: size(file) }
}

fn size(file: &ArtifactSpec) -> i64 {
    i64::try_from(file.size).unwrap_or(i64::MAX)
}

fn sources(file: &ArtifactSpec) -> Vec<String> {
    let text = |source: &Source| match source {
        Source::File { name, .. } => format!("file:{name}"),
        Source::Http { url } => url.to_string(),
        Source::Oci { image } => format!("oci://{image}"),
    };
    file.sources.iter().map(text).collect()
}

fn labels(selector: &Selector) -> MatchLabels {
    let labels = selector.match_labels.iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
    MatchLabels { match_labels: Some(labels.collect()) }
}

fn strategy(strategy: &model::Strategy) -> Strategy {
    Strategy {
        waves: Some(strategy.waves.iter().map(wave).collect()),
        max_in_flight: Some(amount(strategy.max_in_flight)),
        max_failures: Some(amount(strategy.max_failures)),
        failure_action: Some(match strategy.failure_action {
            model::FailureAction::Pause => FailureAction::Pause,
            model::FailureAction::Rollback => FailureAction::Rollback,
        }),
        spread: strategy.spread.as_ref().map(|spread| Spread {
            label: spread.label.clone(),
            max_in_flight: spread.max_in_flight.map(amount),
            min_healthy: spread.min_healthy.map(amount),
        }),
    }
}

fn wave(wave: &model::WaveSpec) -> Wave {
    Wave {
        name: wave.name.clone(),
        // a share of all of them is what is meant by no size
        size: (!wave.takes_all()).then(|| amount(wave.size)),
        selector: wave.selector.as_ref().map(labels),
        soak: Some(format_duration(wave.soak)),
        approval: Some(match wave.approval {
            model::Approval::Automatic => Approval::Automatic,
            model::Approval::Manual => Approval::Manual,
        }),
        min_updated: Some(amount(wave.min_updated)),
    }
}

fn amount(amount: Amount) -> IntOrPercent {
    match amount {
        Amount::Count(count) => IntOrPercent::Int(count.into()),
        Amount::Percent(percent) => IntOrPercent::Text(format!("{}%", percent.get())),
    }
}

fn gate(gate: &model::GateSpec) -> Gate {
    let (file, http) = match &gate.question {
        GateQuestion::File(path) => (Some(path.to_string()), None),
        GateQuestion::Http(url) => (None, Some(url.to_string())),
    };
    Gate { name: gate.name.clone(), file, http }
}

fn window(window: &model::Window) -> Window {
    let (days, [start, end, last_start], zone) = window.parts();
    Window {
        days: Some(days.iter().map(|day| day_of(*day)).collect()),
        start: start.to_string(),
        end: end.to_string(),
        last_start: Some(last_start.to_string()),
        time_zone: zone.map(ToString::to_string),
    }
}

fn day_of(day: model::Day) -> Day {
    match day {
        model::Day::Mon => Day::Mon,
        model::Day::Tue => Day::Tue,
        model::Day::Wed => Day::Wed,
        model::Day::Thu => Day::Thu,
        model::Day::Fri => Day::Fri,
        model::Day::Sat => Day::Sat,
        model::Day::Sun => Day::Sun,
    }
}

fn approved(spec: &RolloutSpec) -> Option<Vec<String>> {
    let version = &spec.artifact.key.version;
    let all: Vec<_> = spec.approved_waves.iter().map(|wave| format!("{wave}@{version}")).collect();
    (!all.is_empty()).then_some(all)
}
