#include "scenarios.hpp"

namespace inboxd::bench {

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all{
      {"ingest-memory", "records from memory, no broker: ledger, event, delivery run, position", measure_ingest_memory},
      {"duplicates", "all records are stored already", measure_duplicates},
      {"key-index", "ingest from memory with and without the index of events by key (sql/README.md)",
       measure_key_index},
      {"purge", "ingest from memory while as many old ids and events are deleted", measure_purge},
      {"ingest-kafka", "a preloaded topic until all events are stored", measure_ingest_kafka},
      {"end-to-end", "a preloaded topic until a no-op plugin has done all events", measure_end_to_end},
      {"wal", "bytes of WAL per event, end to end", measure_wal},
      {"three-handlers", "end to end with three handlers instead of one", measure_three_handlers},
      {"drain", "a backlog that is already in the database", measure_drain},
      {"backfill", "stored events to a handler that got none, alone and beside live events at 1,000/s",
       measure_backfill},
      {"latency", "from producing to the handler's call, at 1,000 and 10,000 events/s", measure_latency},
      {"memory", "resident memory while PostgreSQL is down under load", measure_memory},
      {"resident", "resident memory of the program with the sql handler and default settings", measure_resident},
      {"old-snapshot", "a session that keeps an old snapshot open, at full load and at 2,000 events/s",
       measure_old_snapshot},
      // fault: long foreign snapshot pins vacuum
      {"old-snapshot-load", "the same at full load for --seconds, and as long without the snapshot",
       measure_old_snapshot_load},
      {"retries", "every event fails twice, then succeeds", measure_retries},
      {"dead-replay", "100,000 dead letters replayed into a no-op handler, mode single and sequential",
       measure_dead_replay},
      {"partitions-200", "200 partitions at low rates, 30 day partitions", measure_partitions},
      {"operations", "duration of operator commands; --events 10000000 fills the inbox", measure_operations},
      {"operation-cost", "admin port, a scrape per second and traces: on against off", measure_operation_cost},
      {"metrics", "duration of a scrape with 200 partitions and 50 handlers", measure_metrics},
      {"idle", "time from start to ready, and the cost of 20 idle topics", measure_idle},
      {"remote", "the database 1 ms away, through a delaying proxy", measure_remote},
      {"order", "mode sequential against single: 100,000 keys, and one key with half of the events", measure_order},
      {"order-failures", "mode sequential: one event in 1,000 fails twice", measure_order_failures},
      {"order-sql", "mode sequential: upserts of 10,000 keys by the sql handler, 500 events per call",
       measure_order_sql},
      {"order-slow", "mode sequential against single: calls of 10 ms, 4 partitions, concurrency 64",
       measure_order_slow},
      {"order-take-over", "mode sequential against single: a killed owner's backlog, 200 keys and 1,000,000 keys",
       measure_order_take_over},
      {"order-latency", "mode sequential against single: from producing to the call, at 1,000 events/s",
       measure_order_latency},
      // fault: 20,000 blocked keys
      // fault: a million lanes in the table
      {"order-memory", "mode sequential: 20,000 blocked keys and 1,000,000 events in memory; 1,000,000 blocked keys",
       measure_order_memory},
      {"batch", "a backlog as one window, 5,000 events per call of the sql handler, against mode single at 500",
       measure_batch},
      {"sql-statement", "a preloaded topic into a table with one index by the sql handler, 500 events per call",
       measure_sql_statement},
      {"sql-memory", "the same without a broker, against insert ... select over the inbox in steps of 500",
       measure_sql_memory},
      {"sql-single", "the same from a topic, one event per call, concurrency 8", measure_sql_single},
      {"sql-group", "a C++ handler that inserts one row per event, group: 50", measure_sql_group},
      {"http", "a preloaded topic to an HTTP service, single and 100 events a request; latency at 1,000/s",
       measure_http},
      {"kafka-handler", "a preloaded topic copied to another by the kafka handler", measure_kafka_handler},
      {"exec", "a preloaded topic to Python children, a line an event", measure_exec},
      {"outbox", "the sql handler publishes a message an event to a second topic, which the same inbox reads",
       measure_outbox},
      {"outbox-relay", "the relay alone: messages that are in the outbox", measure_outbox_relay},
      {"outbox-latency", "from an event to a consumer of its message, at 1,000 a second", measure_outbox_latency},
      {"verify", "a stored topic compared with its log, and ingest of another one beside it", measure_verify},
      {"local", "inbox.enqueue against a bare insert, one event a transaction; inbox.enqueue_batch", measure_local},
      {"hand-written", "claim 100 with SKIP LOCKED, insert each, mark done, commit: the usual loop",
       measure_hand_written},
  };
  return all;
}

}  // namespace inboxd::bench
