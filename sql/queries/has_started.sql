-- Whether an entry of the configuration has had its first start. No locks. Index: the primary key.
select exists (select from inbox.topic_start where entry = $1::text)
