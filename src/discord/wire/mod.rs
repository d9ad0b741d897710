//! Discord's JSON: parsed into the model, and made from it.
