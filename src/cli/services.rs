//! Services in `status`: a table of those that are declared, and what is to be known of single ones.

use super::prose::paragraph;
use super::table::table;
use crate::site::report::ServiceLine;

pub(super) fn text(services: &[ServiceLine]) -> String {
    if services.is_empty() {
        return String::new();
    }
    let row = |service: &ServiceLine| {
        let state = match service.phase.as_str() {
            "Ready" => "Ready".into(),
            phase => format!("{phase} ({})", service.reason),
        };
        let last = service.last_restart.as_ref().map_or("-".into(), |last| last.result.clone());
        vec![service.name.clone(), service.unit.clone(), service.restarts.to_string(), last, state]
    };
    let rows: Vec<_> = services.iter().map(row).collect();
    let headings = ["SERVICE", "UNIT", "RESTARTS", "LAST", "STATE"];
    let mut text = format!("\n{}", table(&headings, &rows, &["LAST", "UNIT"]));
    for service in services {
        let notes = [
            Some(&service.message).filter(|message| !message.is_empty() && service.phase == "Stalled"),
            service.watch_degraded.as_ref(),
            service.config_source_static.as_ref(),
        ];
        for note in notes.into_iter().flatten() {
            text += &paragraph("", &format!("{}: {note}", service.name));
        }
    }
    text
}
