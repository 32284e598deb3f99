#include "maintenance/maintenance.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "event/now.hpp"
#include "inbox/database_error.hpp"
#include "inbox/handlers.hpp"
#include "inbox/operations_audit.hpp"

namespace inboxd::maintenance {
namespace {

using namespace std::chrono_literals;

constexpr int partition_days_ahead = 7;
constexpr int bite_rows = 5'000;
constexpr int most_blocks = 512;  // of the ledger: some 58,000 ids, one in thirty of which is old as a rule
constexpr auto long_bite = 1s;
constexpr auto short_bite = 250ms;
constexpr int backfill_bite_events = 1'000;
constexpr std::chrono::seconds old_transaction = 5min;
/// How long a chore works before the others have their turn; it goes on after them.
constexpr auto longest_turn = 1s;
constexpr auto look_for_chores_every = 500ms;
constexpr auto sign_of_life_every = 10s;
constexpr auto tell_kept_every = 1h;
constexpr std::size_t most_deeds = 100;
constexpr const char* event_table = "event";
/// Counting what is outstanding takes time where much is: at most a fiftieth of this thread's, and yet often enough for
/// whoever watches the figures.
constexpr int pause_of_counts = 50;
constexpr auto shortest_pause_of_counts = 5s;
constexpr auto longest_pause_of_counts = 120s;

}  // namespace

std::chrono::nanoseconds pause_after_count(std::chrono::nanoseconds took) {
  return std::clamp<std::chrono::nanoseconds>(took * pause_of_counts, shortest_pause_of_counts,
                                              longest_pause_of_counts);
}

int next_blocks(int blocks, std::chrono::nanoseconds took) {
  if (took > long_bite) return std::max(blocks / 2, 1);
  return took < short_bite ? std::min(blocks * 2, most_blocks) : blocks;
}

Maintenance::Maintenance(const config::Settings& settings, inbox::InstanceIdentity identity,
                         inbox::Registrations& registrations, Trouble trouble, inbox::Watchdog& watchdog,
                         base::Logger& log)
    : identity_{std::move(identity)},
      registrations_{registrations},
      trouble_{std::move(trouble)},
      log_{log},
      connection_{settings.database, "maintenance", watchdog, log},
      retention_{settings.retention} {}

Maintenance::~Maintenance() {
  request_stop();
  join();
}

void Maintenance::start() {
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "maintenance");
}

void Maintenance::request_stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  wake_.notify_all();
}

void Maintenance::join() {
  if (thread_.joinable()) thread_.join();
}

void Maintenance::run() {
  std::array<Chore, 10> chores{{{&Maintenance::keep_handlers, 2s},
                                {&Maintenance::sign_of_life, 1s},
                                {&Maintenance::write_deeds, 1s},
                                {&Maintenance::look_around, 5s},
                                {&Maintenance::backfill, 1s},
                                {&Maintenance::make_partitions, 600s},
                                {&Maintenance::purge, 60s},
                                {&Maintenance::trim_ledger, 60s},
                                {&Maintenance::trim_positions, 60s},
                                {&Maintenance::look_for_oldest_transaction, 60s}}};
  Chore& keeping = chores.front();
  std::unique_lock lock{mutex_};
  while (!stopping_) {
    lock.unlock();
    move();
    bool more = false;
    for (Chore& chore : chores) {
      if (Clock::now() < chore.next || is_stopping()) continue;
      // It may be another database by now: ingest waits for what that one has forgotten.
      if (&chore != &keeping && connection_.generation() != kept_under_) do_turn(keeping);
      do_turn(chore);
      more = more || has_more_;
    }
    lock.lock();
    if (!more) wake_.wait_for(lock, look_for_chores_every, [this] { return stopping_; });
  }
  lock.unlock();
  try {
    inbox::instance_seen(connection_, identity_, true);
    write_deeds();
  } catch (...) {
    log_.debug("maintenance: the end could not be noted",
               {{"error", inbox::describe_any(std::current_exception()).message}});
  }
}

void Maintenance::do_turn(Chore& chore) {
  move();
  const auto began = Clock::now();
  turn_ends_ = began + longest_turn;
  has_more_ = false;
  chore.next = began + chore.every;
  try {
    (this->*chore.work)();
    if (has_more_) chore.next = began;
  } catch (...) {
    has_more_ = false;
    const auto failure = inbox::describe_any(std::current_exception());
    if (!repeats_.is_news(failure.sqlstate + failure.message)) return;
    log_.warn("maintenance: tried again later", {{"fault", name_of(failure.fault)}, {"error", failure.message}});
  }
}

void Maintenance::note(Deed deed) {
  const std::lock_guard lock{mutex_};
  if (deeds_.size() == most_deeds) deeds_.pop_front();
  deeds_.push_back(std::move(deed));
}

void Maintenance::write_deeds() {
  std::deque<Deed> due;
  {
    const std::lock_guard lock{mutex_};
    due.swap(deeds_);
  }
  try {
    for (; !due.empty(); due.pop_front()) {
      inbox::write_audit(connection_, due.front().actor, due.front().operation, due.front().target);
    }
  } catch (...) {
    const std::lock_guard lock{mutex_};
    deeds_.insert(deeds_.begin(), due.begin(), due.end());
    while (deeds_.size() > most_deeds) deeds_.pop_front();
    throw;
  }
}

void Maintenance::move() { last_moved_ = Clock::now().time_since_epoch().count(); }

bool Maintenance::goes_on() {
  move();
  if (is_stopping()) return false;
  has_more_ = has_more_ || Clock::now() >= turn_ends_;
  return !has_more_;
}

bool Maintenance::is_stopping() {
  const std::lock_guard lock{mutex_};
  return stopping_;
}

void Maintenance::sign_of_life() {
  auto trouble_now = trouble();
  if (Clock::now() < sign_again_ && trouble_now == told_trouble_) return;
  std::vector<std::int32_t> handlers;
  for (const auto& registered : registrations_.get()) handlers.push_back(registered.handler_id);
  inbox::instance_seen(connection_, identity_, false, trouble_now, handlers);
  told_trouble_ = std::move(trouble_now);
  sign_again_ = Clock::now() + sign_of_life_every;
  const std::lock_guard lock{mutex_};
  seen_.answered_us = event::now();
}

std::optional<std::string> Maintenance::trouble() const {
  std::string out = trouble_().value_or("");
  for (const std::string& name : retired_) {
    out.append(out.empty() ? "" : "; ").append("handler " + name + " runs here, but is retired and owed nothing");
  }
  return out.empty() ? std::nullopt : std::optional{out};
}

void Maintenance::keep_handlers() {
  const auto known = registrations_.get();
  kept_under_ = connection_.generation();
  registrations_.note(inbox::read_handler_versions(connection_));
  if (!inbox::are_registered(connection_, known)) put_back(known);
  kept_under_ = connection_.generation();
  look_for_retired(known);
}

/// Somebody has retired one by force, or while no sign of life came from here. It is not put back: that would undo what
/// was asked for. Whoever wants it back reloads.
void Maintenance::look_for_retired(const std::vector<inbox::Registered>& registered) {
  auto retired = inbox::retired_of(connection_, registered);
  if (retired == retired_) return;
  for (const std::string& name : retired) {
    if (std::find(retired_.begin(), retired_.end(), name) != retired_.end()) continue;
    log_.error(
        "maintenance: a handler that this process runs is retired and owed nothing; take it out of the configuration, "
        "or reload to add it again",
        {{"handler", name}});
  }
  retired_ = std::move(retired);
  sign_of_life();
}

/// After a failover to a standby that had not heard of a handler yet, or a restore, nothing is owed to it.
void Maintenance::put_back(const std::vector<inbox::Registered>& registered) {
  log_.error("maintenance: the database was set back behind the registration of handlers; they are put back");
  const auto again = inbox::put_back(connection_, registered, "daemon on " + identity_.host, identity_);
  for (std::size_t i = 0; i < again.size(); ++i) {
    if (again[i].handler_id != registered[i].handler_id) {
      log_.error(
          "maintenance: somebody else has added the handler anew; this process ends to run that one, and what was "
          "stored before it was added may not be owed to it",
          {{"handler", again[i].name}});
      failed_ = true;
    } else if (again[i].is_new) {
      log_.error("maintenance: the database had forgotten a handler; it is owed again what was stored since it was new",
                 {{"handler", again[i].name}});
    } else if (!again[i].change.empty()) {
      log_.error("maintenance: the database had forgotten a change of a handler",
                 {{"handler", again[i].name}, {"change", again[i].change}});
    }
  }
  registrations_.replace(registered, again);  // not where a reload came in between
}

void Maintenance::backfill() {
  while (const auto bite = inbox::backfill_bite(connection_, backfill_bite_events)) {
    backfilled_.events += bite->events;
    backfilled_.dead_letters += bite->dead_letters;
    if (!goes_on()) break;
  }
  if (has_more_ || backfilled_.events == 0) return;
  log_.info("maintenance: history became deliveries of new handlers",
            {{"events", backfilled_.events}, {"dead_letters_answered", backfilled_.dead_letters}});
  backfilled_ = {};
}

void Maintenance::make_partitions() {
  look_at_days();  // before, too: where none can be made, how long those that there are will do
  const int made = inbox::make_partitions(connection_, partition_days_ahead);
  if (made == 0) return;
  log_.info("maintenance: day partitions made", {{"partitions", made}});
  look_at_days();
}

void Maintenance::look_at_days() {
  const std::int64_t until = inbox::days_made_until(connection_);
  const std::lock_guard lock{mutex_};
  seen_.days_until_s = until;
}

void Maintenance::look_around() {
  if (Clock::now() < look_again_) return;
  const auto began = Clock::now();
  try {
    count();
  } catch (...) {
    look_again_ = Clock::now() + pause_after_count(Clock::now() - began);
    throw;
  }
  look_again_ = Clock::now() + pause_after_count(Clock::now() - began);
}

void Maintenance::count() {
  auto handlers = inbox::read_handlers(connection_);
  const auto quarantined = inbox::count_quarantined(connection_);
  const std::lock_guard lock{mutex_};
  seen_.handlers = std::move(handlers);
  seen_.quarantined = quarantined.number;
  seen_.at_us = event::now();
}

Maintenance::Seen Maintenance::seen() const {
  const std::lock_guard lock{mutex_};
  return seen_;
}

void Maintenance::set_retention(const config::Retention& retention) {
  const std::lock_guard lock{mutex_};
  retention_ = retention;
}

config::Retention Maintenance::retention() const {
  const std::lock_guard lock{mutex_};
  return retention_;
}

void Maintenance::purge() {
  const auto keep = retention();
  const std::array<std::pair<const char*, config::Retention::Keep>, 3> tables{
      {{event_table, keep.events}, {"outcome", keep.outcomes}, {"failure", keep.failures}}};
  for (const auto& [table, time] : tables) {
    if (time) drop_days(table, *time);
  }
  in_bites(
      [&] { return inbox::trim_old_rows(connection_, keep.dead_letters, keep.quarantine, bite_rows) >= bite_rows; });
}

void Maintenance::drop_days(const char* table, std::chrono::milliseconds keep) {
  move();
  try {
    while (const auto dropped = inbox::drop_partition(connection_, table, keep)) {
      log_.info("maintenance: a day is kept no longer", {{"partition", *dropped}});
      if (!goes_on()) return;
    }
    if (std::string_view{table} == event_table) tell_kept_day(keep);
  } catch (...) {
    const auto failure = inbox::describe_any(std::current_exception());
    // A database that is away or silent is so for the other tables, too, and each would take as long to fail.
    if (failure.fault == inbox::Fault::reconnect || failure.fault == inbox::Fault::in_doubt) throw;
    // Somebody reads it for long, say: no reason to keep what is old elsewhere.
    log_.warn("maintenance: days of a table are dropped later",
              {{"table", table}, {"fault", name_of(failure.fault)}, {"error", failure.message}});
  }
}

void Maintenance::tell_kept_day(std::chrono::milliseconds keep) {
  const auto now = Clock::now();
  if (now < tell_kept_at_) return;
  const auto kept = inbox::find_kept_day(connection_, keep);
  if (!kept) return;
  tell_kept_at_ = now + tell_kept_every;
  log_.warn("maintenance: a day is past its retention and kept, because handlers are still owed events of it",
            {{"partition", kept->partition}, {"handlers", kept->handlers}});
}

void Maintenance::trim_ledger() {
  const auto keep = retention().ledger;
  if (!keep) return;
  in_bites([&] {
    const auto began = Clock::now();
    const int blocks = blocks_;
    blocks_ = std::max(blocks / 2, 1);  // where it does not come to its end
    const auto bite = inbox::trim_ledger(connection_, *keep, blocks);
    blocks_ = bite.is_bite ? next_blocks(blocks, Clock::now() - began) : blocks;
    trimmed_ids_ += bite.rows;
    return bite.has_more;
  });
  if (has_more_ || trimmed_ids_ == 0) return;
  log_.info("maintenance: old ids are forgotten", {{"ids", trimmed_ids_}});
  trimmed_ids_ = 0;
}

void Maintenance::trim_positions() {
  in_bites([&] { return inbox::trim_positions(connection_, bite_rows) >= bite_rows; });
}

void Maintenance::in_bites(const std::function<bool()>& bite) {
  move();
  while (bite() && goes_on()) {
  }
}

void Maintenance::look_for_oldest_transaction() {
  const auto oldest = inbox::find_oldest_transaction(connection_);
  const auto age = pinned_.look(oldest, Clock::now());
  const bool is_old = age >= old_transaction;
  {
    const std::lock_guard lock{mutex_};
    seen_.pinned = is_old ? age : 0s;
  }
  if (!is_old) return;
  log_.warn("maintenance: an old transaction is open, so that vacuum cannot clean up",
            {{"holder", oldest->holder}, {"pid", oldest->process_id}, {"name", oldest->name}, {"user", oldest->user},
             {"seconds", age.count()}});
}

}  // namespace inboxd::maintenance
