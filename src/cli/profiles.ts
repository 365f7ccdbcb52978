import { SvcError } from '../base/svc-error.ts';
import type { GlobalOptions } from './command.ts';
import type { ConfigFile, Profile } from './config-file.ts';
import { serviceOrigin } from './service-url.ts';

/** The service that a command speaks to, and the profile whose session it uses. */
export interface Target {
  url: string;
  /** Null where no profile is of that service. */
  profile: NamedProfile | null;
}

export type NamedProfile = Profile & { name: string };

/** The profile that was named, by `--profile` or `SVC_PROFILE`; null where none was. Throws `usage`. */
export function namedProfile({ profile }: GlobalOptions, env: NodeJS.ProcessEnv): string | null {
  const name = profile ?? (env.SVC_PROFILE || null);
  if (name !== null && !/^[A-Za-z0-9][\w.:@-]{0,99}$/.test(name)) {
    throw new SvcError('usage', 'A profile is named with letters, digits and . : @ _ - alone.');
  }
  return name;
}

/** The address that was given, by `--url` or `SVC_URL`; null where none was. Throws `usage`. */
export function givenUrl(options: GlobalOptions, env: NodeJS.ProcessEnv): string | null {
  const text = options.url ?? (env.SVC_URL || null);
  return text === null ? null : serviceOrigin(text, options.insecureHttp === true);
}

/**
 * Which service and which session: an address that was given decides, else the profile that was named,
 * else the current one. A session never goes to another origin than the one that gave it. Throws `usage`.
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
  throw new SvcError('usage', 'No service is known yet.', {
    hint: 'Sign in with svc login URL, or name one with --url or SVC_URL.',
  });
}

function profileOf(profiles: Record<string, Profile>, name: string): NamedProfile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile) return { ...profile, name };
  const names = Object.keys(profiles);
  throw new SvcError('usage', `There is no profile ${name}.`, {
    hint:
      names.length === 0
        ? 'svc login URL makes one.'
        : `There are: ${names.join(', ')}. svc login URL --profile ${name} makes it.`,
  });
}

function targetOf(profile: NamedProfile, url: string | null, options: GlobalOptions): Target {
  if (url !== null && url !== profile.url) {
    throw new SvcError('usage', `The profile ${profile.name} is of ${profile.url}, not ${url}.`, {
      hint: 'Leave one of the two out: the address, or the profile (SVC_URL and SVC_PROFILE count too).',
    });
  }
  return { url: serviceOrigin(profile.url, options.insecureHttp === true), profile };
}

/** The command that signs in (again) to a target. */
export function signInCommand({ url, profile }: Target): string {
  return `svc login ${url}${profile === null ? '' : ` --profile ${profile.name}`}`;
}
