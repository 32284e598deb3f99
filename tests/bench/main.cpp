#include <exception>
#include <iostream>
#include <stdexcept>

#include "base/exit_code.hpp"
#include "limit.hpp"
#include "options.hpp"
#include "postgres_session.hpp"
#include "report.hpp"
#include "scenarios.hpp"

namespace {

using namespace inboxd::bench;

void print_usage(std::ostream& out) {
  out << "inboxd_bench SCENARIO... [--events N] [--payload BYTES] [--partitions N] [--handlers N] [--connections N]\n"
         "             [--batch N] [--rounds N] [--seconds N]\n"
         "inboxd_bench --all | --smoke\n\n"
         "INBOXD_TEST_PG and INBOXD_TEST_KAFKA say where the servers are (config/setup/servers).\n\n";
  for (const Scenario& scenario : scenarios()) out << "  " << scenario.name << "\t" << scenario.about << '\n';
}

MeasuredRun limit_now(const Options& options) {
  const ScratchDatabase database{options.postgres};
  return run_limit(options, database.url());
}

int measure(const Options& options) {
  const bool with_limit = !options.smoke && !options.profile;
  if (with_limit) limit_now(options);  // warm-up: the first run after a server start is slow
  Report report;
  for (const std::string& name : options.scenarios) {
    for (const Scenario& scenario : scenarios()) {
      if (scenario.name != name) continue;
      report.begin(name, scenario.about);
      if (with_limit) report.run("limit", limit_now(options));
      scenario.measure(options, report);
    }
  }
  report.summary();
  return report.is_all_met() || options.smoke ? 0 : 1;  // goals need full numbers
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> names;
  for (const Scenario& scenario : scenarios()) names.emplace_back(scenario.name);
  try {
    return measure(read_options(count, arguments, names));
  } catch (const std::invalid_argument& wrong) {
    std::cerr << "inboxd_bench: " << wrong.what() << "\n\n";
    print_usage(std::cerr);
    return 64;
  } catch (const std::exception& failed) {
    std::cerr << "inboxd_bench: " << failed.what() << '\n';
    return 1;
  }
}
