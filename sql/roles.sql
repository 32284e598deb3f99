-- Separate roles. Run by a superuser or the database's owner:
--
--   psql -v schema=inbox -v owner=inbox_owner -v ingest=inbox_ingest -v worker=inbox_worker -v reader=inbox_reader \
--        -v monitor=inbox_monitor -v publisher=inbox_publisher -v enqueuer=inbox_enqueuer -f sql/roles.sql DATABASE
--
-- Run it once before the first migration: it creates the schema, which an owner without rights on the database cannot.
-- Run it again after each migration to grant rights on new objects. Applying functions and views again keeps their
-- grants.
-- * owner owns everything. The login that runs `inboxd migrate` is a member of it and starts as it, so that owner owns
--   new objects: grant inbox_owner to migrator; alter role migrator set role = 'inbox_owner'.
-- * ingest and worker are granted to the daemon's login, both if a single process does all.
-- * reader reads everything and changes nothing.
-- * monitor reads everything but payloads, keys, headers, subjects, fences and messages of errors, and changes nothing.
-- * publisher may call inbox.publish and nothing else: grant it to the application's role, and to
--   database.handler_role.
-- * enqueuer may call inbox.enqueue and inbox.enqueue_batch and nothing else: grant it to the application's role, and
--   to database.handler_role if handlers enqueue.
--
-- Functions that run with their owner's rights and create or drop day partitions are for ingest and worker only. The
-- functions of relation `events` in a handler's statement are for everybody: they run under database.handler_role,
-- which needs no right here, and give events only to the daemon, which knows the fence of their lease. Grant that role
-- to the daemon's login.
\set ON_ERROR_STOP on
begin;
-- A superuser may run this: no function from a schema of the usual path is called.
set local search_path = pg_catalog, pg_temp;

select format('create role %I nologin', name)
from unnest(array[:'owner', :'ingest', :'worker', :'reader', :'monitor', :'publisher', :'enqueuer']) name
where not exists (select from pg_roles where rolname = name) \gexec

create schema if not exists :"schema" authorization :"owner";
grant usage on schema :"schema" to :"ingest", :"worker", :"reader", :"monitor", :"publisher", :"enqueuer";

-- All three read everything. Rights to write are revoked first; the table below lists all of them.
grant select on all tables in schema :"schema" to :"ingest", :"worker", :"reader";
revoke insert, update, delete, truncate, references, trigger on all tables in schema :"schema"
from :"ingest", :"worker", :"reader";
-- Filters begin with their secret key: who knows it may choose ids that all filters take for known.
select format(v.statement, :'schema', :'reader')
from (values ('revoke select on %1$I.ledger_filter from %2$I'),
             ('grant select (part, parts, digest) on %1$I.ledger_filter to %2$I')) v(statement)
where exists (
  select from pg_class c where c.relnamespace = (:'schema')::regnamespace and c.relname = 'ledger_filter') \gexec
revoke all on all tables in schema :"schema" from :"monitor", :"publisher", :"enqueuer";
revoke all on all sequences in schema :"schema"
from :"ingest", :"worker", :"reader", :"monitor", :"publisher", :"enqueuer";

-- monitor: all columns except content of events. source_id may be a key; reasons and errors may quote payloads; with a
-- fence, call_events would give the events of a call.
-- Days of partitioned tables are read through their table.
select format('grant select (%s) on %I.%I to %I', string_agg(quote_ident(a.attname), ', ' order by a.attnum), :'schema',
              c.relname, :'monitor')
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = (:'schema')::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
  and a.attname not in ('key', 'key_text', 'order_key', 'payload', 'decoded', 'headers', 'subject', 'source_id',
                        'message', 'last_error', 'error', 'reasons', 'detail', 'notes', 'paused_reason', 'fence',
                        'filter_key', 'bits')
group by c.relname \gexec

-- ingest stores, routes, registers handlers and accepts gaps. worker claims, settles, maintains, replays, discards and
-- retires handlers. `quarantine retry` needs both. A right to update a column serves row locks, which require it; in
-- quarantine, a retry writes the reason why a record stays. `events forget` erases the content of events and records.
-- audit is append-only.
select format('grant %s on %I.%I to %I', g.rights, :'schema', t.name, g.role)
from (values
  --                      ingest                                 worker
  ('shard',               'insert, update',                      ''),
  ('topic_start',         'insert',                              ''),
  ('reading',             'insert, update',                      'delete'),
  ('position',            'insert',                              'delete'),
  ('ledger',              'insert, update (received_at)',        'update (received_at)'),
  ('ledger_trim',         '',                                    'update'),
  ('ledger_filter',       '',                                    'insert, delete'),
  ('resend_age',          '',                                    'insert, update, delete'),
  ('also_seen',           'insert',                              'delete'),
  ('event',               'insert',                              'insert, delete, '
                          'update (key, payload, decoded, headers, subject, source_id, forgotten_at)'),
  ('quarantine',          'insert',                              'update (reason, detail, event_id, key, payload, '
                          'headers, forgotten_at), delete'),
  ('routing',             'update',                              'update'),
  ('handler',             'insert, update',                      'update'),
  ('former_subscription', 'insert',                              'delete'),
  ('backfill',            'insert, delete',                      'update, delete'),
  ('backfill_request',    'delete',                              'insert, update, delete'),
  ('backfill_range',      '',                                    'insert, update, delete'),
  ('sequence',            'update (wanted_by), delete',          'insert, update'),
  ('batch_window',        'delete',                              'insert, update'),
  ('handler_limit',       '',                                    'insert, update'),
  ('token_grant',         '',                                    'insert, delete'),
  ('call_share',          '',                                    'insert, delete'),
  ('delivery',            'insert, update (last_error, sequence, ordinal, lane, group_key, owner, fence, due_at), '
                          'delete',                              'insert, update, delete'),
  ('outcome',             '',                                    'insert'),
  ('failure',             '',                                    'insert, update (message)'),
  ('dead_letter',         'update (parks, sequence, lane)',      'insert, update, delete'),
  ('dead_letter_topic',   'insert, update, delete',              ''),
  ('edit',                '',                                    'insert, update, delete'),
  ('instance',            'insert, update',                      'insert, update, delete'),
  ('unsubscribed',        '',                                    'insert, update, delete'),
  ('outbox',              '',                                    'insert, delete'),
  ('outbox_lane',         '',                                    'insert, update, delete'),
  ('outbox_waiting',      '',                                    'insert, update, delete'),
  ('relay',               '',                                    'update'),
  ('local_topic',         'insert, update (payload_limit, deliver_at_limit, id_decides)', ''),
  ('local_event',         'insert, delete',                      ''),
  ('local_reader',        'update',                              ''),
  ('ingest_right',        'update',                              ''),
  ('audit',               'insert',                              'insert')) t(name, ingest, worker)
cross join lateral (values (:'ingest', t.ingest), (:'worker', t.worker)) g(role, rights)
where g.rights <> '' and to_regclass(format('%I.%I', :'schema', t.name)) is not null \gexec

-- inbox.ingest draws the ids of deliveries itself.
select format('grant usage on sequence %I.delivery_delivery_id_seq to %I', :'schema', :'ingest')
where to_regclass(format('%I.delivery_delivery_id_seq', :'schema')) is not null \gexec

select format('grant execute on all functions in schema %I to %I', :'schema', :'worker') \gexec
select format('revoke execute on function %s from public, %I', f.oid::regprocedure, :'reader')
from pg_proc f where f.pronamespace = (:'schema')::regnamespace and f.prosecdef \gexec
select format('grant execute on function %s to %I', f.oid::regprocedure, :'ingest')
from pg_proc f
where f.pronamespace = (:'schema')::regnamespace and (not f.prosecdef or f.proname = 'make_partitions') \gexec
-- The functions of relation `events` in a handler's statement.
select format('grant execute on function %s to public', f.oid::regprocedure)
from pg_proc f
where f.pronamespace = (:'schema')::regnamespace
  and f.proname in ('call_events', 'headers_of', 'key_of', 'text_or_null', 'body_of', 'unwrapped') \gexec
select format('grant execute on function %s to %I', f.oid::regprocedure, :'publisher')
from pg_proc f where f.pronamespace = (:'schema')::regnamespace and f.proname in ('publish', 'message_id') \gexec
select format('grant execute on function %s to %I', f.oid::regprocedure, :'enqueuer')
from pg_proc f
where f.pronamespace = (:'schema')::regnamespace and f.proname in ('enqueue', 'enqueue_batch') \gexec
-- The functions that views call.
select format('grant execute on function %s to %I, %I', f.oid::regprocedure, :'reader', :'monitor')
from pg_proc f where f.pronamespace = (:'schema')::regnamespace and f.provolatile = 'i' \gexec

commit;
