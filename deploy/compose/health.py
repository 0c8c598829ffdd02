"""Whether an aggregator on this machine takes reports, by gRPC's health service: ends with 0, or says why not.

    python health.py [HOST:PORT]

For containers, whose aggregators speak no TLS themselves. It is not well while its store does not answer.
"""

from __future__ import annotations

import sys

import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub


def main(endpoint: str = "127.0.0.1:8470") -> str | None:
    """What is wrong; None where nothing is."""
    with grpc.insecure_channel(endpoint) as channel:
        try:
            found = HealthStub(channel).Check(HealthCheckRequest(service="deniable.v1.ReportService"), timeout=8)
        except grpc.RpcError as error:
            return f"{endpoint} does not answer: {error.code().name}"
    name: str = HealthCheckResponse.ServingStatus.Name(found.status)
    return None if found.status == HealthCheckResponse.SERVING else f"{endpoint} says that it is {name}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
