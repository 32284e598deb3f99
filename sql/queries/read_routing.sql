-- All handlers under a single version, in a single snapshot. No locks.
select r.version, h.handler_id, h.name, h.topics, h.types, h.paused_reason, h.mode, h.order_scope
from inbox.routing r left join inbox.handler h on h.retired_at is null
order by h.handler_id
