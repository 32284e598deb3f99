// The packages come from the source alone: two builds give the same bytes, and a list of everything that is in them.
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "package/support/packages.hpp"
#include "support/test_environment.hpp"

using namespace inboxd::support;
namespace fs = std::filesystem;

namespace {

constexpr milliseconds within{900'000};

/// Builds a copy of the source in another folder.
fs::path build_again(const TempFolder& folder) {
  const std::string copy = (folder / "copy").string();
  fs::create_directory(copy);
  const std::string from = source_file("").string();
  must({"bash", "-ec",
        "tar --exclude=./build --exclude=./.git -C '" + from + "' -c . | tar -x -C '" + copy + "'; cd '" + copy +
            "'; cmake --preset release -DINBOXD_TESTS=OFF; cmake --build --preset release"},
       within);
  return fs::path{copy} / "build/release";
}

}  // namespace

TEST_CASE("two builds of the source, in two folders, give the same packages") {
  ::setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
  const TempFolder folder;
  const auto first = make_packages(folder / "first", "0.1.0");
  const auto second = make_packages(folder / "second", "0.1.0", build_again(folder));
  ::unsetenv("SOURCE_DATE_EPOCH");
  CHECK(read_file(first.daemon) == read_file(second.daemon));
  CHECK(read_file(first.development) == read_file(second.development));
}

TEST_CASE("the bill of materials names each library that the program loads, with version and licence") {
  const TempFolder prefix;
  install_below(prefix.path());
  const auto bill = nlohmann::json::parse(read_file(prefix / "share/doc/inboxd/sbom.cdx.json"));
  CHECK(bill.at("bomFormat") == "CycloneDX");
  std::set<std::string> names;
  for (const auto& component : bill.at("components")) {
    names.insert(component.at("name").get<std::string>());
    INFO(component.dump());
    CHECK_FALSE(component.at("version").get<std::string>().empty());
    CHECK(component.at("purl").get<std::string>().starts_with("pkg:deb/"));
    CHECK_FALSE(component.at("licenses").empty());
  }
  for (const char* const name : {"librdkafka", "libpqxx", "libpq5", "libcurl4", "libc6"}) {
    INFO(name);
    CHECK(names.contains(name));
  }
}
