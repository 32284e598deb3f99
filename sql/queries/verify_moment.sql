-- Bounds of what `inboxd verify` can check: the database's time; the start of the oldest day of events and of
-- outcomes; the time since which the ledger has all ids (0: always); the newest dead letter that was deleted by
-- retention (null: none); the first start of a topic (microseconds since 1970, null: none); the newest delivery; the
-- blocks of the largest generation of the ledger; whether this role may read payloads; the server process, the database
-- and the table of positions. A failover or a restore changes the latter; a copy of the database keeps the number of
-- the table. No locks.
select (extract(epoch from statement_timestamp()) * 1000000)::bigint,
       (select (extract(epoch from min(to_date(right(c.relname, 8), 'YYYYMMDD'))) * 1000000)::bigint
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'inbox.event'::regclass and c.relname ~ '^event_[0-9]{8}$'),
       (select (extract(epoch from min(to_date(right(c.relname, 8), 'YYYYMMDD'))) * 1000000)::bigint
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'inbox.outcome'::regclass and c.relname ~ '^outcome_[0-9]{8}$'),
       (select (extract(epoch from coalesce(t.forgotten_before, 'epoch')) * 1000000)::bigint from inbox.ledger_trim t),
       (select (extract(epoch from t.dead_letters_before) * 1000000)::bigint from inbox.ledger_trim t),
       (select (extract(epoch from min(t.started_at)) * 1000000)::bigint from inbox.topic_start t),
       (select coalesce(max(d.delivery_id), 0) from inbox.delivery d),
       (select max(pg_relation_size(i.inhrelid)) / current_setting('block_size')::int from pg_inherits i
        where i.inhparent = 'inbox.ledger'::regclass),
       has_column_privilege('inbox.event', 'payload', 'select'),
       extract(epoch from pg_postmaster_start_time())::text
         || ' ' || (select d.oid from pg_database d where d.datname = current_database())
         || ' ' || 'inbox.position'::regclass::oid
