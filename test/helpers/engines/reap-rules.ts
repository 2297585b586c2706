/**
 * Removes what a test's own engine leaves besides its files: rules, addresses and interfaces of this host that agents
 * have made for its networks.
 */

/**
 * Shell lines that define `drop_rules`. It reads names of networks and removes their rules. An agent that ended in
 * order has left nothing; a killed agent has left everything. It never fails.
 */
export const DROP_RULES = `
drop_rules() {
  grep -aohE 'slipway-sw[0-9a-f]{4}' | sort -u | cut -d- -f2 | while read -r prefix; do
    for program in iptables ip6tables; do
      for place in 'mangle INPUT in' 'mangle FORWARD forward' 'filter INPUT bridge'; do
        set -- $place
        $program -w -t $1 -D $2 -j slipway-$prefix-$3
        $program -w -t $1 -F slipway-$prefix-$3
        $program -w -t $1 -X slipway-$prefix-$3
      done
    done
    ip link delete "\${prefix}0"
  done
}
`;
