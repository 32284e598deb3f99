-- Instances whose leases instance $1 has ended as those of an earlier process of its member of the group, and that have
-- sent a heartbeat since $1 registered: they live. No locks; instances of 7 days.
select i.instance_id, i.host, i.process_id
from inbox.instance me
join inbox.instance i on i.successor = me.instance_id and i.member = me.member and i.last_seen_at > me.started_at
where me.instance_id = $1::uuid
