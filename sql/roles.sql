-- Roles for those who separate them. Run by a superuser or the database's owner:
--
--   psql -v schema=inbox -v owner=inbox_owner -v ingest=inbox_ingest -v worker=inbox_worker -v reader=inbox_reader \
--        -f sql/roles.sql DATABASE
--
-- owner owns everything; whoever runs `inboxd migrate` is a member of it and works as it from the first moment, or what
-- is made would be theirs: grant inbox_owner to migrator; alter role migrator set role = 'inbox_owner'. Run this once
-- before the first migration: it makes the schema, which an owner without rights on the database may not. ingest and
-- worker are granted to the daemon's login (both, where one process does all); reader sees everything and changes
-- nothing. Run it again after each migration: it grants what is new. Functions that do what their owner may (they make
-- and drop day partitions) are for ingest and worker alone. What a handler's statement runs to see its events is for
-- everybody: it runs under database.handler_role, which needs no right here, and cannot name a function of a schema
-- that it may not use. That role is to be granted to the daemon's login.
\set ON_ERROR_STOP on

select format('create role %I nologin', name) from unnest(array[:'owner', :'ingest', :'worker', :'reader']) name
where not exists (select from pg_roles where rolname = name) \gexec

create schema if not exists :"schema" authorization :"owner";
grant usage on schema :"schema" to :"ingest", :"worker", :"reader";

-- Ingest stores; it routes by reading handlers, and registers them.
grant select on all tables in schema :"schema" to :"ingest", :"worker", :"reader";
select format('grant insert, update on %I.%I to %I', :'schema', name, :'ingest')
from unnest(array['shard', 'position', 'handler', 'routing', 'backfill', 'instance', 'also_seen']) name
where to_regclass(format('%I.%I', :'schema', name)) is not null \gexec
select format('grant insert on %I.%I to %I', :'schema', name, :'ingest')
from unnest(array['ledger', 'event', 'delivery', 'quarantine', 'topic_start', 'audit',
                  'former_subscription']) name
where to_regclass(format('%I.%I', :'schema', name)) is not null \gexec
-- An id that comes again may be owed to a handler that has a dead letter of it from a former life, which goes then.
select format('grant delete on %I.dead_letter to %I', :'schema', :'ingest')
where to_regclass(format('%I.dead_letter', :'schema')) is not null \gexec
-- To lock a row of the ledger takes the right to update a column of it; none is ever updated.
select format('grant update (received_at) on %I.ledger to %I', :'schema', :'ingest')
where to_regclass(format('%I.ledger', :'schema')) is not null \gexec

-- Workers claim, settle and keep house.
select format('grant insert, update, delete on %I.%I to %I', :'schema', name, :'worker')
from unnest(array['delivery', 'outcome', 'failure', 'dead_letter', 'quarantine', 'backfill', 'instance', 'ledger',
                  'position', 'audit', 'event', 'handler', 'also_seen', 'former_subscription',
                  'carried_over']) name
where to_regclass(format('%I.%I', :'schema', name)) is not null \gexec
select format('grant update on %I.ledger_trim to %I', :'schema', :'worker')
where to_regclass(format('%I.ledger_trim', :'schema')) is not null \gexec

select format('grant usage on all sequences in schema %I to %I, %I', :'schema', :'ingest', :'worker') \gexec
select format('grant execute on all functions in schema %I to %I', :'schema', :'worker') \gexec
select format('revoke execute on function %s from public, %I', f.oid::regprocedure, :'reader')
from pg_proc f where f.pronamespace = (:'schema')::regnamespace and f.prosecdef \gexec
select format('grant execute on function %s to %I', f.oid::regprocedure, :'ingest')
from pg_proc f
where f.pronamespace = (:'schema')::regnamespace and (not f.prosecdef or f.proname = 'make_partitions') \gexec
-- What relation events of a handler's statement calls.
select format('grant execute on function %s to public', f.oid::regprocedure)
from pg_proc f
where f.pronamespace = (:'schema')::regnamespace
  and f.proname in ('call_events', 'headers_of', 'key_of', 'text_or_null', 'body_of') \gexec
-- What the views call.
select format('grant execute on function %s to %I', f.oid::regprocedure, :'reader')
from pg_proc f where f.pronamespace = (:'schema')::regnamespace and f.provolatile = 'i' \gexec
