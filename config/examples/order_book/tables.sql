-- What the two handlers of inboxd.yaml write to. Run it once, as the owner of schema `billing`.
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

-- Called for each event, in the transaction that records that it is done. inbox.message: config/handlers.md.
create function billing.charge(event inbox.message) returns void language plpgsql as $$
begin
  if event.body->>'customer' is null then
    raise exception 'an order without a customer' using errcode = 'ID001';  -- no retry mends that: a dead letter
  end if;
  if exists (select from billing.account where customer = event.body->>'customer' and balance < -1000) then
    raise exception 'the customer owes too much' using errcode = 'IR001', detail = '15m';  -- tried again then
  end if;
  insert into billing.account as a (customer, balance)
  values (event.body->>'customer', -(event.body->>'amount')::numeric)
  on conflict (customer) do update set balance = a.balance + excluded.balance;
end
$$;
