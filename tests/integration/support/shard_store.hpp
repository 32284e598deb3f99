#pragma once
#include <functional>
#include <memory>

#include "consumer/store.hpp"
#include "inbox/registrations.hpp"
#include "integration/support/inbox.hpp"

namespace inboxd::support {

/// Stores events of one shard (orders, 0) as an ingester does, in a process that takes nothing in hand.
class ShardStore final : private consumer::HandOff {
 public:
  explicit ShardStore(Inbox& inbox) : inbox_{inbox} {}

  /// `behind`: the shard is taken to be that far behind where it is.
  consumer::Store::Stored store(const Batch& events, const std::function<bool()>& give_up, int behind = 0) {
    shard_.position = *inbox::find_position(inbox_.connection(), "orders", 0);
    shard_.position.next_offset -= behind;
    shard_.place = std::make_shared<const inbox::Place>(inbox::Place{"orders", 0});
    consumer::Batch batch;
    batch.events = events.events();
    batch.rejected = events.rejected();
    batch.parts.push_back({&shard_, {}, batch.events.back().offset + 1});
    batch.parts.back().decoded[0][0] = 1;
    return store_.store(batch, give_up);
  }

  consumer::IngestCounts counts;
  inbox::Registrations registrations;

 private:
  Room reserve(std::int32_t, std::int64_t, std::size_t) override { return {}; }
  void hand_over(inbox::LeasedRun, std::int64_t) override {}
  void release(std::int32_t, std::int64_t) override {}
  void born_due(std::int32_t) override {}

  Inbox& inbox_;
  const config::Settings settings_{};
  base::Logger log_{base::LogLevel::error, base::LogFormat::text};
  consumer::Shard shard_;
  consumer::Store store_{settings_, inbox_.owner, inbox_.connection(), registrations, *this, counts, log_};
};

}  // namespace inboxd::support
