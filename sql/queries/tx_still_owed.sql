-- Which of these settlements are not in the database: after a COMMIT in doubt. A row that is there under its fence with
-- all its offsets was not settled; waits for whoever is still at it. `ours` is false where somebody else has the row.
-- Locks: the rows, in order of id.
select d.delivery_id, d.fence = s.fence and d.owner = $1::uuid as ours
from unnest($2::bigint[], $3::bigint[], $4::text[]) s(id, fence, settled)
join inbox.delivery d on d.delivery_id = s.id
where d.delivery_id = any ($2::bigint[]) and d.pending @> s.settled::int8multirange
order by d.delivery_id for update of d
