/**
 * Loaded into a process before its program: finds slipway.test at SLIPWAY_TEST_NAMED, and fails as a name server that
 * does not answer while the file of SLIPWAY_TEST_NAMES_FAIL exists.
 */
'use strict';
const dns = require('node:dns');
const { existsSync } = require('node:fs');

const { SLIPWAY_TEST_NAMES_FAIL: file, SLIPWAY_TEST_NAMED: address } = process.env;
const { lookup } = dns;
const lookupPromise = dns.promises.lookup;

function failure() {
  const error = new Error('getaddrinfo EAI_AGAIN slipway.test');
  return Object.assign(error, { code: 'EAI_AGAIN', errno: -3001, syscall: 'getaddrinfo', hostname: 'slipway.test' });
}

dns.lookup = (name, ...given) => {
  if (name !== 'slipway.test') return lookup(name, ...given);
  if (existsSync(file)) return void setImmediate(() => given.at(-1)(failure()));
  return lookup(address, ...given);
};
dns.promises.lookup = async (name, ...given) => {
  if (name !== 'slipway.test') return lookupPromise(name, ...given);
  if (existsSync(file)) throw failure();
  return lookupPromise(address, ...given);
};
