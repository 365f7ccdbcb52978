// Sends messages to webhooks over HTTPS, to permitted addresses only.
import { Resolver } from 'node:dns/promises';
import { Agent, request } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type MayConnect, refusalOfUrl } from '../rules/webhooks.ts';

/** Limits of one attempt. */
const ATTEMPT_MS = 10_000;
const RESPONSE_BYTES = 64 * 1024;
const RESOLVE_MS = 3_000;

interface SenderOptions {
  mayConnect: MayConnect;
  /** Certificate authorities in PEM. Default: those of Node.js. */
  ca?: string;
  /** Resolves a name to addresses. Default: DNS, without /etc/hosts. */
  resolve?: (host: string) => Promise<string[]>;
}

export type Sender = ReturnType<typeof createSender>;

/**
 * Checks a literal address before connecting, every resolved address, and the address of the connection, before it
 * sends anything.
 */
export function createSender({ mayConnect, ca, resolve = resolveByDns }: SenderOptions) {
  const agent = new Agent({ keepAlive: true, timeout: ATTEMPT_MS, ...(ca && { ca }) });
  const lookup: LookupFunction = (host, _options, done) => {
    resolve(host).then(
      (found) => {
        if (!found.every(mayConnect)) return done(refusedAddress(), []);
        done(
          null,
          found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
        );
      },
      (error) => done(error, []),
    );
  };

  /** Resolves with the status of the response, whatever it is. Rejects if there is none; never follows a redirect. */
  function post(url: string, headers: Record<string, string>, body: string): Promise<number> {
    return new Promise((settle, reject) => {
      if (refusalOfUrl(url, mayConnect) !== null) throw refusedAddress();
      const signal = AbortSignal.timeout(ATTEMPT_MS);
      const call = request(url, { method: 'POST', headers, agent, lookup, signal });
      call.on('error', (error) => reject(signal.aborted ? new Error('timeout') : error));
      // Without a response, for example after an upgrade.
      const closed = () => reject(new Error('the connection was closed'));
      call.on('close', closed);
      call.on('socket', (socket: TLSSocket) => {
        const send = () => {
          if (mayConnect(socket.remoteAddress ?? '')) call.end(body);
          else call.destroy(refusedAddress());
        };
        if (socket.connecting) socket.once('secureConnect', send);
        else send();
      });
      call.on('response', (response) => {
        call.off('close', closed);
        let bytes = 0;
        // Read and forgotten, so that the connection can be used again.
        response.on('data', ({ length }: Buffer) => {
          bytes += length;
          if (bytes > RESPONSE_BYTES) response.destroy();
        });
        response.on('error', () => {});
        response.on('close', () => settle(response.statusCode ?? 0));
      });
    });
  }
  return { post, close: () => agent.destroy() };
}

/** Not `dns.lookup`: names that answer slowly would occupy the threads that also write to the disk. */
async function resolveByDns(host: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: RESOLVE_MS, tries: 1 });
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const addresses = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  if (addresses.length === 0) throw new Error('the name has no address');
  return addresses;
}

function refusedAddress(): Error {
  return new Error('the address is not public');
}
