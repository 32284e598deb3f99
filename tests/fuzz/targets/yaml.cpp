// A configuration file of any bytes is read, or refused with problems that name the mistake.
#include "config/load.hpp"
#include "fuzz/target.hpp"

using namespace inboxd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  config::Environment environment;
  environment.variable = [](const std::string& name) -> std::optional<std::string> {
    return name.starts_with("A") ? std::optional{name} : std::nullopt;
  };
  environment.read_file = [](const std::string& path) -> base::Result<std::string> { return path; };
  const auto loaded = config::load_text({reinterpret_cast<const char*>(data), size}, "inboxd.yaml", environment);
  for (const auto& problem : loaded.problems) fuzz::require(!problem.sentence.empty(), "a problem has a sentence");
  return 0;
}
