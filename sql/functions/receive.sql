-- Stages events that came over HTTP, in the order of the arrays. An event is repeated if its id is known in its topic,
-- stored or staged; it conflicts if the known event has another digest (null: the id alone decides). Nothing of a
-- request with a conflict is staged. An id of another topic is staged: ingest gives it to handlers of this topic alone,
-- as it does for Kafka. Returns the places of the events that are repeated or conflict.
--
-- p_filters: the filters of frozen generations that the caller has asked, by their keys; f_filter, f_id: the ids that
-- they do not rule out. Generations without such a filter, such as the current one, are looked up for all ids. With 150
-- generations, a call with 64 ids takes 1 ms with all filters and 30 ms without (two busy cores, November 2026).
--
-- p_request: the number of an event's request. p_id has no id twice. An empty array stands for a column of nulls. Two
-- sessions that stage an id at the same time both succeed, as with inbox.enqueue: the ledger absorbs the second event.
-- It takes an xid before local_id, see table local_event. Locks: its new rows. Indexes: primary keys of the ledger's
-- generations and of local_topic, ledger_generation's on filter_key, local_event_received.
create or replace function inbox.receive(
  p_request int[], p_topic text[], p_id uuid[], p_digest bigint[], p_source_id text[], p_type text[], p_source text[],
  p_subject text[], p_key bytea[], p_payload bytea[], p_headers bytea[], p_occurred_at timestamptz[],
  p_deliver_at timestamptz[], p_filters bigint[], f_filter bigint[], f_id uuid[])
returns table (place int, is_conflict boolean)
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_since int;  -- from this generation on, and up to v_until, all ids are looked up
  v_until int;
  v_known bigint[];
  v_refused int[];
begin
  perform pg_current_xact_id();
  -- Bounds as parameters of the next statement: it then opens no generation between them. The oldest generations may
  -- lack their filters, for want of memory, and the newest, which are not made yet.
  select coalesce(max(g.generation), 0) + 1 into v_since
  from inbox.ledger_generation g where g.filter_key = any (p_filters);
  select coalesce(max(g.generation), 0) into v_until
  from inbox.ledger_generation g where g.generation < v_since and g.filter_key <> all (p_filters);
  -- One snapshot: a staged event moves to the ledger in a single transaction. A generation may have begun meanwhile.
  select array_agg(known.digest order by x.i) into v_known
  from unnest(p_id, p_topic) with ordinality x(id, topic, i)
  left join inbox.local_topic t on t.topic = x.topic
  left join lateral (
    (select l.digest from inbox.ledger l
     where l.event_id = x.id and l.shard_id = t.shard_id
       and (l.generation >= v_since or l.generation <= v_until))
    union all
    (select l.digest
     from unnest(f_filter, f_id) f(filter, id)
     join inbox.ledger_generation g on g.filter_key = f.filter
     cross join lateral (
       select k.* from inbox.ledger k where k.generation = g.generation and k.event_id = f.id offset 0) l
     where f.id = x.id and l.shard_id = t.shard_id)
    union all
    (select s.digest from inbox.local_event s
     where s.event_id = x.id and s.shard_id = t.shard_id and s.digest is not null limit 1)
    limit 1) known on true;
  select coalesce(array_agg(distinct x.request), '{}') into v_refused
  from unnest(p_request, p_digest, v_known) x(request, digest, known)
  where x.known <> x.digest;
  insert into inbox.local_event (shard_id, event_id, event_type, key, payload, headers, occurred_at, deliver_at,
                                 source_id, source, subject, digest)
  select t.shard_id, x.id, x.type, x.key, x.payload, x.headers, x.occurred_at, x.deliver_at, x.source_id, x.source,
         x.subject, coalesce(x.digest, 0)
  from unnest(p_request, p_topic, p_id, p_digest, p_source_id, p_type, p_source, p_subject, p_key, p_payload,
              p_headers, p_occurred_at, p_deliver_at, v_known)
       with ordinality x(request, topic, id, digest, source_id, type, source, subject, key, payload, headers,
                         occurred_at, deliver_at, known, i)
  left join inbox.local_topic t on t.topic = x.topic  -- without a row the insert fails: the topic is not declared
  where x.known is null and x.request <> all (v_refused)
  order by x.i;
  return query
  select x.i::int, coalesce(x.known <> x.digest, false)
  from unnest(p_digest, v_known) with ordinality x(digest, known, i)
  where x.known is not null;
end
$$;
