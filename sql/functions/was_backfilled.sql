-- Whether a handler for which `handlers backfill` was once requested has the event at this offset already: pending,
-- with an outcome or as a dead letter. Without a request the subscriptions tell. No locks. Reads all deliveries of the
-- handler. Indexes: delivery_due, outcome_place; (handler_id, shard_id, offset) of dead_letter.
create or replace function inbox.was_backfilled(p_handler int, p_shard int, p_offset bigint)
returns boolean language sql stable
return
  exists (select from inbox.backfill_request r where r.handler_id = p_handler)
  and (exists (select from inbox.delivery d
               where d.handler_id = p_handler and d.shard_id = p_shard and d.pending @> p_offset)
       or exists (select from inbox.outcome o
                  where o.shard_id = p_shard and lower(o.offsets) > p_offset - 10000 and lower(o.offsets) <= p_offset
                    and o.offsets @> p_offset and o.handler_id = p_handler)
       or exists (select from inbox.dead_letter x
                  where x.handler_id = p_handler and x.shard_id = p_shard and x."offset" = p_offset));
