// `svc doctor`: checks everything that `svc` depends on.

import { escapeText } from '../../base/escape.ts';
import { describeProxies } from '../../base/proxy/variables.ts';
import { SvcError } from '../../base/svc-error.ts';
import { packageVersion } from '../../base/version.ts';
import { readingAt, resultOf } from '../../chain/rpc.ts';
import type { Client } from '../../client/client.ts';
import type { ChainDetails } from '../../protocol/resources.ts';
import type { Answer } from '../../protocol/routes.ts';
import type { Context } from '../context.ts';
import { inCurrency } from '../output/amounts.ts';
import type { CommandSpec } from '../program/command.ts';
import { type ExitCode, exitCodeOf, exitCodes } from '../program/exit-codes.ts';

interface Check {
  name: string;
  ok: boolean;
  /** It is no failure, but the operator should know it. */
  warning?: true;
  detail: string;
}

export const doctorCommand: CommandSpec = {
  path: 'doctor',
  summary:
    "Check the service, this machine's clock, the session, the chain, the public RPC endpoint of the service, and the versions",
  details:
    'The exit code is the code of the first failed check. A degraded service is a warning, not a failure.',
  examples: ['svc doctor', 'svc doctor --url https://svc.example.org'],
  async run(context) {
    const { target, client, output, wait } = context;
    const { url } = await target();
    const guest = client(url);
    let exitCode: ExitCode = exitCodes.done;
    const check = async (name: string, look: () => Promise<string>): Promise<Check> => {
      try {
        return { name, ok: true, detail: await look() };
      } catch (error) {
        if (!(error instanceof SvcError)) throw error;
        if (exitCode === exitCodes.done) exitCode = exitCodeOf(error.code);
        return { name, ok: false, detail: [error.message, error.hint ?? ''].join(' ').trim() };
      }
    };
    const checks = await wait('Checking', async () => {
      const proxy = await check('proxy', async () => describeProxies(process.env) ?? '');
      let degraded: Check[] = [];
      const service = await check('service', async () => {
        degraded = await warnings(guest);
        return `${url} accepts requests`;
      });
      const first = [...(proxy.detail === '' ? [] : [proxy]), service];
      if (!service.ok) return first;
      return [
        ...first,
        ...degraded,
        await check('clock', () => clock(guest)),
        await check('session', () => session(context)),
        await check('chain', () => chain(guest)),
        await check('rpc', () => rpc(guest)),
        await check('version', () => version(guest)),
      ];
    });
    const { colors } = output;
    if (output.asksJson) output.json({ ok: exitCode === exitCodes.done, checks });
    else if (!output.isTerminal) await output.table(checks, checks, columns);
    else {
      for (const { name, ok, warning, detail } of checks) {
        const mark = warning ? colors.yellow('⚠') : ok ? colors.green('✔') : colors.red('✘');
        output.line(`${mark} ${name.padEnd(8)} ${escapeText(detail)}`);
      }
    }
    return exitCode;
  },
};

const CLOCK_TOLERANCE_MS = 30_000;

const columns = [
  { title: 'check', value: ({ name }: Check) => name },
  {
    title: 'result',
    value: ({ ok, warning }: Check) => (warning ? 'warning' : ok ? 'ok' : 'failed'),
  },
  { title: 'detail', value: ({ detail }: Check) => detail },
];

/** What the operator can do, by a reason of `/readyz`. docs/operations.md explains the other reasons. */
const remedies: Readonly<Record<string, string>> = {
  chain_unreachable: 'anchors wait, because no RPC endpoint answers. Check endpoints and network.',
  clock_implausible:
    "the clock of the service's machine is implausible; anchoring goes on. Correct this clock, or run svc-server clock confirm.",
  disk_low: 'the disk is almost full; completions are still accepted and anchored. Free space.',
  fee_cap: 'anchors wait, because fees are too high. Wait, or raise SVC_ANCHOR_MAX_FEE_GWEI.',
  fee_jump: 'fees rose to more than ten times their usual value; anchoring goes on.',
  nonce_conflict:
    'anchors wait, because another program sent a transaction with the key. Wait until it is final. If the reason stays, run svc-server reconcile --yes and restart the service.',
  no_public_rpc_url: 'wallets cannot add the chain; anchoring goes on. Set SVC_PUBLIC_RPC_URL.',
  provider_unhealthy: 'an RPC endpoint of the service does not work. Check the endpoint.',
  restored:
    'anchors wait, because the database was restored, or the operator paused anchoring. Run svc-server reconcile.',
};

/** One warning for each reason why the service is degraded; for low funds, one for each account. */
async function warnings(guest: Client): Promise<Check[]> {
  const { degraded, underfunded = [] } = (await guest.call('getReadiness')).body;
  const named = degraded.filter((reason) => reason !== 'underfunded' || underfunded.length === 0);
  const details = named.map((reason) => {
    const remedy = Object.hasOwn(remedies, reason) ? remedies[reason] : undefined;
    return `${reason}: ${remedy ?? 'see “Degraded states” in docs/operations.md of the service.'}`;
  });
  for (const funds of underfunded) details.push(await lowFunds(guest, funds));
  return details.map((detail) => ({ name: 'degraded', ok: true, warning: true, detail }));
}

type Funds = NonNullable<Answer<'getReadiness'>['body']['underfunded']>[number];

async function lowFunds(guest: Client, { address, balance_wei, needed_wei }: Funds) {
  const { symbol } = (await guest.call('getChain')).body.params.nativeCurrency;
  const amount = (wei: string | null) => (wei === null ? 'unknown' : inCurrency(wei, symbol));
  const [balance, needed] = [await amount(balance_wei), await amount(needed_wei)];
  return `underfunded: anchors wait. The balance of ${address} is ${balance}, and its next anchor needs ${needed}. Send ${symbol} to this address.`;
}

async function clock(guest: Client): Promise<string> {
  const asked = Date.now();
  const { headers } = await guest.call('getHealth');
  const now = Date.now();
  const theirs = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(theirs)) return 'not checked: the service sent no Date header';
  // The Date header has no fractions of a second.
  const off = Math.max(0, theirs - now, asked - (theirs + 1000));
  if (off <= CLOCK_TOLERANCE_MS) return 'agrees with the service';
  throw new SvcError('clock_wrong', `This clock is ${Math.round(off / 1000)} s off.`, {
    hint: 'Set the clock: sign-in messages and sessions depend on it.',
  });
}

async function session(context: Context): Promise<string> {
  try {
    const { client, profile } = await context.session();
    const { body } = await client.call('getAccount');
    if (profile === null) return `${body.wallet}, with the token of SVC_TOKEN`;
    return `${body.wallet}, profile ${profile.name}, until ${profile.expires_at}`;
  } catch (error) {
    if (!(error instanceof SvcError) || exitCodeOf(error.code) !== exitCodes.signInNeeded)
      throw error;
    const hint = `Sign in with: ${context.signInCommand()}`;
    throw new SvcError(error.code, error.message, { hint });
  }
}

async function chain(guest: Client): Promise<string> {
  const { body } = await guest.call('getChain');
  return `${body.name}, id ${body.chain_id}${body.testnet ? ', a test network' : ''}`;
}

/** Asks the endpoint that the service offers to wallets; auditors may use another. */
async function rpc(guest: Client): Promise<string> {
  const { body } = await guest.call('getChain');
  const [url] = body.params.rpcUrls;
  if (url === undefined) return 'the service offers no public endpoint';
  if (!URL.canParse(url)) {
    const problem = 'The RPC endpoint that the service offers is not a URL.';
    throw new SvcError('unexpected_answer', problem);
  }
  const found = await chainIdAt(url);
  if (found === body.chain_id) return `${new URL(url).origin} answers for chain ${found}`;
  const message = `${new URL(url).origin} serves chain ${found}, but the service uses chain ${body.chain_id}.`;
  throw new SvcError('wrong_chain', message);
}

async function chainIdAt(url: ChainDetails['params']['rpcUrls'][number]): Promise<number> {
  try {
    const call = { method: 'eth_chainId', params: [] };
    const [answer] = await readingAt(url, (ask) => ask([call]));
    const result = resultOf(answer);
    if (typeof result === 'string' && /^0x[0-9a-f]+$/i.test(result)) return Number(result);
  } catch {
    // The message may contain the URL with its secrets: report only that there was no answer.
  }
  throw new SvcError('chain_unavailable', `${new URL(url).origin} does not answer.`);
}

async function version(guest: Client): Promise<string> {
  const own = packageVersion();
  const { body } = await guest.call('getOpenApi');
  const theirs = body.info.version;
  const same = own === theirs ? 'same as the service' : `service ${theirs}`;
  return `svc ${own}, ${same}; Node.js ${process.versions.node}`;
}
