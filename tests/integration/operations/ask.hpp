#pragma once
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "admin/operation.hpp"
#include "integration/support/inbox.hpp"

namespace inboxd::support {

/// What an operation of the table answers, as command line and HTTP ask it. `given` is what was typed.
class Desk final {
 public:
  explicit Desk(Inbox& inbox) {
    context.connection = &inbox.connection();
    context.name_space = "prod";
    context.actor = "ann@host";
  }

  admin::Answer ask(const std::string& verb, const std::map<std::string, std::vector<std::string>>& given = {}) {
    for (const auto& operation : table_) {
      if (operation.verb != verb) continue;
      const auto arguments = admin::read_arguments(operation.parameters, given, now_);
      if (!arguments) throw std::runtime_error{arguments.problem().message};
      return operation.function(context, arguments.value());
    }
    throw std::runtime_error{"no operation " + verb};
  }

  admin::Context context;

 private:
  static constexpr event::Microseconds now_ = 4'000'000'000'000'000;  // far ahead: tests name no times ago
  std::vector<admin::Operation> table_ = admin::operations();
};

}  // namespace inboxd::support
