"""An application for Dapr's subscriber API, written with Dapr's SDK: `dapr_service.py PORT SEEN_FILE`."""
import logging
import sys

from flask import Flask, request
from flask_dapr import DaprApp

app = Flask("orders")
dapr = DaprApp(app)


@dapr.subscribe(pubsub="inboxd", topic="orders", route="/orders")
def orders():
    event = request.get_json(force=True)
    with open(sys.argv[2], "a") as file:
        file.write(event["type"] + " " + event["id"] + " " + event["data"]["order"] + "\n")
    return {"status": {"Dropped": "DROP", "Later": "RETRY"}.get(event["type"], "SUCCESS")}, 200


logging.getLogger("werkzeug").setLevel(logging.ERROR)
app.run(port=int(sys.argv[1]), threaded=True)
