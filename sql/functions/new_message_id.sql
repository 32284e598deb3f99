-- A random id that begins with the time (UUIDv7), so that another inbox stores it at the end of its ledger's index.
create or replace function inbox.new_message_id() returns uuid language sql volatile
return pg_catalog.encode(pg_catalog.set_bit(pg_catalog.set_bit(
  pg_catalog."overlay"(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()), pg_catalog.substring(pg_catalog.int8send(
    pg_catalog.floor(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000)::pg_catalog.int8), 3), 1, 6),
  52, 1), 53, 1), 'hex')::pg_catalog.uuid;
