"""Hosts: network namespaces that are joined by the switch."""
import fcntl
import json
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path

TUNSETIFF = 0x400454CA
IFF_TUN_WITHOUT_HEADER = 0x1001
MTU = 9000


def must(*command, **options):
    """Runs a command and returns its output; raises with its messages."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout


class Host:
    def __init__(self, name, address):
        self.name = name
        self.address = address

    def enter(self, *command):
        """The command that runs a command on this host; the process id stays the same."""
        return ["ip", "netns", "exec", self.name, *map(str, command)]


class Network:
    """Lives as long as the rig: the rig's own mount and network namespace hold everything."""

    def __init__(self, addresses, log):
        must("mount", "-t", "tmpfs", "tmpfs", "/run")  # only here; the namespaces' names are in /run/netns
        self.hosts = {name: Host(name, address) for name, address in addresses.items()}
        self.lock = threading.Lock()
        self.rules = {}
        devices = [self._attach(host, f"chaos{number}") for number, host in enumerate(self.hosts.values())]
        self.switch = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("switch.py"),
             *(f"{host.address}={device}" for host, device in zip(self.hosts.values(), devices))],
            stdin=subprocess.PIPE, stderr=log, pass_fds=devices, start_new_session=True,
            preexec_fn=lambda: os.nice(-10))
        for device in devices:
            os.close(device)

    @staticmethod
    def _attach(host, device):
        descriptor = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN_WITHOUT_HEADER))
        must("ip", "netns", "add", host.name)
        must("ip", "link", "set", device, "netns", host.name)
        inside = ("ip", "-n", host.name)
        must(*inside, "link", "set", "lo", "up")
        must(*inside, "address", "add", f"{host.address}/24", "dev", device)
        must(*inside, "link", "set", device, "mtu", str(MTU), "txqueuelen", "2000", "up")
        return descriptor

    def set_rule(self, origin, target, **rule):
        """For packets from a host to another; without a rule the link is healthy."""
        with self.lock:
            link = (self.hosts[origin].address, self.hosts[target].address)
            if rule:
                self.rules[link] = rule
            else:
                self.rules.pop(link, None)
            self.switch.stdin.write((json.dumps([[*link, rule] for link, rule in self.rules.items()]) + "\n").encode())
            self.switch.stdin.flush()
