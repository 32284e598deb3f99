// Packed headers, which C++ and SQL read each on its own.
#include "event/headers.hpp"

#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/base64.hpp"
#include "base/text.hpp"
#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;
using nlohmann::json;

namespace {

/// The result of inbox.headers_of, by the C++ reader.
json object_of(std::string_view packed) {
  json out = json::object();
  for (const auto& header : event::unpack_headers(packed)) {
    const std::string name =
        base::is_database_text(header.name) ? std::string{header.name} : "base64:" + base::base64(header.name);
    if (!header.value) {
      out[name] = nullptr;
    } else if (base::is_database_text(*header.value)) {
      out[name] = *header.value;
    } else {
      out[name] = {{"base64", base::base64(*header.value)}};
    }
  }
  return out;
}

/// Headers with odd texts, of which some bytes were changed.
std::string any_packed(std::mt19937_64& random) {
  static const std::vector<std::string> texts{
      "",      "id",       "a b", "\xC3\xA9", "\xFF", std::string("\0", 1), "\xED\xA0\x80", "\xF4\x90\x80\x80",
      "\\x41", "\xE2\x82", "\"{}"};
  std::vector<event::Header> headers;
  for (auto count = random() % 6; count > 0; --count) {
    const auto& value = texts[random() % texts.size()];
    headers.push_back({texts[random() % texts.size()], random() % 5 == 0 ? std::nullopt : event::MaybeBytes{value}});
  }
  std::string out = event::pack_headers(headers);
  for (auto changes = random() % 3; changes > 0 && !out.empty(); --changes) {
    out[random() % out.size()] = static_cast<char>(random() % 3 == 0 ? random() : random() % 4);
  }
  if (random() % 4 == 0) out.resize(random() % (out.size() + 1));
  return out;
}

}  // namespace

TEST_CASE("headers of any bytes are the same in SQL and in C++") {
  Inbox inbox;
  std::mt19937_64 random{Catch::getSeed()};
  for (int round = 0; round < 100; ++round) {
    std::vector<std::string> packed;
    std::string array = "{";
    for (int i = 0; i < 50; ++i) {
      packed.push_back(any_packed(random));
      array += (i == 0 ? "\"\\\\x" : ",\"\\\\x") + base::hex(packed.back()) + "\"";
    }
    const std::string answer = inbox.database().text(
        "select jsonb_agg(inbox.headers_of(x.packed) order by x.i) "
        "from unnest($1::bytea[]) with ordinality x(packed, i)",
        {array + "}"});
    const json read = json::parse(answer);
    for (std::size_t i = 0; i < packed.size(); ++i) {
      INFO("packed: " << base::hex(packed[i]));
      REQUIRE(read.at(i) == object_of(packed[i]));
    }
  }
}
