#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace inboxd::operations {

/// A planned load, as `inboxd capacity` asks for it.
struct Load {
  double rate = 1000;                ///< events a second, at the peak
  double average = 1000;             ///< events a second, over days
  double payload = 256;              ///< bytes, as stored
  double handlers = 1;               ///< of each event
  bool writes_rows = true;           ///< the handlers insert a row for each event (`sql`); else they call a service
  bool has_lz4 = false;              ///< the server has `default_toast_compression = lz4`
  double keep_days = 30;             ///< retention.events
  double keep_ids_days = 30;         ///< retention.ledger
  double database_cores = 4;         ///< of the server
  double instance_cores = 2;         ///< of each instance
};

/// The needs of a load. Cores are busy cores at that rate.
struct Capacity {
  double daemon_cores = 0;
  double database_cores = 0;
  double wal_bytes_per_second = 0;
  double disk_bytes_per_day = 0;     ///< until retention begins to delete
  double disk_bytes = 0;             ///< once it deletes
  double daemon_memory = 0;          ///< bytes, of an instance, with all filters of its database
  double filters = 0;                ///< bytes of it: the filters of ids
  double id_index = 0;               ///< bytes on disk, of each database; shared_buffers serves its newest part
  int instances = 1;
  int databases = 1;
  std::vector<std::string> advice;
};

/// From figures that the benchmark has measured (sql/capacity.md). Pure.
Capacity capacity_of(const Load& load);

}  // namespace inboxd::operations
