-- The ids in blocks $2 to $3 (exclusive) of the ledger's generation $1. No locks. Reads these blocks.
select string_agg(uuid_send(l.event_id), '') from inbox.ledger l
where l.generation = $1::int
  and l.ctid >= format('(%s,0)', $2::bigint)::tid and l.ctid < format('(%s,0)', $3::bigint)::tid
