-- Which of how many databases this is; null before the first start. No locks.
select r.shard_index, r.shard_of from inbox.ingest_right r
