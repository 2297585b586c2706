/**
 * A port that a container exposes, as the public API writes it: 8888/http. Core checks that the number is one of a
 * port.
 */
export const PORT_PATTERN = '^[0-9]{1,5}/(http|grpc|tcp|udp)$';
