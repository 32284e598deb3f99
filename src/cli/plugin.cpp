#include "plugin/plugin.hpp"

#include <ostream>
#include <utility>

#include "cli/command.hpp"
#include "cli/table.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;

/// A word with a slash or an ending is a file, anything else a shipped handler's name.
std::string as_plugin(const std::string& file) {
  const bool is_file = file.find('/') != std::string::npos || file.ends_with(".so");
  return is_file && file.find('/') == std::string::npos ? "./" + file : file;
}

ExitCode check(Session& session, const admin::Arguments& arguments) {
  const auto description = plugin::inspect(as_plugin(*arguments.text("file")), plugin::default_search_path());
  if (!description) {
    if (session.json) session.print({{"ok", false}, {"problem", description.problem().message}});
    session.say("plugin check: " + description.problem().message);
    return ExitCode::no;
  }
  const auto& plugin = description.value();
  const std::string abi = std::to_string(plugin.abi_major) + "." + std::to_string(plugin.abi_minor);
  if (session.json) {
    admin::Document remarks = admin::Document::array();
    for (const auto& [level, text] : plugin.remarks) {
      remarks.push_back({{"level", base::name_of(level)}, {"text", text}});
    }
    session.print({{"ok", true},
                   {"path", plugin.path},
                   {"name", plugin.name},
                   {"version", plugin.version},
                   {"abi", abi},
                   {"extensions", plugin.extensions},
                   {"remarks", std::move(remarks)}});
    return ExitCode::done;
  }
  std::string extensions;
  for (const auto& name : plugin.extensions) extensions += (extensions.empty() ? "" : ", ") + name;
  Sheet sheet;
  sheet.add("plugin", plugin.name + " " + plugin.version, Tone::good);
  sheet.add("file", plugin.path);
  sheet.add("ABI", abi);
  sheet.add("extensions", extensions);
  for (const auto& remark : plugin.remarks) {
    sheet.add("it says", remark.text, remark.level < base::LogLevel::warn ? Tone::plain : Tone::warning);
  }
  session.output.out << sheet.text(session.output.look) << std::flush;
  return ExitCode::done;
}

}  // namespace

Command plugin_command() {
  return {"plugin check",
          "Loads a plugin and reports its version, extensions and problems.",
          {{"plugin check ./receipt.so", "a handler of your own"}, {"plugin check log", "one that comes with inboxd"}},
          {{"file", admin::Parameter::Kind::text, "the shared object, or a shipped handler's name", "FILE",
            admin::Parameter::Place::word}},
          check};
}

}  // namespace inboxd::cli
