// The client library's own log lines.
#include "kafka/client_log.hpp"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdio>

#include "kafka/lookup.hpp"
#include "kafka/properties.hpp"

using namespace inboxd;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("the reason why brokers are not reached is kept, and nothing is printed to stderr") {
  kafka::ClientLog client_log;
  const int our_stderr = dup(STDERR_FILENO);
  std::FILE* const caught = std::tmpfile();
  REQUIRE(caught != nullptr);
  dup2(fileno(caught), STDERR_FILENO);
  {
    kafka::ClientSettings settings;
    settings.brokers = "127.0.0.1:1";
    auto conf = kafka::make_conf(settings);
    client_log.attach(conf.value().get());
    const auto client = kafka::make_consumer(std::move(conf).value());
    CHECK_FALSE(kafka::list_topics(client.value().get(), kafka::Timeout{300}));
  }
  dup2(our_stderr, STDERR_FILENO);
  close(our_stderr);
  std::fseek(caught, 0, SEEK_END);
  CHECK(std::ftell(caught) == 0);
  std::fclose(caught);
  CHECK_THAT(client_log.last_warning(), ContainsSubstring("Connection refused") && !ContainsSubstring("thrd:"));
}

TEST_CASE("a new connection that the broker closes explains a failure, whatever its level; an old one does not") {
  constexpr int information = 6;
  const std::string closed = "ssl://b:1/bootstrap: Disconnected: SSL connection closed by peer (after ";
  CHECK(kafka::ClientLog::explains(information, closed + "2ms in state UP)"));
  CHECK(kafka::ClientLog::explains(information, closed + "2ms in state APIVERSION_QUERY)"));
  CHECK(kafka::ClientLog::explains(information, closed + "9999ms in state UP, 2 identical error(s) suppressed)"));
  CHECK_FALSE(kafka::ClientLog::explains(information, closed + "60000ms in state UP)"));
  CHECK_FALSE(kafka::ClientLog::explains(information, "b:1/1: Connected (after"));
  CHECK(kafka::ClientLog::explains(4, closed + "60000ms in state UP)"));
  CHECK_FALSE(kafka::ClientLog::explains(3, "3/3 brokers are down"));
}
