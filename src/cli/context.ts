// The context of a running command: output, configuration, service, session and prompts.

import { createOutput } from '../base/output/output.ts';
import { SvcError } from '../base/svc-error.ts';
import { type Client, type ClientOptions, createClient } from '../client/client.ts';
import type { Route } from '../protocol/route.ts';
import { routes } from '../protocol/routes.ts';
import { withCheckedAnswers } from './program/check-answers.ts';
import type { ConfigFile } from './program/config-file.ts';
import { httpFetch } from './program/http-fetch.ts';
import type { GlobalOptions } from './program/options.ts';
import { chooseTarget, type NamedProfile, signInCommand, type Target } from './program/profiles.ts';

const TIMEOUT_MS = 60_000;

/** What a command works with. Each part is created on first use. */
export type Context = ReturnType<typeof createContext>;

export function createContext(options: GlobalOptions, env: NodeJS.ProcessEnv) {
  const output = createOutput(options, env);
  let chosen: Target | null = null;
  let opened: ConfigFile | null = null;

  async function config() {
    const { openConfigFile } = await import('./program/config-file.ts');
    opened ??= openConfigFile(env, output.warn);
    return opened;
  }
  /** The service of this command line, and its profile if it has one. Throws `usage`. */
  async function target() {
    chosen ??= chooseTarget(await config(), options, env);
    return chosen;
  }
  /**
   * A client with the account token of SVC_TOKEN, and no profile, or with the session of the profile. `route`: the one to
   * call, for the hint. Throws `sign_in_needed` and `usage`.
   */
  async function session(route?: Pick<Route, 'sessionOnly'>) {
    const accountToken = givenToken(env);
    const { url, profile } = await target();
    if (accountToken !== null) {
      return { client: client(url, { accountToken }), url, profile: null };
    }
    const session = liveSession(profile);
    if (profile === null || session === null) {
      const reason = profile?.session ? 'has expired' : 'is missing';
      throw new SvcError('sign_in_needed', `The session for ${url} ${reason}.`, {
        hint: route?.sessionOnly ? undefined : 'Or set SVC_TOKEN to an account token.',
      });
    }
    return { client: client(url, { session }), url, profile };
  }
  /** Calls the service with that client. Rejects as `Client.call` and `session`. */
  const call: Client['call'] = async (name, ...input) => {
    const route: Route = routes[name];
    return (await session(route)).client.call(name, ...input);
  };
  return {
    options,
    env,
    output,
    config,
    target,
    /** A client of a service, with the session if one is given. */
    client: (url: string, session?: string) =>
      client(url, session === undefined ? undefined : { session }),
    session,
    call,
    async prompt() {
      const { createPrompt } = await import('./input/prompt.ts');
      return createPrompt(options.input);
    },
    /** Runs `work` with a spinner if stderr is a terminal. */
    async wait<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
      if (!output.mayAnimate) return work();
      const { spin } = await import('./output/progress.ts');
      return spin(what, work, output.messageColors.level > 0);
    },
    /** The command that signs in to the service in use; null before `target` was called. */
    signInCommand: () => (chosen === null ? null : signInCommand(chosen)),
  };
}

function client(baseUrl: string, credential?: ClientOptions['credential']): Client {
  const client = createClient({ baseUrl, fetch: boundedFetch, ...(credential && { credential }) });
  return withCheckedAnswers(client, baseUrl);
}

/** The account token of SVC_TOKEN; null without one. Throws `usage`. */
function givenToken({ SVC_TOKEN: text }: NodeJS.ProcessEnv): string | null {
  if (!text) return null;
  if (/^svct_[0-9a-f]{40}$/.test(text)) return text;
  throw new SvcError('usage', 'SVC_TOKEN is not an account token: svct_ and 40 hex digits.', {
    hint: 'Create one with svc tokens create, or unset SVC_TOKEN to use your session.',
  });
}

/** For commands that open or end a session. */
export function warnOfToken({ env, output }: Context): void {
  if (env.SVC_TOKEN) output.warn('SVC_TOKEN is set: svc uses this account token, no session.');
}

function liveSession(profile: NamedProfile | null): string | null {
  const ended = profile?.expires_at != null && Date.parse(profile.expires_at) <= Date.now();
  return ended ? null : (profile?.session ?? null);
}

/** Limits every request to TIMEOUT_MS, answer included, but not streams. */
const boundedFetch: typeof fetch = (input, init) => {
  // The client sends `accept` only for streams.
  if (init?.headers && 'accept' in init.headers) return httpFetch(input, init);
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const signal = init?.signal ? AbortSignal.any([init.signal, timeout]) : timeout;
  return httpFetch(input, { ...init, signal });
};
