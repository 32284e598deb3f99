#include "package/support/packages.hpp"

#include <sstream>
#include <stdexcept>

namespace inboxd::support {
namespace {

constexpr milliseconds long_patience{300'000};

std::filesystem::path only_file(const std::filesystem::path& folder, const std::string& beginning) {
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    const std::string name = entry.path().filename();
    if (name.starts_with(beginning) && name.ends_with(".deb")) return entry.path();
  }
  throw std::runtime_error{"cpack made no " + beginning + "*.deb in " + folder.string()};
}

}  // namespace

std::filesystem::path source_file(const std::string& name) { return std::filesystem::path{INBOXD_SOURCE} / name; }

std::filesystem::path own_plugin(const std::string& name) {
  return std::filesystem::path{INBOXD_BUILD} / ("tests/package/plugins/" + name + ".so");
}

std::string must(const std::vector<std::string>& arguments, milliseconds within) {
  const Finished finished = run_to_end({.arguments = arguments}, within);
  if (finished.status == ExitStatus{0, 0}) return finished.out;
  std::string text;
  for (const std::string& argument : arguments) text += argument + " ";
  throw std::runtime_error{text + "ended with " + std::to_string(finished.status.code) + ":\n" + finished.out +
                           finished.err};
}

void install_below(const std::filesystem::path& prefix) {
  must({INBOXD_CMAKE, "--install", INBOXD_BUILD, "--prefix", prefix});
}

Packages make_packages(const std::filesystem::path& folder, const std::string& version,
                       const std::filesystem::path& build) {
  must({INBOXD_CPACK, "--config", (build.empty() ? std::filesystem::path{INBOXD_BUILD} : build) / "CPackConfig.cmake",
        "-G", "DEB", "-R", version, "-B", folder},
       long_patience);
  return {only_file(folder, "inboxd_" + version), only_file(folder, "inboxd-dev_" + version)};
}

std::vector<std::string> dependencies_of(const std::filesystem::path& package) {
  std::istringstream text{must({"dpkg-deb", "--field", package, "Depends"})};
  std::vector<std::string> out;
  for (std::string one; std::getline(text, one, ',');) {
    const auto begin = one.find_first_not_of(" \n");
    if (begin != std::string::npos) out.push_back(one.substr(begin, one.find_first_of(" |(:\n", begin) - begin));
  }
  return out;
}

}  // namespace inboxd::support
