//! Settings: defaults < `config.toml` < `.env` < environment < flags. The only reader of the environment.

pub mod dotenv;
mod layers;
pub mod names;
pub mod settings;
pub mod workspace;

pub use layers::Source;
pub use settings::{Ask, Loaded, Shown, load};
