#include "operations/status_findings.hpp"

#include <algorithm>
#include <array>

#include "config/topics.hpp"
#include "config/units.hpp"
#include "inbox/problem_text.hpp"

namespace inboxd::operations {
namespace {

constexpr auto long_waiting = std::chrono::minutes{5};
constexpr auto long_transaction = std::chrono::minutes{1};

/// Whether an entry of `topics` may cover a subscription. For a prefix and a pattern only the brokers know: yes.
bool may_read(const std::string& entry, const std::string& wanted) {
  const bool is_prefix = wanted.ends_with('*');
  if (entry.starts_with('^')) return is_prefix || config::Expression{entry}.matches(wanted);
  return is_prefix ? entry.starts_with(wanted.substr(0, wanted.size() - 1)) : entry == wanted;
}

}  // namespace

bool Situation::any_live() const {
  return std::any_of(instances.begin(), instances.end(), [](const auto& instance) { return instance.is_live(); });
}

bool Situation::is_run(const HandlerState& handler) const {
  return std::ranges::any_of(instances, [&](const auto& instance) { return instance.has(handler.handler_id); });
}

const HandlerState* Situation::handler(std::int32_t handler_id) const {
  const auto found = std::ranges::find(handlers, handler_id, &HandlerState::handler_id);
  return found == handlers.end() ? nullptr : &*found;
}

std::vector<HandlerState> handlers_without_instance(const Situation& situation) {
  std::vector<HandlerState> out;
  if (!situation.any_live()) return out;
  for (const HandlerState& handler : situation.handlers) {
    if (handler.pending().number > 0 && !situation.is_run(handler)) out.push_back(handler);
  }
  return out;
}

std::vector<UnreadSubscription> unread_subscriptions(const Situation& situation) {
  std::vector<std::string> entries;
  for (const InstanceState& instance : situation.instances) {
    if (!instance.is_live()) continue;
    if (instance.topics.empty()) return {};
    entries.insert(entries.end(), instance.topics.begin(), instance.topics.end());
  }
  std::vector<UnreadSubscription> out;
  if (entries.empty()) return out;
  for (const HandlerState& handler : situation.handlers) {
    for (const std::string& topic : handler.topics) {
      const auto reads = [&](const std::string& entry) { return may_read(entry, topic); };
      if (std::ranges::none_of(entries, reads)) out.push_back({handler.name, topic});
    }
  }
  return out;
}

std::string count_text(const Count& count) {
  return (count.at_least ? "at least " : "") + std::to_string(count.number);
}

std::string count_text(const Count& count, const std::string& thing) {
  return count_text(count) + " " + thing + (count.number == 1 ? "" : "s");
}

std::string clock_text(event::Microseconds time) { return config::time_text(time - time % 1'000'000); }

std::string duration_sentence(std::chrono::microseconds duration) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(duration).count();
  if (minutes == 1) return "1 minute";
  if (minutes < 120) return std::to_string(minutes) + " minutes";
  if (minutes < 48 * 60) return std::to_string(minutes / 60) + " hours";
  return std::to_string(minutes / 60 / 24) + " days";
}

namespace findings {

void halted_partitions(const Situation& situation, List& out) {
  int halted = 0;
  std::optional<event::Microseconds> since;
  for (const PartitionState& partition : situation.partitions) {
    if (!partition.halted_reason) continue;
    ++halted;
    if (partition.halted_at && (!since || *partition.halted_at < *since)) since = partition.halted_at;
  }
  if (halted == 0) return;
  const std::string partitions = halted == 1 ? " partition is" : " partitions are";
  out.push_back(make_finding("partition_halted", {{"partitions", std::to_string(halted) + partitions}}).began(since));
}

void missing_daemon(const Situation& situation, List& out) {
  if (situation.any_live()) return;
  std::optional<event::Microseconds> since;
  for (const auto& instance : situation.instances) since = std::max(since, std::optional{instance.last_seen_at});
  out.push_back(make_finding("no_live_daemon", {}).began(since));
}

void failing_daemons(const Situation& situation, List& out) {
  for (const auto& instance : situation.instances) {
    if (!instance.trouble || !instance.is_live()) continue;
    const auto [trouble, remedy] = inbox::problem_of(*instance.trouble);
    const char* const kind = trouble.starts_with(disk_full_problem) ? "disk_full"
                             : remedy.empty()                       ? "daemon_in_trouble"
                                                                    : "storage_full";
    auto finding =
        make_finding(kind, {{"host", instance.worker.host}, {"trouble", trouble}, {"remedy", remedy}});
    const bool is_told =
        std::any_of(out.begin(), out.end(), [&](const auto& other) { return other.message == finding.message; });
    if (!is_told) out.push_back(std::move(finding));
  }
}

/// A consumer of committed records stops at the oldest open transaction. The brokers report its first offset; only
/// Kafka's tool names the producer.
void open_transactions(const Situation& situation, List& out) {
  for (const auto& held : situation.partitions) {
    if (!held.is_held() || *held.held_for < long_transaction) continue;
    const std::string partition = std::to_string(held.partition);
    out.push_back(make_finding("transaction_open",
                               {{"partition", held.topic + "/" + partition},
                                {"of_partition", " --topic " + held.topic + " --partition " + partition},
                                {"offset", std::to_string(*held.last_stable_offset)},
                                {"since", config::time_text(*held.held_since)},
                                {"age", duration_sentence(*held.held_for)},
                                {"lag", std::to_string(*held.lag())}})
                      .began(held.held_since));
  }
}

void outbox(const Situation& situation, List& out) {
  const OutboxState& outbox = situation.outbox;
  if (outbox.stopped.number > 0) {
    out.push_back(make_finding("messages_stopped", {{"messages", count_text(outbox.waiting, "message")},
                                                    {"waiting", outbox.waiting.number == 1
                                                                    ? ""
                                                                    : ", or wait for such a message"}}));
  }
  if (outbox.oldest_age && *outbox.oldest_age > long_waiting) {
    out.push_back(make_finding("outbox_behind", {{"age", duration_sentence(*outbox.oldest_age)},
                                                 {"messages", count_text(outbox.backlog, "message")}})
                      .began(situation.now - outbox.oldest_age->count()));
  }
}

}  // namespace findings

std::vector<StatusFinding> findings_of(const Situation& situation) {
  constexpr std::array all{findings::halted_partitions,
                           findings::open_transactions,
                           findings::unread_partitions,
                           findings::missing_daemon,
                           findings::failing_daemons,
                           findings::disagreements,
                           findings::subscription_gaps,
                           findings::misplaced_rows,
                           findings::crashes,
                           findings::unregistered_handlers,
                           findings::unread_topics,
                           findings::events_without_handler,
                           findings::handlers_without_instance,
                           findings::retired_handlers,
                           findings::services_away,
                           findings::failing_calls,
                           findings::state_of_handlers,
                           findings::slow_handlers,
                           findings::unkeyed_events,
                           findings::null_paths,
                           findings::blocked_keys,
                           findings::dead_letters,
                           findings::expired_topics,
                           findings::quarantine,
                           findings::outbox};
  findings::List out;
  for (const auto add : all) add(situation, out);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.severity < b.severity; });
  return out;
}

}  // namespace inboxd::operations
