// The manifests for compose and Kubernetes are valid, with configurations that inboxd accepts.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <filesystem>
#include <regex>

#include "package/support/packages.hpp"
#include "support/daemon_process.hpp"
#include "support/test_environment.hpp"

using namespace inboxd::support;

namespace {

/// Lines of a file that name an image to pull, but no digest.
std::string without_digest(const std::string& file, const std::string& line) {
  static const std::regex pinned{"[^@ ]+:[^@ ]+@sha256:[0-9a-f]{64}"};
  const std::string text = read_file(source_file(file));
  const std::regex names{"\n *" + line + " *(\\S+)"};
  std::string out;
  for (auto at = std::sregex_iterator{text.begin(), text.end(), names}; at != std::sregex_iterator{}; ++at) {
    if (!std::regex_match((*at)[1].str(), pinned)) out += (*at)[1].str() + " ";
  }
  return out;
}

std::string yaml_of(const std::filesystem::path& path, const std::string& expression) {
  return must({"/usr/bin/python3", "-c",
               "import sys, yaml\nd = yaml.safe_load(open(sys.argv[1]))\nprint(" + expression + ")", path});
}

std::string yaml(const std::string& file, const std::string& expression) {
  return yaml_of(source_file(file), expression);
}

}  // namespace

TEST_CASE("docker-compose accepts the compose file, and inboxd accepts its configuration") {
  must({"docker-compose", "--file", source_file("docker-compose.yml"), "config", "--quiet"});
  must({daemon_program(), "--config", source_file("config/compose/inboxd.yaml"), "check", "--offline"});
  CHECK(yaml("docker-compose.yml", "d['services']['inboxd']['read_only']") == "True\n");
  CHECK(yaml("docker-compose.yml", "d['services']['inboxd']['cap_drop']") == "['ALL']\n");
}

TEST_CASE("each base image has a digest, and renew-images writes the digests that the registry has now") {
  CHECK(without_digest("Dockerfile", "ARG BASE=").empty());
  CHECK(without_digest("Dockerfile", "FROM") == "${BASE} dependencies build dependencies scratch ");  // stages
  CHECK(without_digest("docker-compose.yml", "image:") == "inboxd ");                              // built here

  const TempFolder folder;
  std::filesystem::create_directories(folder / "config/container");
  std::filesystem::create_directories(folder / "bin");
  for (const char* const file : {"Dockerfile", "docker-compose.yml", "config/container/renew-images"}) {
    std::filesystem::copy_file(source_file(file), folder / file);
  }
  write_file(folder / "bin/docker", "#!/bin/sh\nprintf 'sha256:%064d' 7\n");
  std::filesystem::permissions(folder / "bin/docker", std::filesystem::perms::owner_all);
  const auto renew = [&] {
    return must({"/usr/bin/env", "PATH=" + (folder / "bin").string() + ":/usr/bin:/bin",
                 (folder / "config/container/renew-images").string()});
  };
  const std::string now = "debian:trixie-slim@sha256:" + std::string(63, '0') + "7";
  CHECK(read_file(folder / "Dockerfile").find(now) == std::string::npos);
  renew();
  CHECK(read_file(folder / "Dockerfile").find("ARG BASE=" + now) != std::string::npos);
  CHECK(renew() == "apache/kafka:4.1.0: unchanged\ndebian:trixie-slim: unchanged\npostgres:17: unchanged\n"
                   "python:3.13-slim: unchanged\n");
}

TEST_CASE("bash accepts the scripts of the compose example") {
  for (const char* const script : {"config/compose/orders", "config/compose/app"}) {
    CAPTURE(script);
    CHECK_NOTHROW(must({"bash", "-n", source_file(script)}));
  }
}

TEST_CASE("the manifests match Kubernetes' schemas, from the first version with sidecars to the newest known") {
  constexpr std::chrono::minutes to_fetch{5};  // from PyPI, the first time
  std::string validate = must({source_file("config/setup/validators")}, to_fetch);
  validate.pop_back();
  for (const auto& entry : std::filesystem::directory_iterator{source_file("config/kubernetes")}) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path());
    CHECK_NOTHROW(must({validate, "--strict", "--kubernetes-version", "1.29", entry.path()}));
    CHECK_NOTHROW(must({validate, "--strict", entry.path()}));
  }
}

TEST_CASE("sidecar and application meet the restricted pod security standard") {
  const std::string file = "config/kubernetes/deployment.yaml";
  for (const char* const containers : {"initContainers", "containers"}) {
    CAPTURE(containers);
    const std::string context =
        std::string{"d['spec']['template']['spec']['"} + containers + "'][0]['securityContext']";
    CHECK(yaml(file, context + "['runAsNonRoot']") == "True\n");
    CHECK(yaml(file, context + "['readOnlyRootFilesystem']") == "True\n");
    CHECK(yaml(file, context + "['allowPrivilegeEscalation']") == "False\n");
    CHECK(yaml(file, context + "['capabilities']['drop']") == "['ALL']\n");
    CHECK(yaml(file, context + "['seccompProfile']['type']") == "RuntimeDefault\n");
  }
}

TEST_CASE("the sidecar is native, has a liveness probe only, and inboxd accepts its configuration") {
  const std::string sidecar = "d['spec']['template']['spec']['initContainers'][0]";
  const std::string file = "config/kubernetes/deployment.yaml";
  CHECK(yaml(file, sidecar + "['restartPolicy']") == "Always\n");
  CHECK(yaml(file, "'readinessProbe' in " + sidecar) == "False\n");
  CHECK(yaml(file, sidecar + "['livenessProbe']['httpGet']['path']") == "/livez\n");
  const TempFolder folder;
  const std::string configuration = yaml("config/kubernetes/configmap.yaml", "d['data']['inboxd.yaml']");
  CHECK(configuration.find("read: token ") != std::string::npos);
  write_file(folder / "inboxd.yaml", configuration);
  CHECK_NOTHROW(must({daemon_program(), "--config", folder / "inboxd.yaml", "check", "--offline"}));
}

TEST_CASE("the PodMonitor in config/prometheus/README.md finds the sidecar's port, with its token") {
  const TempFolder folder;
  const std::string text = read_file(source_file("config/prometheus/README.md"));
  const auto begin = text.find("apiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\n");
  REQUIRE(begin != std::string::npos);
  write_file(folder / "monitor.yaml", text.substr(begin, text.find("```\n", begin) - begin));
  const auto monitor = [&](const std::string& expression) { return yaml_of(folder / "monitor.yaml", expression); };
  const std::string endpoint = "d['spec']['podMetricsEndpoints'][0]";
  const std::string credentials = endpoint + "['authorization']['credentials']";
  const std::string pod = "d['spec']['template']";
  CHECK(monitor("d['spec']['selector']['matchLabels']") ==
        yaml("config/kubernetes/deployment.yaml", pod + "['metadata']['labels']"));
  CHECK(monitor(endpoint + "['port']") ==
        yaml("config/kubernetes/deployment.yaml", pod + "['spec']['initContainers'][0]['ports'][0]['name']"));
  CHECK(monitor(credentials + "['name']") == yaml("config/kubernetes/secret.yaml", "d['metadata']['name']"));
  CHECK(monitor(credentials + "['key']") == "admin-read-token\n");
  CHECK(yaml("config/kubernetes/secret.yaml", "'admin-read-token' in d['stringData']") == "True\n");
  CHECK(monitor(endpoint + "['relabelings'][0]") == "{'targetLabel': 'job', 'replacement': 'inboxd-shop'}\n");
}
