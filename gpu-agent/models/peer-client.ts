/** Copies models from another machine of the fleet. */
import type { FileSource, OpenFile } from './file-source.ts';
import { openBody } from './file-source.ts';
import { ask, leave, readText } from './http-get.ts';
import { HubError } from './hub-error.ts';
import type { ModelKey } from './model-name.ts';
import { treeName } from './model-name.ts';
import type { ModelFile, ModelRecord } from './model-record.ts';
import { parseRecord, RECORD_BYTES_MAX } from './model-record.ts';
import { blobPath, recordPath } from './peer-routes.ts';

/** A machine that has a model. */
interface ModelPeer {
  /** host:port. */
  address: string;
  /** Authorizes to read this model alone. */
  token: string;
  /** Account whose model it is. 0: public. */
  accountNumber: number;
}

const OK = 200;
/** Milliseconds without a byte after which a machine is given up: the hub has the model, too. */
const SILENCE_MS = 10_000;

export class PeerClient implements FileSource {
  readonly accountNumber: number;
  readonly #peer: ModelPeer;

  constructor(peer: ModelPeer) {
    this.#peer = peer;
    this.accountNumber = peer.accountNumber;
  }

  get name(): string {
    return this.#peer.address;
  }

  /** Asks which files a model has. Rejects if the machine does not have it. */
  async describe(key: ModelKey, signal: AbortSignal): Promise<ModelRecord> {
    const { token, address } = this.#peer;
    const url = `http://${address}${recordPath(key)}`;
    const reply = await ask({ url, token, follow: 'own', isAlone: true, silenceMs: SILENCE_MS, signal });
    const record = reply.status === OK ? parseRecord(await readText(reply, RECORD_BYTES_MAX)) : undefined;
    leave(reply.body);
    if (!record || treeName(record) !== treeName(key)) throw new HubError(address, reply.status, reply.headers);
    return record;
  }

  async open(
    repository: string,
    commit: string,
    file: ModelFile,
    offset: number,
    signal: AbortSignal,
  ): Promise<OpenFile> {
    const { token, address, accountNumber } = this.#peer;
    const url = `http://${address}${blobPath({ repository, commit, accountNumber }, file.digest)}`;
    return openBody(
      await ask({ url, token, offset, follow: 'own', isAlone: true, silenceMs: SILENCE_MS, signal }),
      address,
      offset,
    );
  }
}
