#include "operations/quarantine_retry.hpp"

#include <algorithm>
#include <utility>

#include "inbox/database_error.hpp"
#include "inbox/ingest.hpp"

namespace inboxd::operations {
namespace {

constexpr std::size_t max_decoded_bytes = 64 << 20;  // of a transaction's records: a few bytes can be megabytes of JSON

bool is_subscribed(const inbox::Routing& routing, const std::string& topic, std::string_view event_type) {
  return std::any_of(routing.handlers.begin(), routing.handlers.end(), [&](const auto& handler) {
    return inbox::matches(topic, handler.topics) && inbox::matches(event_type, handler.types);
  });
}

}  // namespace

struct Retry::Reading {
  base::Arena arena;
  RereadRecords records;
  std::map<std::int32_t, std::string> topics;  // of the events, by shard
  std::int64_t skipped = 0;
  std::set<std::string> unknown_topics;
  std::int64_t of_unknown_topics = 0;
  std::int64_t local = 0;
};

void Retry::run(const std::vector<std::int64_t>& quarantine_ids) {
  while (!store(read_quarantined(*context_.connection, quarantine_ids))) {
  }
}

const envelope::TopicRules* Retry::rules_of(const RawRecord& record) {
  const auto [found, is_new] = rules_.try_emplace(record.shard_id);
  if (is_new) {
    if (const auto* const topic = topics_.find(record.topic)) {
      found->second = envelope::TopicRules{*topic, context_.name_space, record.log_id, decoders_.of(*topic)};
    }
  }
  return found->second ? &*found->second : nullptr;
}

bool Retry::read(const RawRecords& records, Reading& out) {
  for (const RawRecord& raw : records) {
    if (out.arena.used() > max_decoded_bytes) return false;
    const auto* const rules = rules_of(raw);
    if (rules == nullptr) {
      out.unknown_topics.insert(raw.topic);
      ++out.of_unknown_topics;
      continue;
    }
    if (rules->topic.source == config::Source::local) {  // its id is not in its bytes, and only a conflict comes here
      ++out.local;
      continue;
    }
    out.records.quarantine_ids.push_back(raw.quarantine_id);
    auto decoded = envelope::decode(record_of(raw), *rules, out.arena);
    if (auto* const event = std::get_if<event::Event>(&decoded)) {
      event->shard_id = raw.shard_id;
      out.topics.try_emplace(raw.shard_id, raw.topic);
      out.records.events.push_back(*event);
    } else if (auto* const rejected = std::get_if<envelope::Rejected>(&decoded)) {
      out.records.still.push_back({raw.quarantine_id, std::string{envelope::name_of(rejected->reason)},
                                   inbox::quarantine_detail(rejected->detail)});
    } else if (const auto* const waiting = std::get_if<envelope::Waiting>(&decoded)) {
      out.records.still.push_back({raw.quarantine_id, std::string{envelope::name_of(envelope::Rejection::undecodable)},
                                   inbox::quarantine_detail(waiting->detail)});
    } else {
      ++out.skipped;
    }
  }
  return true;
}

bool Retry::store(const RawRecords& records) {
  Reading reading;
  if (!read(records, reading)) {
    run_halves(records);
    return true;
  }
  if (dry_run_) {
    const auto before = counts_.events;
    foresee(reading);
    if (counts_.events > before) count_unsubscribed(reading);
  }
  if (dry_run_ || reading.records.quarantine_ids.empty()) {
    count(reading);
    return true;
  }
  std::optional<Retried> retried;
  std::string refusal;
  try {
    retried = retry_quarantined(*context_.connection, reading.records, deed_);
    if (!retried) return false;
  } catch (...) {
    const auto failure = inbox::describe(std::current_exception());
    if (failure.fault != inbox::Fault::poison || reading.records.events.empty()) throw;
    refusal = failure.sqlstate + " " + failure.message;
  }
  if (!retried) {
    take_out_poison(records, refusal);
    return true;
  }
  counts_.events += retried->events;
  counts_.duplicates += retried->duplicates;
  if (retried->conflicts > 0) counts_.still["conflict"] += retried->conflicts;
  count(reading);
  if (retried->events > 0) count_unsubscribed(reading);
  return true;
}

/// Each half is a transaction of its own.
void Retry::run_halves(const RawRecords& records) {
  std::vector<std::int64_t> ids;
  for (const auto& record : records) ids.push_back(record.quarantine_id);
  const auto middle = ids.begin() + static_cast<std::ptrdiff_t>(ids.size() / 2);
  run({ids.begin(), middle});
  run({middle, ids.end()});
}

/// Bisects until the refused record is alone.
void Retry::take_out_poison(const RawRecords& records, const std::string& says) {
  if (records.size() > 1) {
    run_halves(records);
    return;
  }
  const auto id = records.front().quarantine_id;
  Reading reading;
  reading.records.quarantine_ids = {id};
  reading.records.still = {{id, "poison", inbox::quarantine_detail("the database refused it: " + says)}};
  if (retry_quarantined(*context_.connection, reading.records, deed_)) count(reading);
}

/// Of records with the same id the first becomes the event, as in the real retry.
void Retry::foresee(const Reading& reading) {
  std::vector<base::Uuid> ids;
  for (const auto& event : reading.records.events) ids.push_back(event.event_id);
  for (const auto& known : find_known(*context_.connection, ids)) {
    foreseen_.try_emplace(known.event_id, known.digest);
  }
  for (const auto& event : reading.records.events) {
    const auto [first, is_new] = foreseen_.try_emplace(event.event_id, event.digest);
    if (is_new)
      ++counts_.events;
    else if (first->second == event.digest)
      ++counts_.duplicates;
    else
      ++counts_.still["conflict"];
  }
}

/// Also counts duplicates among new events, as ingest does.
void Retry::count_unsubscribed(const Reading& reading) {
  if (!routing_) routing_ = inbox::read_routing(*context_.connection);
  inbox::Unsubscribed found;
  for (const auto& event : reading.records.events) {
    const std::string& topic = reading.topics.at(event.shard_id);
    if (!is_subscribed(*routing_, topic, event.event_type)) found.add(topic, event.event_type);
  }
  const auto events = found.take();
  for (const auto& one : events) counts_.unsubscribed += one.events;
  if (!events.empty() && !counts_.example) counts_.example = events.front();
  if (!dry_run_) inbox::note_unsubscribed(*context_.connection, events);
}

void Retry::count(const Reading& reading) {
  counts_.skipped += reading.skipped;
  for (const auto& record : reading.records.still) {
    ++counts_.still[record.reason];
    if (counts_.why_still.empty()) counts_.why_still = record.reason + ": " + record.detail;
  }
  if (reading.local > 0) counts_.still["conflict"] += reading.local;
  if (reading.of_unknown_topics > 0) counts_.still[not_configured] += reading.of_unknown_topics;
  counts_.unknown_topics.insert(reading.unknown_topics.begin(), reading.unknown_topics.end());
}

}  // namespace inboxd::operations
