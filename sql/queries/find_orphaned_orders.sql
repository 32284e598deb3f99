-- Handlers that process $1 configures with other order settings than their rows have. All instances with the settings
-- of the row have been gone for 15 s, and no live instance has registered the handler since. No locks; instances of 7
-- days.
select h.handler_id
from inbox.instance me
cross join lateral jsonb_each(me.settings) s(key, value)
join inbox.handler h on h.handler_id = s.key::int
where me.instance_id = $1::uuid and h.retired_at is null and s.value ->> 'order' <> h.order_settings
  and not exists (
    select from inbox.instance i
    where i.instance_id <> me.instance_id and i.settings ? s.key
      and i.last_seen_at > clock_timestamp() - interval '15 s'
      and (i.settings -> s.key ->> 'order' = h.order_settings
           or i.stopped_at is null and (i.registered_at, i.instance_id) > (me.registered_at, me.instance_id)))
