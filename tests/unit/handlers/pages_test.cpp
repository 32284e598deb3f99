// The tables of settings in config/handlers are generated from the tables of the shipped handlers.
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "handlers/exec/settings.hpp"
#include "handlers/http/settings.hpp"
#include "handlers/kafka/settings.hpp"
#include "handlers/log/settings.hpp"
#include "handlers/sql/settings.hpp"

namespace {

const std::string head = "| setting | default | meaning |\n|---|---|---|\n";

template <std::size_t count>
std::string rows_of(const handlers::SettingsTable<count>& table) {
  std::string out;
  for (const handlers::Setting& each : table.rows) {
    const bool is_word = each.otherwise == handlers::required || each.otherwise == handlers::none;
    const std::string quote = is_word ? "" : "`";
    out += std::string{"| `"} + each.name + "` | " + quote;
    out.append(each.otherwise).append(quote + " | " + each.meaning + " |\n");
  }
  return out;
}

void check_page(const std::string& handler, const std::string& rows) {
  const auto path = std::filesystem::current_path() / "config" / "handlers" / (handler + ".md");
  std::ostringstream read;
  read << std::ifstream{path, std::ios::binary}.rdbuf();
  const std::string page = read.str();
  const std::size_t begin = page.find(head);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = page.find("\n\n", begin);
  const std::string wanted = page.substr(0, begin) + head + rows + page.substr(end + 1);
  if (std::getenv("UPDATE_GENERATED") != nullptr) std::ofstream{path, std::ios::binary} << wanted;
  INFO("the settings in " << path.filename()
                          << " are stale; run UPDATE_GENERATED=1 build/release/tests/unit/unit_handlers '[generated]'");
  const bool is_current = page == wanted || std::getenv("UPDATE_GENERATED") != nullptr;
  CHECK(is_current);
}

}  // namespace

TEST_CASE("the pages of the shipped handlers list their settings and defaults", "[generated]") {
  check_page("exec", rows_of(exec_handler::table));
  check_page("http", rows_of(http_handler::table));
  check_page("kafka", rows_of(kafka_handler::table));
  check_page("log", rows_of(log_handler::table));
  check_page("sql", rows_of(sql_handler::table));
}
