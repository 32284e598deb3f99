#pragma once
#include <catch2/catch_test_macros.hpp>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "envelope/decode.hpp"

namespace inboxd::envelope::test {

using namespace std::string_view_literals;
using Headers = std::vector<event::Header>;

/// A record of topic `orders`, partition 3, offset 41, without headers.
inline event::Record record(event::MaybeBytes payload = R"({"a":1})", event::MaybeBytes key = "k-1") {
  event::Record out;
  out.topic = "orders";
  out.partition = 3;
  out.offset = 41;
  out.payload = payload;
  out.key = key;
  out.timestamp = 1'700'000'000'000'000;
  return out;
}

inline event::Record with_headers(Headers headers, event::MaybeBytes payload = R"({"a":1})") {
  event::Record out = record(payload);
  out.headers = std::move(headers);
  return out;
}

/// A record as another system's library wrote it: library_records.hpp, debezium_records.hpp.
struct WrittenRecord {
  Headers headers;
  event::MaybeBytes value;
  event::MaybeBytes key = "k-1";
};

inline event::Record record_of(const WrittenRecord& written) {
  event::Record out = record(written.value, written.key);
  out.headers = written.headers;
  return out;
}

inline TopicRules rules(config::EnvelopeKind envelope = config::EnvelopeKind::automatic,
                        config::OnMissingId on_missing_id = config::OnMissingId::quarantine) {
  TopicRules out;
  out.topic.name = "orders";
  out.topic.envelope = envelope;
  out.topic.on_missing_id = on_missing_id;
  out.name_space = "prod";
  out.incarnation = "Zx9";
  return out;
}

inline TopicRules strict_rules(config::EnvelopeKind envelope = config::EnvelopeKind::automatic) {
  TopicRules out = rules(envelope);
  out.topic.strict = true;
  return out;
}

inline TopicRules custom_rules(config::CustomRules custom) {
  TopicRules out = rules(config::EnvelopeKind::custom);
  out.topic.custom = std::move(custom);
  return out;
}

/// The result for a record, with the memory that its views point into.
class Outcome final {
 public:
  explicit Outcome(event::Record record, const TopicRules& by = rules()) : record_{std::move(record)} {
    decoded_ = decode(record_, by, arena_);
  }

  bool is_event() const { return std::holds_alternative<event::Event>(decoded_); }
  bool is_skipped() const { return std::holds_alternative<Skipped>(decoded_); }

  /// Fails the test with the reason if the record became no event.
  const event::Event& event() const {
    if (const auto* rejected = std::get_if<Rejected>(&decoded_)) {
      INFO(name_of(rejected->reason) << ": " << rejected->detail);
      REQUIRE(is_event());
    }
    REQUIRE(is_event());
    return std::get<event::Event>(decoded_);
  }
  std::string id() const { return event().event_id.text(); }

  /// `reason: detail`, or empty if it was not rejected.
  std::string rejection() const {
    const auto* rejected = std::get_if<Rejected>(&decoded_);
    return rejected == nullptr ? "" : std::string{name_of(rejected->reason)} + ": " + rejected->detail;
  }
  std::string reason() const {
    const std::string text = rejection();
    return text.substr(0, text.find(':'));
  }

 private:
  base::Arena arena_;
  event::Record record_;
  Decoded decoded_ = Skipped{};
};

inline constexpr std::string_view a_uuid = "550e8400-e29b-41d4-a716-446655440000";

}  // namespace inboxd::envelope::test
