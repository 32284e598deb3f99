#pragma once
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "integration/support/inbox.hpp"
#include "operations/operation.hpp"

namespace inboxd::support {

/// Runs an operation of the table as command line and HTTP do. `given` is the typed arguments.
class OperationRunner final {
 public:
  explicit OperationRunner(Inbox& inbox) {
    context.connection = &inbox.connection();
    context.name_space = "prod";
    context.actor = "ann@host";
  }

  operations::Answer run(const std::string& verb, const std::map<std::string, std::vector<std::string>>& given = {}) {
    for (const auto& operation : table_) {
      if (operation.verb != verb) continue;
      const auto arguments = operations::read_arguments(operation.parameters, given, now_);
      if (!arguments) throw std::runtime_error{arguments.problem().message};
      return operations::run(operation, context, arguments.value());
    }
    throw std::runtime_error{"no operation " + verb};
  }

  operations::Context context;

 private:
  static constexpr event::Microseconds now_ = 4'000'000'000'000'000;  // far ahead: tests use no relative times
  std::vector<operations::Operation> table_ = operations::operations();
};

}  // namespace inboxd::support
