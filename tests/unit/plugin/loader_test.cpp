#include "plugin/loader.hpp"

#include <stdlib.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>

using Catch::Matchers::ContainsSubstring;
using inboxd::plugin::default_search_path;
using inboxd::plugin::find_file;
namespace fs = std::filesystem;

namespace {

/// A missing folder and two others; both have `both.so`, the second has more.
struct Folders {
  Folders() {
    std::string name = (fs::temp_directory_path() / "inboxd-search-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    top = fs::canonical(name);
    for (const char* file : {"first/both.so", "second/both.so", "second/one.so", "second/notes.txt"}) {
      fs::create_directories((top / file).parent_path());
      std::ofstream{top / file} << "code";
    }
    where.folders = {(top / "missing").string(), (top / "first").string(), (top / "second").string()};
  }
  ~Folders() {
    std::error_code ignored;
    fs::remove_all(top, ignored);
  }
  Folders(const Folders&) = delete;
  Folders& operator=(const Folders&) = delete;

  std::string found(const std::string& plugin) const {
    const auto file = find_file(plugin, where);
    return file ? file.value() : "";
  }

  fs::path top;
  inboxd::plugin::SearchPath where;
};

/// Sets $INBOXD_PLUGIN_PATH and restores it.
struct PluginPath {
  explicit PluginPath(const char* value) {
    if (const char* const old = ::getenv(name)) before = old;
    ::setenv(name, value, 1);
  }
  ~PluginPath() {
    if (before) {
      ::setenv(name, before->c_str(), 1);
    } else {
      ::unsetenv(name);
    }
  }
  PluginPath(const PluginPath&) = delete;
  PluginPath& operator=(const PluginPath&) = delete;

  static constexpr const char* name = "INBOXD_PLUGIN_PATH";
  std::optional<std::string> before;
};

}  // namespace

TEST_CASE("a name is searched for in the folders, in order") {
  const Folders folders;
  CHECK(folders.found("both") == (folders.top / "first/both.so").string());
  CHECK(folders.found("one") == (folders.top / "second/one.so").string());
}

TEST_CASE("a path is used as given") {
  const Folders folders;
  CHECK(folders.found("./missing.so") == "./missing.so");
}

TEST_CASE("an unknown name is refused with the names of the plugins found") {
  const Folders folders;
  const auto missing = find_file("oen", folders.where);
  REQUIRE_FALSE(missing.ok());
  CHECK_THAT(missing.problem().message, ContainsSubstring("there is no plugin 'oen'") &&
                                            ContainsSubstring("available: both, one;") &&
                                            ContainsSubstring("with a slash: ./oen.so"));
  const auto file = find_file("one.so", folders.where);
  REQUIRE_FALSE(file.ok());
  CHECK_THAT(file.problem().message, ContainsSubstring("with a slash: ./one.so"));
}

TEST_CASE("folders of INBOXD_PLUGIN_PATH come before folders next to the executable") {
  const PluginPath path{"/one::/two"};
  const auto folders = default_search_path().folders;
  REQUIRE(folders.size() == 4);
  CHECK(folders[0] == "/one");
  CHECK(folders[1] == "/two");
  CHECK_THAT(folders[2], ContainsSubstring("/plugins"));
  CHECK_THAT(folders[3], ContainsSubstring("/lib/inboxd"));
}
