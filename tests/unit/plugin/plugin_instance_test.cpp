#include "plugin/plugin_instance.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>

#include "plugin/library.hpp"

using Catch::Matchers::ContainsSubstring;
using inboxd::plugin::fault_of;
using inboxd::plugin::make_instance;

namespace {

/// Records the calls of the functions below, and is their instance.
struct Seen {
  std::string settings;
  std::uint32_t events_per_call = 0;
  int destroyed = 0;
};
Seen seen;  // global: `create` gets no pointer from the test

void* create(const inboxd_host*, const inboxd_config* config, char*, size_t) {
  seen.settings = std::string{config->handler.data} + ":";
  seen.events_per_call = config->events_per_call;
  for (std::size_t i = 0; i < config->setting_count; ++i) {
    seen.settings += std::string{" "} + config->settings[i].name.data + "=" + config->settings[i].value.data;
  }
  return &seen;
}

void* refuse_at_length(const inboxd_host*, const inboxd_config*, char* error, size_t size) {
  std::memset(error, 'x', size);  // and no 0 byte
  return nullptr;
}

void handle(void*, inboxd_call* call, const inboxd_event* const*, size_t) { inboxd_done(call, INBOXD_THE_REST); }
void destroy(void* instance) { ++static_cast<Seen*>(instance)->destroyed; }

inboxd_plugin plugin() {
  return {sizeof(inboxd_plugin), INBOXD_ABI_MAJOR, INBOXD_ABI_MINOR, "test", "1", nullptr, create, handle, destroy};
}

inboxd::config::Handler handler() {
  inboxd::config::Handler out;
  out.name = "receipts";
  out.plugin = "test";
  out.settings = {{"b", "[1,2]"}, {"a", ""}};
  out.events_per_call = 50;
  return out;
}

}  // namespace

TEST_CASE("an instance gets its settings sorted by name and its events per call, and is destroyed once") {
  seen = {};
  inboxd::base::Logger log{inboxd::base::LogLevel::error, inboxd::base::LogFormat::text};
  const inboxd_plugin table = plugin();
  {
    const auto instance = make_instance(&table, handler(), log);
    REQUIRE(instance.ok());
    CHECK(seen.settings == "receipts: a= b=[1,2]");
    CHECK(seen.events_per_call == 50);
    CHECK(seen.destroyed == 0);
    CHECK(instance.value()->handle({}, inboxd::plugin::Cancellation{}, {}).empty());
  }
  CHECK(seen.destroyed == 1);
}

TEST_CASE("a reason that fills its buffer without a 0 byte is read to the end of the buffer") {
  inboxd::base::Logger log{inboxd::base::LogLevel::error, inboxd::base::LogFormat::text};
  inboxd_plugin table = plugin();
  table.create = refuse_at_length;
  const auto instance = make_instance(&table, handler(), log);
  REQUIRE_FALSE(instance.ok());
  CHECK(instance.problem().message == "plugin test: " + std::string(2048, 'x'));
}

TEST_CASE("a valid table has no fault") {
  const inboxd_plugin table = plugin();
  CHECK_FALSE(fault_of(&table).has_value());
}

TEST_CASE("a fault in a table is reported with the remedy") {
  inboxd_plugin table = plugin();
  table.abi_major = 7;
  table.abi_minor = 9;
  CHECK_THAT(fault_of(&table).value_or(""), ContainsSubstring("version 7.9") && ContainsSubstring("has 1.0"));
  table = plugin();
  table.struct_size -= 1;
  CHECK_THAT(fault_of(&table).value_or(""), ContainsSubstring("a table of 55 bytes"));
  table = plugin();
  table.name = "";
  CHECK_THAT(fault_of(&table).value_or(""), ContainsSubstring("has no name"));
  table = plugin();
  table.version = nullptr;
  CHECK_THAT(fault_of(&table).value_or(""), ContainsSubstring("has no version"));
  table = plugin();
  const char* const needs[] = {"inboxd.sql/1", "inboxd.sql/2", nullptr};
  table.needs = needs;
  CHECK_THAT(fault_of(&table).value_or(""), ContainsSubstring("needs the extension inboxd.sql/2"));
}
