-- Sets the topics $2 (null: none) for dead letters of handlers $1, of consumer group $3. Instances repeat it: during a
-- deploy, an instance without the topic, or with another topic, does not undo the setting of an instance that claimed
-- it within a minute, unless $4. Locks: the rows. Index: primary key of dead_letter_topic.
with wanted as (
  select w.handler_id, w.topic from unnest($1::int[], $2::text[]) w(handler_id, topic)
  where exists (select from inbox.handler h where h.handler_id = w.handler_id)),
gone as (
  delete from inbox.dead_letter_topic t using wanted w
  where t.handler_id = w.handler_id and w.topic is null and t.claimed_at < clock_timestamp() - interval '1 min')
insert into inbox.dead_letter_topic as t (handler_id, topic, consumer_group)
select w.handler_id, w.topic, $3::text from wanted w where w.topic is not null
order by w.handler_id
on conflict (handler_id) do update
set topic = excluded.topic, consumer_group = excluded.consumer_group, claimed_at = clock_timestamp()
where case when (t.topic, t.consumer_group) = (excluded.topic, excluded.consumer_group)
        then t.claimed_at < clock_timestamp() - interval '20 s'
        else $4::boolean or t.claimed_at < clock_timestamp() - interval '1 min' end
