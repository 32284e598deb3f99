-- When an entry of the configuration had its first start, in microseconds since 1970. No locks. Index: the primary key.
select (extract(epoch from started_at) * 1000000)::bigint from inbox.topic_start where entry = $1::text
