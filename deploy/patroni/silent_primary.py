#!/usr/bin/env python3
"""Replaces a primary that has fallen silent before Patroni's ttl is over. Runs beside Patroni on each database host.

Patroni accepts no ttl below 20 s, so a primary whose host is gone, frozen or cut off is replaced after 20 s. The
primary renews its lease in etcd each second. This program asks etcd how long ago that was. After --silent seconds
without a renewal, and without an answer of the primary's REST API, it revokes the lease, as etcd itself does after
ttl. Patroni on the standby then sees that there is no leader and takes over by its own rules.

Nothing acknowledged is lost, whether or not the primary is dead. The standby takes over only while the key /sync in
etcd names it, and as long as it does, PostgreSQL on the old primary acknowledges no commit that the standby lacks. The
first write of the new primary's Patroni takes its name out of /sync for everyone else. An old primary that wakes up
therefore acknowledges nothing, and its own Patroni stops it: its lease is gone.

It must never delete the leader key and leave the lease: Patroni on the old primary would renew the lease and believe
for one round that it still leads.

Usage: silent_primary.py [--silent SECONDS] patroni.yml, with Patroni's environment. Needs Patroni 4 and etcd 3.5.
"""
import argparse
import json
import logging
import time

from patroni.config import Config
from patroni.dcs import Cluster, Leader, Member, get_dcs
from patroni.dcs.etcd3 import Etcd3
from patroni.request import PatroniRequest

PERIOD_SECONDS = 0.3
REST_SECONDS = 1
# How long etcd may be asked. Patroni's own retry_timeout in patroni.yml.
ETCD_SECONDS = 3
# A primary that is only slow misses one round.
ROUNDS_MISSED = 2

log = logging.getLogger("silent_primary")


class SilentPrimary:
    """Watches the lease of the primary from one standby."""

    def __init__(self, file: str, silent_seconds: int):
        config = Config(file, validator=None).copy()
        # As patronictl does: no lease of its own, and reads that a majority of etcd confirms.
        config.update(patronictl=True, retry_timeout=ETCD_SECONDS)
        dcs = get_dcs(config)
        if not isinstance(dcs, Etcd3):
            raise SystemExit("silent_primary.py needs etcd3 in the configuration of Patroni")
        self._dcs = dcs
        self._name = config["name"]
        # As Patroni asks its members: their certificates are not checked. A primary that works must not look silent.
        self._request = PatroniRequest(config, insecure=True)
        self._silent_seconds = silent_seconds

    def check(self) -> None:
        """Looks once, and revokes the lease of a silent primary. Raises if etcd does not answer."""
        cluster = self._dcs.get_cluster()
        leader = cluster.leader
        if not leader or not self._may_take_over(cluster, leader):
            return
        limit = self._limit(cluster)
        # The last second passes while its REST API is asked.
        if self._silence(leader) < limit or self._answers(leader.member):
            return
        silent = self._silence(leader)
        if silent <= limit:
            return
        log.warning("%s has not renewed its lease for %d s and does not answer: its lease is revoked", leader.name, silent)
        self._dcs._client.call_rpc("/lease/revoke", {"ID": leader.session})

    def _may_take_over(self, cluster: Cluster, leader: Leader) -> bool:
        """Returns whether Patroni would let this node take over. Otherwise a revoked lease would help nobody."""
        is_paused = bool(cluster.config and cluster.config.data.get("pause"))
        is_standby = cluster.sync.leader_matches(leader.name) and cluster.sync.matches(self._name)
        return leader.name != self._name and is_standby and not is_paused

    def _silence(self, leader: Leader) -> int:
        """Returns the seconds since the lease was renewed, rounded up, by the clock of etcd."""
        lease = self._dcs._client.call_rpc("/lease/timetolive", {"ID": leader.session})
        granted, left = int(lease.get("grantedTTL", 0)), int(lease.get("TTL", 0))
        return granted - left if left > 0 else 0

    def _limit(self, cluster: Cluster) -> int:
        """Returns the seconds of silence that are accepted: --silent, or more if the primary renews less often."""
        settings = cluster.config.data if cluster.config else {}
        return max(self._silent_seconds, int(settings.get("loop_wait", 10)) + ROUNDS_MISSED)

    def _answers(self, member: Member) -> bool:
        """Returns whether Patroni on the primary says that its PostgreSQL works as the primary."""
        try:
            state = json.loads(self._request(member, timeout=REST_SECONDS, retries=0).data)
        except Exception:
            return False
        return state.get("role") in ("primary", "master") and state.get("state") == "running"


def main() -> None:
    """Checks for ever."""
    parser = argparse.ArgumentParser(description="Replaces a primary that has fallen silent.")
    parser.add_argument("file", help="configuration of Patroni")
    parser.add_argument("--silent", type=int, default=3, help="seconds without a renewal of the lease (default: 3)")
    options = parser.parse_args()
    logging.basicConfig(format="%(asctime)s %(levelname)s: %(message)s", level=logging.WARNING)
    log.setLevel(logging.INFO)
    watch = SilentPrimary(options.file, options.silent)
    log.info("watches the primary")
    while True:
        try:
            watch.check()
        except Exception as error:
            log.warning("etcd does not answer: %r", error)
        time.sleep(PERIOD_SECONDS)


if __name__ == "__main__":
    main()
