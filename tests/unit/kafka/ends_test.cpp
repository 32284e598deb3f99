#include "kafka/ends.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>

#include "support/wait.hpp"
#include "unit/kafka/client.hpp"

namespace inboxd::kafka {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST_CASE("brokers that are away: whoever asks for ends waits for nothing, and is told in the end that none came") {
  const Client client = lonely_client();
  EndsQuestion question;
  const auto began = steady_clock::now();
  question.ask(client.get(), {{"orders", 0}, {"orders", 1}}, milliseconds{500});
  CHECK(question.is_under_way());
  CHECK_FALSE(question.take());
  CHECK(steady_clock::now() - began < milliseconds{400});
  std::optional<base::Result<EndsQuestion::Ends>> answer;
  CHECK(support::eventually([&] { return (answer = question.take()).has_value(); }));
  REQUIRE(answer);
  CHECK_FALSE(answer->ok());
  CHECK_FALSE(question.is_under_way());
}

TEST_CASE("a client is let go of while a question is under way, without waiting for its answer") {
  const auto began = steady_clock::now();
  {
    const Client client = lonely_client();
    EndsQuestion question;
    question.ask(client.get(), {{"orders", 0}}, milliseconds{30'000});
  }
  CHECK(steady_clock::now() - began < milliseconds{5'000});
}

}  // namespace inboxd::kafka
