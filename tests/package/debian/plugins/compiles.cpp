// A handler that behaves like a just-in-time compiler when it is created: writes code into memory and makes it
// executable.
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <inboxd/handler.hpp>
#include <string>

namespace {

constexpr std::size_t page = 4096;

class Compiles : public inboxd::Handler {
 public:
  explicit Compiles(const inboxd::Settings&) {
    void* const memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
      throw inboxd::SettingsError{std::string{"no memory for code: "} + std::strerror(errno)};
    }
  }

  inboxd::Outcome handle(inboxd::Call&, const inboxd::Event&) override { return inboxd::done(); }
};

}  // namespace

INBOXD_HANDLER(Compiles, "compiles", "1.0")
