//! Boot-time sweep: ends what an earlier host left behind, by recorded warden and mark.
