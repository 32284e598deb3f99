#include "operations/capacity.hpp"

#include <algorithm>
#include <cmath>

namespace inboxd::operations {
namespace {

// Measured costs: see sql/capacity.md. CPU in microseconds, sizes in bytes.
constexpr double seconds_per_day = 86'400;
constexpr double us = 1e-6;

constexpr double daemon_us_per_event = 1.4;
constexpr double daemon_us_per_handler = 0.15;
constexpr double daemon_us_per_byte = 0.0013;

/// Where the batches of all handlers do not fit into dispatch.in_hand_bytes, handlers read stored events again.
constexpr double in_hand_bytes = 64.0 * 1024 * 1024;
constexpr double batch_events = 1'000;
constexpr double event_overhead = 250;
constexpr double daemon_us_per_reading = 1.3;
constexpr double database_us_per_reading = 3;

constexpr double database_us_per_event = 8;
constexpr double database_us_per_handler = 0.1;
constexpr double database_us_per_row = 3.8;
constexpr double database_us_per_byte = 0.0023;
/// PostgreSQL compresses payloads from about that size on.
constexpr double compressed_from = 2'000;
constexpr double database_us_per_pglz_byte = 0.021;
constexpr double database_us_per_lz4_byte = 0.004;

constexpr double wal_per_event = 450;
constexpr double wal_per_handler = 10;
constexpr double wal_per_row = 150;

constexpr double event_bytes = 150;
constexpr double id_bytes = 125;
constexpr double id_index_bytes = 40;
/// Of a filter, in each instance.
constexpr double id_filter_bytes = 2.4;
constexpr double outcome_bytes = 1;
/// Dead rows and their space until vacuum.
constexpr double slack = 1.1;

constexpr double mebibyte = 1024 * 1024;
constexpr double base_memory = 60 * mebibyte;
constexpr double memory_of_queues = 120 * mebibyte;
constexpr double memory_per_handler = 2 * mebibyte;

/// Peaks, vacuum, checkpoints and queries of people need the rest.
constexpr double usable = 0.6;
/// Beyond that a usual disk or a replica's link is the limit.
constexpr double max_wal_per_second = 100 * mebibyte;
constexpr double large_payload = 100'000;
/// The default of ledger.filter_bytes.
constexpr double usual_filters = 512 * mebibyte;
/// The most that ledger.filter_bytes takes.
constexpr double most_filters = 64 * 1024 * mebibyte;
/// Of 100 million ids.
constexpr double filters_of_many_ids = 1e8 * id_filter_bytes;
/// Ids leave the ledger by whole generations, an eighth of the retention.
constexpr double generation_slack = 1.15;

double database_us_of_payload(const Load& load) {
  if (load.payload < compressed_from) return load.payload * database_us_per_byte;
  return load.payload * (load.has_lz4 ? database_us_per_lz4_byte : database_us_per_pglz_byte);
}

/// Of the handlers, those whose events do not fit into memory at full load.
double reading_handlers(const Load& load) {
  const double fitting = in_hand_bytes / (batch_events * (load.payload + event_overhead));
  return std::max(0.0, static_cast<double>(load.handlers) - fitting);
}

int count_for(double needed, double each) { return std::max(1, static_cast<int>(std::ceil(needed / each))); }

void advise(const Load& load, Capacity& out) {
  if (out.instances > 1) {
    out.advice.push_back(std::to_string(out.instances) + " instances: a topic needs at least as many partitions");
  }
  if (out.databases > 1) {
    const double of_wal = out.wal_bytes_per_second / max_wal_per_second;
    const bool is_wal = of_wal > out.database_cores / load.database_cores / usable;
    out.advice.push_back(std::to_string(out.databases) + " databases: " +
                         (is_wal ? "more than 100MiB of WAL a second is too much for a usual disk or replica"
                                 : "one server of this size is too slow") +
                         "; divide the topics, or share them by shard.of, which must divide their partitions "
                         "(sql/shards.md), with two instances or more for each database");
  }
  if (out.filters > filters_of_many_ids) {
    out.advice.push_back("measure with your ids: at 100 million random ids a database stores 0.6 to 0.8 of the rate of "
                         "an empty ledger, at a billion 0.5 to 0.7 (tests/bench/README.md)");
  }
  if (out.filters > most_filters) {
    out.advice.push_back("a shorter retention.ledger, or more databases: filters of more than 64GiB are not possible, "
                         "and without one each event is looked up in its generation of ids");
  } else if (out.filters > usual_filters) {
    out.advice.push_back("set ledger.filter_bytes to " + std::to_string(std::llround(out.filters / mebibyte)) +
                         "MiB, 2.4 bytes for each id that is kept, or shorten retention.ledger: an event is looked up "
                         "in all generations of ids whose filters do not fit");
  }
  if (load.payload >= compressed_from && !load.has_lz4) {
    out.advice.push_back("alter database NAME set default_toast_compression = lz4: PostgreSQL's default takes five "
                         "times the CPU for payloads of 2 kB and more (then plan with --lz4)");
  }
  if (load.payload > large_payload) {
    out.advice.push_back("store large payloads elsewhere and send their address: WAL and disk grow with each byte");
  }
  if (load.keep_ids_days < load.keep_days) {
    out.advice.push_back("retention.ledger is shorter than retention.events: older events are not found by their id");
  }
}

}  // namespace

Capacity capacity_of(const Load& load) {
  const double rows = load.writes_rows ? load.handlers : 0;
  const double reading = reading_handlers(load);
  const double daemon_us = daemon_us_per_event + load.payload * daemon_us_per_byte +
                           load.handlers * daemon_us_per_handler + reading * daemon_us_per_reading;
  const double database_us = database_us_per_event + load.handlers * database_us_per_handler +
                             reading * database_us_per_reading + rows * database_us_per_row +
                             database_us_of_payload(load);
  const double wal = wal_per_event + load.handlers * wal_per_handler + rows * wal_per_row + load.payload;
  const double of_event = (event_bytes + load.payload + load.handlers * outcome_bytes) * slack;
  const double of_id = id_bytes * slack;
  const double per_day = load.average * seconds_per_day;

  Capacity out;
  out.daemon_cores = load.rate * daemon_us * us;
  out.database_cores = load.rate * database_us * us;
  out.wal_bytes_per_second = load.rate * wal;
  out.disk_bytes_per_day = per_day * (of_event + of_id);
  out.disk_bytes = per_day * (load.keep_days * of_event + load.keep_ids_days * of_id);
  out.instances = count_for(out.daemon_cores, load.instance_cores * usable);
  out.databases = std::max(count_for(out.database_cores, load.database_cores * usable),
                           count_for(out.wal_bytes_per_second, max_wal_per_second));
  out.instances = std::max(out.instances, out.databases);
  const double ids = per_day * load.keep_ids_days / out.databases;
  out.id_index = ids * id_index_bytes;
  out.filters = ids * generation_slack * id_filter_bytes;
  out.daemon_memory = base_memory + memory_of_queues + load.handlers * memory_per_handler + out.filters;
  advise(load, out);
  return out;
}

}  // namespace inboxd::operations
