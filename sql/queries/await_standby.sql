-- When this is committed the synchronous standby has all that this session has seen: a transaction that writes nothing
-- would not wait for it. Where there is no such standby nothing is written. No locks.
select case when current_setting('synchronous_standby_names') <> '' then pg_logical_emit_message(true, 'inboxd', '') end
