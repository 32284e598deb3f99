#include "plugin/trust.hpp"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>

using Catch::Matchers::ContainsSubstring;
using inboxd::plugin::distrust;
namespace fs = std::filesystem;

namespace {

/// A folder with a folder with a file in it, all of them in order.
struct Tree {
  Tree() {
    std::string name = (fs::temp_directory_path() / "inboxd-trust-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    top = fs::canonical(name);
    inner = top / "inner";
    file = inner / "plugin.so";
    fs::create_directory(inner);
    std::ofstream{file} << "code";
    chmod(top, 0755);
    chmod(inner, 0755);
    chmod(file, 0644);
  }
  ~Tree() {
    std::error_code ignored;
    fs::remove_all(top, ignored);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  static void chmod(const fs::path& path, mode_t mode) { REQUIRE(::chmod(path.c_str(), mode) == 0); }
  std::string problem() const {
    const auto found = distrust(file.string());
    return found ? found->message : "";
  }

  fs::path top, inner, file;
};

constexpr uid_t somebody_else = 12345;

}  // namespace

TEST_CASE("a file that only its owner may write to is trusted") {
  const Tree tree;
  CHECK(tree.problem().empty());
}

TEST_CASE("a file that everybody may write to is not trusted") {
  const Tree tree;
  tree.chmod(tree.file, 0646);
  CHECK_THAT(tree.problem(), ContainsSubstring("everybody may write to it (mode 0646); chmod o-w"));
}

TEST_CASE("a folder anywhere above that everybody may write to is not trusted") {
  const Tree tree;
  tree.chmod(tree.top, 0757);
  CHECK_THAT(tree.problem(), ContainsSubstring("everybody may write to the folder " + tree.top.string() +
                                               " (mode 0757); chmod o-w " + tree.top.string()));
}

TEST_CASE("group rights are the administrator's choice") {
  const Tree tree;
  tree.chmod(tree.inner, 0775);
  tree.chmod(tree.file, 0664);
  CHECK(tree.problem().empty());
}

TEST_CASE("a sticky folder passes as long as what is in it belongs to the daemon's user") {
  const Tree tree;
  tree.chmod(tree.top, 01777);
  CHECK(tree.problem().empty());
  if (::geteuid() != 0) SKIP("only root can give a folder away");
  REQUIRE(::chown(tree.inner.c_str(), somebody_else, static_cast<gid_t>(-1)) == 0);
  CHECK_THAT(tree.problem(), ContainsSubstring("belongs to user 12345; it must belong to root"));
}

TEST_CASE("a file of somebody else is not trusted") {
  if (::geteuid() != 0) SKIP("only root can give a file away");
  const Tree tree;
  REQUIRE(::chown(tree.file.c_str(), somebody_else, static_cast<gid_t>(-1)) == 0);
  CHECK_THAT(tree.problem(), ContainsSubstring("it belongs to user 12345; it must belong to root"));
}

TEST_CASE("what is no regular file is not trusted") {
  const Tree tree;
  const auto folder = distrust(tree.inner.string());
  REQUIRE(folder.has_value());
  CHECK_THAT(folder->message, ContainsSubstring("it is no regular file"));
  const auto missing = distrust((tree.inner / "missing").string());
  REQUIRE(missing.has_value());
  CHECK_THAT(missing->message, ContainsSubstring("No such file"));
}
