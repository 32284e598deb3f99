#include "testing/local_intake.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/base64.hpp"
#include "base/text.hpp"
#include "inbox/answer.hpp"
#include "inbox/local_events.hpp"
#include "inbox/received_events.hpp"
#include "webhook/posted.hpp"

namespace inboxd::testing {
namespace {

constexpr std::chrono::milliseconds position_interval{5};

/// As inbox.enqueue takes headers: texts, or base64 for other bytes.
std::string json_of_headers(const SampleRecord& sample) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, value] : sample.headers) {
    if (!value) {
      out[name] = nullptr;
    } else if (base::is_database_text(*value)) {
      out[name] = *value;
    } else {
      out[name] = {{"base64", base::base64(*value)}};
    }
  }
  return out.dump();
}

admin::HttpRequest request_of(const SampleRecord& sample) {
  admin::HttpRequest out;
  out.method = "POST";
  for (const auto& [name, value] : sample.headers) out.headers.emplace_back(base::lower(name), value.value_or(""));
  out.body = sample.value.value_or("");
  return out;
}

/// `400: no event id at …`
std::string text_of(const admin::HttpResponse& refusal) {
  const auto document = nlohmann::json::parse(refusal.body, nullptr, false);
  return std::to_string(refusal.status) + ": " + (document.is_object() ? document.value("message", "") : "");
}

}  // namespace

base::Result<Intake::Taken> LocalIntake::store(const SampleRecord& sample, const std::function<bool()>& is_over) {
  const std::int64_t offset = position(sample.topic);
  const auto endpoint = endpoints_.find(sample.topic);
  auto staged = endpoint == endpoints_.end() ? enqueue(sample) : post(sample, endpoint->second);
  if (!staged) return staged.problem();
  if (staged.value().is_duplicate) return Intake::Taken{};
  if (!staged.value().refused.empty()) return Intake::Taken{false, {}, staged.value().refused};
  while (position(sample.topic) == offset) {
    if (is_over()) return base::Problem{"the local reader has not stored the event in time"};
    std::this_thread::sleep_for(position_interval);
  }
  return Intake::Taken{false, operations::read_record(connection_, sample.topic, 0, offset)};
}

LocalIntake::Staged LocalIntake::enqueue(const SampleRecord& sample) {
  const auto failure = inbox::database_failure_of([&] {
    operations::enqueue(connection_, {sample.topic, sample.type, sample.value, sample.id, sample.key,
                                      json_of_headers(sample), sample.timestamp, sample.deliver_at});
  });
  if (!failure) return {};
  if (failure->fault != inbox::Fault::poison && failure->fault != inbox::Fault::stop) {
    throw inbox::DatabaseError{*failure};
  }
  return {false, failure->sqlstate + ": " + failure->message};
}

base::Result<LocalIntake::Staged> LocalIntake::post(const SampleRecord& sample, const webhook::Endpoint& endpoint) {
  webhook::Posted posted{request_of(sample), sample.topic};
  if (const auto refused = webhook::read_events(endpoint, max_events_, posted)) return Staged{false, text_of(*refused)};
  if (posted.events.size() != 1) {
    return base::Problem{"the request has " + std::to_string(posted.events.size()) +
                         " events; make each event a record of its own"};
  }
  const auto receipts = inbox::receive(connection_, {}, {{0, sample.topic, &posted.events.front(), posted.id_decides}});
  if (receipts.front() == inbox::Receipt::conflict) {
    return Staged{false, text_of(webhook::answer_to(posted, receipts.data()))};
  }
  return Staged{receipts.front() == inbox::Receipt::repeated};
}

std::int64_t LocalIntake::position(const std::string& topic) {
  for (const inbox::LocalPosition& each : inbox::local_positions(connection_)) {
    if (each.topic == topic) return each.next_offset;
  }
  return 0;
}

}  // namespace inboxd::testing
