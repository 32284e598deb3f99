#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>

namespace inboxd::bench {
namespace {

constexpr std::int64_t smoke_events = 20'000;
constexpr std::chrono::seconds smoke_duration{2};

std::int64_t number(const std::string& name, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1) {
    throw std::invalid_argument{name + " needs a number of at least 1, not '" + text + "'"};
  }
  return value;
}

std::string from_environment(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    throw std::invalid_argument{std::string{name} + " is not set: source the env file of config/setup/servers"};
  }
  return value;
}

void set(Options& options, const std::string& name, const std::string& value) {
  const auto as_int = [&] { return static_cast<int>(std::min<std::int64_t>(number(name, value), 1'000'000)); };
  if (name == "--events") {
    options.events = number(name, value);
  } else if (name == "--payload") {
    options.payload = static_cast<std::size_t>(number(name, value));
  } else if (name == "--partitions") {
    options.partitions = as_int();
  } else if (name == "--handlers") {
    options.handlers = as_int();
  } else if (name == "--connections") {
    options.connections = as_int();
  } else if (name == "--batch") {
    options.batch = as_int();
  } else if (name == "--ids") {
    options.ids = number(name, value);
  } else if (name == "--rounds") {
    options.rounds = as_int();
  } else if (name == "--property") {
    const auto equals = value.find('=');
    if (equals == value.npos) throw std::invalid_argument{name + " needs NAME=VALUE, not '" + value + "'"};
    options.properties[value.substr(0, equals)] = value.substr(equals + 1);
  } else if (name == "--seconds") {
    options.duration = std::chrono::seconds{as_int()};
  } else {
    throw std::invalid_argument{"unknown option " + name};
  }
}

void make_small(Options& options) {
  options.smoke = true;
  options.events = smoke_events;
  options.ids = smoke_events;
  options.rounds = 1;
  options.duration = smoke_duration;
}

}  // namespace

Options read_options(int count, char** arguments, const std::vector<std::string>& known_scenarios) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--all") {
      options.scenarios = known_scenarios;
    } else if (argument == "--smoke") {
      make_small(options);
    } else if (argument == "--profile") {
      options.profile = true;
    } else if (argument.starts_with("--")) {
      if (++i == count) throw std::invalid_argument{argument + " needs a value"};
      set(options, argument, arguments[i]);
    } else if (std::find(known_scenarios.begin(), known_scenarios.end(), argument) != known_scenarios.end()) {
      options.scenarios.push_back(argument);
    } else {
      throw std::invalid_argument{"unknown scenario " + argument};
    }
  }
  if (options.smoke && options.scenarios.empty()) options.scenarios = known_scenarios;
  if (options.scenarios.empty()) throw std::invalid_argument{"which scenario?"};
  if (options.connections > options.partitions) {
    throw std::invalid_argument{"more connections than partitions: some would have nothing to do"};
  }
  options.postgres = from_environment("INBOXD_TEST_PG");
  options.kafka = from_environment("INBOXD_TEST_KAFKA");
  return options;
}

}  // namespace inboxd::bench
