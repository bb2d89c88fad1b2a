//! kept_state
