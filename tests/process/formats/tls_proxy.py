"""A TLS port for tests: `tls_proxy.py PORT_FILE UPSTREAM_PORT CERTIFICATE KEY CLIENT_CA`. Writes its port into the
file, demands a certificate of CLIENT_CA, and passes each request on to the upstream, which closes its connections."""
import os
import socket
import ssl
import sys

port_file, upstream, certificate, key, client_ca = sys.argv[1:6]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
context.load_verify_locations(client_ca)
context.verify_mode = ssl.CERT_REQUIRED

listener = socket.create_server(("127.0.0.1", 0))
with open(port_file + ".new", "w") as file:
    file.write(str(listener.getsockname()[1]))
os.rename(port_file + ".new", port_file)


def serve(client):
    request = b""
    while b"\r\n\r\n" not in request:
        part = client.recv(65536)
        if not part:
            return
        request += part
    with socket.create_connection(("127.0.0.1", int(upstream))) as server:
        server.sendall(request)
        while part := server.recv(65536):
            client.sendall(part)


while True:
    connection, _ = listener.accept()
    connection.settimeout(30)
    try:
        with context.wrap_socket(connection, server_side=True) as client:
            serve(client)
    except OSError:  # a client without a certificate, or one that mistrusts ours
        pass
