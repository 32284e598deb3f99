-- Raises an error unless the transaction is READ COMMITTED. Callers wait for a lock and must then see rows that others
-- committed meanwhile: new handlers, stored ids, days in use. The daemon's sessions set this level, unless a pooler
-- refuses session options. No locks.
create or replace function inbox.require_read_committed() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'transactions of role % are %, inboxd needs read committed: '
                    'alter role % set default_transaction_isolation = ''read committed''',
                    quote_ident(session_user), current_setting('transaction_isolation'), quote_ident(session_user)
      using errcode = 'invalid_transaction_state';
  end if;
end
$$;
