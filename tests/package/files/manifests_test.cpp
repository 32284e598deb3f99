// The manifests for compose and Kubernetes: of the right form, and with configurations that inboxd accepts.
#include <catch2/catch_test_macros.hpp>

#include "package/support/made.hpp"
#include "support/daemon.hpp"
#include "support/environment.hpp"

using namespace inboxd::support;

namespace {

std::string yaml(const std::string& file, const std::string& expression) {
  return must({"/usr/bin/python3", "-c",
               "import sys, yaml\nd = yaml.safe_load(open(sys.argv[1]))\nprint(" + expression + ")",
               source_file(file)});
}

}  // namespace

TEST_CASE("docker-compose reads the compose file, and its configuration is one that inboxd accepts") {
  must({"docker-compose", "--file", source_file("docker-compose.yml"), "config", "--quiet"});
  must({daemon_program(), "--config", source_file("config/compose/inboxd.yaml"), "check", "--offline"});
  CHECK(yaml("docker-compose.yml", "d['services']['inboxd']['read_only']") == "True\n");
  CHECK(yaml("docker-compose.yml", "d['services']['inboxd']['cap_drop']") == "['ALL']\n");
}

TEST_CASE("the scripts of the compose example are ones that bash reads") {
  for (const char* const script : {"config/compose/orders", "config/compose/app"}) {
    CAPTURE(script);
    CHECK_NOTHROW(must({"bash", "-n", source_file(script)}));
  }
}

TEST_CASE("the manifests fit Kubernetes' schemas, from the first version with sidecars to the newest known") {
  std::string validate = must({source_file("config/setup/validators")});
  validate.pop_back();
  for (const auto& entry : std::filesystem::directory_iterator{source_file("config/kubernetes")}) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path());
    CHECK_NOTHROW(must({validate, "--strict", "--kubernetes-version", "1.29", entry.path()}));
    CHECK_NOTHROW(must({validate, "--strict", entry.path()}));
  }
}

TEST_CASE(
    "the sidecar is native, restricted, probed for life alone, and its configuration is one that inboxd accepts") {
  const std::string sidecar = "d['spec']['template']['spec']['initContainers'][0]";
  const std::string file = "config/kubernetes/deployment.yaml";
  CHECK(yaml(file, sidecar + "['restartPolicy']") == "Always\n");
  CHECK(yaml(file, "'readinessProbe' in " + sidecar) == "False\n");
  CHECK(yaml(file, sidecar + "['livenessProbe']['httpGet']['path']") == "/livez\n");
  for (const char* const wanted : {"['runAsNonRoot']", "['readOnlyRootFilesystem']"}) {
    CHECK(yaml(file, sidecar + "['securityContext']" + wanted) == "True\n");
  }
  CHECK(yaml(file, sidecar + "['securityContext']['allowPrivilegeEscalation']") == "False\n");
  CHECK(yaml(file, sidecar + "['securityContext']['capabilities']['drop']") == "['ALL']\n");
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", yaml("config/kubernetes/configmap.yaml", "d['data']['inboxd.yaml']"));
  CHECK_NOTHROW(must({daemon_program(), "--config", folder / "inboxd.yaml", "check", "--offline"}));
}
