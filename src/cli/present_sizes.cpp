#include <cmath>

#include "cli/present.hpp"
#include "cli/terminal_text.hpp"
#include "cli/value_text.hpp"

namespace inboxd::cli {
namespace {

std::string bytes_of(const Document& document, const char* key) {
  return bytes_text(document.at(key).get<std::int64_t>());
}

std::string days_text(const Document& growth) {
  const auto& days = growth.at("days_left");
  return days.is_null() ? "never" : number_text(std::llround(std::ceil(days.get<double>())));
}

}  // namespace

std::string present_sizes(const Document& sizes, const Look& look) {
  Table tables{{{"TABLE", Align::left, true}, {"DAY"}, {"SIZE", Align::right}}};
  for (const auto& size : sizes.at("tables")) {
    tables.add({{text_at(size, "table")}, {text_at(size, "day")}, {bytes_of(size, "bytes")}});
  }
  Table growth{
      {{"GROWS", Align::left, true}, {"PER DAY", Align::right}, {"DAYS UNTIL ITS OLDEST IS DROPPED", Align::right}}};
  for (const auto& one : sizes.at("growth")) {
    growth.add({{text_at(one, "table")}, {bytes_of(one, "bytes_per_day")}, {days_text(one)}});
  }
  return tables.text(look) + "\n" + growth.text(look) + "\n" + bytes_of(sizes, "bytes") + " in all, growing by " +
         bytes_of(sizes, "bytes_per_day") + " per day at today's rate; free disk space is not known\n";
}

}  // namespace inboxd::cli
