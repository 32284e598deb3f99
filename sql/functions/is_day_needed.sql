-- Whether events of the day that ends at p_end are still needed: by pending deliveries, or by a backfill. No locks.
-- Reads all of delivery.
create or replace function inbox.is_day_needed(p_end timestamptz) returns boolean language sql stable
return exists (select from inbox.backfill)
    or exists (
      select from inbox.delivery d where d.received_from < p_end and d.received_to >= p_end - interval '1 day');
