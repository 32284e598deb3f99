-- Tables for the two handlers of inboxd.yaml. Run once, as the owner of schema `report`.
begin;
create schema if not exists report;

create table report.daily (
  day     date not null,
  product text not null,
  orders  bigint not null,
  amount  numeric not null,
  primary key (day, product)
);

create table report.customer (
  customer  text primary key,
  event_id  uuid not null,
  partition int not null,
  "offset"  bigint not null,
  state     jsonb not null
);
commit;
