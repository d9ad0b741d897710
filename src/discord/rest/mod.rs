//! Discord's REST API over reqwest: deadlines, buckets, retries, streamed uploads and downloads.
