-- Tables for the two handlers of inboxd.yaml. Run once, after `inboxd migrate`, as the owner of schema `billing`.
begin;
create schema if not exists billing;

create table billing.receipt (
  event_id   uuid not null,
  order_id   text not null,
  amount     numeric not null constraint receipt_amount_is_positive check (amount > 0),
  booked_at  timestamptz not null default now()
);
create index on billing.receipt (order_id);

create table billing.account (
  customer text primary key,
  balance  numeric not null default 0
);

-- Called for each event, in the transaction that records it as done. inbox.message: config/handlers/sql.md.
create function billing.charge(event inbox.message) returns void language plpgsql as $$
declare
  placed jsonb := coalesce(event.body->'data', event.body);  -- a structured CloudEvent has its data there
begin
  if placed->>'customer' is null then
    raise exception 'an order without a customer' using errcode = 'ID001';  -- dead-lettered at once
  end if;
  if exists (select from billing.account where customer = placed->>'customer' and balance < -1000) then
    raise exception 'the customer owes too much' using errcode = 'IR001', detail = '15m';  -- retried after DETAIL
  end if;
  insert into billing.account as a (customer, balance)
  values (placed->>'customer', -(placed->>'amount')::numeric)
  on conflict (customer) do update set balance = a.balance + excluded.balance;
end
$$;
commit;
