#include <chrono>
#include <cmath>

#include "cli/present.hpp"
#include "cli/present_rows.hpp"
#include "cli/value_text.hpp"
#include "config/units.hpp"
#include "operations/row_columns.hpp"

namespace inboxd::cli {
namespace {

namespace columns = operations::columns;

std::string days_text(const Document& growth) {
  const auto& days = growth.at("days_left");
  return days.is_null() ? "never" : number_text(std::llround(std::ceil(days.get<double>())));
}

/// A day of a table with its indexes, without a row or with few.
constexpr std::int64_t empty_day_bytes = 64 << 10;

std::string percent_text(double share) { return number_text(std::llround(100 * share)) + " %"; }

std::string ledger_text(const Document& ledger) {
  const auto generations = ledger.at("generations").get<std::int64_t>();
  std::string out = "ledger: " + number_text(ledger.at("ids").get<std::int64_t>()) + " ids in " +
                    number_text(generations) + (generations == 1 ? " generation" : " generations") + ", indexes " +
                    size_at(ledger, "index_bytes") + ", shared_buffers " + size_at(ledger, "shared_buffers");
  if (!ledger.at("random_share").is_null()) {
    out += ", " + percent_text(ledger.at("random_share").get<double>()) + " random ids";
  }
  out += "\n";
  const auto resends = ledger.at("resends").get<std::int64_t>();
  out += "resends: " + number_text(resends) + " in 90 days";
  if (!ledger.at("resend_seconds").is_null()) {
    out += ", 99.9 % of them within " +
           config::duration_text(std::chrono::seconds{ledger.at("resend_seconds").get<std::int64_t>()});
  }
  out += "\nWAL of the server: " + size_at(ledger, "wal_bytes_per_second") + "/s, " +
         percent_text(ledger.at("full_page_share").get<double>()) + " whole pages, a checkpoint every " +
         size_at(ledger, "checkpoint_bytes") + "\n";
  for (const auto& advice : ledger.at("advice")) out += "  " + advice.get<std::string>() + "\n";
  return out;
}

}  // namespace

std::string present_sizes(const Document& sizes, const Look& look) {
  Document listed = Document::array();
  for (const Document& row : sizes.at("tables")) {
    const bool is_empty_day = !row.at("day").is_null() && row.at("bytes").get<std::int64_t>() <= empty_day_bytes;
    if (!is_empty_day) listed.push_back(row);
  }
  std::string tables = present_rows(listed, columns::table_size, {"table", "day", "bytes"}, look);
  if (const auto left_out = sizes.at("tables").size() - listed.size(); left_out > 0) {
    tables += "not listed, below 64 KiB: " + number_text(static_cast<std::int64_t>(left_out)) +
              (left_out == 1 ? " day\n" : " days\n");
  }
  const std::string growth = present_rows(sizes.at("growth"), columns::table_growth,
                                          {"table", "bytes_per_day", "days_left"}, look,
                                          [](std::string_view column, const Document& row, Cell& cell) {
                                            if (column == "days_left") cell.text = days_text(row);
                                          });
  return tables + "\n" + growth + "\n" + size_at(sizes, "bytes") + " in all, growing by " +
         size_at(sizes, "bytes_per_day") + " per day at today's rate; free disk space is not known\n\n" +
         ledger_text(sizes.at("ledger"));
}

}  // namespace inboxd::cli
