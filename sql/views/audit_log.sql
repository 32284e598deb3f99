-- Each change by an operator: time, actor, operation, target, and how many rows.
create or replace view inbox.audit_log as select occurred_at, actor, operation, target, detail from inbox.audit;
