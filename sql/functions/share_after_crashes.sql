-- How many events of a delivery are claimed together: all, or of a suspect after c crashes one part in 2^c. Reads no
-- table.
create or replace function inbox.share_after_crashes(d inbox.delivery) returns bigint
language sql immutable parallel safe
return case when (d).claims < 3 then (d).events
            else greatest(1, ((d).events + (1 << least((d).claims, 20)) - 1) >> least((d).claims, 20)) end::bigint;
