/** Advice by error code. grpc-js reports the code only as part of the text. */
const FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there; end it, or choose another port',
  EADDRNOTAVAIL: 'this machine has no such address; choose one of its addresses, or 0.0.0.0 for all',
  ENOTFOUND: 'no such name is known here; give an address of this machine, or 0.0.0.0 for all',
  EACCES: 'this user may not use that port; choose one above 1023',
};

/** Returns an error with advice on what to do, or the same error if there is none. `address`: host:port. */
export function listenFault(error: Error, address: string): Error {
  const code = Object.keys(FAULTS).find((each) => error.message.includes(each));
  return code === undefined ? error : new Error(`cannot listen at ${address}: ${FAULTS[code]}`, { cause: error });
}
