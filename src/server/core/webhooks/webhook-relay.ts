// Delivers the messages of webhooks over HTTPS: one instance at a time, each webhook in order, the accounts fairly.
import { Resolver } from 'node:dns/promises';
import { request as plainRequest } from 'node:http';
import { Agent, request } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { FairQueue } from '../../../base/async/fair-queue.ts';
import { passed } from '../../../base/async/on-abort.ts';
import type { Clock } from '../../../base/clock.ts';
import { limits } from '../../../protocol/limits.ts';
import { LEAD_MS, type Store } from '../../ports/store.ts';
import type {
  DueWebhook,
  WaitingMessage,
  WebhookStore,
  WebhookToSend,
} from '../../ports/webhooks.ts';
import { afterFailure, type MayConnect, refusalOfUrl } from '../../rules/webhooks.ts';
import { TunnelAgent } from './webhook-tunnel.ts';
import { signedMessage } from './webhooks.ts';

const POLL_MS = 1_000;
const HOUR_MS = 60 * 60_000;
/** Messages that a webhook gets before the next webhook of its account. */
const MESSAGES_PER_TURN = 16;
/** Accounts served at once. Those without a recent grant use a separate pool. */
const FUNDED_AT_ONCE = 48;
const UNFUNDED_AT_ONCE = 16;
/** Webhooks of one kind that are served or wait for their turn. The store has the others, in their order. */
const WEBHOOKS_AT_ONCE = 256;

interface RelayOptions {
  store: WebhookStore & Pick<Store, 'lead'>;
  clock: Clock;
  webhooks: { key: Buffer; senderOf: (wallet: string) => Sender };
  onError: (error: unknown) => void;
  /** Default: 1 s. */
  pollMs?: number;
}

/**
 * Delivers until stopped, while this instance is the leader. `turn` runs one round at once, and resolves when each due
 * message was tried.
 */
export function startRelay(options: RelayOptions): {
  turn(): Promise<void>;
  stop(): Promise<void>;
} {
  const relay = new Relay(options);
  const stopping = new AbortController();
  const ended = (async () => {
    do await relay.turn().catch(options.onError);
    while (await passed(options.pollMs ?? POLL_MS, stopping.signal));
    await relay.end();
  })();
  return {
    async turn() {
      await relay.turn();
      await relay.end();
    },
    stop() {
      stopping.abort();
      relay.stopped = true;
      return ended;
    },
  };
}

class Relay {
  readonly #options: RelayOptions;
  readonly #queues = [[true, FUNDED_AT_ONCE] as const, [false, UNFUNDED_AT_ONCE] as const].map(
    ([funded, atOnce]) => {
      return { funded, queue: new FairQueue({ atOnce }), busy: new Map<string, Promise<void>>() };
    },
  );
  /** Attempts of accounts without a recent grant in this hour. A takeover starts at 0. */
  readonly #attempts = new Map<string, number>();
  #hour = 0;
  /** By `performance.now()`. */
  #leadsUntil = 0;
  stopped = false;

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  async turn(): Promise<void> {
    const { store, clock, webhooks, onError } = this.#options;
    const now = performance.now();
    if (!(await store.lead())) return;
    this.#leadsUntil = now + LEAD_MS;
    for (const { funded, queue, busy } of this.#queues) {
      const due = await store.listDueWebhooks(funded, 2 * WEBHOOKS_AT_ONCE, clock.now());
      for (const { id, wallet } of due) {
        // A grant moves a webhook from one queue to the other, also during an attempt.
        const isBusy = this.#queues.some((each) => each.busy.has(id));
        if (isBusy || busy.size >= WEBHOOKS_AT_ONCE) continue;
        const deliver = () => this.#deliver({ id, wallet }, funded, webhooks);
        const deliverAll = async () => {
          while (await queue.run(wallet, deliver)) {
            if (busy.size < WEBHOOKS_AT_ONCE) continue;
            // Moves it behind the other due webhooks.
            const now = clock.now();
            return store.deferWebhook(id, { at: now }, now);
          }
        };
        const work = deliverAll()
          .catch(onError)
          .finally(() => busy.delete(id));
        busy.set(id, work);
      }
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.#queues.flatMap(({ busy }) => [...busy.values()]));
  }

  /** Returns whether more may be waiting, after as many messages as one turn has. */
  async #deliver(
    { id: webhookId, wallet }: DueWebhook,
    funded: boolean,
    service: RelayOptions['webhooks'],
  ): Promise<boolean> {
    const { store, clock } = this.#options;
    const sending = { key: service.key, sender: service.senderOf(wallet) };
    for (let sent = 0; sent < MESSAGES_PER_TURN; sent += 1) {
      if (this.stopped || performance.now() > this.#leadsUntil) return false;
      const now = clock.now();
      // Read before each attempt: the owner may have changed or disabled the webhook meanwhile.
      const webhook = await store.readDueWebhook(webhookId, now);
      if (webhook === null) return false;
      const [message] = await store.listWaiting(webhookId, 1);
      if (message === undefined) {
        await store.restWebhook(webhookId);
        return false;
      }
      if (!funded && !this.#count(wallet, now)) {
        await store.deferWebhook(webhookId, { at: (this.#hour + 1) * HOUR_MS }, now);
        return false;
      }
      const result = await attempt(sending, webhookId, webhook, message, now);
      const { id: deliveryId, number } = message;
      const tried = { webhookId, deliveryId, number, ...result, at: clock.now() };
      if (tried.error !== null) {
        const { failures, failing_since: failingSince } = webhook;
        await store.recordFailed(tried, afterFailure(failures, failingSince, tried.at));
        return false;
      }
      await store.recordDelivered(tried);
    }
    return true;
  }

  /** False if the account has used its attempts of this hour. */
  #count(wallet: string, now: number): boolean {
    const hour = Math.floor(now / HOUR_MS);
    if (hour !== this.#hour) this.#attempts.clear();
    this.#hour = hour;
    const used = this.#attempts.get(wallet) ?? 0;
    this.#attempts.set(wallet, used + 1);
    return used < limits.webhookAttemptsPerHourWithoutGrant;
  }
}

const ERROR_LENGTH = 200;

async function attempt(
  { key, sender }: { key: Buffer; sender: Sender },
  id: string,
  { url, secret, old_secret: old }: WebhookToSend,
  message: WaitingMessage,
  now: number,
): Promise<{ status: number | null; error: string | null }> {
  try {
    const sealed = old === null ? [secret] : [secret, old];
    const { headers, body } = signedMessage(key, id, sealed, message, now);
    const status = await sender.post(url, headers, body);
    return { status, error: status >= 200 && status < 300 ? null : `status ${status}` };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return { status: null, error: text.slice(0, ERROR_LENGTH) };
  }
}

/** Limits of one attempt. */
const ATTEMPT_MS = 10_000;
const RESPONSE_BYTES = 64 * 1024;
/** Interim responses (status 1xx): a receiver that sent them without end would occupy the event loop. */
const MAX_INTERIM_RESPONSES = 16;
const RESOLVE_MS = 3_000;

interface SenderOptions {
  mayConnect: MayConnect;
  /** Certificate authorities in PEM. Default: those of Node.js. */
  ca?: string;
  /** Resolves a name to addresses. Default: DNS, without /etc/hosts. */
  resolve?: (host: string) => Promise<string[]>;
  /** URL of an HTTP proxy. A secret. Default: none. */
  proxy?: string | undefined;
  /** Whether URLs may use http to this machine. Default: false. */
  localHttp?: boolean | undefined;
}

export type Sender = ReturnType<typeof createSender>;

/**
 * Checks a literal address before connecting, every resolved address, and the address of the connection, before it
 * sends anything.
 */
export function createSender({
  mayConnect,
  ca,
  resolve = resolveByDns,
  proxy,
  localHttp,
}: SenderOptions) {
  const options = { keepAlive: true, timeout: ATTEMPT_MS, ...(ca && { ca }) };
  const agent = proxy ? new TunnelAgent(proxy, firstChecked, options) : new Agent(options);

  async function checked(host: string): Promise<string[]> {
    const found = isIP(host) === 0 ? await resolve(host) : [host];
    if (!found.every(mayConnect)) throw refusedAddress();
    return found;
  }

  async function firstChecked(host: string): Promise<string> {
    const [first] = await checked(host);
    if (first === undefined) throw new Error('the name has no address');
    return first;
  }

  const lookup: LookupFunction = (host, _options, done) => {
    checked(host).then(
      (found) => {
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
      if (refusalOfUrl(url, mayConnect, localHttp) !== null) throw refusedAddress();
      const signal = AbortSignal.timeout(ATTEMPT_MS);
      const post = { method: 'POST', headers, signal };
      // Only to an address of this machine.
      const isPlain = new URL(url).protocol === 'http:';
      const call = isPlain
        ? plainRequest(url, { ...post, agent: false })
        : request(url, { ...post, agent, lookup });
      call.on('error', (error) => reject(signal.aborted ? new Error('timeout') : error));
      // Without a response, for example after an upgrade.
      const closed = () => reject(new Error('the connection was closed'));
      call.on('close', closed);
      call.on('socket', (socket: TLSSocket) => {
        const send = () => {
          // Through a proxy, the address was checked before the tunnel.
          if (isPlain || proxy || mayConnect(socket.remoteAddress ?? '')) call.end(body);
          else call.destroy(refusedAddress());
        };
        if (socket.connecting && !isPlain && !proxy) socket.once('secureConnect', send);
        else send();
      });
      let interim = 0;
      call.on('information', () => {
        interim += 1;
        if (interim > MAX_INTERIM_RESPONSES) call.destroy(new Error('too many interim responses'));
      });
      call.on('response', (response) => {
        call.off('close', closed);
        let bytes = 0;
        // Read and discarded, so that the connection can be used again.
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

/** A sender for each rule, so that no message uses a connection that was opened under another rule. */
export function createSenders(
  ruleOf: (wallet: string) => MayConnect,
  options: Omit<SenderOptions, 'mayConnect'>,
) {
  const senders = new Map<MayConnect, Sender>();
  return {
    senderOf(wallet: string): Sender {
      const mayConnect = ruleOf(wallet);
      const sender = senders.get(mayConnect) ?? createSender({ mayConnect, ...options });
      senders.set(mayConnect, sender);
      return sender;
    },
    close() {
      for (const sender of senders.values()) sender.close();
    },
  };
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
