-- How a handler's events are ordered: single, batch, or sequential with its order_scope. Reads no table.
create or replace function inbox.order_of(p_mode text, p_order_scope text) returns text
language sql immutable parallel safe
return case p_mode when 'sequential' then p_mode || '/' || p_order_scope else p_mode end;
