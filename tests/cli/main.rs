//! The real program in a sandbox: a store, a home and a project folder of its own, cleaned variables, no network.

mod choosing;
mod sandbox;
