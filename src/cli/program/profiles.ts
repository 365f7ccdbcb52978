// Chooses the service and the profile of a command line.
import { isLoopback } from '../../base/addresses.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { ConfigFile, Profile } from './config-file.ts';
import type { GlobalOptions } from './options.ts';

/** The service that a command calls, and the profile whose session it uses. */
export interface Target {
  url: string;
  /** Null if no profile belongs to the service. */
  profile: NamedProfile | null;
}

export type NamedProfile = Profile & { name: string };

/** The profile named by `--profile` or `SVC_PROFILE`; null without both. Throws `usage`. */
export function namedProfile({ profile }: GlobalOptions, env: NodeJS.ProcessEnv): string | null {
  const name = profile ?? (env.SVC_PROFILE || null);
  if (name !== null && !/^[A-Za-z0-9][\w.:@-]{0,99}$/.test(name)) {
    throw new SvcError('usage', '--profile (or SVC_PROFILE) is not a valid profile name.', {
      hint: 'Use 1 to 100 letters, digits and . : @ _ - and begin with a letter or digit.',
    });
  }
  return name;
}

/** The origin given by `--url` or `SVC_URL`; null without both. Throws `usage`. */
export function givenUrl(options: GlobalOptions, env: NodeJS.ProcessEnv): string | null {
  const text = options.url ?? (env.SVC_URL || null);
  return text === null ? null : serviceOrigin(text, options.insecureHttp === true);
}

/**
 * Chooses service and session: by the given address, else by the named profile, else by the current profile. A
 * session is only sent to the origin that issued it. Throws `usage`, `no_service`.
 */
export function chooseTarget(
  file: ConfigFile,
  options: GlobalOptions,
  env: NodeJS.ProcessEnv,
): Target {
  const { current, profiles } = file.read();
  const url = givenUrl(options, env);
  const named = namedProfile(options, env);
  if (named !== null) return targetOf(profileOf(profiles, named), url, options);
  const known = url === null ? [current] : [current, ...Object.keys(profiles)];
  for (const name of known) {
    const profile = name === null || !Object.hasOwn(profiles, name) ? null : profiles[name];
    if (name === null || !profile) continue;
    if (url === null || profile.url === url) return targetOf({ ...profile, name }, url, options);
  }
  if (url !== null) return { url, profile: null };
  throw new SvcError('no_service', 'No service is known yet.', {
    hint: 'Sign in with svc login URL, or name the service with --url or SVC_URL.',
  });
}

/** The command line that signs in to a target. */
export function signInCommand({ url, profile }: Target): string {
  return `svc login ${url}${profile === null ? '' : ` --profile ${profile.name}`}`;
}

/**
 * The origin of a service as a person typed it. Throws `usage` for an address that is not http(s), is more than an
 * origin, or would send a session unencrypted to another machine.
 */
export function serviceOrigin(text: string, insecureHttp: boolean): string {
  if (!URL.canParse(text)) {
    throw new SvcError('usage', 'The address of the service is not a URL.', {
      hint: originHint(text),
    });
  }
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new SvcError('usage', 'The address of the service must begin with https://.', {
      hint: originHint(text),
    });
  }
  if (url.username || url.password || url.pathname !== '/' || url.search || url.hash) {
    throw new SvcError('usage', 'The address of the service has a path, a query or credentials.', {
      hint: `Use the origin alone: ${url.origin}`,
    });
  }
  if (url.protocol === 'http:' && !insecureHttp && !isLoopback(url.hostname)) {
    throw new SvcError('usage', `${url.origin} would receive your session in the clear.`, {
      hint: 'Use https, or allow http with --insecure-http.',
    });
  }
  return url.origin;
}

/**
 * Refuses a node whose answers others could change on their way, unless the user allows it.
 *
 * @throws SvcError `usage`
 */
export function requirePrivateNodes(
  rpcUrls: readonly string[],
  { insecureHttp }: { insecureHttp?: true },
): void {
  const isPlain = (text: string) => {
    const url = URL.canParse(text) ? new URL(text) : null;
    return url?.protocol === 'http:' && !isLoopback(url.hostname);
  };
  if (insecureHttp || !rpcUrls.some(isPlain)) return;
  throw new SvcError('usage', 'An --rpc-url uses http to another machine.', {
    hint: 'Use https, or allow http with --insecure-http.',
  });
}

function profileOf(profiles: Record<string, Profile>, name: string): NamedProfile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile) return { ...profile, name };
  const names = Object.keys(profiles);
  throw new SvcError('not_found', `There is no profile ${name}.`, {
    hint:
      names.length === 0
        ? 'Create one with svc login URL.'
        : `Use one of ${names.join(', ')}, or create it with svc login URL --profile ${name}.`,
  });
}

function targetOf(profile: NamedProfile, url: string | null, options: GlobalOptions): Target {
  if (url !== null && url !== profile.url) {
    const message = `Profile ${profile.name} belongs to ${profile.url}, not to ${url}.`;
    throw new SvcError('usage', message, {
      hint: 'Give the address or the profile, not both (SVC_URL and SVC_PROFILE count too).',
    });
  }
  return { url: serviceOrigin(profile.url, options.insecureHttp === true), profile };
}

/** Suggests the address with a scheme if only the scheme is missing. */
function originHint(text: string): string {
  const [, host] = /^([\w.-]+|\[::1\])(:\d+)?\/?$/.exec(text) ?? [];
  if (host === undefined) return 'Give its origin, for example https://svc.example.org.';
  return `Did you mean ${isLoopback(host) ? 'http' : 'https'}://${text}?`;
}
