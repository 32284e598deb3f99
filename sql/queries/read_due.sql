-- For a handler's low-water mark. No locks: leased and locked rows count too. Index: delivery_due.
-- The last column is above every transaction that is open now: pg_snapshot_xmax is not, it ends behind the newest that
-- has *completed*, and one that hangs in COMMIT may be newer. An id of our own is; it costs no flush.
select (select (extract(epoch from d.due_at) * 1000000)::bigint from inbox.delivery d
        where d.handler_id = $1::int
          and d.due_at >= coalesce('epoch'::timestamptz + $2::bigint * interval '1 us', '-infinity')
        order by d.due_at limit 1),
       (extract(epoch from statement_timestamp()) * 1000000)::bigint,
       pg_snapshot_xmin(pg_current_snapshot()), pg_current_xact_id()
