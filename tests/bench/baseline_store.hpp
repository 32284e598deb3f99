#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "event/offset_set.hpp"
#include "event_source.hpp"
#include "inbox/array_parameter.hpp"
#include "postgres_session.hpp"

namespace inboxd::bench {

/// A delivery of the baseline: events of a partition in flight.
struct BaselineDelivery {
  std::int64_t delivery_id = 0;
  int partition = 0;
  event::OffsetRange offsets;
};

/// The daemon's flow without its safeguards: the second limit. A single transaction and round trip for ledger, event,
/// position and a run per partition. No routing, no lost position, no duplicate, no retry.
class BaselineStore final {
 public:
  static void create(PostgresSession& session, int partitions);

  explicit BaselineStore(const std::string& database_url);

  /// Stores a batch with leased runs. Throws if an event is not new.
  std::vector<BaselineDelivery> store(const SourceBatch& batch);
  void settle(const std::vector<BaselineDelivery>& runs);

 private:
  PostgresSession session_;
};

std::string_view text_of(inbox::ArrayParameter& array);

}  // namespace inboxd::bench
