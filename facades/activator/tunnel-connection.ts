/**
 * A stream of HTTP/2 as a plain connection, for Node's HTTP client to write to. What is written together leaves piece by piece, as bytes: Node 24.21
 * frees what it has made of several texts before an HTTP/2 stream has sent it, so that other memory of the process would leave instead.
 */
import type { ClientHttp2Stream } from 'node:http2';
import { Duplex } from 'node:stream';

export class TunnelConnection extends Duplex {
  readonly #stream: ClientHttp2Stream;

  constructor(stream: ClientHttp2Stream) {
    super({ decodeStrings: true, allowHalfOpen: true });
    this.#stream = stream;
    stream.on('data', (piece: Buffer) => { if (!this.push(piece)) stream.pause(); });
    stream.once('end', () => this.push(null));
    stream.on('error', (error) => this.destroy(error));
    // Without an end before it, it was cut.
    stream.once('close', () => {
      if (stream.readableEnded) this.destroy();
      else this.destroy(new Error('the tunnel was cut'));
    });
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(piece: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#stream.write(piece, done);
  }

  override _final(done: () => void): void {
    this.#stream.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#stream.destroy();
    done(error);
  }
}
