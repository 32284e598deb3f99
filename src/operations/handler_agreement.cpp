#include "operations/handler_agreement.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/units.hpp"
#include "inbox/connection_access.hpp"
#include "operations/status_queries.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

using Topics = std::vector<std::string>;

constexpr std::chrono::hours max_gap_age{24};
constexpr std::int64_t second = 1'000'000;

/// Whether the topics, or a topic of them, include a name or prefix.
bool covers(const Topics& topics, const std::string& wanted) {
  return topics.empty() || std::any_of(topics.begin(), topics.end(), [&](const std::string& topic) {
           return topic == wanted || (topic.ends_with('*') && wanted.starts_with(topic.substr(0, topic.size() - 1)));
         });
}

/// The subscriptions of a handler, in order; the last is the present subscription.
struct History {
  struct Subscription {
    std::optional<std::int64_t> until;
    Topics topics;
  };
  std::string handler;
  std::vector<Subscription> subscriptions;
  std::optional<event::Microseconds> filled_from, filled_to;
  Topics filled_topics;

  bool is_filled(const SubscriptionGap& gap) const {
    return filled_from && *filled_from <= gap.from && gap.to <= *filled_to && covers(filled_topics, gap.topic);
  }
};

void add_gaps(const History& history, std::vector<SubscriptionGap>& out) {
  const auto& all = history.subscriptions;
  for (const std::string& topic : all.back().topics.empty() ? Topics{"*"} : all.back().topics) {
    const auto has_topic = [&](std::size_t i) { return topics_without({topic}, all[i].topics).empty(); };
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      if (!has_topic(i) || has_topic(i + 1)) continue;
      std::size_t end = i + 1;  // the last subscription without the topic
      while (end + 1 < all.size() && !has_topic(end + 1)) ++end;
      const SubscriptionGap gap{history.handler, topic, *all[i].until, *all[end].until};
      if (!history.is_filled(gap)) out.push_back(gap);
    }
  }
}

}  // namespace

Topics topics_without(const Topics& wanted, const Topics& topics) {
  if (topics.empty()) return {};
  if (wanted.empty()) return {"*"};
  Topics out;
  for (const std::string& topic : wanted) {
    if (topic == "*" || !covers(topics, topic)) out.push_back(topic);
  }
  return out;
}

Topics RegisteredHandler::lost_topics() const { return topics_without(own_topics, topics); }

std::vector<RegisteredHandler> read_registered(inbox::Connection& connection) {
  std::vector<RegisteredHandler> out;
  for (const auto& found :
       inbox::run_read(connection, inbox::statements::op_registered, pqxx::params{live_within.count()})) {
    inbox::RowReader row{found};
    RegisteredHandler one;
    one.handler_id = row.int4();
    one.handler = row.text();
    one.topics = row.texts();
    one.order = row.text();
    one.changed_at = row.int8();
    one.instance_id = row.uuid();
    one.worker.host = row.text();
    one.worker.process_id = row.int4();
    one.version = row.text();
    one.since = std::chrono::microseconds{row.maybe_int8().value_or(0)};
    one.own_order = row.maybe_text().value_or("");
    one.own_topics = row.texts();
    const auto keys = nlohmann::json::parse(row.maybe_text().value_or("{}"), nullptr, false);
    for (const auto& [key, digest] : keys.items()) {
      if (digest.is_string()) one.keys.emplace(key, digest.get<std::string>());
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<SubscriptionGap> read_gaps(inbox::Connection& connection) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(max_gap_age).count();
  std::map<std::int32_t, History> histories;
  for (const auto& found :
       inbox::run_read(connection, inbox::statements::op_former_topics, pqxx::params{seconds})) {
    inbox::RowReader row{found};
    History& history = histories[row.int4()];
    history.handler = row.text();
    const auto until = row.maybe_int8();
    history.subscriptions.push_back({until, row.texts()});
    history.filled_from = row.maybe_int8();
    history.filled_to = row.maybe_int8();
    history.filled_topics = row.texts();
  }
  std::vector<SubscriptionGap> out;
  for (const auto& [handler_id, history] : histories) add_gaps(history, out);
  return out;
}

std::string backfill_command(const std::string& handler, event::Microseconds from, event::Microseconds to,
                             const Topics& topics) {
  std::string out = "inboxd handlers backfill " + handler + " --from " + config::time_text(from / second * second) +
                    " --to " + config::time_text((to / second + 1) * second);
  for (const std::string& topic : topics) {
    if (topic != "*") out += " --topic " + topic;
  }
  return out;
}

std::string name_of(const Worker& worker) {
  return worker.host + " (process " + std::to_string(worker.process_id) + ")";
}

}  // namespace inboxd::operations
