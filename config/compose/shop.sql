-- The application's own table. inboxd makes schema `inbox` beside it (run --migrate).
create table receipt (
    order_id text primary key, -- a second receipt of one order would fail: nothing is applied twice
    customer text not null,
    amount numeric not null,
    booked_at timestamptz not null default now()
);
