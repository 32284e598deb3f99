-- Frozen generations of the ledger, the newest first: number, key of the filter, blocks, and the parts of a whole
-- filter (0: none is stored), and the file of its table: VACUUM FULL moves its rows to another. No locks.
select g.generation, g.filter_key,
       pg_relation_size(format('inbox.ledger_g%s', g.generation)::regclass) / current_setting('block_size')::int,
       coalesce((select max(f.parts) from inbox.ledger_filter f where f.filter_key = g.filter_key
                 having count(*) = max(f.parts)), 0),
       pg_relation_filenode(format('inbox.ledger_g%s', g.generation)::regclass)::bigint
from inbox.ledger_generation g where g.frozen_at is not null order by g.generation desc
