-- What handlers that write in the transaction that settles see and need: events as a relation, rows of their own for
-- each worker, and the answer to what a handler left in the session.

-- An event as statements and functions of an application see it. Only ever grows at its end.
create type inbox.message as (
  event_id    uuid,
  source_id   text,
  topic       text,
  partition   int,
  "offset"    bigint,
  event_type  text,
  source      text,
  subject     text,
  key         text,
  payload     bytea,
  body        jsonb,
  headers     jsonb,
  occurred_at timestamptz,
  received_at timestamptz,
  attempt     int
);

-- Bytes as text, or null where they are no text of this database. Keys are mostly plain ASCII, and that is seen without
-- a subtransaction. Its body is read now: under the role that handlers run under, nothing of this schema can be named.
create function inbox.text_or_null(raw bytea) returns text language plpgsql immutable strict as $$
begin
  return convert_from(raw, 'UTF8');
exception when others then
  return null;
end
$$;
create function inbox.key_of(raw bytea) returns text language sql immutable
return case when strpos(encode(raw, 'escape'), '\') = 0 then encode(raw, 'escape') else inbox.text_or_null(raw) end;

-- A payload as jsonb, or null where PostgreSQL does not take it: no JSON, \u0000, lone surrogates, numbers or depths
-- beyond its limits. Never an error.
create function inbox.body_of(payload bytea) returns jsonb language plpgsql immutable strict as $$
begin
  return convert_from(payload, 'UTF8')::jsonb;
exception when others then
  return null;
end
$$;

-- The events of a call, read where they are, by ranges [first, end) of a shard. Owned by the owner of the schema, so
-- that the role that handlers run under needs no right on it: it can run this only through a statement of the
-- daemon's, since it cannot name it. p_from and p_to are when they were received: other days are left out before the
-- plan is opened. Raw columns: what has to be made of them is made by the statement that asks, and only if it does.
-- The settings: a plan that is made while a day's partition is small is kept.
create function inbox.call_events(
  p_shard int[], p_first bigint[], p_end bigint[], p_from timestamptz, p_to timestamptz, p_attempt int[])
returns table (event_id uuid, source_id text, topic text, partition int, "offset" bigint, event_type text, source text,
               subject text, key bytea, payload bytea, headers bytea, occurred_at timestamptz,
               received_at timestamptz, attempt int)
language plpgsql stable security definer rows 100
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off
as $$
begin
  return query
  select e.event_id, e.source_id, s.topic, s.partition, e."offset", e.event_type, e.source, e.subject, e.key, e.payload,
         e.headers, e.occurred_at, e.received_at, p_attempt[i]
  from generate_series(1, cardinality(p_shard)) i
  join inbox.shard s on s.shard_id = p_shard[i]
  cross join lateral (
    select e.* from inbox.event e
    where e.shard_id = p_shard[i] and e."offset" >= p_first[i] and e."offset" < p_end[i]
      and e.received_at >= p_from and e.received_at <= p_to
    order by e."offset") e;
end
$$;

-- Ends a transaction that settles unless all of it was settled: a lease was lost.
create function inbox.demand(p_settled bigint, p_wanted bigint) returns bigint language plpgsql as $$
begin
  if p_settled <> p_wanted then
    raise exception 'leases were lost: % of % deliveries are settled', p_settled, p_wanted using errcode = 'IL001';
  end if;
  return p_settled;
end
$$;

-- Cuts leased deliveries into pieces of at most p_size events, each a row of its own under the same lease, so that no
-- two open transactions settle the same row. Returns every piece of those that were cut, the first being the old row.
create function inbox.slice(p_owner uuid, p_fence bigint, p_ids bigint[], p_size int)
returns table (parent bigint, delivery_id bigint, pending text)
language plpgsql set lock_timeout = '10s' as $$
#variable_conflict use_column
declare
  d inbox.delivery;
  v_left int8multirange;
  v_piece int8multirange;
begin
  for d in
    select * from inbox.delivery x
    where x.delivery_id = any (p_ids) and x.fence = p_fence and x.owner = p_owner and x.events > p_size
    order by x.delivery_id for update
  loop
    v_piece := inbox.first_of(d.pending, p_size);
    v_left := d.pending - v_piece;
    update inbox.delivery x set pending = v_piece, events = p_size where x.delivery_id = d.delivery_id;
    parent := d.delivery_id; delivery_id := d.delivery_id; pending := v_piece::text;
    return next;
    while not isempty(v_left) loop
      v_piece := inbox.first_of(v_left, p_size);
      v_left := v_left - v_piece;
      insert into inbox.delivery as x (handler_id, shard_id, pending, events, lane, attempts, claims, fence, owner,
                                       due_at, expires_at, received_from, received_to, last_error)
      values (d.handler_id, d.shard_id, v_piece, inbox.count_of(v_piece), d.lane, d.attempts, d.claims, d.fence,
              d.owner, d.due_at, d.expires_at, d.received_from, d.received_to, d.last_error)
      returning x.delivery_id into delivery_id;
      pending := v_piece::text;
      return next;
    end loop;
  end loop;
end
$$;

-- What a handler did to its session that its transaction does not take along, before COMMIT: session advisory locks
-- (given back here) and cursors WITH HOLD. Null: nothing. Asked with the daemon's rights while the session has whatever
-- search path the handler has set: hence its own.
create function inbox.session_held() returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_locks int;
  v_cursors text;
begin
  -- Only what the session holds (not the transaction) can be unlocked: that is how they are told apart.
  with mine as materialized (
    select l.classid, l.objid, l.objsubid, l.mode from pg_catalog.pg_locks l
    where l.locktype = 'advisory' and l.pid = pg_catalog.pg_backend_pid() and l.granted)
  select count(*) into v_locks from mine
  where case
    when objsubid = 1 and mode = 'ExclusiveLock' then pg_advisory_unlock((classid::bigint << 32) | objid::bigint)
    when objsubid = 1 then pg_advisory_unlock_shared((classid::bigint << 32) | objid::bigint)
    when mode = 'ExclusiveLock' then pg_advisory_unlock(classid::int, objid::int)
    else pg_advisory_unlock_shared(classid::int, objid::int) end;
  if v_locks > 0 then
    return 'took a session advisory lock; use pg_advisory_xact_lock, which ends with the transaction';
  end if;
  select string_agg(c.name, ', ') into v_cursors from pg_catalog.pg_cursors c where c.is_holdable;
  if v_cursors is not null then
    return 'opened the cursor ' || v_cursors || ' WITH HOLD; declare it without';
  end if;
  return null;
end
$$;

-- The same after COMMIT, where it shows what outlived the transaction: settings, temporary tables, LISTEN, cursors. It
-- is all undone; the answer says what there was. p_ours: settings that are the daemon's own; p_path: the search path
-- outside.
create function inbox.session_left(p_ours text[], p_path text) returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  v_found text := '';
  v_name text;
begin
  for v_name in
    select s.name from pg_catalog.pg_settings s
    where s.source = 'session' and not s.name = any (p_ours)
      and case s.name when 'search_path' then p_path else s.setting end is distinct from s.reset_val
  loop
    v_found := v_found || ', changed the setting ' || v_name || ' for the session';
    if v_name <> 'search_path' then
      execute format('reset %I', v_name);
    end if;
  end loop;
  for v_name in
    select c.relname from pg_catalog.pg_class c
    where pg_my_temp_schema() <> 0 and c.relnamespace = pg_my_temp_schema() and c.relkind in ('r', 'v', 'S', 'm')
  loop
    v_found := v_found || ', left the temporary relation ' || v_name;
  end loop;
  if strpos(v_found, 'temporary') > 0 then
    execute 'discard temp';
  end if;
  for v_name in select pg_listening_channels() loop
    v_found := v_found || ', listens to ' || v_name;
  end loop;
  if strpos(v_found, 'listens') > 0 then
    execute 'unlisten *';
  end if;
  for v_name in select c.name from pg_catalog.pg_cursors c where c.is_holdable loop
    v_found := v_found || ', left the cursor ' || v_name || ' open';
    execute format('close %I', v_name);
  end loop;
  v_found := nullif(substr(v_found, 3), '');
  execute 'reset search_path';  -- outlives this function, and its own setting
  return v_found;
end
$$;
