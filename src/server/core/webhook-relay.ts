// Delivers the messages of webhooks: one instance at a time, each webhook in order, the accounts fairly.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import { FairQueue } from '../../base/fair-queue.ts';
import { limits } from '../../protocol/limits.ts';
import type { DueWebhook, WaitingMessage, WebhookStore, WebhookToSend } from '../ports/webhooks.ts';
import { afterFailure } from '../rules/webhooks.ts';
import type { Sender } from './webhook-sender.ts';
import { signedMessage } from './webhooks.ts';

const POLL_MS = 1_000;
const LEASE_TTL_MS = 5_000;
const HOUR_MS = 60 * 60_000;
/** Messages that a webhook gets before the next webhook of its account. */
const MESSAGES_PER_TURN = 16;
/** Accounts served at once. Those without a recent grant never take the places of the others. */
const FUNDED_AT_ONCE = 48;
const UNFUNDED_AT_ONCE = 16;
/** Webhooks read at once, more than are served. */
const WEBHOOKS_READ = 256;

interface RelayOptions {
  store: WebhookStore;
  clock: Clock;
  /** Null: webhooks are off. */
  webhooks: { key: Buffer; sender: Sender } | null;
  /** Called in each turn of the instance that has the lease. */
  evaluate(): Promise<void>;
  onError: (error: unknown) => void;
  /** Default: 1 s. */
  pollMs?: number;
}

/** Delivers until stopped. `turn` makes one turn at once: it resolves when the due messages were tried once. */
export function startRelay(options: RelayOptions): {
  turn(): Promise<void>;
  stop(): Promise<void>;
} {
  const relay = new Relay(options);
  const stopping = new AbortController();
  const ended = (async () => {
    while (!stopping.signal.aborted) {
      await relay.turn().catch(options.onError);
      const until = { signal: stopping.signal, ref: false };
      await sleep(options.pollMs ?? POLL_MS, undefined, until).catch(() => {});
    }
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
  readonly #holder = randomUUID();
  readonly #queues = [
    { funded: true, queue: new FairQueue({ atOnce: FUNDED_AT_ONCE }) },
    { funded: false, queue: new FairQueue({ atOnce: UNFUNDED_AT_ONCE }) },
  ];
  readonly #busy = new Map<string, Promise<void>>();
  /** Attempts of accounts without a recent grant in this hour. A takeover starts at 0. */
  readonly #attempts = new Map<string, number>();
  #hour = 0;
  #evaluation: Promise<void> | null = null;
  /** By `performance.now()`. */
  #leasedUntil = 0;
  stopped = false;

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  async turn(): Promise<void> {
    const { store, clock, webhooks, evaluate, onError } = this.#options;
    const now = performance.now();
    if (!(await store.holdRelay(this.#holder, LEASE_TTL_MS))) return;
    this.#leasedUntil = now + LEASE_TTL_MS;
    // It may take longer than the lease lasts, so turns go on meanwhile.
    this.#evaluation ??= evaluate()
      .catch(onError)
      .finally(() => {
        this.#evaluation = null;
      });
    if (webhooks === null) return;
    await store.numberDeliveries(clock.now());
    for (const { funded, queue } of this.#queues) {
      const due = await store.listDueWebhooks(funded, WEBHOOKS_READ + this.#busy.size, clock.now());
      for (const { id, wallet } of due) {
        if (this.#busy.has(id)) continue;
        const deliver = () => this.#deliver({ id, wallet }, funded, webhooks);
        const deliverAll = async () => {
          while (await queue.run(wallet, deliver));
        };
        const work = deliverAll()
          .catch(onError)
          .finally(() => this.#busy.delete(id));
        this.#busy.set(id, work);
      }
    }
  }

  async end(): Promise<void> {
    await Promise.all([this.#evaluation, ...this.#busy.values()]);
  }

  /** Returns whether more may be waiting, after as many messages as one turn has. */
  async #deliver(
    { id: webhookId, wallet }: DueWebhook,
    funded: boolean,
    service: NonNullable<RelayOptions['webhooks']>,
  ): Promise<boolean> {
    const { store, clock } = this.#options;
    const webhook = await store.readDueWebhook(webhookId, clock.now());
    if (webhook === null) return false;
    let { failures, failing_since: failingSince } = webhook;
    const messages = await store.listWaiting(webhookId, MESSAGES_PER_TURN);
    for (const message of messages) {
      if (this.stopped || performance.now() > this.#leasedUntil) return false;
      const now = clock.now();
      if (!funded && !this.#count(wallet, now)) {
        await store.deferWebhook(webhookId, { at: (this.#hour + 1) * HOUR_MS }, now);
        return false;
      }
      const result = await attempt(service, webhookId, webhook, message, now);
      const tried = { webhookId, deliveryId: message.id, ...result, at: clock.now() };
      if (tried.error !== null) {
        await store.recordFailed(tried, afterFailure(failures, failingSince, tried.at));
        return false;
      }
      await store.recordDelivered(tried);
      [failures, failingSince] = [0, null];
    }
    return messages.length === MESSAGES_PER_TURN;
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
  { key, sender }: NonNullable<RelayOptions['webhooks']>,
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
