-- The number of the lane of a topic's key; null: of the whole topic. Reads no table.
create or replace function inbox.outbox_lane_of(topic text, key bytea) returns bigint
language sql immutable parallel safe
return ('x' || pg_catalog."left"(pg_catalog.md5(
  pg_catalog.convert_to(topic, 'UTF8') || coalesce('\x00'::pg_catalog.bytea || key, '')), 16))
  ::pg_catalog."bit"(64)::pg_catalog.int8;
