-- Deletes at most p_most unsent messages with a key, and the text of that key in stopped lanes. A relay that may have
-- read a deleted message from outbox loses its lease, and drops it. Returns how many. Locks: the relay's row, so that
-- it moves no message meanwhile; the messages, waiting messages in order of id; their lanes, in order. Reads all of
-- outbox and outbox_waiting.
create or replace function inbox.forget_messages(p_actor text, p_key bytea, p_most int) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' as $$
declare
  v_messages bigint;
begin
  -- A statement of its own: the next statement sees what the relay has moved until it let go of its row.
  perform from inbox.relay for update;
  with unsent as materialized (
    select o.outbox_id from inbox.outbox o where o.key = p_key order by o.outbox_id limit p_most),
  waiting as materialized (
    select w.outbox_id from inbox.outbox_waiting w
    where w.key = p_key and (select count(*) from unsent) >= 0 order by w.outbox_id limit p_most for update),
  gone as (
    delete from inbox.outbox o using unsent where o.outbox_id = unsent.outbox_id returning o.message_id),
  gone_waiting as (
    delete from inbox.outbox_waiting w using waiting where w.outbox_id = waiting.outbox_id
    returning w.message_id, w.outbox_id, w.lane),
  stopped as (
    update inbox.relay set owner = null, fence = 0, leased_until = null where exists (select from gone)),
  lanes as materialized (
    select l.lane, f.has_failed
    from inbox.outbox_lane l
    cross join lateral (
      select exists (select from gone_waiting y where y.outbox_id = l.failed_id) as has_failed) f
    where l.key = p_key or f.has_failed order by l.lane for update of l),
  unnamed as (
    update inbox.outbox_lane l
    set key = case when l.key is distinct from p_key then l.key end,
        due_at = case when g.has_failed then to_timestamp(0) else l.due_at end,
        failed_id = case when g.has_failed then null else l.failed_id end
    from lanes g where g.lane = l.lane),
  noted as (
    insert into inbox.audit (actor, operation, target, detail)
    select p_actor, 'events forget', 'a key',
           jsonb_build_object('messages', count(*), 'message_ids', jsonb_agg(m.message_id))
    from (select message_id from gone union all select message_id from gone_waiting) m having count(*) > 0)
  select (select count(*) from gone) + (select count(*) from gone_waiting) into v_messages;
  return v_messages;
end
$$;
