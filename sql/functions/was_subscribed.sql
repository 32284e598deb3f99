-- Whether a handler subscribed to a topic and type under routing version p_version. Versions follow the clock, so that
-- p_version may be a time in microseconds since 1970. Before the handler existed its first subscription counts; null:
-- its present subscription. No locks. Index: primary key of former_subscription.
create or replace function inbox.was_subscribed(p_handler inbox.handler, p_version bigint, p_topic text, p_type text)
returns boolean language sql stable
return (
  select inbox.matches(p_topic, s.topics) and inbox.matches(p_type, s.types)
  from (
    select f.topics, f.types, f.until from inbox.former_subscription f
    where f.handler_id = p_handler.handler_id and f.until > p_version
    union all
    select p_handler.topics, p_handler.types, 9223372036854775807) s
  order by s.until limit 1);
