// The relay's gaps against an outbox in memory: every message is read once, whenever its transaction commits.
#include "inbox/gaps.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "fuzz/target.hpp"

using namespace inboxd;
using Clock = inbox::Gaps::Clock;

namespace {

struct Outbox {
  struct Message {
    std::int64_t transaction = 0;
    bool is_there = false;  ///< committed and not sent
  };
  std::map<std::int64_t, Message> messages;  ///< by id
  std::set<std::int64_t> running;            ///< transactions
  std::int64_t next_id = 1, next_transaction = 1, sent = 0, committed = 0;

  void insert(std::size_t which) {
    if (running.empty()) return;
    const auto transaction = std::next(running.begin(), static_cast<std::ptrdiff_t>(which % running.size()));
    messages[next_id++] = {*transaction, false};
  }
  void end(std::size_t which, bool commits) {
    if (running.empty()) return;
    const auto transaction = std::next(running.begin(), static_cast<std::ptrdiff_t>(which % running.size()));
    for (auto& [id, message] : messages) {
      if (message.transaction == *transaction && commits) message.is_there = true, ++committed;
    }
    running.erase(transaction);
  }
  std::int64_t oldest() const { return running.empty() ? next_transaction : *running.begin(); }
};

struct Relay {
  Outbox& outbox;
  inbox::Gaps gaps = {};
  std::int64_t after = 0;
  Clock::time_point now{std::chrono::hours{1}};

  /// One read of at most `limit` messages; all of them are sent, and deleted by a transaction.
  void read(std::size_t limit) {
    const auto ranges = gaps.to_probe(now);
    std::vector<std::int64_t> found;
    for (const auto& [id, message] : outbox.messages) {
      const bool is_in_range = std::any_of(ranges.begin(), ranges.end(),
                                           [&](const auto& range) { return range.first <= id && id <= range.last; });
      if (message.is_there && (is_in_range || id > after)) found.push_back(id);
    }
    const bool is_whole = found.size() <= limit;
    if (!is_whole) found.resize(limit);
    after = gaps.note_read(found, after, is_whole, now, std::chrono::milliseconds{1});
    for (const auto id : found) outbox.messages.erase(id), ++outbox.sent;
    gaps.note_transaction(outbox.next_transaction++, outbox.oldest());
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input{data, size};
  Outbox outbox;
  Relay relay{outbox};
  for (int step = 0; step < 400 && !input.empty(); ++step) {
    switch (input.below(8)) {
      case 0:
        outbox.running.insert(outbox.next_transaction++);
        break;
      case 1:
      case 2:
      case 3:
        outbox.insert(input.byte());
        break;
      case 4:
        outbox.end(input.byte(), input.below(4) != 0);
        break;
      case 5:
        relay.now += std::chrono::milliseconds{input.number() % 20'000};
        break;
      default:
        relay.read(1 + input.below(8));
    }
  }
  while (!outbox.running.empty()) outbox.end(0, true);
  for (int round = 0; round < 1'000 && outbox.sent < outbox.committed; ++round) {
    relay.now += std::chrono::seconds{20};
    relay.read(100);
  }
  fuzz::require(outbox.sent == outbox.committed, "every committed message is read");
  for (int round = 0; round < 4; ++round) {
    relay.now += std::chrono::seconds{20};
    relay.read(100);
  }
  fuzz::require(relay.gaps.size() == 0, "gaps end with their transactions");
  return 0;
}
