-- Blocked and parked keys of handler $1 (null: all) and of key $2 (null: any), keys with most events first, at most $3.
-- Keys are stored up to 256 bytes. No locks. Indexes: as view lanes, which reads all lanes.
select l.handler, l.key, l.state, l.waiting::bigint, l.head_event_id, l.attempts,
       (extract(epoch from l.due_at) * 1000000)::bigint as due_at, l.last_error
from inbox.lanes l
where ($1::text is null or l.handler = $1::text)
  and ($2::bytea is null or l.key = substr($2::bytea, 1, 256))
order by l.waiting desc, l.handler, l.key limit $3::int
