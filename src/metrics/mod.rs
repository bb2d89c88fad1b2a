//! How the site is, for what watches over it: a small listener for `/live`, `/ready` and `/metrics`.
//!
//! Owns the families of figures, how they are written, and the listener. It must never keep a figure (they are asked for at
//! each scrape), tell anything secret, make the loop wait, or take more memory the more it is asked.

mod families;
mod family;
mod figures;
mod listener;

pub use families::*;
pub use family::{Family, Kind, Unit};
pub use figures::{Figures, MOST_SERIES, Value};
pub use listener::{Caps, Desk, serve};
