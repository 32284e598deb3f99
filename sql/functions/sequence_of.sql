-- The sequence of a handler's events of a shard; null: they run in no order. A batch handler has a single sequence for
-- all shards. Reads no table.
create or replace function inbox.sequence_of(p_mode text, p_order_scope text, p_shard int) returns int
language sql immutable parallel safe
return case when p_mode = 'batch' then 0
            when p_mode = 'sequential' then case when p_order_scope = 'handler' then 0 else p_shard end end;
