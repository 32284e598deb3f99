-- Whether a live instance has registered handler $1 since process $2 did. No locks; instances of 7 days.
select exists (
  select from inbox.instance i
  where i.instance_id <> $2::uuid and i.settings ? $1::int::text and i.stopped_at is null
    and i.last_seen_at > clock_timestamp() - interval '15 s'
    and i.registered_at > coalesce((select me.registered_at from inbox.instance me where me.instance_id = $2::uuid),
                                   '-infinity'))
