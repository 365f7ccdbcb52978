// The configuration file: profiles and their sessions.
import { openSavedFile } from './saved-file.ts';

/** One service and one wallet. */
export interface Profile {
  /** Origin of the service. */
  url: string;
  wallet: string;
  /** Session token and its end; null once signed out. */
  session: string | null;
  expires_at: string | null;
}

export interface Config {
  /** Name of the profile that is used if the command line names none. */
  current: string | null;
  profiles: Record<string, Profile>;
}

export type ConfigFile = ReturnType<typeof openConfigFile>;

/** Opens the configuration. Throws SvcError `config_unusable`. */
export function openConfigFile(env: NodeJS.ProcessEnv, warn: (text: string) => void) {
  const kind = {
    name: 'config',
    empty: { current: null, profiles: {} },
    isValid: isConfig,
    damaged: (aside: string) =>
      `The configuration file was damaged. It was set aside as ${aside}; sign in again with svc login.`,
  };
  return openSavedFile<Config>(env, kind, warn);
}

function isConfig(value: unknown): value is Partial<Config> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { current = null, profiles = {} } = value as Record<string, unknown>;
  if (current !== null && typeof current !== 'string') return false;
  if (typeof profiles !== 'object' || profiles === null || Array.isArray(profiles)) return false;
  return Object.values(profiles).every(isProfile);
}

function isProfile(value: unknown): value is Profile {
  const { url, wallet, session, expires_at } = (value ?? {}) as Record<string, unknown>;
  const isText = (text: unknown) => typeof text === 'string';
  return (
    isText(url) &&
    isText(wallet) &&
    (session === null || isText(session)) &&
    (expires_at === null || isText(expires_at))
  );
}
