-- Instances other than $1 that have not said that they stop and have no successor: of boot $2 (the fifth column), or of
-- member $3 of the group (the fourth column); an empty text matches none. No locks; instances of 7 days.
select i.instance_id, i.host, i.process_id, coalesce(i.member = nullif($3::text, ''), false),
       coalesce(i.boot = nullif($2::text, ''), false)
from inbox.instance i
where i.instance_id <> $1::uuid and i.stopped_at is null and i.successor is null
  and (i.boot = nullif($2::text, '') or i.member = nullif($3::text, ''))
