#include "trace/producer_context.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>
#include <vector>

#include "event/headers.hpp"

using namespace inboxd::trace;
using inboxd::event::Event;
using inboxd::event::Header;
using inboxd::event::MaybeBytes;
using inboxd::event::pack_headers;

namespace {

const std::string valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const std::string other = "00-4bf92f3577b34da6a3ce929d0e0e4736-aaaaaaaaaaaaaaaa-01";

struct Found {
  std::string traceparent, tracestate;
  bool operator==(const Found&) const = default;
};

Found found_in(MaybeBytes headers, MaybeBytes payload = std::nullopt) {
  Event event;
  event.headers = headers;
  event.payload = payload;
  const ProducerTexts texts = producer_texts(event);
  CHECK(producer_context(event).has_value() == texts.traceparent.has_value());
  return {std::string{texts.traceparent.value_or("-")}, std::string{texts.tracestate.value_or("-")}};
}

Found in_headers(const std::vector<Header>& headers) { return found_in(pack_headers(headers)); }
Found in_payload(const std::string& payload) { return found_in(std::nullopt, payload); }

const Found nothing{"-", "-"};
const Found plain{valid, "-"};

std::string cloudevent(const std::string& more) {
  return R"({"specversion":"1.0","id":"1","source":"/a","type":"t",)" + more + "}";
}

std::string quoted(const std::string& text) { return "\"traceparent\":\"" + text + "\""; }

}  // namespace

TEST_CASE("the producer's context is read from any of its headers; the last valid value counts") {
  CHECK(found_in(std::nullopt) == nothing);
  CHECK(in_headers({{"id", "1"}}) == nothing);
  CHECK(in_headers({{"traceparent", other}, {"id", "1"}, {"traceparent", valid}}) == plain);
  CHECK(in_headers({{"ce_traceparent", valid}}) == plain);
  CHECK(in_headers({{"ce-traceparent", valid}}) == plain);
  CHECK(in_headers({{"ce_traceparent", other}, {"traceparent", valid}}) == plain);
  CHECK(in_headers({{"traceparent", "nonsense"}, {"ce_traceparent", valid}}) == plain);
  CHECK(in_headers({{"traceparent", std::nullopt}}) == nothing);
  const std::string cut_off = pack_headers({{"id", "1"}, {"traceparent", valid}});
  for (std::size_t size = 0; size < cut_off.size(); ++size) {
    CHECK(found_in(std::string_view{cut_off}.substr(0, size)) == nothing);
  }
}

TEST_CASE("tracestate needs a valid context, and cannot break out of a header") {
  CHECK(in_headers({{"traceparent", valid}, {"tracestate", "a=1,b=2"}}) == Found{valid, "a=1,b=2"});
  CHECK(in_headers({{"tracestate", "a=1"}}) == nothing);
  CHECK(in_headers({{"traceparent", "nonsense"}, {"tracestate", "a=1"}}) == nothing);
  for (const std::string& hostile : {std::string{"a=1\r\nX-Admin: yes"}, std::string{"a=\0", 3}, std::string{"a=\xff"},
                                     std::string{}, std::string(5'000, 'a')}) {
    CHECK(in_headers({{"traceparent", valid}, {"tracestate", hostile}}) == plain);
  }
}

TEST_CASE("only the known part of a later version is passed on: the rest may be any bytes") {
  const std::string later = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  for (const std::string& rest : {std::string{}, std::string{"-"}, std::string{"-more"},
                                  std::string{"-\r\nX-Admin: yes"}, "-" + std::string(1 << 20, 'a')}) {
    CHECK(in_headers({{"traceparent", later + rest}}) == Found{later, "-"});
  }
  CHECK(in_headers({{"traceparent", later + "\r\nX-Admin: yes"}}) == nothing);
  CHECK(in_headers({{"traceparent", valid + "-more"}}) == nothing);
  CHECK(in_payload(cloudevent(quoted(later + "-more"))) == Found{later, "-"});
}

TEST_CASE("a CloudEvent in the payload has the context as a top-level attribute") {
  CHECK(in_payload(cloudevent(quoted(valid))) == plain);
  CHECK(in_payload(cloudevent(quoted(valid) + ",\"tracestate\":\"a=1\"")) == Found{valid, "a=1"});
  CHECK(in_payload(cloudevent("\"data\":{\"a\":[1,{\"b\":\"}\"}],\"c\":\"\\\"\"},\n " + quoted(valid))) == plain);
  CHECK(in_payload("\xEF\xBB\xBF \n" + cloudevent(quoted(valid))) == plain);
  CHECK(in_payload(std::string{"\0\0\0\0\7", 5} + cloudevent(quoted(valid))) == plain);
  // A header takes precedence over the payload.
  const std::string payload = cloudevent(quoted(other));
  CHECK(found_in(pack_headers({{"traceparent", valid}}), payload) == plain);

  CHECK(in_payload("{" + quoted(valid) + "}") == nothing);  // no CloudEvent
  CHECK(in_payload(cloudevent("\"data\":{" + quoted(valid) + "}")) == nothing);
  CHECK(in_payload(cloudevent("\"data\":\"{\\" + quoted(valid) + "}\"")) == nothing);
  CHECK(in_payload(cloudevent(quoted("nonsense"))) == nothing);
  CHECK(in_payload(cloudevent("\"traceparent\":17")) == nothing);
  CHECK(in_payload(cloudevent(quoted(valid) + ",\"tracestate\":\"a=1\\r\\nX: y\"")) == plain);
}

TEST_CASE("arbitrary payload bytes are safe") {
  const std::string whole = cloudevent("\"data\":[{\"a\":\"\\\\\"}]," + quoted(valid));
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    in_payload(whole.substr(0, size));
    in_payload(whole.substr(size));
  }
  CHECK(in_payload(cloudevent("\"data\":" + std::string(100'000, '[') + "," + quoted(valid))) == nothing);
  CHECK(in_payload("]" + quoted(valid)) == nothing);
  CHECK(in_payload(quoted(valid)) == nothing);
  CHECK(in_payload("{\"traceparent\"") == nothing);
  CHECK(in_payload("{\"traceparent\"\\") == nothing);
}
