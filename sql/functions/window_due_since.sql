-- Since when a batch handler's delivery is due, for people: since the close of its window w (as inbox.is_in_window), or
-- since a close that no instance has made. null: it waits for its window. The delivery's columns are separate
-- arguments: role monitor may not read all of them. p_place: its ordinal, else its id. Reads no table.
create or replace function inbox.window_due_since(
  p_place bigint, p_received timestamptz, p_due timestamptz, w inbox.batch_window) returns timestamptz
language sql stable parallel safe
return case when (w).ended_at is null and p_place <= (w).last_ordinal
                 and (p_received < (w).closed_at or p_received > (w).began_at)
                 and (p_due = 'infinity' or p_due <= (w).closed_at) then (w).closed_at
            when (w).next_close <= clock_timestamp() and p_received < (w).next_close
                 and (p_due = 'infinity' or p_due <= (w).next_close) then (w).next_close end;
