#pragma once
#include <string>
#include <vector>

#include "options.hpp"
#include "report.hpp"

namespace inboxd::bench {

/// A scenario, run by `inboxd_bench NAME`. It throws if counts are wrong or a server fails.
struct Scenario {
  const char* name;
  const char* about;
  void (*measure)(const Options&, Report&);
};

const std::vector<Scenario>& scenarios();

void measure_ingest_memory(const Options& options, Report& report);
void measure_key_index(const Options& options, Report& report);
void measure_duplicates(const Options& options, Report& report);
void measure_kafka_handler(const Options& options, Report& report);
void measure_exec(const Options& options, Report& report);
void measure_http(const Options& options, Report& report);
void measure_backfill(const Options& options, Report& report);
void measure_ledger(const Options& options, Report& report);
void measure_purge(const Options& options, Report& report);
void measure_ingest_kafka(const Options& options, Report& report);
void measure_end_to_end(const Options& options, Report& report);
void measure_wal(const Options& options, Report& report);
void measure_three_handlers(const Options& options, Report& report);
void measure_drain(const Options& options, Report& report);
void measure_latency(const Options& options, Report& report);
void measure_memory(const Options& options, Report& report);
void measure_resident(const Options& options, Report& report);
void measure_old_snapshot(const Options& options, Report& report);
void measure_old_snapshot_load(const Options& options, Report& report);
void measure_handlers_10(const Options& options, Report& report);
void measure_idle_200(const Options& options, Report& report);
void measure_instances(const Options& options, Report& report);
void measure_capacity(const Options& options, Report& report);
void measure_retries(const Options& options, Report& report);
void measure_dead_replay(const Options& options, Report& report);
void measure_partitions(const Options& options, Report& report);
void measure_operations(const Options& options, Report& report);
void measure_metrics(const Options& options, Report& report);
void measure_idle(const Options& options, Report& report);
void measure_operation_cost(const Options& options, Report& report);
void measure_remote(const Options& options, Report& report);
void measure_order(const Options& options, Report& report);
void measure_order_failures(const Options& options, Report& report);
void measure_order_sql(const Options& options, Report& report);
void measure_order_slow(const Options& options, Report& report);
void measure_order_take_over(const Options& options, Report& report);
void measure_order_latency(const Options& options, Report& report);
void measure_lanes(const Options& options, Report& report);
void measure_order_memory(const Options& options, Report& report);
void measure_batch(const Options& options, Report& report);
void measure_sql_statement(const Options& options, Report& report);
void measure_avro(const Options& options, Report& report);
void measure_sql_memory(const Options& options, Report& report);
void measure_sql_single(const Options& options, Report& report);
void measure_sql_group(const Options& options, Report& report);
void measure_outbox(const Options& options, Report& report);
void measure_outbox_relay(const Options& options, Report& report);
void measure_outbox_latency(const Options& options, Report& report);
void measure_verify(const Options& options, Report& report);
void measure_local(const Options& options, Report& report);
void measure_webhook(const Options& options, Report& report);
void measure_hand_written(const Options& options, Report& report);

}  // namespace inboxd::bench
