"""What `deploy/` says is what the product takes: commands, ports, metrics; and its files can be read."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from shipmate.cli import COMMANDS
from tests.support.script import TalkingModel
from tests.support.server import make_site, make_workspace, opener_for, serving

DEPLOY = Path(__file__).parents[1] / "deploy"
# The roles of a fleet, and what each is begun with.
FLEET = {
    "serve": {"--host", "--port", "--no-open"},
    "worker": {"--members", "--concurrency"},
    "db": set[str](),
}
UNITS = ("shipmate.service", "shipmate-worker@.service")


def read_yaml(path: Path) -> list[dict[str, Any]]:
    return list(YAML(typ="safe").load_all(path.read_text("utf-8")))


def manifests() -> list[dict[str, Any]]:
    names = read_yaml(DEPLOY / "kubernetes/kustomization.yaml")[0]["resources"]
    assert {*names, "kustomization.yaml"} == {path.name for path in (DEPLOY / "kubernetes").iterdir()}
    return [each for name in names for each in read_yaml(DEPLOY / "kubernetes" / name)]


def check_command(words: list[str]) -> None:
    assert words[0] in FLEET
    assert {word for word in words[1:] if word.startswith("--")} <= FLEET[words[0]]


def test_the_image_runs_as_nobody_in_particular_and_begins_with_a_command_there_is() -> None:
    text = (DEPLOY / "Containerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
    last = dict(lines)
    known = "FROM WORKDIR COPY RUN ARG USER VOLUME ENV EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD"
    assert set(last) <= set(known.split())
    assert last["USER"] == "shipmate"
    assert json.loads(last["ENTRYPOINT"])[0] == "shipmate"
    check_command(json.loads(last["CMD"]))
    sources = [line[1].split()[:-1] for line in lines if line[0] == "COPY" and "--from" not in line[1]]
    assert all((DEPLOY.parent / name).exists() for names in sources for name in names)
    extras = re.search(r"^ARG EXTRAS=(\S+)", text, re.MULTILINE)
    listed = (DEPLOY.parent / "pyproject.toml").read_text("utf-8")
    assert extras is not None
    assert all(f"\n{name} = [" in listed for name in extras[1].split(",") if name != "fleet")


def test_compose_has_the_roles_of_a_fleet_and_secrets_only_from_outside() -> None:
    services = read_yaml(DEPLOY / "compose.yaml")[0]["services"]
    assert set(services) == {"database", "migrate", "gateway", "worker"}
    for name in ("migrate", "worker"):
        check_command(services[name]["command"])
    for service in (services["gateway"], services["worker"]):
        assert service["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
        assert service["environment"]["SHIPMATE_STORE"].startswith("postgresql://")
        assert "${SHIPMATE_TOKEN:?" in service["environment"]["SHIPMATE_TOKEN"]
    # Only this machine reaches it; whoever opens it to others puts TLS before it.
    assert services["gateway"]["ports"][0].startswith("127.0.0.1:")
    assert "ports" not in services["database"]


def test_manifests_fit_together() -> None:
    found = manifests()
    pods = {
        (each["kind"], each["metadata"]["name"]): each["spec"]["template"]
        for each in found
        if each["kind"] in ("Deployment", "Job")
    }
    for each in found:
        assert each["metadata"].get("namespace", "shipmate") == "shipmate"
        if each["kind"] == "Deployment":
            labels = each["spec"]["template"]["metadata"]["labels"]
            assert each["spec"]["selector"]["matchLabels"].items() <= labels.items()
    service = next(each for each in found if each["kind"] == "Service")
    gateway = pods["Deployment", "gateway"]
    assert service["spec"]["selector"].items() <= gateway["metadata"]["labels"].items()
    for pod in pods.values():
        spec, container = pod["spec"], pod["spec"]["containers"][0]
        check_command(container["args"])
        assert spec["securityContext"]["runAsNonRoot"]
        assert not container["securityContext"]["allowPrivilegeEscalation"]
        assert not spec["automountServiceAccountToken"]
        volumes = {each["name"] for each in spec["volumes"]}
        assert {each["name"] for each in container["volumeMounts"]} <= volumes
        assert container["envFrom"][0]["secretRef"]["name"] == "shipmate"
    probe = gateway["spec"]["containers"][0]["readinessProbe"]["httpGet"]
    assert (probe["path"], gateway["spec"]["containers"][0]["ports"][0]["containerPort"]) == (
        "/healthz",
        7447,
    )


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_is_one_to_systemd(tmp_path: Path, name: str) -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # pyright: ignore[reportAttributeAccessIssue]  (names of systemd keep their case)
    unit.read_string((DEPLOY / name).read_text("utf-8"))
    words = unit["Service"]["ExecStart"].split()
    assert words[:3] == ["/opt/shipmate/bin/shipmate", "-C", "/var/lib/shipmate"]
    check_command(words[3:])
    if systemd := shutil.which("systemd-analyze"):
        # Its program and its user are on no machine that tests.
        text = (DEPLOY / name).read_text("utf-8").replace(words[0], "/bin/true")
        text = re.sub(r"^(User|Group)=.*\n", "", text, flags=re.MULTILINE)
        copy = tmp_path / name.replace("@", "@1")
        copy.write_text(text)
        done = subprocess.run(
            [systemd, "verify", "--man=no", str(copy)], capture_output=True, text=True, check=False
        )
        # A machine whose systemd does not run cannot say anything about a unit.
        if "Failed to initialize manager" not in done.stderr:
            assert (done.returncode, done.stderr) == (0, "")


async def test_the_dashboard_asks_for_metrics_there_are(tmp_path: Path) -> None:
    site = make_site(make_workspace(tmp_path), opener_for(TalkingModel()))
    async with serving(site) as served:
        await served.client.get("/api/session")
        told = (await served.client.get("/metrics")).text
    assert 'shipmate_info{role="all-in-one"' in told
    there = set(re.findall(r"^(shipmate_\w+)", told, re.MULTILINE))
    board = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    named = {name for expression in asked for name in re.findall(r"shipmate_\w+", expression)}
    assert named <= there
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    scraped = read_yaml(DEPLOY / "prometheus.yaml")[0]["scrape_configs"][0]
    assert scraped["metrics_path"] == "/metrics"
    assert "serve" in COMMANDS
