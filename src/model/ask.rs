//! What a gateway is asked for.

/// Should a gateway report its attributes?
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ask {
    /// No.
    #[default]
    No,
    /// Until it does.
    Once,
    /// Once per poll interval, while a version is waited for.
    EachInterval,
}
