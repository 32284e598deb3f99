-- Rights that the daemon needs and the current role lacks, a row for each: `RIGHT on TABLE` or `execute on FUNCTION`.
-- No locks.
select w.privilege || ' on ' || w.name
from (values
  ('shard', 'select, insert, update'), ('position', 'select, insert, delete'), ('ledger', 'select, insert'),
  ('event', 'select, insert, delete'), ('delivery', 'select, insert, update, delete'), ('outcome', 'select, insert'),
  ('failure', 'select, insert'), ('dead_letter', 'select, insert, update, delete'),
  ('dead_letter_topic', 'select, insert, update, delete'), ('edit', 'select, insert, update, delete'),
  ('quarantine', 'select, insert, delete'), ('handler', 'select, insert, update'), ('routing', 'select, update'),
  ('sequence', 'select, insert, update, delete'), ('batch_window', 'select, insert, update, delete'),
  ('handler_limit', 'select, insert, update'), ('token_grant', 'select, insert, delete'),
  ('call_share', 'select, insert, delete'),
  ('backfill', 'select, insert, update, delete'), ('backfill_request', 'select, insert, update, delete'),
  ('backfill_range', 'select, insert, update, delete'), ('also_seen', 'select, insert, delete'),
  ('former_subscription', 'select, insert, delete'),
  ('instance', 'select, insert, update, delete'), ('unsubscribed', 'select, insert, update, delete'),
  ('outbox', 'select, insert, delete'),
  ('outbox_lane', 'select, insert, update, delete'), ('outbox_waiting', 'select, insert, update, delete'),
  ('local_topic', 'select, insert'), ('local_event', 'select, delete'), ('local_reader', 'select, update'),
  ('ingest_right', 'select, update'),
  ('relay', 'select, update'), ('ledger_trim', 'select, update'),
  ('ledger_generation', 'select'), ('ledger_filter', 'select, insert, delete'),
  ('resend_age', 'select, insert, update'),
  ('topic_start', 'select, insert'), ('reading', 'select, insert, update, delete'), ('audit', 'insert'),
  ('migration', 'select'), ('repeatable_migration', 'select')) t(name, privileges)
cross join lateral unnest(string_to_array(t.privileges, ', ')) p(privilege)
cross join lateral (select p.privilege, t.name) w
where not has_table_privilege('inbox.' || t.name, p.privilege)
union all
select 'update (' || c.columns || ') on ' || c.name
from (values
  ('ledger', 'received_at'), ('event', 'key, payload, decoded, headers, subject, source_id, forgotten_at'),
  ('failure', 'message'), ('local_topic', 'payload_limit'), ('local_topic', 'deliver_at_limit'),
  ('quarantine', 'reason, detail, event_id, key, payload, headers, forgotten_at')) c(name, columns)
where exists (select from unnest(string_to_array(c.columns, ', ')) x(name)
              where not has_column_privilege('inbox.' || c.name, x.name, 'update'))
union all
select 'execute on ' || f.proname from pg_proc f
where f.pronamespace = (select c.relnamespace from pg_class c where c.oid = 'inbox.routing'::regclass)
  and not has_function_privilege(f.oid, 'execute')
order by 1
