//! What people and the world do to a site, at its time.

use super::hub::HubSays;
use crate::model::{Digest, Dropped, GateAnswer, GateKey, Listing, Order};

/// Something that is done to the site or to gateways.
#[derive(Debug, Clone)]
pub enum Deed {
    /// The manifests say this now. Every start of the site reads them again.
    Declare(Listing),
    /// This happens at the hub; the site hears of it over the link.
    Hub(HubSays),
    /// These files are complete in the drop directory.
    Files(Vec<Digest>),
    /// Somebody puts this into the drop directory.
    Drop(Dropped),
    /// A person says this on the spot; who.
    Order(Order, String),
    /// The power of the site's machine.
    SitePower(bool),
    /// The power of the site's machine goes in the middle of its next commit, and comes back in a moment.
    PowerCut,
    /// The power of these gateways, by their index.
    Power(Vec<usize>, bool),
    /// The network between the site and these gateways.
    Network(Vec<usize>, bool),
    /// The link over which artifacts come and the hub is heard.
    Link(bool),
    /// A gate says this from now on.
    Gate(GateKey, GateAnswer),
    /// The site's wall clock says this from now on, in Unix milliseconds.
    Clock(i64),
}
