//! Clients that cannot be installed here, as strict models of what their sources do (b.8, b.10): each panics where the real
//! one would hang, spin, misread an answer or install twice. Tests are named after the rule they pin.

mod clones;
mod rhu;
mod rhu_rules;
mod swupdate_rules;
mod transcripts;
mod wire;
mod zephyr;
mod zephyr_rules;
