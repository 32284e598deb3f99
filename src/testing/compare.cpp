#include "testing/compare.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"
#include "inbox/handler_routing.hpp"

namespace inboxd::testing {
namespace {

using operations::OutgoingMessage;

/// Of a text in a difference.
constexpr std::size_t max_shown = 300;

std::string shown(std::string_view text) { return base::json_quote(base::shorten(text, max_shown)); }
std::string shown_bytes(const OwnBytes& bytes) { return bytes ? shown(std::string_view{*bytes}) : "null"; }

bool is_equal(const Sample& expected, const std::string& actual) {
  if (!expected.is_json) return expected.text == actual;
  const auto theirs = nlohmann::json::parse(actual, nullptr, false);
  return !theirs.is_discarded() && nlohmann::json::parse(expected.text, nullptr, false) == theirs;
}

std::string difference(const std::string& what, const std::string& expected, const std::string& actual) {
  return what + ": expected " + expected + ", got " + actual;
}

class Comparison final {
 public:
  explicit Comparison(const std::vector<config::Handler>& handlers) : handlers_{handlers} {}

  std::vector<std::string> out;

  void record(const std::string& where, const SampleRecord& sample, const ObservedRecord& observed) {
    const ExpectedRecord& expected = sample.expected;
    const std::string wanted = wanted_of(expected);
    const std::string got = what_became(observed.taken);
    const bool is_refused = expected.refused && got.starts_with("refused") &&
                            observed.taken.refused.find(*expected.refused) != std::string::npos;
    if (wanted != got && !is_refused) {
      const auto& state = observed.taken.state;
      const std::string detail = state && !state->detail.empty() ? " (" + state->detail + ")" : "";
      return out.push_back(difference(where, wanted, got + detail));
    }
    if (!observed.taken.state || observed.taken.state->quarantined) return;
    id(where, expected.id, *observed.taken.state);
    part(where + ", type", expected.type, observed.taken.state->event_type);
    part(where + ", key", expected.key, observed.taken.state->key);
    if (expected.handlers) handlers(where, sample, observed);
    for (const auto& [name, outcome] : observed.handlers) {
      const bool is_compared = expected.handlers && expected.handlers->contains(name);
      if (outcome.outcome.empty() && !is_compared) out.push_back(where + ", handler " + name + ": no outcome in time");
    }
  }

  void rows(const std::vector<ExpectedRow>& expected, const operations::TextRows& actual) {
    const auto row_is_equal = [](const ExpectedRow& wanted, const auto& got) {
      const auto cell_is_equal = [](const auto& cell, const auto& text) {
        return cell.has_value() == text.has_value() && (!cell || is_equal(*cell, *text));
      };
      return std::ranges::equal(wanted, got, cell_is_equal);
    };
    if (std::ranges::equal(expected, actual, row_is_equal)) return;
    std::string wanted, got;
    for (const auto& row : expected) wanted += shown_row(row, [](const Sample& cell) { return cell.text; });
    for (const auto& row : actual) got += shown_row(row, [](const std::string& cell) { return cell; });
    out.push_back(difference("rows", wanted.empty() ? "none" : wanted, got.empty() ? "none" : got));
  }

  void requests(const std::string& handler, const std::vector<ExpectedRequest>& expected,
                const std::vector<admin::HttpRequest>& actual) {
    const std::string where = "requests of handler " + handler;
    if (expected.size() != actual.size()) {
      out.push_back(difference(where, std::to_string(expected.size()), std::to_string(actual.size())));
    }
    for (std::size_t i = 0; i < std::min(expected.size(), actual.size()); ++i) {
      const std::string each = where + ", request " + std::to_string(i + 1);
      part(each + ", method", expected[i].method, actual[i].method);
      const std::string query = actual[i].query.empty() ? "" : "?" + actual[i].query;
      part(each + ", path", expected[i].path, actual[i].path + query);
      if (expected[i].body && !is_equal(*expected[i].body, actual[i].body)) {
        out.push_back(difference(each + ", body", shown(expected[i].body->text), shown(actual[i].body)));
      }
    }
  }

  /// In any order: messages of several partitions have none.
  void published(const std::vector<ExpectedMessage>& expected, std::vector<OutgoingMessage> actual) {
    for (const ExpectedMessage& wanted : expected) {
      const auto found = std::ranges::find_if(actual, [&](const auto& each) { return is_message(wanted, each); });
      if (found != actual.end()) {
        actual.erase(found);
        continue;
      }
      const std::string value = wanted.value ? " value " + shown(wanted.value->text) : "";
      const std::string key = wanted.key ? " key " + shown(*wanted.key) : "";
      out.push_back(difference("published", "topic " + wanted.topic + key + value, all(actual)));
    }
    if (actual.size() > 0 && out.empty()) out.push_back(difference("published", "nothing more", all(actual)));
  }

 private:
  static std::string wanted_of(const ExpectedRecord& expected) {
    if (expected.quarantined) return "quarantined: " + *expected.quarantined;
    if (expected.refused) return "refused: " + *expected.refused;
    return expected.stored.value_or("an event");
  }
  static std::string what_became(const Intake::Taken& taken) {
    if (taken.is_skipped) return "skipped";
    if (!taken.refused.empty()) return "refused: " + taken.refused;
    if (!taken.state) return "duplicate";
    return taken.state->quarantined ? "quarantined: " + *taken.state->quarantined : "an event";
  }

  void part(const std::string& what, const OwnBytes& expected, const OwnBytes& actual) {
    if (expected && expected != actual) out.push_back(difference(what, shown_bytes(expected), shown_bytes(actual)));
  }

  /// The event's id, or its producer's.
  void id(const std::string& where, const std::optional<std::string>& expected, const operations::RecordState& state) {
    if (!expected || *expected == state.event_id || *expected == state.source_id) return;
    const bool has_other = state.source_id != state.event_id;
    out.push_back(difference(where + ", id", shown(*expected),
                             shown(state.source_id) + (has_other ? " (event id " + state.event_id + ")" : "")));
  }

  /// Why a handler did not get the event.
  std::string why_not(const std::string& name, const SampleRecord& sample, const ObservedRecord& observed) const {
    const auto handler = std::ranges::find(handlers_, name, &config::Handler::name);
    std::string why;
    const auto compare = [&](const std::string& what, const std::string& value, const std::string& key,
                             const std::vector<std::string>& patterns) {
      if (inbox::matches(value, patterns)) return;
      why += (why.empty() ? "" : ", and ") + what + " " + shown(value) + " is not in its subscribe." + key + " (" +
             base::joined(patterns) + ")";
    };
    if (handler != handlers_.end()) {
      compare("the topic", sample.topic, "topics", handler->topics);
      compare("the event's type", observed.taken.state->event_type, "types", handler->types);
    }
    std::vector<std::string> others;
    for (const auto& [other, outcome] : observed.handlers) others.push_back(other);
    return "no event" + (why.empty() ? "" : ": " + why) + "; handlers that got it: " + base::joined(others, "none");
  }

  void handlers(const std::string& where, const SampleRecord& sample, const ObservedRecord& observed) {
    const auto& expected = *sample.expected.handlers;
    const auto& actual = observed.handlers;
    for (const auto& [name, outcome] : actual) {
      if (!expected.contains(name)) out.push_back(difference(where, "not for handler " + name, outcome.outcome));
    }
    for (const auto& [name, wanted] : expected) {
      const auto found = actual.find(name);
      const std::string each = where + ", handler " + name;
      if (found == actual.end()) {
        out.push_back(difference(each, wanted.outcome, why_not(name, sample, observed)));
        continue;
      }
      const auto& [outcome, error] = found->second;
      const std::string got = (outcome.empty() ? "no outcome in time" : outcome) +
                              (error.empty() ? "" : " (" + base::shorten(error, max_shown) + ")");
      if (wanted.outcome != outcome) {
        out.push_back(difference(each, wanted.outcome, got));
      } else if (error.find(wanted.error) == std::string::npos) {
        out.push_back(difference(each + ", error", shown(wanted.error), shown(error)));
      }
    }
  }

  template <class Row, class TextOf>
  static std::string shown_row(const Row& row, TextOf text_of) {
    std::string list;
    for (const auto& cell : row) list += (list.empty() ? "" : ", ") + (cell ? shown(text_of(*cell)) : "null");
    return "[" + list + "]";
  }

  static bool is_message(const ExpectedMessage& wanted, const OutgoingMessage& actual) {
    const bool has_headers = std::ranges::all_of(wanted.headers, [&](const auto& header) {
      return std::ranges::any_of(actual.headers, [&](const auto& each) {
        return each.first == header.first && each.second == header.second;
      });
    });
    return has_headers && wanted.topic == actual.topic && (!wanted.key || wanted.key == actual.key) &&
           (!wanted.value || (actual.payload && is_equal(*wanted.value, *actual.payload)));
  }
  static std::string all(const std::vector<OutgoingMessage>& messages) {
    std::string list;
    for (const auto& each : messages) {
      list += (list.empty() ? "" : "; ") + ("topic " + each.topic) + " key " + shown_bytes(each.key) + " value " +
              shown_bytes(each.payload);
    }
    return list.empty() ? "none" : list;
  }

  const std::vector<config::Handler>& handlers_;
};

}  // namespace

Outcome outcome_of(const operations::EventState& state, bool is_batch) {
  const std::string& word = state.state;
  const bool is_dead_at_once = word == "dead" && state.attempts <= 1;
  if (state.has_failed && !is_dead_at_once) {
    return {word == "expired" || word == "parked" ? word : "retry", state.error};
  }
  if (word == "done" || word == "dead" || word == "expired" || word == "skipped" || word == "parked") {
    return {word, state.error};
  }
  if (state.attempts > 0) return {"retry", state.error};
  if (word == "waiting" && !is_batch) return {"waiting", state.error};
  return {"", state.error};
}

std::vector<std::string> differences(const Case& expected, const Observed& observed,
                                     const std::vector<config::Handler>& handlers) {
  Comparison comparison{handlers};
  for (std::size_t i = 0; i < expected.records.size() && i < observed.records.size(); ++i) {
    const std::string where = "record " + std::to_string(i + 1);
    comparison.record(where, expected.records[i], observed.records[i]);
  }
  if (!expected.query.empty()) comparison.rows(expected.rows, observed.rows);
  for (const auto& [handler, requests] : expected.requests) {
    const auto found = observed.requests.find(handler);
    comparison.requests(handler, requests,
                        found == observed.requests.end() ? std::vector<admin::HttpRequest>{} : found->second);
  }
  if (expected.published) comparison.published(*expected.published, observed.published);
  return std::move(comparison.out);
}

}  // namespace inboxd::testing
