#include "cli/watch_view.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "cli/progress_line.hpp"

using namespace inboxd::cli;
using namespace std::chrono_literals;

namespace {

Document status_at(std::int64_t position) {
  return {{"topics", {{{"topic", "orders"}, {"position", position}}, {{"topic", "orders"}, {"position", nullptr}}}}};
}

}  // namespace

TEST_CASE("a row of small bars leaves unknown values blank") {
  CHECK(spark_text({std::nan(""), 0, 2, 1}) == " ▁█▅");
  CHECK(spark_text({}).empty());
}

TEST_CASE("the rate of a topic is the distance of its positions, and a seek back is no rate below zero") {
  WatchedRates rates;
  rates.add(status_at(100), 1'000ms);
  CHECK(rates.by_topic().empty());
  rates.add(status_at(300), 3'000ms);
  rates.add(status_at(10), 4'000ms);
  CHECK(rates.by_topic().at("orders") == std::deque<double>{100, 0});
}

TEST_CASE("the failures and dead letters of a handler open their events") {
  const Document dead{{"dead_letters",
                       {{{"dead_letter_id", 7}, {"died_at", "2026-11-28T00:00:00Z"}, {"error_class", "a"},
                         {"last_error", "no such row"}, {"event", {{"event_id", "e-7"}}}}}}};
  const auto screen = handler_screen(dead, Document::object(), {});
  std::vector<std::string> opened;
  std::string text;
  for (const auto& line : screen.lines) {
    text += line.text + "\n";
    if (!line.opens.empty()) opened.push_back(line.opens);
  }
  CHECK(opened == std::vector<std::string>{"e-7"});
  CHECK(text.find("no such row") != text.npos);
}

TEST_CASE("a screen shows the lines around the selected one, as many as there is room for") {
  WatchScreen screen;
  for (int i = 0; i < 20; ++i) screen.lines.push_back({"line " + std::to_string(i), "event " + std::to_string(i)});
  const auto shown = framed(screen, 15, "title", "foot", {80, 8}, {});
  CHECK(shown.find("\x1b[7mline 15\x1b[0m") != shown.npos);
  CHECK(shown.find("line 10\n") == shown.npos);
  CHECK(std::count(shown.begin(), shown.end(), '\n') == 7);
}

TEST_CASE("progress has a rate and the time left once two seconds have passed") {
  CHECK(progress_text({"worked through", 100, 400}, 1s, false) == "worked through 100 of 400");
  CHECK(progress_text({"worked through", 100, 400}, 10s, false) == "worked through 100 of 400 10/s, 30 s left");
  CHECK(progress_text({"read", 5, 0}, 10s, true) == "read 5");
}
