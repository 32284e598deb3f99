-- Topics that event $1 came on again, and operators' actions on it, since $2. No locks. Index: primary key of
-- also_seen; audit is read since then.
select 'also seen' as what, a.topic as who, (extract(epoch from a.seen_at) * 1000000)::bigint as at
from inbox.also_seen a where a.event_id = $1::uuid
union all
select u.operation, u.actor, (extract(epoch from u.occurred_at) * 1000000)::bigint
from inbox.audit u
where u.occurred_at >= coalesce('epoch'::timestamptz + $2::bigint * interval '1 us', '-infinity')
  and u.detail -> 'event_ids' ? $1::text
order by at
