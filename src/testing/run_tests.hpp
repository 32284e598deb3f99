#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/logger.hpp"
#include "base/result.hpp"
#include "config/load.hpp"
#include "testing/test_file.hpp"

namespace inboxd::testing {

struct CaseResult {
  std::string name;
  std::chrono::milliseconds duration{0};
  std::vector<std::string> differences;  ///< none: it passed
  bool has_left_calls = false;           ///< a call of a plugin never returned: the process ends with std::_Exit
};

struct TestRequest {
  std::string database;                    ///< URL of a server; empty: one is started
  std::string filter;                      ///< a part of the names of cases
  bool is_real = false;                    ///< handlers `http` call their real addresses
  std::chrono::milliseconds timeout{0};    ///< of a case
  std::function<bool()> must_end;          ///< asked between two steps
  std::function<void(const CaseResult&)> report;  ///< after each case
};

/// Runs the cases in order, each with a database and a daemon of its own. A problem if there is no server, or the
/// setup of the file is refused (code `setup`). After `must_end`, which fails the running case, and after a call that
/// never returns, the rest of the cases is left out. Server and databases are gone when it returns.
base::Result<std::vector<CaseResult>> run_tests(const TestFile& file, const config::Loaded& loaded,
                                                const TestRequest& request, base::Logger& log);

/// The results as JUnit XML. Pure.
std::string junit_of(const std::string& file, const std::vector<CaseResult>& results);

}  // namespace inboxd::testing
