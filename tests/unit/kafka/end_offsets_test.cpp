#include "kafka/end_offsets.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>

#include "support/wait.hpp"
#include "unit/kafka/client.hpp"

namespace inboxd::kafka {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST_CASE("with brokers away a request blocks no caller and ends with a problem") {
  const Client client = lonely_client();
  {
    EndOffsetsRequest request;
    request.send(client.get(), {{"orders", 0}}, milliseconds{60'000});
    CHECK(request.is_pending());
    CHECK_FALSE(request.take());
  }
  EndOffsetsRequest request;
  request.send(client.get(), {{"orders", 0}, {"orders", 1}}, milliseconds{500});
  std::optional<base::Result<EndOffsetsRequest::Offsets>> answer;
  CHECK(support::eventually([&] { return (answer = request.take()).has_value(); }));
  REQUIRE(answer);
  CHECK_FALSE(answer->ok());
  CHECK_FALSE(request.is_pending());
}

TEST_CASE("a client can be destroyed while a request is pending") {
  const auto began = steady_clock::now();
  {
    const Client client = lonely_client();
    EndOffsetsRequest request;
    request.send(client.get(), {{"orders", 0}}, milliseconds{30'000});
  }
  CHECK(steady_clock::now() - began < milliseconds{20'000});
}

}  // namespace inboxd::kafka
