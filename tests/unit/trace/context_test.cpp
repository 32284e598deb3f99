#include "trace/context.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd::trace;

namespace {

const std::string trace_text = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string span_text = "00f067aa0ba902b7";
const std::string valid = "00-" + trace_text + "-" + span_text + "-01";

}  // namespace

TEST_CASE("a traceparent is read and written as the W3C specifies") {
  const auto context = parse_traceparent(valid);
  REQUIRE(context);
  CHECK(hex_of(context->trace) == trace_text);
  CHECK(hex_of(context->span) == span_text);
  CHECK(context->is_sampled);
  CHECK(traceparent_of(*context) == valid);
  CHECK_FALSE(parse_traceparent("00-" + trace_text + "-" + span_text + "-00")->is_sampled);
  CHECK_FALSE(parse_traceparent("00-" + trace_text + "-" + span_text + "-02")->is_sampled);
  // A later version may append fields; the known part is read.
  CHECK(parse_traceparent("cc-" + trace_text + "-" + span_text + "-01-what-will-be")->is_sampled);
  CHECK(parse_traceparent("cc-" + trace_text + "-" + span_text + "-01"));
}

TEST_CASE("an invalid traceparent is rejected, whatever its bytes") {
  for (const std::string& text :
       {std::string{}, std::string{"00"}, valid.substr(1), valid.substr(0, 54), valid + "-more", valid + "x",
        "ff-" + trace_text + "-" + span_text + "-01", "cc-" + trace_text + "-" + span_text + "-01.x",
        "00-" + std::string(32, '0') + "-" + span_text + "-01", "00-" + trace_text + "-" + std::string(16, '0') + "-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + span_text + "-01", "00-" + trace_text + "_" + span_text + "-01",
        "00-" + trace_text + "-" + span_text + "-0g", std::string(55, '\0'), std::string(100'000, '-')}) {
    CAPTURE(text.substr(0, 80));
    CHECK_FALSE(parse_traceparent(text));
  }
}

TEST_CASE("each span id is new") {
  CHECK(random_span_id() != random_span_id());
  CHECK(random_span_id() != SpanId{});
}
