// What the client library says by itself.
#include "kafka/words.hpp"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdio>

#include "kafka/lookup.hpp"
#include "kafka/properties.hpp"

using namespace inboxd;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("why brokers are not reached is kept for who asked, and not a word of it goes to stderr") {
  kafka::Words words;
  const int our_stderr = dup(STDERR_FILENO);
  std::FILE* const caught = std::tmpfile();
  REQUIRE(caught != nullptr);
  dup2(fileno(caught), STDERR_FILENO);
  {
    kafka::ClientSettings settings;
    settings.brokers = "127.0.0.1:1";
    auto conf = kafka::make_conf(settings);
    words.listen(conf.value().get());
    const auto client = kafka::make_consumer(std::move(conf).value());
    CHECK_FALSE(kafka::list_topics(client.value().get(), kafka::Timeout{300}));
  }
  dup2(our_stderr, STDERR_FILENO);
  close(our_stderr);
  std::fseek(caught, 0, SEEK_END);
  CHECK(std::ftell(caught) == 0);
  std::fclose(caught);
  CHECK_THAT(words.last_complaint(), ContainsSubstring("Connection refused") && !ContainsSubstring("thrd:"));
}
