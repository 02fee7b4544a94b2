//! Pictures of properties.

mod dot;
mod labels;
mod layout;
mod svg;

pub use dot::dot;
pub use svg::svg;
