//! The simulator, by its own sockets: what Discord would answer, refuse and say.

mod bot;
mod cdn;
mod control;
mod gateway;
mod rest;
mod world;
