-- Frozen generations of the ledger, the newest first: number, key of the filter, blocks, and the parts of a whole
-- filter (0: none is stored), and the file of its table: VACUUM FULL moves its rows to another. A generation that is
-- dropped meanwhile is left out: its table has no size. No locks.
select g.generation, g.filter_key, t.bytes / current_setting('block_size')::int,
       coalesce((select max(f.parts) from inbox.ledger_filter f where f.filter_key = g.filter_key
                 having count(*) = max(f.parts)), 0),
       t.file
from inbox.ledger_generation g
cross join lateral (
  select pg_relation_size(c.oid) as bytes, pg_relation_filenode(c.oid)::bigint as file
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'inbox.ledger'::regclass and c.relname = 'ledger_g' || g.generation) t
where g.frozen_at is not null and t.bytes is not null and t.file is not null
order by g.generation desc
