// Connects webhooks through an HTTP proxy, to addresses that the service has checked.
import { type ClientRequestArgs, request as plainRequest } from 'node:http';
import { Agent, type AgentOptions, type RequestOptions, request as tlsRequest } from 'node:https';
import { isIPv6, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect } from 'node:tls';

/** Resolves a host to an address that webhooks may connect to. Rejects if one of its addresses is not public. */
type Resolve = (host: string) => Promise<string>;

/**
 * Opens a tunnel to a checked address for each connection. The proxy resolves no name: it could resolve one to a private
 * address. TLS ends at the receiver, under the name of the URL.
 */
export class TunnelAgent extends Agent {
  readonly #proxy: URL;
  readonly #resolve: Resolve;
  readonly #connectMs: number;

  constructor(proxy: string, resolve: Resolve, options: AgentOptions & { timeout: number }) {
    super(options);
    this.#proxy = new URL(proxy);
    this.#resolve = resolve;
    this.#connectMs = options.timeout;
  }

  override createConnection(
    options: ClientRequestArgs,
    done: (error: Error | null, socket: Duplex) => void = () => {},
  ): undefined {
    const { host = '', port = 443, servername = '', ca } = options as ConnectionOptions;
    this.#resolve(host)
      .then((address) => this.#tunnel(`${isIPv6(address) ? `[${address}]` : address}:${port}`))
      .then((socket) => done(null, connect({ socket, host, servername, ...(ca && { ca }) })))
      .catch((error: Error) => done(error, null as never));
  }

  #tunnel(target: string): Promise<Socket> {
    const { protocol, hostname, port, username, password } = this.#proxy;
    const credentials = [username, password].map(decodeURIComponent).join(':');
    const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
    const options: RequestOptions = {
      method: 'CONNECT',
      path: target,
      host: hostname.replace(/^\[|\]$/g, ''),
      port,
      headers: { host: target, ...(username && { 'proxy-authorization': authorization }) },
      agent: false,
      signal: AbortSignal.timeout(this.#connectMs),
    };
    return new Promise((resolve, reject) => {
      const call = (protocol === 'https:' ? tlsRequest : plainRequest)(options);
      const refuse = (status = 0) => reject(new Error(`the proxy answered ${status}`));
      call.on('error', ({ code = 'unknown' }: NodeJS.ErrnoException) =>
        reject(new Error(`no connection to the proxy (${code})`)),
      );
      // An answer without a tunnel.
      call.on('response', (response) => {
        response.destroy();
        refuse(response.statusCode);
      });
      call.on('connect', ({ statusCode }, socket) => {
        // Node.js has removed its own listener. The TLS connection reports the error, too.
        socket.on('error', () => {});
        if (statusCode === 200) return resolve(socket);
        socket.destroy();
        refuse(statusCode);
      });
      call.end();
    });
  }
}
