-- The ledger: its generations, ids (estimated), bytes, bytes of indexes; seconds since the oldest generation began;
-- stored filters; the share of ids that are not in the order of time, in the first blocks of each generation (null: no
-- ids); shared_buffers; resends of 90 days, and the seconds within which 99.9 % of them came (null: none came); WAL a
-- second since the server's statistics were reset, the share of full pages in it, and the WAL between two checkpoints
-- by the server's settings; the most ids that the blocks of frozen generations hold. No locks.
with generation as (
  select g.generation, g.began_at, c.oid,
         -- As the planner does: rows of a page times today's pages; before the first analyze, of full pages.
         case when c.reltuples > 0 and c.relpages > 0 then c.reltuples / c.relpages else 107 end
           * pg_relation_size(c.oid) / current_setting('block_size')::int as ids,
         case when g.frozen_at is not null
              then 107 * pg_relation_size(c.oid) / current_setting('block_size')::int end as most_frozen_ids,
         pg_total_relation_size(c.oid) as bytes, pg_indexes_size(c.oid) as index_bytes
  from inbox.ledger_generation g
  join pg_inherits i on i.inhparent = 'inbox.ledger'::regclass
  join pg_class c on c.oid = i.inhrelid and c.relname = 'ledger_g' || g.generation),
resend as (
  select sum(r.resends) as resends, r.seconds, sum(sum(r.resends)) over (order by r.seconds) as until,
         sum(sum(r.resends)) over () as total
  from inbox.resend_age r group by r.seconds),
wal as (
  select w.wal_bytes / greatest(extract(epoch from statement_timestamp() - w.stats_reset), 1) as per_second,
         least(1, w.wal_fpi * current_setting('block_size')::numeric / nullif(w.wal_bytes, 0)) as full_pages,
         pg_size_bytes(current_setting('max_wal_size')) as most,
         extract(epoch from current_setting('checkpoint_timeout')::interval) as seconds
  from pg_stat_wal w)
select (select count(*) from generation), (select sum(ids)::bigint from generation),
       (select sum(bytes)::bigint from generation), (select sum(index_bytes)::bigint from generation),
       (select extract(epoch from statement_timestamp() - min(began_at))::bigint from generation),
       (select count(*) from inbox.ledger_filter f where f.part = 0),
       (select avg((substr(l.event_id::text, 15, 1) not in ('6', '7'))::int)::float8
        from inbox.ledger l where l.ctid < '(8,0)'::tid),
       pg_size_bytes(current_setting('shared_buffers')),
       coalesce((select max(total)::bigint from resend), 0),
       (select min(seconds) from resend where until >= 0.999 * total),
       wal.per_second::float8, coalesce(wal.full_pages, 0)::float8,
       least(wal.most / 2, wal.per_second * wal.seconds)::bigint,
       (select sum(most_frozen_ids)::bigint from generation)
from wal
