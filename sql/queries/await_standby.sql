-- After COMMIT the synchronous standby has everything that this session has read: a transaction that writes nothing
-- would not wait for it. Writes nothing if there is no such standby. No locks.
select case when current_setting('synchronous_standby_names') <> '' then pg_logical_emit_message(true, 'inboxd', '') end
