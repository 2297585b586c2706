/** A worker without an SDK: it leaves its environment in RAW_WORKER_FOLDER and stays alive, while the test speaks the protocol for it. */
import { renameSync, writeFileSync } from 'node:fs';

const { RAW_WORKER_FOLDER: folder, RUNPOD_POD_ID: id } = process.env;
const names = Object.keys(process.env).filter((name) => name.startsWith('RUNPOD_'));
const env = Object.fromEntries(names.map((name) => [name, process.env[name]]));
writeFileSync(`${folder}/${id}.part`, JSON.stringify({ ...env, pid: process.pid }));
renameSync(`${folder}/${id}.part`, `${folder}/${id}.json`);
setInterval(() => {}, 60_000);
