#include <algorithm>

#include "operations/forget_queries.hpp"
#include "operations/key_argument.hpp"
#include "operations/operation_table.hpp"
#include "operations/partition_queries.hpp"

namespace inboxd::operations {
namespace {

constexpr const char* forget_verb = "events forget";
/// Events of a transaction.
constexpr std::size_t bite = 200;
/// How long to wait for events that are leased: their calls end, or their instance releases them.
constexpr int max_waits = 10;
constexpr std::chrono::milliseconds wait{1'000};

/// Finds the events of a key, a shard at a time, and does something with the events of each portion.
class Search final {
 public:
  Search(Context& context, std::string key) : context_{context}, key_{std::move(key)} {}

  /// False: stopped in between.
  template <class Each>
  bool run(Each each) {
    for (const auto& partition : read_partitions(*context_.connection, {})) {
      std::int64_t behind = -1;
      while (true) {
        if (context_.pause(std::chrono::milliseconds{0})) return false;
        const auto found = find_by_key(*context_.connection, partition.shard_id, behind, key_);
        if (!found.last) break;
        behind = *found.last;
        if (!found.events.empty()) each(found.events);
      }
    }
    return true;
  }

 private:
  Context& context_;
  const std::string key_;
};

struct Progressed {
  std::int64_t events = 0;
  std::int64_t skipped = 0;
  std::vector<KeyedEvent> leased;
  std::int64_t dead_letters = 0;
  std::int64_t records = 0;
  std::int64_t messages = 0;

  std::int64_t all() const { return events + dead_letters + records + messages; }
};

void erase(Context& context, const std::vector<KeyedEvent>& events, Progressed& sum) {
  for (std::size_t at = 0; at < events.size(); at += bite) {
    const auto end = std::min(at + bite, events.size());
    auto some = forget_events(
        *context.connection, context.actor,
        {events.begin() + static_cast<std::ptrdiff_t>(at), events.begin() + static_cast<std::ptrdiff_t>(end)});
    sum.events += some.erased;
    sum.skipped += some.skipped;
    sum.leased.insert(sum.leased.end(), some.leased.begin(), some.leased.end());
    context.progress({"erased", sum.events, 0});
  }
}

/// Records in quarantine and unsent messages. False: stopped in between.
bool erase_rest(Context& context, const std::string& key, Progressed& sum) {
  while (true) {
    const auto some = forget_rest(*context.connection, context.actor, key);
    if (some.records + some.messages == 0) return true;
    sum.records += some.records;
    sum.messages += some.messages;
    if (context.pause(std::chrono::milliseconds{0})) return false;
  }
}

/// Content moves from quarantine to events, from events to dead letters, and from dead letters to messages: in this
/// order none is missed. False: stopped in between.
bool erase_all(Context& context, const std::string& key, Progressed& sum) {
  if (!erase_rest(context, key, sum)) return false;
  const auto each = [&](const std::vector<KeyedEvent>& events) { erase(context, events, sum); };
  if (!Search{context, key}.run(each)) return false;
  for (int waits = 0; !sum.leased.empty() && waits < max_waits; ++waits) {
    if (context.pause(wait)) return false;
    erase(context, std::exchange(sum.leased, {}), sum);
  }
  while (const auto some = forget_dead_letters(*context.connection, context.actor, key)) {
    sum.dead_letters += some;
    if (context.pause(std::chrono::milliseconds{0})) return false;
  }
  return erase_rest(context, key, sum);
}

Document document_of(const Progressed& sum, bool dry_run) {
  return {{"dry_run", dry_run},
          {"events", sum.events},
          {"leased", sum.leased.size()},
          {"dead_letters", sum.dead_letters},
          {"records", sum.records},
          {"messages", sum.messages}};
}

Answer show(Context& context, const std::string& key) {
  Progressed sum;
  const bool is_whole = Search{context, key}.run([&](const std::vector<KeyedEvent>& events) {
    for (const auto& event : events) {
      ++sum.events;
      if (event.is_leased) sum.leased.push_back(event);
    }
  });
  const auto rows = count_by_key(*context.connection, key);
  sum.dead_letters = rows.dead_letters;
  sum.records = rows.records;
  sum.messages = rows.messages;
  Document document = document_of(sum, true);
  if (!is_whole) return {base::ExitCode::try_again, std::move(document), std::string{forget_verb} + ": stopped"};
  if (sum.all() > 0) return {base::ExitCode::done, std::move(document), ""};
  return {base::ExitCode::no, std::move(document), std::string{forget_verb} + ": nothing has that key"};
}

}  // namespace

Answer functions::events_forget(Context& context, const Arguments& arguments) {
  auto given = read_key(forget_verb, arguments);
  if (given.refusal) return std::move(*given.refusal);
  if (!given.key) return {base::ExitCode::usage, nullptr, std::string{forget_verb} + ": pass --key or --key-hex"};
  if (arguments.flag("dry-run")) return show(context, *given.key);
  Progressed sum;
  const bool is_whole = erase_all(context, *given.key, sum);
  Document document = document_of(sum, false);
  document["skipped"] = sum.skipped;
  document["interrupted"] = !is_whole || !sum.leased.empty();
  if (!is_whole) {
    return {base::ExitCode::try_again, std::move(document), std::string{forget_verb} + ": stopped; repeat the command"};
  }
  if (!sum.leased.empty()) {
    return {
        base::ExitCode::try_again, std::move(document),
        std::string{forget_verb} + ": " + std::to_string(sum.leased.size()) +
            " events are leased and may be running; repeat the command, or pause their handlers first: inboxd handlers "
            "pause"};
  }
  if (sum.all() > 0) return {base::ExitCode::done, std::move(document), ""};
  return {base::ExitCode::no, std::move(document), std::string{forget_verb} + ": nothing has that key"};
}

}  // namespace inboxd::operations
