//! Readers of what programs print. Each takes text (or bytes) and gives values; none fails and none panics, whatever
//! it is given: what can't be understood is left out, and callers see that nothing came.

pub mod bytes;
pub mod csv;
pub mod decode;
pub mod df;
pub mod driver;
pub mod env;
pub mod header;
pub mod listing;
pub mod loader;
pub mod packages;
pub mod search_path;
pub mod version;

#[cfg(test)]
mod mutation;
