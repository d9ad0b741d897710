//! The work loop: claims queued runs, has a backend do them, records what happened. Never speaks to Discord itself,
//! but for artifacts, whose bytes go up before their row (I-9).
