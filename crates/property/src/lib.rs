//! The property and scenario languages of Verde.
