#pragma once
#include <functional>
#include <memory>

#include "consumer/batch_writer.hpp"
#include "inbox/registrations.hpp"
#include "integration/support/inbox.hpp"

namespace inboxd::support {

/// Stores events of a shard (orders, 0) as an ingester does, without handing over any.
class ShardStore final : private consumer::HandOff {
 public:
  explicit ShardStore(Inbox& inbox) : inbox_{inbox} {}

  /// `behind`: by how much the expected position is below the stored position.
  consumer::BatchWriter::Written store(const Batch& events, const std::function<bool()>& give_up, int behind = 0) {
    shard_.position = *inbox::find_position(inbox_.connection(), "orders", 0);
    shard_.position.next_offset -= behind;
    shard_.place = std::make_shared<const inbox::Place>(inbox::Place{"orders", 0});
    consumer::Batch batch;
    batch.events = events.events();
    batch.rejected = events.rejected();
    batch.parts.push_back({&shard_, {}, batch.events.back().offset + 1});
    batch.parts.back().decoded[0][0] = 1;
    return writer_.write(batch, give_up);
  }

  consumer::IngestCounts counts;
  inbox::Registrations registrations;
  int questions_for_room = 0;
  int full_for = 0;  ///< that many questions find memory full

 private:
  Reservation reserve(std::int32_t, std::int64_t, std::size_t) override { return {}; }
  bool lacks_room(std::int32_t, const InOrder*, std::int64_t, std::size_t) override {
    return ++questions_for_room <= full_for;
  }
  void hand_over(inbox::LeasedRun, std::int64_t) override {}
  void release(std::int32_t, std::int64_t) override {}
  void notify_due(std::int32_t) override {}

  Inbox& inbox_;
  const config::Settings settings_{};
  base::Logger log_{base::LogLevel::error, base::LogFormat::text};
  consumer::Shard shard_;
  consumer::BatchWriter writer_{settings_, inbox_.owner, inbox_.connection(), registrations, *this, counts, log_};
};

}  // namespace inboxd::support
