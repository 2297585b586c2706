/** Entry point of an image that stands for PostgreSQL's official one: makes the database once, then runs the server. */
import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, chownSync, copyFileSync, existsSync, mkdirSync } from 'node:fs';

const { PGDATA, POSTGRES_DB, POSTGRES_PASSWORD_FILE, POSTGRES_USER } = process.env;
const USER = 999;
const PASSWORD = '/database-password';
const as = { uid: USER, gid: USER, stdio: ['pipe', 'inherit', 'inherit'] };
const program = (name) => `/opt/postgres/bin/${name}`;

if (!existsSync(`${PGDATA}/PG_VERSION`)) {
  mkdirSync(PGDATA, { recursive: true });
  chownSync(PGDATA, USER, USER);
  copyFileSync(POSTGRES_PASSWORD_FILE, PASSWORD);
  chownSync(PASSWORD, USER, USER);
  const access = ['--auth=scram-sha-256', `--username=${POSTGRES_USER}`, `--pwfile=${PASSWORD}`];
  execFileSync(program('initdb'), [`--pgdata=${PGDATA}`, '--no-sync', ...access], as);
  appendFileSync(`${PGDATA}/pg_hba.conf`, 'host all all all scram-sha-256\n');
  execFileSync(program('postgres'), ['--single', '-D', PGDATA, 'postgres'], {
    ...as,
    input: `CREATE DATABASE ${POSTGRES_DB}\n`,
  });
}
// The command's first word is the name of the server.
const options = ['-D', PGDATA, '-c', 'listen_addresses=*', '-c', 'unix_socket_directories=', ...process.argv.slice(3)];
const server = spawn(program('postgres'), options, as);
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => server.kill('SIGINT'));
server.on('exit', (code) => process.exit(code ?? 1));
