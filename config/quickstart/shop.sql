-- The shop's books: two entries an order, one for the customer and one for the sales, that together are nothing.
-- Without a key, so that an order that were booked twice would be there twice.
create schema shop;
create table shop.entry (
  event_id uuid not null,
  account  text not null,
  amount   numeric not null
);
create index on shop.entry (account);
