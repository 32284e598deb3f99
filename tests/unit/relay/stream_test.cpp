// The two producers of a sender, without brokers: their states.
#include "relay/stream.hpp"

#include <catch2/catch_test_macros.hpp>
#include <utility>

#include "relay/trial.hpp"

namespace inboxd::relay {
namespace {

using namespace std::chrono_literals;

const Stream::Clock::time_point now{1h};

std::unique_ptr<kafka::Producer> producer_without_brokers() {
  kafka::ProducerSettings settings;
  settings.brokers = "127.0.0.1:1";
  settings.on_problem = [](std::string_view) {};
  settings.log = [](int, std::string_view) {};
  auto made = kafka::Producer::make(std::move(settings));
  REQUIRE(made);
  return std::move(made).value();
}

}  // namespace

TEST_CASE("a stream fails with a refused batch or a stalled message, and is resized once its suspects were accepted") {
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  Refusals refusals;
  Stream stream{producer_without_brokers(), log};
  stream.review(refusals, now);
  CHECK(stream.state() == Stream::State::sending);
  stream.refused.emplace_back();
  stream.review(refusals, now);
  CHECK(stream.state() == Stream::State::failed);

  Stream next{producer_without_brokers(), log};
  next.fail();
  CHECK(next.state() == Stream::State::failed);
  refusals.note_batch({7}, 100'000);
  refusals.note_sent(7);
  next.review(refusals, now);
  CHECK(next.state() == Stream::State::resized);
}

TEST_CASE("brokers that do not answer stall no message") {
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  Stream stream{producer_without_brokers(), log};
  CHECK_FALSE(stream.find_stalled(now, now - 1h, 1s));
  CHECK_FALSE(stream.is_check_due(now + 4s));  // unanswered questions are rare
  CHECK(stream.is_check_due(now + 5s));
  CHECK_FALSE(stream.find_stalled(now + 5s, now - 1h, 1s));
}

TEST_CASE("a trial is made when a message needs it, and rests for a second after a failure") {
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  int made = 0;
  Trial trial{[&] { return ++made == 1 ? nullptr : producer_without_brokers(); }, log};
  CHECK_FALSE(trial.has_failed());
  CHECK_FALSE(trial.begin(now));
  CHECK_FALSE(trial.begin(now + 999ms));
  CHECK(made == 1);
  CHECK(trial.begin(now + 1s));
  CHECK(trial.state() == Trial::State::sending);
  trial.flight[7].bytes = 100;
  CHECK(trial.begin(now + 1h));
  CHECK(made == 2);

  const Flight dropped = trial.rest(now + 1h);
  CHECK(dropped.at(7).bytes == 100);
  CHECK(trial.flight.empty());
  CHECK(trial.state() == Trial::State::resting);
  CHECK_FALSE(trial.begin(now + 1h + 999ms));
  CHECK(trial.begin(now + 1h + 1s));
}

}  // namespace inboxd::relay
