-- A command has added deliveries: the owners of sequences shall read these from the start. Locks: the rows of
-- sequential handlers, in order of id.
update inbox.handler h set fed_at = clock_timestamp()
where h.handler_id in (
  select x.handler_id from inbox.handler x
  where x.mode = 'sequential' and x.retired_at is null order by x.handler_id for no key update)
