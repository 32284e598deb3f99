-- A topic of $1 that was read from Kafka; no row: there is none. No locks. Index: unique key of shard.
select s.topic from inbox.shard s where s.source = 'kafka' and s.topic = any ($1::text[]) order by s.topic limit 1
