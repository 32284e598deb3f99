#include "maintenance/cleanup.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/mutex.hpp"
#include "inbox/answer.hpp"
#include "inbox/database_error.hpp"
#include "inbox/unsubscribed.hpp"
#include "inbox/upkeep.hpp"

namespace inboxd::maintenance {
namespace {

using namespace std::chrono_literals;

constexpr int batch_rows = 5'000;
constexpr auto kept_day_warning_interval = 1h;
constexpr const char* event_table = "event";

}  // namespace

void Cleanup::set_retention(const config::Settings& settings) {
  const base::Lock lock{mutex_};
  retention_ = settings.retention;
  topics_ = settings.topics;
  is_new_ = true;
}

config::Retention Cleanup::retention() const {
  const base::Lock lock{mutex_};
  return retention_;
}

config::Topics Cleanup::topics() const {
  const base::Lock lock{mutex_};
  return config::Topics{topics_};
}

void Cleanup::purge() {
  const auto keep = retention();
  const std::array<std::pair<const char*, config::Retention::Keep>, 3> tables{
      {{event_table, keep.events}, {"outcome", keep.outcomes}, {"failure", keep.failures}}};
  for (const auto& [table, time] : tables) {
    if (time) drop_days(table, *time);
  }
  inbox::trim_unsubscribed(connection_, keep.events);
  turn_.run_batches(
      [&] { return inbox::trim_old_rows(connection_, keep.dead_letters, keep.quarantine, batch_rows) >= batch_rows; });
}

void Cleanup::drop_days(const char* table, std::chrono::milliseconds keep) {
  turn_.beat();
  const auto failure = inbox::failure_of([&] {
    while (const auto dropped = inbox::drop_partition(connection_, table, keep)) {
      log_.info("maintenance.day_dropped", {{"partition", *dropped}});
      if (!turn_.should_continue()) return;
    }
    if (std::string_view{table} == event_table) warn_of_kept_day(keep);
  });
  if (!failure) return;
  // Other tables would fail as slowly if the database does not respond.
  if (failure->fault == inbox::Fault::reconnect || failure->fault == inbox::Fault::in_doubt) {
    throw inbox::DatabaseError{*failure};
  }
  // A long query may lock this table; the others can still be purged.
  log_.warn("maintenance.drop_postponed",
            {{"table", table}, {"fault", name_of(failure->fault)}, {"error", failure->message}});
}

void Cleanup::warn_of_kept_day(std::chrono::milliseconds keep) {
  const auto now = Clock::now();
  if (now < next_kept_day_warning_) return;
  const auto kept = inbox::find_kept_day(connection_, keep);
  if (!kept) return;
  next_kept_day_warning_ = now + kept_day_warning_interval;
  log_.warn("maintenance.day_kept", {{"partition", kept->partition}, {"handlers", kept->handlers}});
}

void Cleanup::plan_walks() {
  const config::Topics topics = this->topics();
  for (const auto& shard : inbox::find_shards_to_trim(connection_)) {
    event::Microseconds before = shard.newest_kept ? *shard.newest_kept + 1 : 0;
    const config::Topic* topic = topics.find(shard.topic);
    if (topic != nullptr && topic->retention) {
      before = std::max(before, shard.now - std::chrono::microseconds{*topic->retention}.count());
    }
    if (before > 0) walks_.push_back({shard.shard_id, before});
  }
}

void Cleanup::trim_events() {
  if (is_new_.exchange(false)) walks_.clear();  // planned by the former settings
  if (walks_.empty()) plan_walks();
  turn_.run_gently([&] {
    if (walks_.empty()) return false;
    Walk& walk = walks_.back();
    const auto bite = inbox::trim_events(connection_, walk.shard_id, walk.before, walk.next, batch_rows);
    trimmed_events_ += bite.rows;
    if (bite.next) {
      walk.next = *bite.next;
    } else {
      walks_.pop_back();
    }
    return !walks_.empty();
  });
  if (turn_.has_more() || trimmed_events_ == 0) return;
  log_.info("maintenance.events_trimmed", {{"events", trimmed_events_}});
  trimmed_events_ = 0;
}

void Cleanup::trim_positions() {
  turn_.run_batches([&] { return inbox::trim_positions(connection_, batch_rows) >= batch_rows; });
}

}  // namespace inboxd::maintenance
