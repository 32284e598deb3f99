#include "admin/history.hpp"

#include <algorithm>
#include <map>

#include "admin/documents.hpp"

namespace inboxd::admin {
namespace {

Document state_of(const inbox::OpenDelivery& delivery) {
  const char* const state = delivery.is_leased                             ? "leased"
                            : delivery.attempts > 0 && !delivery.is_due ? "retrying"
                                                                           : "due";
  return {{"handler", delivery.handler},
          {"state", state},
          {"attempts", delivery.attempts},
          {"due_at", time_of(delivery.due_at)},
          {"finished_at", nullptr},
          {"last_error", text_of(delivery.last_error)},
          {"worker", delivery.is_leased ? worker_of(delivery.owner) : Document(nullptr)},
          {"paused_reason", text_of(delivery.paused_reason)}};
}

Document state_of(const inbox::DeadLetter& letter) {
  return {{"handler", letter.handler},   {"state", letter.state},
          {"attempts", letter.attempts}, {"due_at", nullptr},
          {"finished_at", time_of(letter.died_at)}, {"last_error", letter.message},
          {"worker", nullptr},           {"dead_letter_id", letter.dead_letter_id}};
}

Document state_of(const inbox::RecordedOutcome& outcome) {
  return {{"handler", outcome.handler},   {"state", outcome.outcome},
          {"attempts", outcome.attempts}, {"due_at", nullptr},
          {"finished_at", time_of(outcome.finished_at)}, {"last_error", nullptr},
          {"worker", worker_of(outcome.owner)}};
}

/// A line of the timeline before it is put in order.
struct Moment {
  event::Microseconds at = 0;
  std::string what;
  std::string handler;
  std::string detail;
};

std::string by(const std::optional<inbox::Worker>& worker) {
  return worker ? " by " + worker->host + " (process " + std::to_string(worker->process_id) + ")" : "";
}

void add_beginning(const EventFile& file, std::vector<Moment>& out) {
  if (!file.event) return;
  const auto& event = *file.event;
  if (event.occurred_at) out.push_back({*event.occurred_at, "occurred", "", "by the producer's clock"});
  if (event.kafka_timestamp) {
    out.push_back({*event.kafka_timestamp, "written to Kafka", "",
                   event.topic + "/" + std::to_string(event.partition) + "/" + std::to_string(event.offset)});
  }
  out.push_back({event.received_at, "received", "", "stored in the inbox"});
}

void add_attempts(const EventFile& file, std::vector<Moment>& out) {
  for (const auto& failure : file.history.failures) {
    const auto begun = failure.occurred_at - failure.duration.count();
    const std::string error =
        failure.error_class.empty() ? failure.message : failure.error_class + ": " + failure.message;
    out.push_back({begun, "attempt " + std::to_string(failure.attempt), failure.handler, "begins"});
    out.push_back(
        {failure.occurred_at, "attempt " + std::to_string(failure.attempt) + " failed", failure.handler, error});
  }
}

void add_endings(const EventFile& file, std::vector<Moment>& out) {
  for (const auto& outcome : file.history.outcomes) {
    out.push_back({outcome.finished_at, outcome.outcome, outcome.handler,
                   "after " + std::to_string(outcome.attempts) +
                       (outcome.attempts == 1 ? " attempt" : " attempts") + by(outcome.owner)});
  }
  for (const auto& letter : file.dead) {
    // Outcomes may be kept for a shorter time than dead letters.
    const bool is_told = std::any_of(file.history.outcomes.begin(), file.history.outcomes.end(),
                                     [&](const auto& o) { return o.outcome == "dead" && o.handler == letter.handler; });
    if (!is_told) out.push_back({letter.died_at, letter.state, letter.handler, letter.message});
  }
  for (const auto& note : file.history.notes) out.push_back({note.at, note.what, "", note.who});
  for (const auto& delivery : file.history.deliveries) {
    const bool fails = !delivery.is_leased && delivery.attempts > 0;
    out.push_back({delivery.due_at,
                   delivery.is_leased ? "lease ends"
                   : fails            ? "attempt " + std::to_string(delivery.attempts + 1) + " due"
                                      : "due",
                   delivery.handler, delivery.is_leased ? "leased" + by(delivery.owner) : ""});
  }
}

}  // namespace

Document handler_states(const EventFile& file) {
  std::map<std::string, Document> states;
  for (const auto& delivery : file.history.deliveries) states.emplace(delivery.handler, state_of(delivery));
  for (const auto& letter : file.dead) states.emplace(letter.handler, state_of(letter));
  for (auto outcome = file.history.outcomes.rbegin(); outcome != file.history.outcomes.rend(); ++outcome) {
    states.emplace(outcome->handler, state_of(*outcome));
  }
  Document out = Document::array();
  for (auto& [handler, state] : states) out.push_back(std::move(state));
  return out;
}

Document failures_of(const EventFile& file) {
  Document out = Document::array();
  for (const auto& failure : file.history.failures) {
    out.push_back({{"handler", failure.handler},
                   {"attempt", failure.attempt},
                   {"occurred_at", time_of(failure.occurred_at)},
                   {"error_class", failure.error_class},
                   {"message", failure.message},
                   {"duration_seconds", seconds_of(failure.duration)}});
  }
  return out;
}

Document timeline_of(const EventFile& file) {
  std::vector<Moment> moments;
  add_beginning(file, moments);
  add_attempts(file, moments);
  add_endings(file, moments);
  std::stable_sort(moments.begin(), moments.end(), [](const Moment& a, const Moment& b) { return a.at < b.at; });
  Document out = Document::array();
  for (const Moment& moment : moments) {
    out.push_back({{"at", time_of(moment.at)},
                   {"what", moment.what},
                   {"handler", moment.handler.empty() ? Document(nullptr) : Document(moment.handler)},
                   {"detail", moment.detail}});
  }
  return out;
}

}  // namespace inboxd::admin
