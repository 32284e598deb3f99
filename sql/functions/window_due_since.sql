-- Since when a batch handler's delivery is due, for people: since the close of its window w, or since a close that
-- no instance has made. null: it waits for its window. Reads no table.
create or replace function inbox.window_due_since(d inbox.delivery, w inbox.batch_window) returns timestamptz
language sql stable parallel safe
return case when (w).ended_at is null and inbox.is_in_window(d, w) then (w).closed_at
            when (w).next_close <= clock_timestamp() and (d).received_from < (w).next_close
                 and ((d).due_at = 'infinity' or (d).due_at <= (w).next_close) then (w).next_close end;
