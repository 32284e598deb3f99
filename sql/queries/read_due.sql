-- For a handler's low-water mark. No locks: leased and locked rows count too. Events that wait in a sequence are never
-- due. Index: delivery_due.
--
-- The fourth column is above every open transaction. pg_snapshot_xmax is not: it follows the newest *completed*
-- transaction, and a transaction that hangs in COMMIT may be newer. An id of our own is above all, and costs no flush.
--
-- The fifth, if $3: the oldest transaction that creates deliveries and was open after this reading, found by its lock
-- on the table; 0 if a transaction has no id yet, the fourth column if there is none. The lock table has 32 bits of an
-- id.
with mine as materialized (
  select pg_current_xact_id()::text::bigint as id),
held as materialized (
  select l.locktype, l.database, l.relation, l.mode, l.granted, l.virtualtransaction, l.transactionid
  from pg_locks l where $3::boolean and l.locktype in ('relation', 'transactionid'))
select (select (extract(epoch from d.due_at) * 1000000)::bigint from inbox.delivery d
        where d.handler_id = $1::int
          and d.due_at >= coalesce('epoch'::timestamptz + $2::bigint * interval '1 us', '-infinity')
          and d.due_at < 'infinity'
        order by d.due_at limit 1),
       (extract(epoch from statement_timestamp()) * 1000000)::bigint,
       pg_snapshot_xmin(pg_current_snapshot()), mine.id,
       case when $3 then coalesce(
         (select min(coalesce(
                   -- Within 2^31 of ours, before it or (begun since) after it.
                   mine.id - 2147483648
                     + (x.transactionid::text::bigint - mine.id % 4294967296 + 6442450944) % 4294967296, 0))
          from held d
          left join held x
            on x.virtualtransaction = d.virtualtransaction and x.locktype = 'transactionid' and x.mode = 'ExclusiveLock'
               and x.granted
          where d.relation = 'inbox.delivery'::regclass and d.mode = 'RowExclusiveLock' and d.granted
            and d.database = (select oid from pg_database where datname = current_database())), mine.id) end
from mine
