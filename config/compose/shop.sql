-- The application's table. inboxd creates schema `inbox` beside it (run --migrate).
create table receipt (
    order_id text primary key, -- a second receipt for an order would fail
    customer text not null,
    amount numeric not null,
    booked_at timestamptz not null default now()
);
