-- Logs the row changes of each inbox that is created from now on, and the arguments of settle, for the test
-- integration_traces. A change is logged while its transaction holds the row's lock, so conflicting changes have the
-- order of their commits.
create schema model;
create table model.change (
  step bigint generated always as identity, inbox text, xid text default pg_current_xact_id()::text,
  at timestamptz default clock_timestamp(),
  by_inbox boolean default (current_setting('application_name') like 'inboxd%'),
  relation text, before jsonb, after jsonb);

create function model.note() returns trigger language plpgsql as $$
begin
  insert into model.change (inbox, relation, before, after)
  values (tg_table_schema, tg_argv[0], case when tg_op <> 'INSERT' then to_jsonb(old) end,
          case when tg_op <> 'DELETE' then to_jsonb(new) end);
  return null;
end
$$;

create function model.watch() returns event_trigger language plpgsql as $$
declare
  x record;
  v_names text;
begin
  for x in select d.schema_name, c.relname, c.oid::regclass as place
           from pg_event_trigger_ddl_commands() d join pg_class c on c.oid = d.objid
           where d.command_tag = 'CREATE TABLE' and not c.relispartition and c.relname in
             ('handler', 'routing', 'position', 'sequence', 'delivery', 'outcome', 'dead_letter')
  loop
    execute format('create trigger note after insert or update or delete on %s for each row
                    execute function model.note(%L)', x.place, x.relname);
  end loop;
  for x in select d.schema_name, p.oid, p.oid::regprocedure as place, p.proargnames
           from pg_event_trigger_ddl_commands() d join pg_proc p on p.oid = d.objid
           where d.command_tag = 'CREATE FUNCTION' and p.proname = 'settle'
             and to_regproc(d.schema_name || '.settle_as_is') is null
  loop
    execute format('alter function %s rename to settle_as_is', x.place);
    v_names := array_to_string(x.proargnames, ', ');
    execute regexp_replace(replace(pg_get_functiondef(x.oid), '.settle_as_is(', '.settle('), 'AS \$function\$.*', '')
      || format('as $body$ begin
           insert into model.change (inbox, relation, after) values (%L, ''settle'', jsonb_build_object(
             ''owner'', p_owner, ''id'', d_id, ''fence'', d_fence, ''settled'', d_settled));
           return %I.settle_as_is(%s); end $body$', x.schema_name, x.schema_name, v_names);
  end loop;
end
$$;
create event trigger model_watch on ddl_command_end when tag in ('CREATE TABLE', 'CREATE FUNCTION')
  execute function model.watch();
