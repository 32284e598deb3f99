#include "plugin/trusted_file.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

using Catch::Matchers::ContainsSubstring;
using inboxd::plugin::open_trusted;
namespace fs = std::filesystem;

namespace {

std::string problem_of(const fs::path& path) {
  const auto found = open_trusted(path.string());
  return found ? "" : found.problem().message;
}

/// A trusted file in a folder in a folder.
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
  std::string problem() const { return problem_of(file); }

  fs::path top, inner, file;
};

constexpr uid_t another_user = 12345;

std::string bytes_of(const inboxd::plugin::TrustedFile& file) {
  std::array<char, 100> bytes{};
  const auto size = ::pread(file.descriptor.get(), bytes.data(), bytes.size(), 0);
  return {bytes.data(), static_cast<std::size_t>(size)};
}

}  // namespace

TEST_CASE("a file that only its owner may write to is trusted") {
  const Tree tree;
  CHECK(tree.problem().empty());
}

TEST_CASE("a world-writable file is not trusted") {
  const Tree tree;
  tree.chmod(tree.file, 0646);
  CHECK_THAT(tree.problem(), ContainsSubstring("it is world-writable (mode 0646); run: chmod o-w"));
}

TEST_CASE("a file below a world-writable folder is not trusted") {
  const Tree tree;
  tree.chmod(tree.top, 0757);
  CHECK_THAT(tree.problem(), ContainsSubstring("the folder " + tree.top.string() +
                                               " is world-writable (mode 0757); run: chmod o-w " + tree.top.string()));
}

TEST_CASE("group rights are not checked") {
  const Tree tree;
  tree.chmod(tree.inner, 0775);
  tree.chmod(tree.file, 0664);
  CHECK(tree.problem().empty());
}

TEST_CASE("a sticky folder passes if its entry belongs to the daemon's user") {
  const Tree tree;
  tree.chmod(tree.top, 01777);
  CHECK(tree.problem().empty());
  if (::geteuid() != 0) SKIP("only root can give a folder away");
  REQUIRE(::chown(tree.inner.c_str(), another_user, static_cast<gid_t>(-1)) == 0);
  CHECK_THAT(tree.problem(), ContainsSubstring("belongs to user 12345; it must belong to root"));
}

TEST_CASE("a file of another user is not trusted") {
  if (::geteuid() != 0) SKIP("only root can give a file away");
  const Tree tree;
  REQUIRE(::chown(tree.file.c_str(), another_user, static_cast<gid_t>(-1)) == 0);
  CHECK_THAT(tree.problem(), ContainsSubstring("it belongs to user 12345; it must belong to root"));
}

TEST_CASE("only a regular file is trusted") {
  const Tree tree;
  CHECK_THAT(problem_of(tree.inner), ContainsSubstring("it is not a regular file"));
  CHECK_THAT(problem_of(tree.inner / "missing"), ContainsSubstring("/inner/missing cannot be reached: No such file"));
  CHECK_THAT(problem_of(tree.file / "below"), ContainsSubstring(tree.file.string() + ": Not a directory"));
}

TEST_CASE("links and dots are followed, and the resulting path has none") {
  const Tree tree;
  fs::create_directory(tree.top / "links");
  fs::create_symlink("../inner", tree.top / "links" / "relative");
  fs::create_symlink(tree.top / "links" / "relative" / "." / "plugin.so", tree.top / "links" / "absolute");
  const auto found = open_trusted((tree.top / "links" / ".." / "links" / "absolute").string());
  REQUIRE(found.ok());
  CHECK(found.value().path == tree.file.string());
  CHECK(bytes_of(found.value()) == "code");

  fs::create_symlink("round", tree.top / "round");
  CHECK_THAT(problem_of(tree.top / "round"), ContainsSubstring("Too many levels of symbolic links"));
}

TEST_CASE("a link in a world-writable folder is not trusted") {
  const Tree tree;
  fs::create_directory(tree.top / "open");
  fs::create_symlink(tree.file, tree.top / "open" / "plugin.so");
  tree.chmod(tree.top / "open", 0777);
  CHECK_THAT(problem_of(tree.top / "open" / "plugin.so"),
             ContainsSubstring("the folder " + (tree.top / "open").string() + " is world-writable"));

  tree.chmod(tree.top / "open", 01777);
  CHECK(problem_of(tree.top / "open" / "plugin.so").empty());
  if (::geteuid() != 0) SKIP("only root can give a link away");
  REQUIRE(::lchown((tree.top / "open" / "plugin.so").c_str(), another_user, static_cast<gid_t>(-1)) == 0);
  CHECK_THAT(problem_of(tree.top / "open" / "plugin.so"), ContainsSubstring("belongs to user 12345"));
}

TEST_CASE("a file that replaces another after the check is not the file that was opened") {
  const Tree tree;
  const auto found = open_trusted(tree.file.string());
  REQUIRE(found.ok());
  std::ofstream{tree.inner / "other"} << "evil";
  fs::rename(tree.inner / "other", tree.file);
  CHECK(bytes_of(found.value()) == "code");
}

TEST_CASE("no file is opened in a world-writable folder that is swapped in during the check") {
  const Tree tree;
  const fs::path open = tree.top / "open";
  fs::create_directory(open);
  std::ofstream{open / "plugin.so"} << "evil";
  tree.chmod(open, 0777);
  std::atomic<bool> is_over{false};
  std::thread exchanging{[&] {
    while (!is_over) ::renameat2(AT_FDCWD, tree.inner.c_str(), AT_FDCWD, open.c_str(), RENAME_EXCHANGE);
  }};
  int trusted = 0;
  int refused = 0;
  std::string wrong;
  while (trusted < 200 || refused < 200) {
    const auto found = open_trusted(tree.file.string());
    found ? ++trusted : ++refused;
    if (found && bytes_of(found.value()) != "code") wrong = bytes_of(found.value());
  }
  is_over = true;
  exchanging.join();
  CHECK(wrong.empty());
}
