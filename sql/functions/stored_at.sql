-- When a delivery was stored, for the order of a whole handler's rows with the same ordinal (history). A shard's rows
-- are in order by their offsets. Reads no table.
create or replace function inbox.stored_at(d inbox.delivery) returns timestamptz
language sql immutable parallel safe
return case when (d).sequence = 0 then (d).received_from else '-infinity' end;
