// Runs a fuzz target without the fuzzer: each file of its corpus, and mutations of them by a printed seed.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz/target.hpp"

namespace {

constexpr int mutations = 2'000;

void run(const std::string& bytes) {
  // Exactly as large as the input, so that the address sanitizer sees a read past its end.
  const std::vector<std::uint8_t> copy{bytes.begin(), bytes.end()};
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

void mutate(std::string& bytes, const std::vector<std::string>& corpus, std::mt19937_64& random) {
  const std::size_t at = random() % (bytes.size() + 1);
  switch (random() % 5) {
    case 0:
      bytes.insert(at, 1, static_cast<char>(random()));
      break;
    case 1:
      bytes.erase(at, random() % 8);
      break;
    case 2:
      bytes = bytes.substr(0, at) + corpus[random() % corpus.size()];
      break;
    case 3:
      bytes.insert(at, bytes.substr(random() % (bytes.size() + 1), random() % 16));
      break;
    default:
      if (at < bytes.size()) bytes[at] = static_cast<char>(random());
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2 && count != 3) return std::cerr << "usage: " << arguments[0] << " CORPUS [SEED]\n", 64;
  std::vector<std::string> corpus;
  for (const auto& file : std::filesystem::directory_iterator{arguments[1]}) {
    std::ifstream in{file.path(), std::ios::binary};
    corpus.emplace_back(std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{});
    run(corpus.back());
  }
  if (corpus.empty()) return std::cerr << arguments[1] << " has no files\n", 66;
  const std::uint64_t seed = count == 3 ? std::stoull(arguments[2]) : 1;
  std::cout << corpus.size() << " files, then " << mutations << " mutations by seed " << seed << std::endl;
  std::mt19937_64 random{seed};
  for (int round = 0; round < mutations; ++round) {
    std::string bytes = corpus[random() % corpus.size()];
    for (auto changes = random() % 6; changes > 0; --changes) mutate(bytes, corpus, random);
    run(bytes);
  }
}
