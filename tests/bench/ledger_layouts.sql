-- Compares layouts of the ledger. Inserts :ids new random ids in transactions of 1,000 into a table that holds :known
-- ids: one B-tree, against a current generation of at most :generation ids beside one or four frozen generations that
-- each batch looks up. Then deletes half of the ids in bites of 512 blocks, as inbox.trim_ledger does, and drops a
-- generation. Prints ids per second, bytes of WAL per id, seconds. Makes and drops schema ledger_layouts.
--
--   psql -X -q -v known=10000000 -v ids=1000000 -v generation=2000000 -f tests/bench/ledger_layouts.sql \
--        "$INBOXD_TEST_PG"
\set ON_ERROR_STOP on
set client_min_messages = warning;
drop schema if exists ledger_layouts cascade;
create schema ledger_layouts;
set search_path = ledger_layouts, pg_catalog;

create table figure (place serial, what text, per_second int, wal_per_id int, seconds numeric(9, 1));

create procedure new_ledger(p_name text, p_ids bigint) language plpgsql as $$
begin
  execute format('create table %I (event_id uuid, shard_id int not null, "offset" bigint not null, '
                 'digest bigint not null, received_at timestamptz not null)', p_name);
  -- The older half first, as if stored by time.
  execute format('insert into %I select gen_random_uuid(), 1, i, i, now() - case when i <= %2$s / 2 then interval '
                 '''40 days'' else interval ''1 day'' end from generate_series(1, %2$s) i', p_name, p_ids);
  -- Pages of a B-tree with random keys are 70 % full.
  execute format('alter table %I add primary key (event_id) with (fillfactor = 70)', p_name);
end $$;

create procedure insert_ids(p_what text, p_ids int, p_current text, p_frozen text[]) language plpgsql as $$
declare
  v_ids uuid[];
  v_known bigint;
  v_name text;
  v_lsn pg_lsn := pg_current_wal_insert_lsn();
  v_began timestamptz := clock_timestamp();
begin
  for i in 1 .. p_ids / 1000 loop
    select array_agg(x order by x) into v_ids
    from (select gen_random_uuid() as x from generate_series(1, 1000)) n;
    foreach v_name in array p_frozen loop
      execute format('select count(*) from %I where event_id = any ($1)', v_name) into v_known using v_ids;
    end loop;
    execute format('insert into %I select x, 1, 1, 1, now() from unnest($1) x', p_current) using v_ids;
    commit;
  end loop;
  insert into figure (what, per_second, wal_per_id, seconds)
  select p_what, p_ids / s, (pg_current_wal_insert_lsn() - v_lsn) / p_ids, s
  from (select extract(epoch from clock_timestamp() - v_began) as s) t;
end $$;

create procedure delete_old(p_what text, p_name text) language plpgsql as $$
declare
  v_lsn pg_lsn := pg_current_wal_insert_lsn();
  v_began timestamptz := clock_timestamp();
  v_rows bigint := 0;
  v_bite bigint;
begin
  for i in 0 .. (pg_relation_size(p_name) / 8192 / 512)::int loop
    execute format('delete from %I where ctid >= ''(%s,0)'' and ctid < ''(%s,0)'' and received_at < now() - interval '
                   '''30 days''', p_name, i * 512, (i + 1) * 512);
    get diagnostics v_bite = row_count;
    v_rows := v_rows + v_bite;
    commit;
  end loop;
  insert into figure (what, per_second, wal_per_id, seconds)
  select p_what, v_rows / s, (pg_current_wal_insert_lsn() - v_lsn) / v_rows, s
  from (select extract(epoch from clock_timestamp() - v_began) as s) t;
end $$;

call new_ledger('empty', 0);
checkpoint;
call insert_ids('one B-tree, empty before', :ids, 'empty', '{}');

call new_ledger('known', :known);
vacuum analyze known;
checkpoint;
call insert_ids('one B-tree of :known', :ids, 'known', '{}');

call new_ledger('current_one', :generation / 2);
vacuum analyze current_one;
checkpoint;
call insert_ids('a current generation beside one frozen of :known', :ids, 'current_one', '{known}');

call new_ledger('frozen_1', :known / 4);
call new_ledger('frozen_2', :known / 4);
call new_ledger('frozen_3', :known / 4);
call new_ledger('frozen_4', :known / 4);
vacuum analyze;
checkpoint;
call insert_ids('a current generation beside four frozen of a quarter', :ids, 'current_one',
                '{frozen_1,frozen_2,frozen_3,frozen_4}');

checkpoint;
call delete_old('half of one B-tree deleted in bites', 'known');
\timing on
vacuum known;
drop table frozen_1;
\timing off
select what, per_second, wal_per_id, seconds from figure order by place;
drop schema ledger_layouts cascade;
