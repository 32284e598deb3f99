// Settings as handlers read them: each value is read, or refused with its name.
#include <array>

#include "fuzz/target.hpp"
#include "plugin/abi/inboxd/handler.hpp"

using namespace inboxd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input{data, size};
  std::array<inboxd_setting, 3> settings{};
  for (auto& setting : settings) {
    const auto name = input.text(), value = input.text();
    setting = {{name.data(), name.size()}, {value.data(), value.size()}};
  }
  inboxd_config config{};
  config.struct_size = sizeof config;
  config.handler = inboxd_text("receipt");
  config.settings = settings.data();
  config.setting_count = settings.size();
  const Settings read{nullptr, &config};
  const std::string name{settings[0].name.data, settings[0].name.size};
  const auto is_named = [&](auto&& use) {
    try {
      use();
    } catch (const SettingsError& error) {
      const auto shown = name.substr(0, name.find('\0'));
      const std::string_view said{error.what()};
      fuzz::require(said.find(shown) != said.npos, "a refusal names the setting");
    }
  };
  is_named([&] { (void)read.number(name); });
  is_named([&] { (void)read.boolean(name); });
  is_named([&] { fuzz::require(read.duration(name).count() >= 0, "a duration is not negative"); });
  is_named([&] { fuzz::require(read.text(name) == read.text(name, ""), "a text is the same again"); });
  try {
    read.finish();
  } catch (const SettingsError&) {  // the others were never read
  }
  return 0;
}
