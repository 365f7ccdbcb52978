// Promises: what a service signs when it accepts a result before the result is anchored.
import type { Hex } from '../bytes.ts';
import { DocumentError } from '../document-error.ts';
import { HASH, Members, TIME, UUID } from '../subject/members.ts';
import { type JwsHeader, readJws, signedText } from './jws.ts';

/** The `typ` of a promise. Promises of another version get a new number. */
export const PROMISE_TYP = 'svc-promise/1';

/** A result that will be anchored. */
export interface PromisedLeaf {
  readonly task_id: string;
  /** The service's time of the claim. The claim hash, and so the leaf, covers it. */
  readonly created_at: string;
  readonly leaf: Hex;
}

/** The service anchors each of these leaves on the chain, before `anchored_by`. */
export interface AnchorPromise {
  /** The public URL of the service. */
  readonly origin: string;
  readonly chain_id: number;
  readonly accepted_at: string;
  /** The time of a leaf's block must not be later. */
  readonly anchored_by: string;
  readonly leaves: readonly PromisedLeaf[];
}

/** A promise that was read, before its signature is checked. */
export interface ReadPromise {
  readonly promise: AnchorPromise;
  readonly header: JwsHeader;
  readonly signed: string;
  readonly signature: Uint8Array;
}

/** Header and payload of a promise, ready to be signed. */
export function promiseText({ alg, kid }: Omit<JwsHeader, 'typ'>, promise: AnchorPromise): string {
  return signedText({ alg, kid, typ: PROMISE_TYP }, promise);
}

/** @throws DocumentError if the text is not exactly a promise. */
export function readPromise(text: string): ReadPromise {
  const { header, payload, signed, signature } = readJws('promise', PROMISE_TYP, text);
  const members = new Members('promise', payload);
  const promise = {
    origin: members.text('origin'),
    chain_id: members.integer('chain_id', 1),
    accepted_at: instant(members, 'accepted_at'),
    anchored_by: instant(members, 'anchored_by'),
    leaves: members.list('leaves').map((item) => {
      const leaf = {
        task_id: item.text('task_id', UUID),
        created_at: instant(item, 'created_at'),
        leaf: item.hex('leaf', HASH),
      };
      item.requireNoOther();
      return leaf;
    }),
  };
  members.requireNoOther();
  return { promise, header, signed, signature };
}

/** A time of the calendar: a promise by the 99th of a month could never be broken. */
function instant(members: Members, name: string): string {
  const text = members.text(name, TIME);
  const ms = Date.parse(text);
  if (Number.isFinite(ms) && new Date(ms).toISOString() === text) return text;
  throw new DocumentError('promise', `${name} must be a time of the calendar`);
}
