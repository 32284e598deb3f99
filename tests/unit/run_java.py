"""Runs a Java source file with artifacts of Maven, for the scripts that write fixtures with other systems' libraries.

Needs Java 17 and Maven 3. No test needs either: the scripts' output is committed.
"""
import pathlib
import subprocess
import sys
import tempfile

POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>inboxd</groupId><artifactId>fixtures</artifactId><version>1</version>
  <dependencies>%s</dependencies>
</project>
"""
DEPENDENCY = "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>"


def run_java(source, artifacts, text=""):
    """The output of a source file, which gets `text` as its input. `artifacts`: GROUP:ARTIFACT:VERSION."""
    with tempfile.TemporaryDirectory() as folder:
        pom = pathlib.Path(folder) / "pom.xml"
        pom.write_text(POM % "".join(DEPENDENCY % tuple(each.split(":")) for each in artifacts))
        classpath = pathlib.Path(folder) / "classpath"
        subprocess.run(["mvn", "-q", "-B", "-f", pom, "dependency:build-classpath", f"-Dmdep.outputFile={classpath}"],
                       check=True)
        command = ["java", "-cp", classpath.read_text(), source]
        done = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE)
        return done.stdout if done.returncode == 0 else sys.exit(f"{source} failed")
