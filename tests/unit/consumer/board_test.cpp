#include "consumer/board.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::consumer {

using std::chrono::seconds;

TEST_CASE("brokers that do not answer for a while are trouble until they answer") {
  Board board;
  const auto now = Board::Clock::now();
  CHECK_FALSE(board.trouble(now));
  board.unanswered(now);
  CHECK_FALSE(board.trouble(now + seconds{4}));
  board.unanswered(now + seconds{4});
  CHECK(board.trouble(now + seconds{5}) == "the brokers do not answer");
  board.answered({});
  CHECK_FALSE(board.trouble(now + seconds{60}));
}

TEST_CASE("topics that the brokers do not know are trouble until they do") {
  Board board;
  const auto now = Board::Clock::now();
  board.answered({"oders", "payments"});
  CHECK(board.trouble(now) == "the brokers know no topic oders, payments, or may not show it");
  CHECK(board.unknown_topics() == 2);
  board.answered({"payments"});
  CHECK(board.trouble(now) == "the brokers know no topic payments, or may not show it");
  board.answered({});
  CHECK_FALSE(board.trouble(now));
  CHECK(board.unknown_topics() == 0);
}

TEST_CASE("brokers that refuse the group are trouble until it takes this process or its offsets") {
  Board board;
  const auto now = Board::Clock::now();
  board.refused("the brokers refuse group orders");
  board.answered({});
  CHECK(board.trouble(now + seconds{60}) == "the brokers refuse group orders");
  board.admitted();
  CHECK_FALSE(board.trouble(now + seconds{60}));
}

TEST_CASE("complaints that say that brokers are away are counted from nought, others from their first") {
  Board board;
  CHECK(board.complaints().size() == Board::away.size());
  for (const auto& [error, count] : board.complaints()) CHECK(count == 0);
  board.complained("_TRANSPORT");
  board.complained("_MAX_POLL_EXCEEDED");
  board.unanswered();
  CHECK(board.complaints().at("_TRANSPORT") == 1);
  CHECK(board.complaints().at("_MAX_POLL_EXCEEDED") == 1);
  CHECK(board.complaints().at("unanswered") == 1);
}

}  // namespace inboxd::consumer
