-- Which of these settlements are not in the database, after a COMMIT in doubt: offsets that a row still has were not
-- settled. Waits for transactions that hold the rows. `ours` is false if another owner has the row or a part of it: a
-- claim after a crash splits it, and the offsets may be in a new row of the same attempt; a settled retry would be of
-- the next attempt. Locks: the rows, in order of id. Indexes: primary key of delivery; delivery_due only for a row of
-- another owner without the offsets.
select d.delivery_id, d.fence = s.fence and d.owner = $1::uuid and d.pending @> s.settled::int8multirange as ours
from unnest($2::bigint[], $3::bigint[], $4::text[]) s(id, fence, settled)
join inbox.delivery d on d.delivery_id = s.id
where d.delivery_id = any ($2::bigint[])
  and (d.pending && s.settled::int8multirange
       or d.fence <> s.fence and exists (
         select from inbox.delivery rest
         where rest.handler_id = d.handler_id and rest.shard_id = d.shard_id and rest.attempts = d.attempts
           and rest.pending && s.settled::int8multirange))
order by d.delivery_id for update of d
