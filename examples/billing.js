// A billing system: grants the credits of paid invoices, each once, through the operator API of svc-server.
// Usage: node billing.js invoices.jsonl, with SVC_OPERATOR_URL and SVC_OPERATOR_TOKEN_FILE set. Lines of the file:
//   {"invoice":"2026-0017","wallet":"0x…","anchors":1000,"gas_wei":"50000000000000000"}
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const { SVC_OPERATOR_URL: url, SVC_OPERATOR_TOKEN_FILE: tokenFile = '' } = process.env;
const token = (await readFile(tokenFile, 'utf8')).trim();
const lines = (await readFile(process.argv[2] ?? '', 'utf8')).split('\n').filter(Boolean);

for (const line of lines) {
  const { invoice, wallet, ...credits } = JSON.parse(line);
  const { outcome } = await grant(wallet, {
    id: idOf(invoice),
    note: `invoice ${invoice}`,
    ...credits,
  });
  process.stdout.write(`${invoice} ${outcome}\n`);
}

/**
 * The same id for the same invoice, so that a repeat grants nothing.
 * @param {string} invoice
 */
function idOf(invoice) {
  const hex = createHash('sha256').update(`invoice ${invoice}`).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5');
}

/**
 * Repeats the grant until an answer arrives: whether a lost one granted does not matter.
 * @param {string} wallet
 * @param {object} body
 * @returns {Promise<{ outcome: 'granted' | 'repeated' }>}
 */
async function grant(wallet, body) {
  for (let wait = 100; ; wait = Math.min(2 * wait, 10_000)) {
    const reply = await fetch(`${url}/accounts/${wallet}/grants`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).catch(() => null);
    /** @type {any} */
    const answer = await reply?.json().catch(() => null);
    if (reply?.ok && answer) return answer;
    if (reply && reply.status < 500) throw new Error(`${answer?.error}: ${answer?.message}`);
    await sleep(wait);
  }
}
