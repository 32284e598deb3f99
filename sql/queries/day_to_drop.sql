-- Function inbox.day_to_drop. No locks. Reads all of delivery if the table is event.
select inbox.day_to_drop($1::text, $2::bigint * interval '1 ms')
