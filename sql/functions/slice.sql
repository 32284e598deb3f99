-- Cuts leased deliveries into rows of at most p_size events under the same lease, so that no two open transactions
-- settle the same row. Returns all pieces of the deliveries that were cut; the first is the old row. Locks: the rows,
-- in order of id. Index: primary key of delivery.
create or replace function inbox.slice(p_owner uuid, p_fence bigint, p_ids bigint[], p_size int)
returns table (parent bigint, delivery_id bigint, pending text)
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' as $$
#variable_conflict use_column
declare
  d inbox.delivery;
  v_left int8multirange;
  v_piece int8multirange;
begin
  for d in
    select * from inbox.delivery x
    where x.delivery_id = any (p_ids) and x.fence = p_fence and x.owner = p_owner and x.events > p_size
    order by x.delivery_id for update
  loop
    v_piece := inbox.first_of(d.pending, p_size);
    v_left := d.pending - v_piece;
    update inbox.delivery x
    set pending = v_piece, events = p_size,
        ordinal = case when x.sequence is not null then coalesce(x.ordinal, x.delivery_id) end
    where x.delivery_id = d.delivery_id;
    parent := d.delivery_id; delivery_id := d.delivery_id; pending := v_piece::text;
    return next;
    while not isempty(v_left) loop
      v_piece := inbox.first_of(v_left, p_size);
      v_left := v_left - v_piece;
      insert into inbox.delivery as x (handler_id, shard_id, pending, events, sequence, ordinal, lane, order_key,
                                       attempts, claims, fence, owner, due_at, never_expires, received_from,
                                       received_to, last_error)
      values (d.handler_id, d.shard_id, v_piece, inbox.count_of(v_piece), d.sequence,
              case when d.sequence is not null then coalesce(d.ordinal, d.delivery_id) end, d.lane, d.order_key,
              d.attempts, d.claims, d.fence, d.owner, d.due_at, d.never_expires, d.received_from, d.received_to,
              d.last_error)
      returning x.delivery_id into delivery_id;
      pending := v_piece::text;
      return next;
    end loop;
  end loop;
end
$$;
