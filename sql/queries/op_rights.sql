-- Rights that the daemon needs and the current role lacks: one `RIGHT on TABLE` a row. No locks.
select w.privilege || ' on ' || w.name
from (values
  ('shard', 'select, insert, update'), ('position', 'select, insert'), ('ledger', 'select, insert'),
  ('event', 'select, insert'), ('delivery', 'select, insert, update, delete'), ('outcome', 'select, insert'),
  ('failure', 'select, insert'), ('dead_letter', 'select, insert, update'), ('quarantine', 'select, insert'),
  ('handler', 'select, insert, update'), ('routing', 'select, update'),
  ('backfill', 'select, insert, update, delete'), ('also_seen', 'select, insert'),
  ('instance', 'select, insert, update'), ('topic_start', 'select, insert')) t(name, privileges)
cross join lateral unnest(string_to_array(t.privileges, ', ')) p(privilege)
cross join lateral (select p.privilege, t.name) w
where not has_table_privilege('inbox.' || t.name, p.privilege)
order by t.name, p.privilege
