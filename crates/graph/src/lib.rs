//! Pictures of properties.

mod dot;
mod labels;
mod layout;
pub mod live;
mod svg;

pub use dot::dot;
pub use svg::svg;
