#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "config/suggest.hpp"

namespace inboxd::cli {
namespace {

using Kind = operations::Parameter::Kind;
using Place = operations::Parameter::Place;

constexpr const char* default_config_file = "/etc/inboxd/inboxd.yaml";

constexpr const char* exit_statuses =
    "\nExit status: 0 done; 1 the command's own \"no\"; 64 usage error; 69 database, brokers or daemon not reached;\n"
    "  70 a bug, please report it; 75 temporary failure; 77 not allowed; 78 configuration\n";

/// Help that opens with examples and closes with the exit statuses.
class HelpText final : public CLI::Formatter {
 public:
  void set_examples(const CLI::App* app, std::vector<operations::Example> examples) {
    examples_[app] = std::move(examples);
  }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    if (mode != CLI::AppFormatMode::Normal) return CLI::Formatter::make_help(app, std::move(name), mode);
    const std::string description = make_description(app);
    std::string out = examples_of(app) + description;
    if (!description.empty()) out += '\n';
    out += make_usage(app, std::move(name)) + make_positionals(app) + make_groups(app, mode);
    return out + make_subcommands(app, mode) + exit_statuses;
  }

 private:
  std::string examples_of(const CLI::App* app) const {
    const auto found = examples_.find(app);
    if (found == examples_.end()) return "";
    std::size_t width = 0;
    for (const auto& example : found->second) width = std::max(width, example.command.size());
    std::string out = "Examples:\n";
    for (const auto& example : found->second) {
      const std::string space(width - example.command.size() + 3, ' ');
      out.append("  inboxd ").append(example.command).append(space).append(example.explains).append("\n");
    }
    return out + "\n";
  }

  std::map<const CLI::App*, std::vector<operations::Example>> examples_;
};

/// A command with its CLI11 application. An alias has its own application.
struct Bound {
  const Command* command = nullptr;
  CLI::App* app = nullptr;
  std::map<std::string, CLI::Option*> options;
};

std::vector<operations::Example> first_examples() {
  return {{"check", "tests the configuration, database, brokers and topics"},
          {"run --migrate", "runs the daemon, after due migrations"},
          {"status --watch", "topics, handlers and daemons at a glance"},
          {"events show orders/3/81723", "one event and its state for each handler"},
          {"dead replay --handler billing --dry-run", "how many dead letters would be delivered again"}};
}

const char* family_help(const std::string& family) {
  if (family == "events") return "Stored events and their history.";
  if (family == "dead") return "Events that failed for good in a handler.";
  if (family == "lanes") return "Keys that wait for a failed event.";
  if (family == "outbox") return "Messages that a transaction published and that are not sent yet.";
  if (family == "quarantine") return "Records that could not become events.";
  if (family == "handlers") return "Registered handlers.";
  if (family == "partitions") return "Partitions with their positions, gaps and halts.";
  if (family == "shards") return "Former name of `partitions`.";
  if (family == "audit") return "Changes by operators.";
  if (family == "instance") return "The running daemon, over its admin port.";
  if (family == "import") return "Configurations of other programs, translated.";
  if (family == "config") return "The configuration, its keys and its schema.";
  if (family == "plugin") return "Handlers in shared objects.";
  return "";
}

CLI::Option* add_parameter(CLI::App& app, const operations::Parameter& parameter) {
  if (parameter.kind == Kind::flag) return app.add_flag("--" + parameter.name, parameter.help);
  const bool is_word = parameter.place != Place::option;
  std::string help = parameter.help;
  if (parameter.default_number) help += " (" + std::to_string(*parameter.default_number) + ")";
  const auto ignore = [](const CLI::results_t&) { return true; };  // parsed() reads the option
  CLI::Option* const option = app.add_option(is_word ? parameter.placeholder : "--" + parameter.name, ignore, help);
  option->type_name(is_word ? "" : parameter.placeholder);
  if (parameter.place == Place::word) option->required();
  if (parameter.kind == Kind::texts) {
    option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(is_word);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  } else {
    option->expected(1);
  }
  return option;
}

/// The CLI11 application of a table of commands.
class Application final {
 public:
  explicit Application(const std::vector<Command>& table) {
    root_.name("inboxd");
    root_.formatter(help_);
    root_.fallthrough();
    root_.require_subcommand(1);
    CLI::Option* const config = root_.add_option(
        "--config", config_file_,
        "the configuration (default $INBOXD_CONFIG or " + std::string{default_config_file} + ")");
    config->type_name("FILE");
    root_
        .add_option("--shards", shards_file_,
                    "instead of --config, for reads: a list of the configurations of databases that share topics; "
                    "shows all of them as one")
        ->type_name("FILE")
        ->excludes(config);
    root_.add_flag("--version")->description("print the version");
    help_->set_examples(&root_, first_examples());
    for (const Command& command : table) add(command);
  }

  std::variant<Parsed, Said> parse(std::vector<std::string> words) {
    if (words == std::vector<std::string>{"--version"}) words = {"version"};
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    try {
      root_.parse(std::move(words));
    } catch (const CLI::CallForHelp&) {
      return Said{base::ExitCode::done, help_of(asked_app())};
    } catch (const CLI::ExtrasError&) {
      return Said{base::ExitCode::usage, complaint("not expected: " + unexpected())};
    } catch (const CLI::ParseError& error) {
      return Said{base::ExitCode::usage, complaint(error.what())};
    }
    for (const Bound& bound : bound_) {
      if (bound.app->parsed()) return parsed(bound);
    }
    return Said{base::ExitCode::usage, "inboxd: a command is missing; see inboxd -h\n"};
  }

 private:
  void add(const Command& command) {
    add(command, command.verb);
    for (const std::string& alias : command.aliases) hide(add(command, alias));
  }

  /// Hides a command, and its family if that has aliases only.
  static void hide(CLI::App& app) {
    app.group("");
    CLI::App& parent = *app.get_parent();
    const auto is_shown = [](const CLI::App* one) { return !one->get_group().empty(); };
    if (parent.get_parent() != nullptr && parent.get_subcommands(is_shown).empty()) parent.group("");
  }

  CLI::App& add(const Command& command, const std::string& verb) {
    const auto space = verb.find(' ');
    CLI::App* parent = &root_;
    if (space != std::string::npos) parent = family(verb.substr(0, space), command);
    CLI::App* const app =
        parent->add_subcommand(space == std::string::npos ? verb : verb.substr(space + 1), command.help);
    app->require_subcommand(0);
    help_->set_examples(app, command.examples);
    Bound bound{&command, app, {}};
    for (const auto& parameter : command.parameters) bound.options[parameter.name] = add_parameter(*app, parameter);
    bound.options["json"] = app->add_flag("--json")->description("one JSON document on stdout");
    bound_.push_back(std::move(bound));
    return *app;
  }

  CLI::App* family(const std::string& name, const Command& member) {
    auto& app = families_[name];
    if (app == nullptr) {
      app = root_.add_subcommand(name, family_help(name));
      app->require_subcommand(1);
    }
    auto& examples = family_examples_[name];
    const auto& first = member.examples.front();
    if (examples.empty() || examples.back().command != first.command) examples.push_back(first);  // an alias repeats it
    help_->set_examples(app, examples);
    return app;
  }

  Parsed parsed(const Bound& bound) const {
    Parsed out;
    out.command = bound.command;
    out.config_file = config_file_;
    out.shards_file = shards_file_;
    for (const auto& [name, option] : bound.options) {
      if (option->count() == 0) continue;
      if (name == "json")
        out.json = true;
      else
        out.given[name] = option->results();
    }
    return out;
  }

  /// The innermost command that was named.
  const CLI::App& asked_app() const {
    const CLI::App* app = &root_;
    while (true) {
      const auto chosen = app->get_subcommands();
      if (chosen.empty()) return *app;
      app = chosen.front();
    }
  }

  static std::string path_of(const CLI::App& app) {
    return app.get_parent() == nullptr ? app.get_name() : path_of(*app.get_parent()) + " " + app.get_name();
  }

  static std::string help_of(const CLI::App& app) {
    return app.help(app.get_parent() == nullptr ? "" : path_of(*app.get_parent()));
  }

  /// As typed; the library tells them backwards.
  std::string unexpected() const {
    std::string out;
    for (const std::string& word : root_.remaining(true)) out += (out.empty() ? "" : " ") + word;
    return out;
  }

  std::string complaint(const std::string& mistake) const {
    const CLI::App& app = asked_app();
    const std::string path = path_of(app);
    const bool is_alias = app.get_group().empty();
    const auto below = app.get_subcommands([&](const CLI::App* one) { return is_alias || !one->get_group().empty(); });
    const std::string where = app.get_parent() == nullptr ? "" : path.substr(sizeof "inboxd") + ": ";
    const std::string what = below.empty() ? mistake : which_command(below);
    return "inboxd: " + where + one_line(what) + (what.ends_with("?") ? " See " : "; see ") + path + " -h\n";
  }

  /// The mistake if a command of these was expected.
  std::string which_command(const std::vector<const CLI::App*>& wanted) const {
    std::vector<std::string> names;
    for (const auto* app : wanted) names.push_back(app->get_name());
    for (const std::string& word : root_.remaining(true)) {
      const bool is_option = word.starts_with("-");
      const auto meant = config::closest(word, names);
      return (is_option ? "there is no option " : "there is no command ") + word +
             (meant ? ", did you mean " + *meant + "?" : "");
    }
    return "a command is missing";
  }

  CLI::App root_;
  std::shared_ptr<HelpText> help_ = std::make_shared<HelpText>();
  std::string config_file_, shards_file_;
  std::vector<Bound> bound_;
  std::map<std::string, CLI::App*> families_;
  std::map<std::string, std::vector<operations::Example>> family_examples_;
};

}  // namespace

std::variant<Parsed, Said> parse(const std::vector<Command>& table, const std::vector<std::string>& words) {
  return Application{table}.parse(words);
}

std::string config_file_of(const Parsed& parsed) {
  if (!parsed.config_file.empty()) return parsed.config_file;
  const char* const variable = std::getenv("INBOXD_CONFIG");
  return variable != nullptr && *variable != '\0' ? variable : default_config_file;
}

}  // namespace inboxd::cli
