// Tables for people, on terminals and in pipes.
#include "cli/terminal_text.hpp"

#include <catch2/catch_test_macros.hpp>
#include <sstream>

#include "cli/progress_line.hpp"

using namespace inboxd::cli;

namespace {

Table orders() {
  Table table{{{"TOPIC", Align::left, true}, {"LAG", Align::right}, {"", Align::left}}};
  table.add({{"orders"}, {"7"}, {"HALTED", Tone::bad}});
  table.add({{"payments-of-last-year"}, {"1,234"}, {""}});
  return table;
}

Look terminal(std::size_t width) { return {false, width}; }

}  // namespace

TEST_CASE("columns are as wide as their widest cell, numbers are aligned right, no line ends in spaces") {
  CHECK(orders().text({}) ==
        "TOPIC                    LAG\n"
        "orders                     7  HALTED\n"
        "payments-of-last-year  1,234\n");
}

TEST_CASE("on a narrow terminal the columns that give way are cut") {
  CHECK(orders().text(terminal(28)) ==
        "TOPIC            LAG\n"
        "orders             7  HALTED\n"
        "payments-of-…  1,234\n");
}

TEST_CASE("a column that gives way keeps eight columns") {
  CHECK(orders().text(terminal(3)) ==
        "TOPIC       LAG\n"
        "orders        7  HALTED\n"
        "payment…  1,234\n");
}

TEST_CASE("colours are written only if the look has them") {
  CHECK(orders().text({}).find('\x1b') == std::string::npos);
  CHECK(orders().text({true, 0}).find("\x1b[1;31mHALTED\x1b[0m") != std::string::npos);
}

TEST_CASE("no cell can move the cursor or break the line") {
  Table table{{{"KEY"}}};
  table.add({{"a\x1b[2J\nb\r\xc2\x9b\xff"}});
  CHECK(table.text({}) == "KEY\na\\x1b[2J b\\x0d\\xc2\\x9b\\xff\n");
  Sheet sheet;
  sheet.add("key", "a\x1b[2J\n");
  CHECK(sheet.text({}) == "key  a\\x1b[2J \n");
}

TEST_CASE("wide characters take two columns, combining characters none") {
  CHECK(columns_of("größer") == 6);
  CHECK(columns_of("注文") == 4);
  CHECK(columns_of("e\xcc\x81") == 1);
  CHECK(clipped("注文番号", 5) == "注文…");
  CHECK(clipped("größer", 6) == "größer");
  CHECK(clipped("größer", 4) == "grö…");
}

TEST_CASE("a row with too many cells is a bug") {
  Table table{{{"A"}}};
  CHECK_THROWS_AS(table.add({{"1"}, {"2"}}), std::logic_error);
}

TEST_CASE("a sheet leaves out empty values") {
  Sheet sheet;
  sheet.add("type", "OrderPlaced");
  sheet.add("source", "");
  sheet.add("key", "k");
  CHECK(sheet.text({}) == "type  OrderPlaced\nkey   k\n");
}

TEST_CASE("progress shows the names in it without the control sequences of a terminal") {
  std::ostringstream out, messages;
  const Output output{out, messages, {}, {}, true, false};
  ProgressLine{output}.show({"offsets of or\x1b[2Jders/0", 1, 2});
  CHECK(messages.str() == "\roffsets of or\\x1b[2Jders/0 1 of 2 ▕██████████░░░░░░░░░░▏\x1b[K\n");
}
