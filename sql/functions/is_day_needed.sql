-- Whether the day of events that ends at p_end has to stay whole: a backfill is left, or its pending events are more
-- than inbox.drop_partition moves to event_kept under its locks: 10,000, or about 32 MiB, or event_kept has 256 MiB.
-- event_kept has no events later than a day, so the pending events of a day wait for the events of earlier days. No
-- locks. Reads all of delivery.
create or replace function inbox.is_day_needed(p_end timestamptz) returns boolean language sql stable
return exists (select from inbox.backfill) or (
  select p.events > 0
         and (p.events > 10000
              or least(p.events / greatest(c.reltuples, 1), 1) * pg_table_size(c.oid) > 33554432
              or pg_table_size('inbox.event_kept') > 268435456
              or exists (
                select from pg_inherits i join pg_class earlier on earlier.oid = i.inhrelid
                where i.inhparent = 'inbox.event'::regclass and earlier.relname < c.relname
                  and earlier.relname ~ '^event_[0-9]{8}$'))
  from (
    select coalesce(sum(d.events), 0) as events from inbox.delivery d
    where d.received_from < p_end and d.received_to >= p_end - interval '1 day') p,
    (select n.oid, n.relname, n.reltuples from pg_class n
     where n.oid = to_regclass('inbox.event_' || to_char(p_end at time zone 'UTC' - interval '1 day', 'YYYYMMDD'))) c);
