-- The shop's books: two entries per order, customer and sales, with sum 0. Without a key, so that an order booked twice
-- would show twice.
create schema shop;
create table shop.entry (
  event_id uuid not null,
  account  text not null,
  amount   numeric not null
);
create index on shop.entry (account);
