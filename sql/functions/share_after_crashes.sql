-- How many events of a delivery are claimed together: all, or 1/2^c of a suspect's events after c crashes. Reads no
-- table.
create or replace function inbox.share_after_crashes(d inbox.delivery) returns bigint
language sql immutable parallel safe
return case when (d).claims < 3 then (d).events
            else greatest(1, ((d).events + (1 << least((d).claims, 20)) - 1) >> least((d).claims, 20)) end::bigint;
