#!/usr/bin/env bash
# Records real Linux TCP traffic between two network namespaces: what the replay of `make demo` starts from.
#
#   scripts/record_capture.sh [OUT.pcap]        default sim/demo/capture.pcap
#
# One direction of a veth link at its sender, whole frames, timestamps in ns. No offload: every frame has its size
# on the wire (MTU 1500) and its real checksum. The flows are in scripts/capture_traffic.py: cubic and reno, with
# and without ECN, IPv4 and IPv6; bulk, responses, requests, ping. Nothing shapes or drops on the way.
# Needs root and iproute2, tcpdump, ethtool, python3 (apt-get install iproute2 tcpdump ethtool). Takes about 4 s.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$(dirname "$here")/sim/demo/capture.pcap}
limit=2000000
sender=weir-rec-a-$$
receiver=weir-rec-b-$$
scratch=$(mktemp -d)
started=()

cleanup() {
  if [ ${#started[@]} -gt 0 ]; then kill "${started[@]}" 2>/dev/null || true; fi
  wait 2>/dev/null || true
  ip netns del "$sender" 2>/dev/null || true
  ip netns del "$receiver" 2>/dev/null || true
  rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

fail() { echo "record_capture: $*" >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || fail "network namespaces need root"
for tool in ip tcpdump ethtool python3; do
  command -v "$tool" >/dev/null || fail "$tool is missing; apt-get install iproute2 tcpdump ethtool python3"
done

ip netns add "$sender"
ip netns add "$receiver"
ip -n "$sender" link add eth0 address 02:00:00:00:00:01 mtu 1500 type veth \
  peer name eth0 address 02:00:00:00:00:02 mtu 1500 netns "$receiver"
for ns in "$sender" "$receiver"; do
  ip netns exec "$ns" ethtool -K eth0 tso off gso off gro off tx off rx off sg off >/dev/null
  ip netns exec "$ns" sysctl -qw net.ipv6.conf.eth0.accept_dad=0
  ip -n "$ns" link set lo up
  ip -n "$ns" link set eth0 up
done
# .2 and ::2 are reached with ECN, .3 and ::3 without.
ip -n "$sender" addr add 10.0.0.1/24 dev eth0
ip -n "$sender" addr add fd00::1/64 dev eth0 nodad
for host in 2 3; do
  ip -n "$receiver" addr add 10.0.0.$host/24 dev eth0
  ip -n "$receiver" addr add fd00::$host/64 dev eth0 nodad
done
for ns in "$sender" "$receiver"; do ip netns exec "$ns" sysctl -qw net.ipv4.tcp_ecn=2; done
ip -n "$sender" route add 10.0.0.2/32 dev eth0 features ecn
ip -n "$sender" route add fd00::2/128 dev eth0 features ecn

ip netns exec "$receiver" timeout 20 python3 "$here/capture_traffic.py" receive &
started+=($!)
ip netns exec "$sender" timeout 20 tcpdump -i eth0 -Q out -s 0 -B 8192 --immediate-mode -n \
  --time-stamp-precision=nano -w "$scratch/capture.pcap" 'not arp and not multicast' 2>"$scratch/tcpdump.log" &
dump=$!
started+=("$dump")
for _ in $(seq 50); do
  if grep -q listening "$scratch/tcpdump.log" 2>/dev/null; then break; fi
  sleep 0.1
done
sleep 0.3
ip netns exec "$sender" timeout 20 python3 "$here/capture_traffic.py" send
kill -INT "$dump"
wait "$dump" || true

grep -q '^0 packets dropped by kernel' "$scratch/tcpdump.log" || fail "tcpdump lost packets; run it again"
bytes=$(stat -c %s "$scratch/capture.pcap")
[ "$bytes" -le "$limit" ] || fail "the capture has $bytes bytes, more than $limit"
install -m 644 "$scratch/capture.pcap" "$out"
echo "$out: $bytes bytes, $(sed -n 's/ packets captured//p' "$scratch/tcpdump.log") frames"
