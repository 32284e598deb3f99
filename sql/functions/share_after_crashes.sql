-- How many events of a delivery are claimed together: all, or after c crashes one part in 2^c. Reads no table.
create or replace function inbox.share_after_crashes(d inbox.delivery) returns bigint
language sql immutable parallel safe
return greatest(1, ((d).events + (1 << least((d).claims, 20)) - 1) >> least((d).claims, 20))::bigint;
