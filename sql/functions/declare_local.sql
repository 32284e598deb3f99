-- Declares local topics with their limits (deliver_at_limit in milliseconds): a shard with a position for each new
-- topic. p_id_decides: those of the topics whose ids alone decide. Topics that are declared stay. Locks: the topics'
-- rows, in order; their new rows.
create or replace function inbox.declare_local(p_topic text[], p_limit int[], p_ahead bigint[], p_id_decides text[])
returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into inbox.shard (source, topic, partition)
  select 'local', w.topic, 0 from unnest(p_topic) w(topic)
  where not exists (select from inbox.local_topic t where t.topic = w.topic)
  order by w.topic
  on conflict do nothing;
  insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version)
  select s.shard_id, 0, -1, 0, 0 from inbox.shard s
  where s.source = 'local' and s.topic = any (p_topic)
    and not exists (select from inbox.position p where p.shard_id = s.shard_id)
  on conflict do nothing;
  insert into inbox.local_topic as t (topic, shard_id, payload_limit, deliver_at_limit, id_decides)
  select w.topic, s.shard_id, w.payload_limit, w.ahead * interval '1 ms', w.topic = any (p_id_decides)
  from unnest(p_topic, p_limit, p_ahead) w(topic, payload_limit, ahead)
  join inbox.shard s on s.source = 'local' and s.topic = w.topic
  order by w.topic
  on conflict (topic) do update
  set payload_limit = excluded.payload_limit, deliver_at_limit = excluded.deliver_at_limit,
      id_decides = excluded.id_decides
  where (t.payload_limit, t.deliver_at_limit, t.id_decides) <>
        (excluded.payload_limit, excluded.deliver_at_limit, excluded.id_decides);
end
$$;
