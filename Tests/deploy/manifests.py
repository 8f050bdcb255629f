"""Checks of docker-compose.yml and the Kubernetes manifests, also against each other and the image."""

import json
import math
import re
import sys
import tempfile
from pathlib import Path

import yaml
from alerts import rules
from basics import DEPLOY, ROOT, ensure, read_yaml, run
from image import VOLUMES, http_port, image_environment, image_user

COMPOSE = ROOT / "docker-compose.yml"
# Each is named like the objects in it.
MANIFESTS = [DEPLOY / "kubernetes" / f"{name}.yaml" for name in ("juice-maker", "juice-kiosk")]
UNIT = DEPLOY / "systemd" / "juice-maker.service"
POD_MONITOR = DEPLOY / "kubernetes" / "podmonitor.yaml"
# The oldest version that has every field in use, and the newest known one.
KUBERNETES_VERSIONS = ("1.31", "1.37")


def settings(juice, base, environment):
    """The values by name that `juice config` prints for an environment with nothing else set."""
    entries = json.loads(run(juice, "config", "--json", env=base | image_environment() | environment))
    return {entry["name"]: entry.get("value") for entry in entries}


def check_compose(juice, base):
    """docker-compose.yml follows the schema, and juice accepts the settings of its services."""
    run(Path(sys.executable).parent / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE)
    compose = read_yaml(COMPOSE)
    port = http_port()
    published = [entry for service in compose["services"].values() for entry in service.get("ports", [])]
    ensure(all(entry.startswith("127.0.0.1:") for entry in published), "a port is open to other machines")
    check_scaling(compose["services"]["juice"], port)
    check_targets(compose, port)
    ours = {name: service for name, service in compose["services"].items() if service["image"] == "juice-maker"}
    check_build(ours)
    for name, service in ours.items():
        given = settings(juice, base, service["environment"])
        ensure(given["bootstrap-servers"] == "kafka:19092", f"{name} is given other brokers")
    for name, service in compose["services"].items():
        for volume in service.get("volumes", []):
            place = volume.split(":")[0]
            there = (ROOT / place).exists() if place.startswith(".") else place in compose["volumes"]
            ensure(there, f"{name} mounts {place}, which is not there")
        check_container(name, service)
        check_volumes(name, service)
        tagged = name in ours or re.search(r":v?(\$\{\w+:-)?\d+\.\d+\.\d+\}?$", service["image"])
        ensure(tagged, f"{name} has an image without a version: {service['image']}")
    check_grafana_password(compose)
    check_staff_token(compose["services"])
    return f"{len(compose['services'])} services"


def check_systemd(juice, folder):
    """systemd accepts the unit with this command in place of the installed one, and finds it well confined."""
    if sys.platform != "linux":
        return "needs Linux"
    installed = "ExecStart=/usr/local/bin/juice"
    ensure(installed in UNIT.read_text(), "the unit runs another command")
    unit = folder / UNIT.name
    unit.write_text(UNIT.read_text().replace(installed, f"ExecStart={juice}"))
    said = run("systemd-analyze", "verify", "--man=no", unit)
    ensure(not said, f"systemd-analyze says:\n{said}")
    # Of 100 points: the exposure of a service that is not confined is 96.
    run("systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=20", unit)
    return "valid, and confined"


def check_build(ours):
    """One service that always runs builds the image, and nothing looks for it in a registry."""
    builders = [service for service in ours.values() if "build" in service]
    ensure(len(builders) == 1, f"{len(builders)} services build the image juice-maker, and replace each other's")
    ensure("profiles" not in builders[0], "the service that builds the image is in a profile")
    for name, service in ours.items():
        ensure(service.get("pull_policy") == "never", f"{name} looks for juice-maker in a registry")


def check_targets(compose, port):
    """Prometheus scrapes the services where they serve metrics."""
    jobs = {job["job_name"]: job for job in read_yaml(DEPLOY / "prometheus" / "prometheus.yml")["scrape_configs"]}
    # By DNS name, so every instance.
    places = jobs.pop("juice-maker")["dns_sd_configs"]
    ensure(places == [{"names": ["juice"], "type": "A", "port": port}], f"Prometheus looks for the service at {places}")
    for name, job in jobs.items():
        (place,) = job["dns_sd_configs"]
        (service,) = place["names"]
        address = compose["services"][service]["environment"]["JUICE_ADMIN_HTTP"]
        ensure(address == f"0.0.0.0:{place['port']}", f"Prometheus looks for {name} at {place}")
        ensure(compose["services"][service]["command"] == [name.removeprefix("juice-")], f"{name} runs something else")


def check_scaling(service, port):
    """A service can have more than one container."""
    ensure(service["ports"] == [f"127.0.0.1::{port}"], f"port {port} is not published, or at one port for all")
    ensure("container_name" not in service and "hostname" not in service, "the containers are called alike")
    ensure("JUICE_INSTANCE_ID" not in service["environment"], "the instances are called alike")


def check_volumes(name, service):
    """Each volume of the image has a mount. For any other Docker creates a new volume each time, and leaves it behind."""
    covered = {place.split(":")[0] for place in service.get("tmpfs", [])}
    covered |= {volume.split(":")[1] for volume in service.get("volumes", [])}
    left = set(VOLUMES.get(service["image"].split(":")[0], [])) - covered
    ensure(not left, f"{name} leaves volumes without a name behind: {', '.join(sorted(left))}")


def check_container(name, service):
    """The container cannot write to its image or gain privileges, and has a memory limit."""
    ensure(service.get("read_only") is True, f"{name} can write to its root file system")
    ensure(service.get("cap_drop") == ["ALL"] and "cap_add" not in service, f"{name} keeps capabilities")
    ensure(service.get("security_opt") == ["no-new-privileges:true"], f"{name} may gain rights")
    ensure("user" not in service or service.get("network_mode") == "none", f"{name} is not the image's user, and has a network")
    ensure(not service.get("privileged") and "devices" not in service, f"{name} has rights of the machine")
    ensure(re.fullmatch(r"\d+[mg]", str(service.get("mem_limit"))), f"{name} has no limit to its memory")
    writable = [volume for volume in service.get("volumes", []) if volume.startswith(".") and not volume.endswith(":ro")]
    ensure(not writable, f"{name} can write to {', '.join(writable)}")


def check_grafana_password(compose):
    """Grafana starts only with the operator's own password, which is not in the repository."""
    grafana = compose["services"]["grafana"]
    environment = grafana["environment"]
    ensure("GF_SECURITY_ADMIN_PASSWORD" not in environment, "the password of Grafana is in docker-compose.yml")
    (secret,) = grafana.get("secrets", [None])
    place = environment.get("GF_SECURITY_ADMIN_PASSWORD__FILE")
    ensure(secret and place == f"/run/secrets/{secret}", "Grafana starts with its default password")
    file = compose["secrets"][secret].get("file", "")
    # In a read-only container, Docker can only mount secrets that are files.
    ensure(file.startswith("./"), f"the password of Grafana is not in a file of this folder: {file}")
    name = file.removeprefix("./")
    for ignored in (".gitignore", ".dockerignore"):
        ensure(name in (ROOT / ignored).read_text().splitlines(), f"{ignored} lets {name} through")
    ensure(f"> {name} " in COMPOSE.read_text(), f"docker-compose.yml does not say how to make {name}")


def check_staff_token(services):
    """The kiosk reads the token that is created at the first start, and cannot write it."""
    kiosk, (volume,) = services["kiosk"], services["staff-token"]["volumes"]
    folder = kiosk["environment"]["JUICE_STAFF_TOKEN_FILE"].rpartition("/")[0]
    ensure(volume == f"staff-token:{folder}" and kiosk["volumes"] == [f"{volume}:ro"], "the staff token is elsewhere")
    ensure("staff-token" in kiosk["depends_on"], "the kiosk starts before there is a staff token")


def check_kubernetes(juice, base):
    """The manifests follow Kubernetes' schemas, fit each other, and have settings that juice accepts."""
    monitors = {document["metadata"]["name"]: document for document in yaml.safe_load_all(POD_MONITOR.read_text())}
    ensure(set(monitors) == {path.stem for path in MANIFESTS}, "a PodMonitor is missing or too many")
    count = 0
    for path in MANIFESTS:
        for version in KUBERNETES_VERSIONS:
            run(sys.executable, "-m", "kubernetes_validate", "--strict", "--quiet", "-k", version, path)
        objects = {document["kind"]: document for document in yaml.safe_load_all(path.read_text())}
        check_objects(path.stem, objects, monitors[path.stem], juice, base)
        count += len(objects)
    return f"{count} objects, Kubernetes {' and '.join(KUBERNETES_VERSIONS)}"


def check_objects(name, objects, monitor, juice, base):
    """The objects of a manifest fit each other."""
    workload = objects.get("StatefulSet") or objects["Deployment"]
    template = workload["spec"]["template"]
    pod, labels = template["spec"], template["metadata"]["labels"]
    selectors = [
        workload["spec"]["selector"]["matchLabels"],
        objects["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
        *(spread["labelSelector"]["matchLabels"] for spread in pod.get("topologySpreadConstraints", [])),
        monitor["spec"]["selector"]["matchLabels"],
    ]
    if "Service" in objects:
        selectors.append(objects["Service"]["spec"]["selector"])
    if "PodDisruptionBudget" in objects:
        selectors.append(objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"])
    ensure(all(selector == labels for selector in selectors), f"a selector does not find the pods of {name}")
    names = {document["metadata"]["name"] for document in [*objects.values(), monitor]}
    ensure(names == {name} and labels == {"app.kubernetes.io/name": name}, f"not all is called {name}")
    (container,) = pod["containers"]
    ensure(container["args"] == [{"juice-maker": "serve"}.get(name) or name.removeprefix("juice-")], f"{name} runs another command")
    check_http(container, template, objects, monitor)
    check_rights(pod, container)
    check_network(objects["NetworkPolicy"]["spec"], container, objects["ConfigMap"])
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    ensure(set(mounts.values()) == {volume["name"] for volume in pod["volumes"]}, "a volume is missing or not mounted")
    check_settings(juice, base, container, objects["ConfigMap"], mounts)
    if name == "juice-maker":
        check_memory(container["resources"]["limits"]["memory"])
        service = objects["Service"]["metadata"]["name"]
        ensure(workload["spec"]["serviceName"] == service, "the StatefulSet's service is missing")


def check_http(container, template, objects, monitor):
    """Probes and Prometheus use the port where the image serves HTTP."""
    ports = {entry["name"]: entry["containerPort"] for entry in container["ports"]}
    given = {entry["name"]: entry.get("value", "") for entry in container["env"]}
    own = given.get("JUICE_ADMIN_HTTP")
    shown = int(own.rpartition(":")[2]) if own else http_port()
    annotation = int(template["metadata"]["annotations"]["prometheus.io/port"])
    ensure(annotation == shown, f"the annotation says port {annotation}, it shows itself at {shown}")
    named = {container[probe]["httpGet"]["port"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
    named.add(monitor["spec"]["podMetricsEndpoints"][0]["port"])
    ensure(len(named) == 1 and {ports[name] for name in named} == {shown}, f"a port is called otherwise: {named}")
    if "Service" in objects:
        (port,) = objects["Service"]["spec"]["ports"]
        ensure(port["port"] == ports[port["targetPort"]] == http_port(), f"the service leads to {port}")


def check_rights(pod, container):
    """The pod has no privilege that it does not need, and can read its secret."""
    given = pod["securityContext"]
    ensure((given["runAsUser"], given["runAsGroup"]) == image_user(), "the pod runs as another user or group")
    ensure(given["runAsNonRoot"] is True, "the pod may run as root")
    ensure(given["seccompProfile"] == {"type": "RuntimeDefault"}, "the pod may make every system call")
    ensure(pod["automountServiceAccountToken"] is False, "the pod is given a token for Kubernetes")
    outside = {name for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name)}
    ensure(not outside, f"the pod has the node's {', '.join(outside)}")
    hardened = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    ensure(container["securityContext"] == hardened, f"the container's rights are not {hardened}")
    ensure(re.search(r"@sha256:[0-9a-f]{64}$", container["image"]), "the image is not named by its digest")
    ensure(all(mount.get("readOnly") is True for mount in container["volumeMounts"]), "a mount can be written to")
    for volume in pod["volumes"]:
        if "secret" in volume:
            ensure(volume["secret"].get("defaultMode") == 0o400, f"others may read the volume {volume['name']}")
            # Files of secrets belong to root: without the group the service could not read them.
            ensure(given.get("fsGroup") == given["runAsGroup"], "the service may not read its secret")


def check_network(policy, container, config_map):
    """The network policy allows what the service needs, and nothing else."""
    ensure(set(policy["policyTypes"]) == {"Ingress", "Egress"}, "the policy leaves a direction open")
    for rule in policy["ingress"] + policy["egress"]:
        peers = rule.get("from", []) + rule.get("to", [])
        ensure(peers and all(peers), f"the policy is open to everybody: {rule}")
        # An empty selector matches everything.
        empty = [peer for peer in peers for selector in peer.values() if not any(selector.values())]
        ensure(not empty, f"the policy selects everybody: {rule}")
    ports = {("TCP", port["name"]) for port in container.get("ports", [])}
    ensure(allowed(policy["ingress"]) == ports, "others than visitors of the page and Prometheus get in")
    servers = json.loads(config_map["data"]["juice.json"])["bootstrap-servers"].split(",")
    kafka = {("TCP", int(server.rpartition(":")[2])) for server in servers}
    ensure(allowed(policy["egress"]) == kafka | {("UDP", 53), ("TCP", 53)}, "more than brokers and DNS can be reached")


def allowed(rules_of_policy):
    """The protocols and ports that rules of a network policy allow. A rule without ports allows everything."""
    ports = [port for rule in rules_of_policy for port in rule.get("ports", [{"protocol": "any", "port": "any"}])]
    return {(port["protocol"], port["port"]) if "endPort" not in port else ("range", port["port"]) for port in ports}


def check_memory(limit):
    """The alert uses the memory limit."""
    (rule,) = (rule for rule in rules() if rule.get("alert") == "JuiceMemoryHigh")
    threshold = math.prod(float(factor) for factor in rule["expr"].partition(">")[2].split("*"))
    number, unit = re.fullmatch(r"(\d+)(Mi|Gi)", limit).groups()
    allowed = int(number) * 1024 ** {"Mi": 2, "Gi": 3}[unit]
    ensure(threshold == 0.9 * allowed, f"JuiceMemoryHigh fires at {threshold:.0f}, which is not 90 % of {limit}")


def check_settings(juice, base, container, config_map, mounts):
    """juice accepts the settings, with its files laid out as mounted, below another folder than the root."""
    with tempfile.TemporaryDirectory() as root:
        for place in mounts:
            Path(root + place).mkdir(parents=True)
        for name, text in config_map["data"].items():
            Path(root + "/etc/juice/config", name).write_text(text.replace("/etc/juice", f"{root}/etc/juice"))
        Path(root + "/etc/juice/secret/kafka.properties").write_text("security.protocol=PLAINTEXT\n")
        environment = {}
        for entry in container["env"]:
            field = entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            ensure("value" in entry or field == "metadata.name", f"{entry['name']} is no value and no name")
            environment[entry["name"]] = f"{root}{entry['value']}" if "value" in entry else "juice-maker-0"
        given = settings(juice, base, environment)
    named = any(entry["name"] == "JUICE_INSTANCE_ID" for entry in container["env"])
    ensure(not named or given["instance-id"] == "juice-maker-0", "the instance is not called like its pod")
    ensure(given["bootstrap-servers"] == "kafka:9092", "the configuration file is not read")
    ensure(given["kafka-property security.protocol"] == "PLAINTEXT", "the secret is not read")
    ensure(given["log-format"] == "json" and given["http"].startswith("0.0.0.0:"), "the image's settings are lost")
