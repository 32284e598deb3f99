-- Offsets that `handlers backfill` of handler $1 would pass at most: from $2 to $3 (null: no bound), of topics $4. No
-- locks. Indexes: event_place of these days. Reads all of also_seen.
select coalesce(sum(p.end_offset - p.next_offset), 0)::bigint
from inbox.backfill_ranges($1::int, 'epoch'::timestamptz + $2::bigint * interval '1 us',
                           'epoch'::timestamptz + $3::bigint * interval '1 us', $4::text[]) p
