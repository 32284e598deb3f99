"""The network: forwards IP packets between the TUN devices of the hosts, and drops, delays or throttles them by link.

A program of its own, so that nothing else holds packets back. It gets the devices as descriptors
(`switch.py ADDRESS=DESCRIPTOR...`) and on stdin a line of JSON for each change: a list of
[from, to, {"loss": 0..1, "delay": seconds, "rate": bytes per second}] that replaces the rules before. A rule holds in
one direction. A queue longer than a second drops packets, as a router would.
"""
import heapq
import json
import os
import random
import selectors
import socket
import sys
import time

LONGEST_QUEUE = 1.0


def main():
    devices = {}
    for argument in sys.argv[1:]:
        address, descriptor = argument.split("=")
        devices[socket.inet_aton(address)] = int(descriptor)
    selector = selectors.EpollSelector()
    for descriptor in devices.values():
        os.set_blocking(descriptor, False)
        selector.register(descriptor, selectors.EVENT_READ)
    control = sys.stdin.fileno()
    selector.register(control, selectors.EVENT_READ)
    rules, busy_until, waiting, number, unread = {}, {}, [], 0, b""

    def write(descriptor, packet):
        try:
            os.write(descriptor, packet)
        except OSError:  # the device is full or down: lost, as on a wire
            pass

    while True:
        pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for key, _ in selector.select(pause):
            if key.fd == control:
                read = os.read(control, 65536)
                if not read:
                    return
                *lines, unread = (unread + read).split(b"\n")
                for line in lines:
                    rules = {(socket.inet_aton(a), socket.inet_aton(b)): rule for a, b, rule in json.loads(line)}
                continue
            for _ in range(64):
                try:
                    packet = os.read(key.fd, 65536)
                except BlockingIOError:
                    break
                if packet[0] >> 4 != 4:
                    continue
                to = devices.get(packet[16:20])
                if to is None:
                    continue
                link = packet[12:20]
                rule = rules.get((link[:4], link[4:])) if rules else None
                if rule is None:
                    write(to, packet)
                    continue
                if random.random() < rule.get("loss", 0):
                    continue
                now = time.monotonic()
                due = now + rule.get("delay", 0)
                if "rate" in rule:
                    began = max(now, busy_until.get(link, 0))
                    if began - now > LONGEST_QUEUE:
                        continue
                    busy_until[link] = began + len(packet) / rule["rate"]
                    due = max(due, busy_until[link])
                number += 1
                heapq.heappush(waiting, (due, number, to, packet))
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, to, packet = heapq.heappop(waiting)
            write(to, packet)


main()
