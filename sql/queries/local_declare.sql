-- Function inbox.declare_local. Locks: the topics' rows, in order.
select inbox.declare_local($1::text[], $2::int[], $3::bigint[], $4::text[])
