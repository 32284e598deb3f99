-- Adds to the counts of stored events without a subscribed handler: topics $1, types $2, events $3, each topic and type
-- once. Once the table has $4 rows, further types of a topic are counted as $5. Locks: its new and changed rows, in
-- order of topic and type.
with given as (
  select g.topic, g.event_type, g.events, k.topic is null as is_new,
         row_number() over (partition by k.topic is null order by g.events desc) as ordinal
  from unnest($1::text[], $2::text[], $3::bigint[]) g(topic, event_type, events)
  left join inbox.unsubscribed k using (topic, event_type)),
named as (
  select topic, events,
         case when is_new and ordinal > $4::bigint - (select count(*) from inbox.unsubscribed) then $5::text
              else event_type end as event_type
  from given)
insert into inbox.unsubscribed as u (topic, event_type, events)
select topic, event_type, sum(events) from named group by topic, event_type order by topic, event_type
on conflict (topic, event_type) do update set events = u.events + excluded.events, last_at = clock_timestamp()
