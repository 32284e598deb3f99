-- How each live daemon ($1: seconds since it was seen) configures each handler, with the handler's row: a line for each
-- pair, newest registration first. changed: when the row last changed, by its routing version. No locks.
select h.handler_id, h.name, h.topics, h.order_settings, h.changed_under, i.instance_id, i.host, i.process_id,
       i.version, (extract(epoch from clock_timestamp() - i.registered_at) * 1000000)::bigint as since_us,
       s.value ->> 'order', array(select jsonb_array_elements_text(s.value -> 'topics')), (s.value -> 'keys')::text
from inbox.instance i
cross join lateral jsonb_each(i.settings) s(key, value)
join inbox.handler h on h.handler_id = s.key::int
where i.stopped_at is null and i.last_seen_at > clock_timestamp() - $1::bigint * interval '1 s'
  and h.retired_at is null
order by h.name, i.registered_at desc, i.instance_id
