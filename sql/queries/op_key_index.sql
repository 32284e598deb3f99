-- Whether operators added the index by key (sql/README.md), complete on all days. No locks. Reads the catalogue.
select exists (
  select from pg_index i where i.indexrelid = to_regclass('inbox.event_key') and i.indisvalid)
