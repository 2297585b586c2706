/** Whether a folder is for a queue or for load balancing, by what its program imports. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { whyLoadBalancing } from '@slipway/cli/build/folder-type';
import t from 'tap';
import { scratch } from '../../helpers/scratch.ts';

const SERVERS = ['from flask import Flask\n', 'import uvicorn\n', 'from http.server import HTTPServer\n'];

for (const [index, text] of SERVERS.entries()) {
  t.test(text.trim(), async (t) => {
    const { path } = await scratch(t);
    const folder = path(String(index));
    mkdirSync(folder);
    const why = (program: string): string => {
      writeFileSync(path(`${index}/main.py`), program);
      return whyLoadBalancing(folder);
    };
    t.equal(why(text), 'has an HTTP server, main.py');
    t.equal(why(`${text}import runpod\n`), '', 'a handler may be a client or server of others');
    t.equal(why(`${text}import json, runpod as rp\n`), '', 'several modules in one import');
  });
}
