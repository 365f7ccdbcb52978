// The options of `svc verify`, and which of them exclude each other.
import path from 'node:path';
import { SvcError } from '../../base/svc-error.ts';
import type { EvidenceInput } from './evidence.ts';

export interface VerifyInput extends EvidenceInput {
  rpcUrl?: string[];
  blockHash?: string;
  full?: true;
  anchorAddress?: string[];
  owner?: string;
  robotKey?: string;
  bundle?: string[];
  requireEvidence?: true;
  report?: string;
  watch?: true;
  timeout?: number;
}

/** Options that apply only to one anchor and its evidence. */
export const ofAnchors = [
  ...(['anchorAddress', 'blockHash', 'full', 'watch', 'timeout'] as const),
  ...(['proof', 'file', 'part', 'report', 'requireEvidence', 'requireFiles'] as const),
];

/** @throws SvcError `usage` rather than ignore an option: the caller would take it for checked. */
export function requireApplicable(
  input: VerifyInput,
  subject: string,
  others: readonly (keyof VerifyInput)[],
): void {
  const name = others.find((each) => input[each] !== undefined);
  if (name === undefined) return;
  const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new SvcError('usage', `--${flag} does not apply to ${subject}.`);
}

/** @throws SvcError `usage` */
export function requireConsistent(input: VerifyInput): void {
  const { rpcUrl = [], blockHash, full, watch, timeout, report, subject } = input;
  const usage = (message: string) => new SvcError('usage', message);
  // Compare in normal form: the same endpoint may be written in two ways.
  const endpoints = rpcUrl.map((url) => (URL.canParse(url) ? new URL(url).href : url));
  if (new Set(endpoints).size < endpoints.length) {
    throw usage('The same --rpc-url twice would agree with itself.');
  }
  if (blockHash !== undefined) {
    if (!/^0x[0-9a-fA-F]{64}$/.test(blockHash)) {
      throw usage('--block-hash must be a hash: 0x and 64 hex digits.');
    }
    if (rpcUrl.length > 0) throw usage('Use either --block-hash or --rpc-url.');
    if (watch) throw usage('--watch needs the chain or the service; --block-hash uses neither.');
  }
  if (report !== undefined && path.resolve(report) === path.resolve(subject)) {
    throw usage('--report would replace the file that is verified.');
  }
  if (full && rpcUrl.length === 0) throw usage('--full needs --rpc-url.');
  if (timeout !== undefined && !watch) throw usage('--timeout needs --watch.');
}
