-- The lanes of sequence $2 of handler $1 beyond lane $3, at most $4, and whether their key is parked. No locks.
-- Indexes: delivery_lane, dead_letter_parks.
select lane, bool_or(parks) from (
  (select distinct d.lane, false as parks from inbox.delivery d
   where d.handler_id = $1::int and d.sequence = $2::int and d.lane > $3::bigint order by d.lane limit $4::int)
  union all
  (select x.lane, true from inbox.dead_letter x
   where x.handler_id = $1::int and x.sequence = $2::int and x.lane > $3::bigint and x.parks
   order by x.lane limit $4::int)) l
group by lane order by lane limit $4::int
