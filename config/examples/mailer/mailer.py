#!/usr/bin/env python3
"""A handler for `exec` in mode stream: a line of JSON for each event comes in, one for each answer goes out."""
import json
import sys

for line in sys.stdin:
    event = json.loads(line)
    answer = {"event_id": event["event_id"], "outcome": "done"}
    order = event.get("body") or {}
    if "email" not in order:
        answer.update(outcome="dead", error="order.no_email", message="the order has no email address")
    else:
        # Send the mail here, with event["event_id"] as its idempotency key: the same event may come again.
        print(f"mail to order {event['key']}, attempt {event['attempt']}", file=sys.stderr)  # goes to the daemon's log
    print(json.dumps(answer), flush=True)
