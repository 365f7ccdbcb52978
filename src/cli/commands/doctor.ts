// `svc doctor`: checks everything that `svc` depends on.

import { escapeText } from '../../base/escape.ts';
import { describeProxies } from '../../base/proxy/variables.ts';
import { SvcError } from '../../base/svc-error.ts';
import { packageVersion } from '../../base/version.ts';
import { connectRpc, resultOf } from '../../chain/rpc.ts';
import type { Client } from '../../client/client.ts';
import type { ChainDetails } from '../../protocol/resources.ts';
import type { CommandSpec } from '../program/command.ts';
import type { Context } from '../program/context.ts';
import { type ExitCode, exitCodeOf, exitCodes } from '../program/exit-codes.ts';

interface Check {
  name: string;
  ok: boolean;
  detail: string;
}

export const doctorCommand: CommandSpec = {
  path: 'doctor',
  summary:
    "Check the service, this machine's clock, the session, the chain, the public RPC endpoint of the service, and the versions",
  details: 'The exit code is the code of the first failed check.',
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
      const service = await check('service', () => readiness(guest, url));
      const first = [...(proxy.detail === '' ? [] : [proxy]), service];
      if (!service.ok) return first;
      return [
        ...first,
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
      for (const { name, ok, detail } of checks) {
        const mark = ok ? colors.green('✔') : colors.red('✘');
        output.line(`${mark} ${name.padEnd(8)} ${escapeText(detail)}`);
      }
    }
    return exitCode;
  },
};

const CLOCK_TOLERANCE_MS = 30_000;
const RPC_TIMEOUT_MS = 10_000;

const columns = [
  { title: 'check', value: ({ name }: Check) => name },
  { title: 'result', value: ({ ok }: Check) => (ok ? 'ok' : 'failed') },
  { title: 'detail', value: ({ detail }: Check) => detail },
];

async function readiness(guest: Client, url: string): Promise<string> {
  const { body } = await guest.call('getReadiness');
  if (body.status === 'ready') return `${url} is ready`;
  return `${url} accepts requests; anchoring is degraded: ${body.degraded.join(', ')}`;
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
    throw new SvcError(
      'unexpected_answer',
      'The RPC endpoint that the service offers is not a URL.',
    );
  }
  const found = await chainIdAt(url);
  if (found === body.chain_id) return `${new URL(url).origin} answers for chain ${found}`;
  const message = `${new URL(url).origin} serves chain ${found}, but the service uses chain ${body.chain_id}.`;
  throw new SvcError('wrong_chain', message);
}

async function chainIdAt(url: ChainDetails['params']['rpcUrls'][number]): Promise<number> {
  try {
    const rpc = connectRpc({ url, timeoutMs: RPC_TIMEOUT_MS });
    const asked = rpc.reading([{ method: 'eth_chainId', params: [] }]).finally(rpc.close);
    const result = resultOf((await asked)[0]);
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
