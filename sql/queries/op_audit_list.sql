-- Changes by operators $1 and of operations $2 (LIKE patterns; none: all), made in [$3, $4); newest first, at most $5.
-- Without the ids of events, which view audit_log has. No locks. Index: primary key of audit, backwards.
select (extract(epoch from u.occurred_at) * 1000000)::bigint as occurred_at, u.actor, u.operation, u.target,
       (u.detail - 'event_ids' - 'quarantine_ids')::text as detail
from inbox.audit u
where (cardinality($1::text[]) = 0 or u.actor like any ($1::text[]))
  and (cardinality($2::text[]) = 0 or u.operation like any ($2::text[]))
  and ($3::bigint is null or u.occurred_at >= 'epoch'::timestamptz + $3::bigint * interval '1 us')
  and ($4::bigint is null or u.occurred_at < 'epoch'::timestamptz + $4::bigint * interval '1 us')
order by u.audit_id desc limit $5::bigint
