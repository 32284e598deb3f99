// The veneer's publishing span, with daemons of several versions.
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <inboxd/handler.hpp>
#include <string>
#include <utility>

using namespace inboxd;

namespace {

const char* const context = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

}  // namespace

TEST_CASE(
    "a C++ handler that publishes works in a daemon without traces, and in a daemon older than publishing spans") {
  const auto producers = [](inboxd_call*, std::size_t) { return inboxd_text(context); };
  inboxd_trace part{sizeof(inboxd_trace), 0, producers, producers, nullptr, nullptr};
  part.struct_size = offsetof(inboxd_trace, begin_publish);
  PublishSpan older{nullptr, &part, 0, "kafka", "receipts"};
  CHECK(older.traceparent() == context);
  older.sent();
  PublishSpan none{nullptr, nullptr, 0, "kafka", "receipts"};
  CHECK_FALSE(none.traceparent());
  none.failed("timeout");

  static int ends = 0;
  static constexpr inboxd_publish_span only{sizeof(inboxd_publish_span), 0, {"another", 7}};
  part = {sizeof(inboxd_trace),
          0,
          producers,
          producers,
          [](inboxd_call*, std::size_t, inboxd_bytes, inboxd_bytes) { return &only; },
          [](inboxd_call*, const inboxd_publish_span*, bool, inboxd_bytes) { ++ends; }};
  {
    PublishSpan first{nullptr, &part, 0, "kafka", "receipts"};
    const PublishSpan moved{std::move(first)};
    CHECK(moved.traceparent() == "another");
  }
  CHECK(ends == 1);
}
